// Adds to the page of a paid door a button that buys there with a wallet of the browser, and to the page of what was bought what
// was delivered. Neither is needed for anything: without it the page says how else to buy.
//
// A payment that was signed is kept in this tab until its answer is here, and is only ever sent again as it is: that fetches the
// answer and charges nothing. As long as it may have paid, no other is signed.
import { encode, payable, refused, sign, wallets } from "./wallet.js";

const make = (name, text, attributes = {}) => {
  const e = document.createElement(name);
  if (text) e.textContent = text;
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};
// The tab's memory may be full or forbidden: then it lasts as long as the page.
const keep = (key, value) => { try { sessionStorage.setItem(key, JSON.stringify(value)); return true; } catch { return false; } };
const kept = (key) => { try { return JSON.parse(sessionStorage.getItem(key)) ?? undefined; } catch { return undefined; } };
const forget = (key) => { try { sessionStorage.removeItem(key); } catch { /* nothing was kept */ } };

// The page of a certificate has the one sheet inside and no other: what stands here alone is brought along.
const looks = () => {
  if (!document.adoptedStyleSheets) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    .goods { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: center; margin: 1.5rem 0; }
    .goods img { width: min(28rem, 100%); max-height: 80vh; }
    .goods > div { flex: 1 1 20rem; min-width: 0; }
    .bought :is(.goods p:not(.keeps), dd p, h3 + p) { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 1rem; }
    .told { font-size: 1.35rem; }
    .keeps { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; }`);
  document.adoptedStyleSheets.push(sheet);
};
const drawn = (value) => typeof value === "string" && value.startsWith("<svg ");
const download = (blob, name, words) => make("a", words, { download: name, href: URL.createObjectURL(blob) });
const pressing = (words, does) => {
  const button = make("button", words, { type: "button" });
  button.onclick = () => does(button);
  return button;
};

// shown is a value of a delivery as text, whatever is in it.
function shown(value) {
  if (value !== null && typeof value === "object") return make("pre", JSON.stringify(value, null, 2), { tabindex: "0" });
  return make("p", String(value));
}

// fetching is a button that fetches what was bought as a file, by the token of the purchase, and then the link to keep it.
const fetching = (answer) => pressing("Fetch " + (answer.deliverable.file_name ?? "the file"), async (button) => {
  button.disabled = true;
  try {
    const got = await fetch(answer.file_url, { cache: "no-store", credentials: "omit", headers: { Authorization: "Bearer " + answer.recovery.status_token } });
    if (!got.ok) throw new Error(got.status);
    const link = download(await got.blob(), answer.deliverable.file_name ?? "file", "Keep " + (answer.deliverable.file_name ?? "the file"));
    button.replaceWith(link);
    link.click();
  } catch {
    button.textContent = "It did not arrive. Fetch it again";
    button.disabled = false;
  }
});

// delivery is a section with what an answer delivered: the goods large, with what one does with them, then the rest and the way
// back to the purchase. page is where anybody may see what was signed, "" for nowhere.
function delivery(answer, page) {
  const section = make("section", "", { class: "bought", "aria-labelledby": "bought" }), goods = make("div", "", { class: "goods" });
  const said = make("div"), keeps = make("p", "", { class: "keeps screen" }), list = make("dl", "", { class: "facts" }), texts = [];
  const what = answer.deliverable ?? {},
    title = [what.name, what.title].find((s) => typeof s === "string" && s), item = String(answer.item_id ?? "purchase").replace(/[^A-Za-z0-9_-]/g, "");
  said.append(make("p", answer.message, { class: "told" }));
  for (const [name, value] of Object.entries(what)) {
    if (name === "kind" || value === "" || value === null || value === answer.message) continue;
    if (drawn(value)) { // a picture, in which nothing runs
      goods.append(make("img", "", { alt: "What was drawn for you", src: "data:image/svg+xml," + encodeURIComponent(value) }));
      keeps.append(download(new Blob([value], { type: "image/svg+xml" }), item + ".svg", "Keep the picture"));
      continue;
    }
    if (value === title) continue;
    if (name === "text" || name === "body") {
      said.append(shown(value));
      continue;
    }
    const called = name.replaceAll("_", " "), e = shown(value);
    if (e.textContent.length > 200) {
      texts.push(make("h3", called), e);
      continue;
    }
    const dd = make("dd", "", /^\S{24,}$/.test(e.textContent) ? { class: "mono" } : {});
    dd.append(e);
    list.append(make("dt", called), dd);
  }
  goods.append(said);
  if (answer.file_url && answer.recovery) keeps.append(fetching(answer));
  else if (!keeps.firstChild) keeps.append(download(new Blob([String(what.text ?? what.body ?? answer.message)], { type: "text/plain" }), item + ".txt", "Keep the text"));
  if (page && navigator.clipboard) {
    keeps.append(pressing("Copy the link to its certificate", async (button) => {
      try {
        await navigator.clipboard.writeText(location.origin + page);
        button.textContent = "Copied: show it to anybody";
      } catch {
        button.replaceWith(make("a", location.origin + page, { href: page }));
      }
    }));
  }
  keeps.append(pressing("Print", () => window.print()));
  said.append(keeps);
  const back = make("dl", "", { class: "facts" });
  for (const [name, value] of Object.entries(answer.recovery ?? {})) back.append(make("dt", name.replaceAll("_", " ")), make("dd", String(value), { class: "mono" }));
  const more = make("details"), all = make("p");
  all.append(download(new Blob([JSON.stringify(answer, null, 2)], { type: "application/json" }), "purchase.json", "Keep the whole answer"),
    ", with its signatures. This tab forgets it when it is closed; your wallet finds it again at /api/claims.");
  more.append(make("summary", "The way back to this purchase"), back);
  section.append(make("h1", (title ?? "It") + " is yours", { id: "bought", tabindex: "-1" }), goods, ...texts, list,
    make("p", `Paid ${answer.paid_usdc} USDC${Number(answer.tip_usdc) > 0 ? `, of which ${answer.tip_usdc} are a tip` : ""}.`), all, more);
  looks();
  return section;
}

// handOver puts what was sold in the place of the page that sold it, which is done with.
function handOver(data, page, at) {
  const section = delivery(data, page);
  section.append(page ? make("a", "What was signed", { href: page }) : pressing("Buy it once more", () => { forget("bought " + at); location.reload(); }));
  section.lastChild.id = "bought-next";
  document.querySelector("main").replaceChildren(section);
  section.querySelector("h1").focus();
}

// buying makes the page of a door one that sells; bought is what was bought there already, if it is shown nowhere else.
function buying(door, bought) {
  const get = (id) => document.getElementById(id);
  const form = get("order"), terms = get("door-terms"), which = get("door-wallet"), said = get("door-said"), more = get("door-more");
  const pay = get("door-pay"), again = get("door-again"), at = door.dataset.at, key = "paying " + at, found = [];
  let pending = kept(key), busy = false;

  const show = () => {
    pay.hidden = Boolean(pending) || !found.length; // no button that nothing can press
    again.hidden = !pending;
    pay.disabled = busy;
    again.disabled = busy;
    get("door-none").hidden = found.length > 0 || Boolean(pending);
    terms.parentElement.hidden = Boolean(pending) || !found.length;
    which.parentElement.hidden = Boolean(pending) || found.length < 2;
    pay.textContent = "Sign and pay " + terms.selectedOptions[0].textContent;
  };
  // say tells in the page how it stands, with a way to see the terms anew where that helps.
  const say = (text, anew = false) => {
    said.textContent = text;
    more.hidden = !anew;
  };

  // order is what the form asks for: a POST with its inputs, or the address alone where there are none.
  const order = () => {
    if (!form) return { method: "GET" };
    const inputs = {};
    for (const { name, value, dataset } of form.elements) {
      if (!name || value === "") continue;
      inputs[name] = dataset.type === "number" ? Number(value) : dataset.type === "boolean" ? value === "true" : value;
    }
    return { method: "POST", body: JSON.stringify(inputs) };
  };
  // ask sends an order, with a payment or without, and gives {status, data, now}; of an answer that did not come, {}.
  const ask = async ({ method, body }, payment) => {
    try {
      const answer = await fetch(at, {
        method, body, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(180000),
        headers: { Accept: "application/json", ...(body && { "Content-Type": "application/json" }), ...(payment && { "PAYMENT-SIGNATURE": payment }) },
      });
      const data = Object(await answer.json()), date = Date.parse(answer.headers.get("Date"));
      return { status: answer.status, data, now: Number.isNaN(date) ? undefined : Math.floor(date / 1000) };
    } catch {
      return {};
    }
  };
  const problem = (data) => say([data.detail, data.next_step].filter((s) => typeof s === "string").join(" ") || "The store did not say why.");

  // send presents the payment that is kept, for the first time or again.
  const send = async () => {
    say("The payment is with the store, which makes the goods and has it settled. This may take a minute.");
    const { status, data } = await ask(pending.order, pending.payment);
    if (status === 200 && data?.receipt && data.recovery) return arrived(data);
    if (data?.billed === "no" && (data.retry === "now" || data.retry === "never")) {
      pending = undefined;
      forget(key);
      return /insufficient/.test(data.reason) ? say("The wallet holds less than the price on that network. Nothing was charged. Choose another network or wallet, " +
        "or put money there, and press again.") : problem(data);
    }
    if (data?.billed) return problem(data);
    say("The answer did not arrive, so what became of the payment is not known here. Ask again: that sends the same payment, " +
      "fetches its answer and never charges twice. Nothing else is signed before.");
  };
  const arrived = (data) => {
    const id = data.cert_id ?? data.order_id ?? data.artifact?.id;
    const page = /^[a-z]+_[A-Za-z0-9]{1,50}$/.test(id) ? "/api/verify/" + id : "";
    const moves = keep("bought " + (page || at), data) && page;
    pending = undefined;
    forget(key);
    if (moves) location.assign(page);
    else handOver(data, page, at);
  };
  const buy = async () => {
    if (form && !form.reportValidity()) return;
    const asked = order(), { network, asset, payTo, amount, name } = terms.selectedOptions[0].dataset;
    say("Asking for the terms.");
    const { status, data, now } = await ask(asked);
    if (!status) return say("The store did not answer. Nothing was signed. Press again.");
    if (status !== 402) return problem(data);
    const accepted = [data.accepts ?? []].flat().find((a) => payable(a) && a.network === network && a.asset === asset && a.payTo === payTo && a.amount === amount);
    if (!accepted) {
      return say("What is asked has changed since this page was loaded, so nothing was signed.", true);
    }
    say("Your wallet asks you now. It signs one transfer of this amount to this store, and nothing else.");
    let payment;
    try {
      payment = encode(await sign(found[Number(which.value)].provider, data, accepted, now));
    } catch (e) {
      return say(refused(e, name) + " Nothing was charged.");
    }
    pending = { order: asked, payment };
    keep(key, pending);
    await send();
  };

  const pressed = (does) => async () => {
    busy = true;
    show();
    try { await does(); } finally { busy = false; show(); }
  };
  pay.onclick = pressed(buy);
  again.onclick = pressed(send);
  terms.onchange = show;
  wallets((w) => {
    which.append(make("option", w.name, { value: found.push(w) - 1 }));
    show();
  });
  door.hidden = false;
  show();
  if (bought) return handOver(bought, "", at);
  if (pending) {
    say("A payment that was signed here has not been answered yet. Ask again: that fetches the answer and never charges twice. Nothing else is signed before.");
  }
}

// opening makes the button of a good's page one that opens its door there: the order as it is filled in, with the terms. under says
// that a payment from here is under way, which the door then asks for.
function opening(ways, under) {
  const form = document.getElementById("order"), said = document.getElementById("order-said");
  const open = async (query) => {
    const to = ways.dataset.at + query;
    said.textContent = "Asking for the terms.";
    try {
      const answer = await fetch(to, { cache: "no-store", credentials: "omit", headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30000) });
      const opened = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("ways");
      if (!opened) throw new Error("no door");
      ways.replaceWith(document.adoptNode(opened));
      begin();
      opened.tabIndex = -1;
      opened.focus();
    } catch {
      location.assign(to); // which says itself what is wrong
    }
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    open(given.length ? "?" + new URLSearchParams(given) : "");
  };
  if (under) open("");
}

// begin finds out which page this is: of a door, of a good, or of what was bought.
function begin() {
  const door = document.getElementById("door"), ways = document.querySelector("#ways[data-at]"), at = (door ?? ways)?.dataset.at;
  const answer = kept("bought " + (at ?? location.pathname));
  if (door) return buying(door, answer);
  if (ways) return answer ? handOver(answer, "", at) : opening(ways, kept("paying " + at));
  const main = document.querySelector("main");
  if (!answer || !main.querySelector(".paper")) return;
  main.querySelector("h1").replaceWith(make("h2", "What was signed for it"));
  main.prepend(delivery(answer, location.pathname));
}
begin();
