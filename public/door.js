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

// shown is a value of a delivery: a drawing as a picture, in which nothing runs, and everything else as text.
function shown(value) {
  if (typeof value === "string" && value.startsWith("<svg ")) {
    const picture = make("img", "", { alt: "What was drawn", src: "data:image/svg+xml," + encodeURIComponent(value) });
    picture.style.width = "min(15rem, 100%)";
    return picture;
  }
  if (value !== null && typeof value === "object") return make("pre", JSON.stringify(value, null, 2), { tabindex: "0" });
  const text = make("p", String(value));
  Object.assign(text.style, { whiteSpace: "pre-wrap", overflowWrap: "anywhere", margin: 0 });
  return text;
}

// delivery is a section with what an answer delivered, long texts first, and the way back to it.
function delivery(answer) {
  const section = make("section", "", { class: "bought", "aria-labelledby": "bought" });
  const list = make("dl", "", { class: "facts" }), texts = [];
  for (const [name, value] of Object.entries(answer.deliverable ?? {})) {
    if (name === "kind" || value === "" || value === null || value === answer.message) continue;
    const called = name.replaceAll("_", " "), what = shown(value);
    if (what.textContent.length > 200) {
      what.style.marginBottom = "1rem";
      texts.push(make("h3", called), what);
      continue;
    }
    const dd = make("dd", "", /^\S{24,}$/.test(what.textContent) ? { class: "mono" } : {});
    dd.append(what);
    list.append(make("dt", called), dd);
  }
  const back = make("dl", "", { class: "facts" });
  for (const [name, value] of Object.entries(answer.recovery ?? {})) back.append(make("dt", name.replaceAll("_", " ")), make("dd", String(value), { class: "mono" }));
  const more = make("details"), all = make("p");
  const file = new Blob([JSON.stringify(answer, null, 2)], { type: "application/json" });
  all.append(make("a", "Keep the whole answer", { download: "purchase.json", href: URL.createObjectURL(file) }),
    ", with its signatures. This tab forgets it when it is closed; your wallet finds it again at /api/claims.");
  more.append(make("summary", "The way back to this purchase"), back);
  section.append(make("h2", "What you bought", { id: "bought", tabindex: "-1" }), make("p", answer.message),
    make("p", `Paid ${answer.paid_usdc} USDC${Number(answer.tip_usdc) > 0 ? `, of which ${answer.tip_usdc} are a tip` : ""}.`), ...texts, list, all, more);
  return section;
}

// buying makes the page of a door one that sells; bought is what was bought there already, if it is shown nowhere else.
function buying(door, bought) {
  const get = (id) => document.getElementById(id);
  const form = get("order"), terms = get("door-terms"), which = get("door-wallet"), said = get("door-said"), more = get("door-more");
  const pay = get("door-pay"), again = get("door-again"), at = door.dataset.at, key = "paying " + at, found = [];
  let pending = kept(key), busy = false;

  const show = () => {
    pay.hidden = Boolean(pending);
    again.hidden = !pending;
    pay.disabled = busy || !found.length;
    again.disabled = busy;
    get("door-none").hidden = found.length > 0;
    terms.parentElement.hidden = Boolean(pending);
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
  // handOver puts what was sold in the place of the door, which is done with.
  const handOver = (data, page) => {
    const section = delivery(data), stamp = document.querySelector("main .stamp"), another = make("button", "Buy it once more", { type: "button" });
    stamp.textContent = "paid";
    stamp.className = "stamp good";
    while (door.nextSibling) door.nextSibling.remove();
    form?.remove();
    door.replaceWith(section);
    another.onclick = () => { forget("bought " + at); location.reload(); };
    section.append(page ? make("a", "What was signed", { href: page }) : another);
    section.querySelector("h2").focus();
  };
  const arrived = (data) => {
    const id = data.cert_id ?? data.order_id ?? data.artifact?.id;
    const page = /^[a-z]+_[A-Za-z0-9]{1,50}$/.test(id) ? "/api/verify/" + id : "";
    const moves = keep("bought " + (page || at), data) && page;
    pending = undefined;
    forget(key);
    if (moves) location.assign(page);
    else handOver(data, page);
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
  if (bought) return handOver(bought, "");
  if (pending) {
    say("A payment that was signed here has not been answered yet. Ask again: that fetches the answer and never charges twice. Nothing else is signed before.");
  }
}

const door = document.getElementById("door"), answer = kept("bought " + (door?.dataset.at ?? location.pathname));
if (door) buying(door, answer);
else if (answer) document.querySelector("main .paper")?.before(delivery(answer));
