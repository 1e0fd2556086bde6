// The keys of a store, as it publishes them at /.well-known/store-signing-key or in keys/ring.json
// of its record. Whose they are nobody can tell from the document itself: the caller reads it from
// where it has reason to believe it, once, keeps it, and takes a newer one only with continues.
import { digest, fromHex, signed, text, thumbprint, toHex, utf8 } from "./bytes.js";
import { fits } from "./formtable.js";
import { parse, plain } from "./json.js";
import { need, under } from "./refused.js";

const purposes = ["identity", "log", "git", "webhook"];
const emptyRoot = toHex(digest());
const most = 4 << 20;

// signedAs gives the bytes of canonical JSON, a text, that the signature at its end is over.
export function signedAs(canonicalText, signature) {
  const end = `,"signature":"${signature}"}`;
  return utf8(canonicalText.slice(0, -end.length) + "}");
}

// A Key is {purpose, public_key, kid, since, retired_on?}.
export class Keys {
  // Reads either document, a text or its bytes. What is inconsistent is refused.
  constructor(document) {
    const raw = text(document);
    need(raw.length <= most, `parsing keys: larger than ${most} bytes`, "file.size");
    const v = under("ring.form", () => parse(raw));
    need(v instanceof Map, "parsing keys: not an object", "ring.form");
    const isRing = v.get("format") === "store-key-ring/v1";
    const ring = isRing ? v : ringOf(v);
    need(fits("ring", ring) && (!isRing || JSON.stringify(plain(v), null, 2) + "\n" === raw),
      "parsing key ring: it is not of its form, or is spelt in another way", "ring.form");
    Object.assign(this, { walkers: [] }, plain(ring));
    this.check();
  }

  check() {
    const { current, retired, walkers, handovers } = this, all = [...current, ...retired, ...walkers];
    need(walkers.every((w) => w.since <= (w.retired_on ?? "~")),
      "checking key ring: a walker's key ends before it begins", "ring.form");
    for (const k of all)
      need(k.kid === thumbprint(k.public_key),
        `checking key ring: kid ${JSON.stringify(k.kid)} is not the thumbprint of its key`, "ring.key");
    need(new Set(all.map((k) => k.kid)).size === all.length, "checking key ring: a key stands twice", "ring.key");
    const last = {};
    for (const h of handovers) {
      checkHandover(h);
      const old = all.find((k) => k.kid === h.from_kid), next = all.find((k) => k.kid === h.to_kid);
      const before = last[h.purpose];
      need((before?.to_kid ?? h.from_kid) === h.from_kid && old?.retired_on === h.effective &&
        next?.since === h.effective && old.purpose === h.purpose && next.purpose === h.purpose,
      `checking key ring: the handover of ${h.from_kid} does not fit its keys`, "ring.handover");
      need(!before?.last_head || h.last_head.size > before.last_head.size || same(h.last_head, before.last_head),
        "checking key ring: a log that does not go on from the one before", "ring.handover");
      last[h.purpose] = h;
    }
    need(handovers.length === retired.length && retired.every((k) =>
      k.since <= k.retired_on && handovers.filter((h) => h.from_kid === k.kid).length === 1),
    "checking key ring: not one handover for each retired key", "ring.handover");
    need(current[0]?.purpose === "identity" && current.every((k, i) => i === 0 ||
      purposes.indexOf(k.purpose) > purposes.indexOf(current[i - 1].purpose)),
    "checking key ring: not one key for each purpose in its order", "ring.key");
    need(Object.values(last).every((h) => current.some((k) => k.purpose === h.purpose && k.kid === h.to_kid)),
      "checking key ring: handovers do not lead to the key in force", "ring.handover");
  }

  // continues reports whether these are all keys of older with its handovers, and go on from it by
  // signed handovers alone.
  continues(older) {
    const dated = (keys) => keys.map((k) => [k.purpose, k.public_key, k.since].join());
    const now = dated([...this.current, ...this.retired]);
    return ["handovers", "retired"].every((m) => same(this[m].slice(0, older[m].length), older[m])) &&
      dated(older.current).every((k) => now.includes(k)) &&
      older.walkers.every((w) => this.walkers.some((x) => x.kid === w.kid && x.since === w.since &&
        (!w.retired_on || w.retired_on === x.retired_on)));
  }

  // identity finds an identity key in force at a date or time, by one of its members, kid or
  // public_key. On the day of a handover both keys are.
  identity(member, value, at, rule) {
    const k = [...this.current, ...this.retired].find((k) => k.purpose === "identity" && k[member] === value);
    need(k, `no published key matches: ${value}`, rule);
    const day = at?.slice(0, 10);
    need(!at || day >= k.since && day <= (k.retired_on ?? "~"),
      `the key was not in force: of ${day}, and key ${k.kid} is used from ${k.since}` +
        (k.retired_on ? ` to ${k.retired_on}` : ""), rule);
    return k;
  }

  // log has the keys that signed the log, the oldest first, each with the heads between which it
  // did.
  get log() {
    let from = { size: 0, root: emptyRoot };
    const keys = this.handovers.filter((h) => h.purpose === "log").map((h) => {
      const k = { public_key: h.from_public_key, kid: h.from_kid, from, to: h.last_head };
      from = h.last_head;
      return k;
    });
    const now = this.current.find((k) => k.purpose === "log");
    return now ? [...keys, { public_key: now.public_key, kid: now.kid, from }] : keys;
  }
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// checkHandover checks by itself the statement by which a key names its successor.
export function checkHandover(h, rule) {
  need(h.from_kid === thumbprint(h.from_public_key) && h.to_kid === thumbprint(h.to_public_key),
    "verifying handover: a kid is not the thumbprint of its key", rule ?? "ring.key");
  need(h.from_kid !== h.to_kid, "verifying handover: a key cannot follow itself", rule ?? "ring.handover");
  need((h.purpose === "log") === (h.last_head !== undefined),
    "verifying handover: that of the log names its last head, and no other does", rule ?? "ring.handover");
  need(!h.last_head || h.last_head.size > 0 || h.last_head.root === emptyRoot,
    "verifying handover: a last head of no leaves with another root", rule ?? "ring.handover");
  need(signed(h.from_public_key, fromHex(h.signature), signedAs(JSON.stringify(h), h.signature)),
    "verifying handover: the outgoing key did not sign it", rule ?? "ring.signature");
}

// ringOf makes a ring of the document of /.well-known/store-signing-key.
function ringOf(v) {
  const members = ["format", "algorithm", "public_key", "kid", "did", "since", "specimen", "retired", "other_keys",
    "handovers", "walkers"];
  need([...v.keys()].every((name) => members.includes(name)) && Array.isArray(v.get("other_keys") ?? []) &&
    v.get("format") === "store-attestation/v1" && v.get("algorithm") === "ed25519",
  "parsing signing key document: it is not of its form", "ring.form");
  const identity = new Map([["purpose", "identity"], ...["public_key", "kid", "since"].map((m) => [m, v.get(m)])]);
  const ring = new Map([["format", "store-key-ring/v1"], ["current", [identity, ...v.get("other_keys") ?? []]],
    ["retired", v.get("retired")], ["handovers", v.get("handovers")]]);
  return v.has("walkers") ? ring.set("walkers", v.get("walkers")) : ring;
}
