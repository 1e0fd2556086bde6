// Checks what the store signed in the reader's own browser: an id is asked for at the free counter, a pasted paper is
// sent nowhere. The keys are read when the page is opened, so that it goes on checking without a network. What is shown
// is read from the signed bytes alone, and what was found stands before the verdict.
(() => {
  const form = document.getElementById("paper");
  if (!form || !window.crypto || !crypto.subtle) return;
  const said = document.getElementById("said"), found = document.getElementById("found"), field = form.elements.id;
  const most = 4 << 20, deepest = 100, bytes = new TextEncoder(), specimen = form.dataset.specimen;
  field.removeAttribute("maxlength");

  const make = (tag, text, attributes) => {
    const e = document.createElement(tag);
    e.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
    return e;
  };
  const must = (holds, why) => { if (!holds) throw new Error(why); };
  const hex = (text) => Uint8Array.from(text.match(/../g), (two) => parseInt(two, 16));
  const digest = async (text) => Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.encode(text))), (b) => b.toString(16).padStart(2, "0")).join("");
  // What moves the cursor, ends the line or turns the direction of writing is spelled out.
  const visible = (text) => String(text).replace(/[^\P{C}]|[^\P{Z} ]/gu, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");

  // parse reads JSON, in which no name stands twice; an object is a Map, which keeps the order of all names as no other
  // object does.
  const parse = (text) => {
    let at = 0;
    const blank = /[ \t\n\r]*/y, word = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
    const next = () => {
      blank.lastIndex = at;
      blank.test(text);
      at = blank.lastIndex;
      return text[at];
    };
    const take = (c) => { must(next() === c, c + " is missing at character " + (at + 1)); at++; };
    const string = () => {
      must(next() === '"', "a text is missing at character " + (at + 1));
      for (let end = at + 1; ; end++) {
        end = text.indexOf('"', end);
        must(end >= 0, "a text does not end");
        let slash = end;
        while (text[slash - 1] === "\\") slash--;
        if ((end - slash) % 2) continue;
        const s = JSON.parse(text.slice(at, end + 1));
        must(s.isWellFormed(), "half a character stands alone");
        at = end + 1;
        return s;
      }
    };
    const list = (close, each) => {
      at++;
      for (let first = true; next() !== close; first = false) {
        if (!first) take(",");
        each();
      }
      at++;
    };
    const value = (depth) => {
      must(depth < deepest, "it is nested too deep");
      const c = next();
      if (c === '"') return string();
      if (c === "[") {
        const all = [];
        list("]", () => all.push(value(depth + 1)));
        return all;
      }
      if (c === "{") {
        const all = new Map();
        list("}", () => {
          const name = string();
          must(!all.has(name), "a name stands twice");
          take(":");
          all.set(name, value(depth + 1));
        });
        return all;
      }
      word.lastIndex = at;
      const w = word.exec(text);
      must(w, "nothing that can be read at character " + (at + 1));
      at = word.lastIndex;
      return JSON.parse(w[0]);
    };
    const v = value(0);
    must(next() === undefined, "something follows its end");
    return v;
  };
  // compact spells a value as it is signed; sorted, in the form of RFC 8785.
  const compact = (v, sorted) => {
    if (Array.isArray(v)) return "[" + v.map((x) => compact(x, sorted)).join(",") + "]";
    if (v instanceof Map) {
      const names = sorted ? [...v.keys()].sort() : [...v.keys()];
      return "{" + names.map((n) => JSON.stringify(n) + ":" + compact(v.get(n), sorted)).join(",") + "}";
    }
    must(typeof v !== "number" || Number.isSafeInteger(v), "a number is no whole one");
    return JSON.stringify(v);
  };

  // The keys that papers are signed with, by their hex.
  const keys = (async () => {
    const answer = await fetch("/.well-known/store-signing-key");
    must(answer.ok, "the store's keys could not be read: status " + answer.status);
    const ring = await answer.json(), all = new Map([[ring.public_key, { since: ring.since, until: "", specimen: ring.specimen === true }]]);
    for (const k of ring.retired) if (k.purpose === "identity") all.set(k.public_key, { since: k.since, until: k.retired_on });
    return all;
  })();
  keys.catch(() => {}); // who asks first is told

  const fits = async (key, signature, message) => {
    if (!/^[0-9a-f]{128}$/.test(signature)) return false;
    return crypto.subtle.verify("Ed25519", await crypto.subtle.importKey("raw", hex(key), "Ed25519", false, ["verify"]), hex(signature), bytes.encode(message));
  };

  // paper checks one signed thing; each line of holds says what was asked, and whether it is so.
  const paper = async (p, name, holds) => {
    const ask = (ok, what) => { holds.push([ok, what]); return ok; };
    const get = (member) => (typeof p.get(member) === "string" ? p.get(member) : "");
    const payload = get("signed_payload"), key = get("public_key"), by = (await keys).get(key);
    let v, spelt = false;
    try {
      v = parse(payload);
      spelt = v instanceof Map && compact(v) === payload;
    } catch { /* it is spelt in another way */ }
    if (!ask(spelt, name + " is spelt as such things are signed")) return undefined;
    const id = v.has("class") ? [...v.values()][0] : v.get("cert_id"), date = v.get("date");
    const what = { v, id, payload, kind: v.has("class") ? v.get("class") : "certificate", specimen: key === specimen || Boolean(by && by.specimen) };
    ask(typeof what.kind === "string" && typeof id === "string" && typeof date === "string", "it names what it is, its id and its date");
    if (!ask(Boolean(by) && get("algorithm") === "ed25519", "the key " + visible(key.slice(0, 16)) + "… is one that this store publishes" + (by ? "" : what.specimen ? "; it is the specimen key" : ""))) return what;
    ask(await fits(key, get("signature"), payload), "its ed25519 signature fits the " + bytes.encode(payload).length + " signed bytes");
    ask(await fits(key, get("signature_jcs"), compact(v, true)), "its second signature fits their RFC 8785 form");
    ask(compact(p.get("signature_covers") ?? null) === compact([...v.keys()]), "the list of what is covered names its members");
    const day = String(date).slice(0, 10);
    ask(/^\d{4}-\d\d-\d\d$/.test(day) && by.since <= day && (!by.until || day <= by.until), "the key was in force on " + visible(day) + ": since " + by.since + (by.until ? ", until it was retired on " + by.until : ""));
    return what;
  };

  // check finds what is signed in an answer of the store, and how it belongs together.
  const check = async (answer, asked) => {
    const holds = [], same = (a, b) => compact(a ?? null, true) === compact(b ?? null, true);
    const part = (name) => (answer.get(name) instanceof Map && answer.get(name).has("signed_payload") ? answer.get(name) : undefined);
    const top = answer.has("signed_payload") ? await paper(answer, "the paper", holds) : undefined;
    const beside = part("artifact") && await paper(part("artifact"), "what stands beside the certificate", holds);
    const note = part("monthly_note") && await paper(part("monthly_note"), "the keeper's note", holds);
    must(holds.length, "nothing in it is signed: paste the whole answer, with signed_payload and signature");
    if (asked) holds.push([top?.id === asked, "it is the one that was asked for"]);
    if (top && answer.get("certificate") instanceof Map) holds.push([same(answer.get("certificate"), top.v), "the certificate on display is the one that was signed"]);
    if (top && beside) {
      holds.push([top.v.get("cross_ref") === "sha256:" + await digest(beside.payload), "the certificate names what stands beside it by its digest"]);
      const evidence = beside.v.get("published_sha256") ?? beside.v.get("evidence_sha256");
      if (evidence) holds.push([top.v.get("attests") === evidence, "the certificate attests its evidence"]);
    }
    return { holds, papers: [top, beside, note].filter(Boolean), reversed: asked && answer.get("status") === "reversed" ? answer.get("reversed_on") || "a day it does not name" : "" };
  };

  const show = ({ holds, papers, reversed }, where) => {
    const good = holds.every(([ok]) => ok), list = make("ol", ""), verdict = make("p", "", { class: "stamps" });
    for (const [ok, what] of holds) {
      const line = make("li", "");
      line.append(make("strong", ok ? "Holds" : "Fails", { class: ok ? "good" : "bad" }), ": " + what + ".");
      list.append(line);
    }
    const stamp = (word, mark) => verdict.append(make("span", word, { class: "stamp " + mark }), " ");
    stamp(good ? "verified" : "not verified", good ? "good" : "bad");
    const says = [good ? "The store's key signed what stands below, and nothing else that was handed in is covered by that." : "Do not rely on it: what fails is named above."];
    if (papers.some((p) => p.specimen)) {
      stamp("specimen", "bad");
      says.push("It is signed by the specimen key, whose private half is public. Anybody can make a paper like this, so it proves nothing.");
    }
    if (reversed) {
      stamp("reversed", "bad");
      says.push("The store says that a chain took its payment back on " + visible(reversed) + ": the sale no longer stands.");
    }
    says.push(where);
    found.replaceChildren(make("h2", "What was checked", { id: "outcome", tabindex: "-1" }), list, verdict, ...says.map((s) => make("p", s)));
    for (const p of good ? papers : []) {
      const facts = make("dl", "", { class: "facts" });
      for (const [name, value] of p.v) {
        facts.append(make("dt", visible(name.replaceAll("_", " "))), make("dd", visible(typeof value === "string" ? value : compact(value))));
      }
      found.append(make("h3", "What was signed: " + visible(p.kind.replaceAll("_", " "))), facts);
    }
    document.getElementById("outcome").focus();
  };
  const none = (id) => {
    found.replaceChildren(make("h2", "What was checked", { id: "outcome", tabindex: "-1" }), make("p", "Nothing was issued under the id " + visible(id) + ". Nothing was charged for asking."));
    const p = make("p", "", { class: "stamps" });
    p.append(make("span", "unknown id", { class: "stamp unknown" }));
    found.append(p);
    document.getElementById("outcome").focus();
  };

  const fetched = async (id) => {
    if (/^(round|row|observation)_/.test(id)) { // the record's, which are checked with their place in the log
      location.assign("/api/verify/" + encodeURIComponent(id));
      return;
    }
    said.textContent = "Asking for " + visible(id) + ".";
    const answer = await fetch("/api/verify/" + encodeURIComponent(id), { headers: { Accept: "application/json" }, cache: "no-store", credentials: "omit" });
    if (answer.status === 404) return none(id);
    must(answer.ok, "the store answers with status " + answer.status);
    show(await check(parse(await answer.text()), id), "It was fetched from the store just now, and checked in this browser.");
  };
  const submitted = async () => {
    const text = field.value.trim(), id = text.replace(/^https?:\/\/[^\s/]+\/api\/verify\//, "");
    found.replaceChildren();
    said.textContent = "";
    must(text.length <= most, "it is larger than " + (most >> 20) + " MiB, which no answer of the store is");
    if (/^[\w.-]{1,60}$/.test(id)) return fetched(id);
    must(/^\s*\{/.test(text), "it is neither an id, such as cert_ and twenty characters, nor the JSON that the store gave");
    const answer = parse(text);
    must(!answer.has("inclusion") || answer.has("signature_jcs"), "it is of the record, which is checked as a whole or by a bundle: see /verify/run");
    show(await check(answer), "It was checked in this browser and sent nowhere. Whether a chain took its payment back since, only the store and the chain can tell: hand in the id.");
  };
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      await submitted();
      said.textContent = "";
    } catch (err) {
      said.textContent = err.name === "NotSupportedError" ? "This browser does not know ed25519, so nothing was checked. The store's program does: see below."
        : "Nothing was checked: " + err.message + ".";
    } finally {
      button.disabled = false;
    }
  });
})();
