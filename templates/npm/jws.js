// Signed offers and receipts: compact JWS with Ed25519 (x402 extension offer-receipt,
// /spec/delivery-receipt/v1, RFC 7515, RFC 8037). One spelling of each is taken.
import { digest, fromBase64URL, signed, text as decoded, toHex, utf8 } from "./bytes.js";
import { readForms } from "./forms.js";
import { jcs, parse, plain } from "./json.js";
import { need } from "./refused.js";

const most = 9000;

// The payloads by their members. They may stand in any order, unlike what the store signs
// otherwise.
const fits = readForms(`
offer amount:s asset:s network:s payTo:s resourceUrl:s scheme:s validUntil?:place version:n1
receipt issuedAt:n1 network:s payer:s resourceUrl:s transaction?:t version:n1
delivery amount=[0-9]+ asset:s canonical?:in_jcs contentType:s decimals:n issuedAt:n1
  keyLog?:leaf network:s payer:s resourceUrl:s responseHash:sum responseHashAlg=sha256 responseHashEncoding=raw
  settledAt:n1 transaction:t type=store-delivery/v1
in_jcs responseHash:sum responseHashAlg=sha256 responseHashEncoding=jcs
leaf entrySha256=[0-9a-f]{64} id:s leaf:n origin:s
sum = 0x[0-9a-f]{64}
`);

// openOffer checks a signed offer by the identity keys of a store and gives its payload with the
// kid. An offer whose validUntil has passed is as good evidence of what was offered as before.
export const openOffer = (compact, keys, host) => open("offer", compact, keys, host);

// openReceipt is openOffer of a receipt.
export const openReceipt = (compact, keys, host) => open("receipt", compact, keys, host);

// openDelivery checks a delivery receipt by the identity keys of a store, and that it binds a body: a
// text, or all of a JSON answer. It gives its payload with the kid, and in binds by which digest.
export function openDelivery(compact, keys, body, host) {
  const d = open("delivery", compact, keys, host);
  need(d.decimals <= 36 && Math.max(d.issuedAt, d.settledAt) <= 253402300799,
    "parsing delivery: more than 36 decimals, or a time after the year 9999");
  const kept = keys.identity("kid", d.kid, new Date(d.issuedAt * 1000).toISOString());
  need(kept && URL.canParse(d.resourceUrl) && didOf(compact) === didOfHost(new URL(d.resourceUrl).host),
    "the delivery receipt is of another host than the one that sold");
  const binds = d.contentType === "application/json" ? bindsAnswer(d, body) : is(d, body) && "raw";
  need(binds, "this is not what the delivery receipt was signed for");
  return { ...d, binds };
}

const sha256 = (text) => `0x${toHex(digest(utf8(text)))}`;
const is = (d, text) => sha256(decoded(text)) === d.responseHash;
const didOfHost = (host) => `did:web:${host.replaceAll(":", "%3A")}`;
const didOf = (compact) => parse(fromBase64URL(compact.split(".")[0])).get("kid").split("#")[0];

// What may stand behind the delivery receipt of an answer: it binds none of that.
const unbound = ["recovery", "idempotent_replay", "first_served_at", "charged_now", "to_buy_another"];

// bindsAnswer says by which of its digests a receipt binds an answer; undefined where it does not.
function bindsAnswer(d, body) {
  const whole = decoded(body), members = parse(whole), at = whole.lastIndexOf(',"delivery_receipt":"');
  if (!(members instanceof Map)) return undefined;
  for (const name of ["delivery_receipt", ...unbound]) members.delete(name);
  if (at >= 0 && is(d, `${whole.slice(0, at)}}`)) {
    const before = parse(`${whole.slice(0, at)}}`);
    if (before.size === members.size && [...before.keys()].every((name) => members.has(name))) return "raw";
  }
  return d.canonical && sha256(jcs(members)) === d.canonical.responseHash ? "jcs" : undefined;
}

// open demands that the kid is a did:web of the host, or of any host where none is given, whose
// fragment is the thumbprint of a published identity key. Keys in the header are never used.
function open(kind, compact, keys, host) {
  need(typeof compact === "string" && compact.length <= most, `opening JWS: longer than ${most} characters`);
  const parts = compact.split(".");
  need(parts.length === 3, `opening JWS: ${parts.length} parts instead of 3`);
  const [head, payload, signature] = parts.map(fromBase64URL);
  const header = parse(head);
  need(header instanceof Map && !header.has("crit") && !header.has("b64"),
    "opening JWS: the header asks for what is not understood");
  need(["EdDSA", "Ed25519"].includes(header.get("alg")), `opening JWS: algorithm ${JSON.stringify(header.get("alg"))}`);
  need(typeof header.get("kid") === "string", "opening JWS: the header has no kid");
  const [, did, kid] = /^did:web:([^#]+)#([-_A-Za-z0-9]{43})$/.exec(header.get("kid")) ?? [];
  need(kid && (host === undefined || did === host.toLowerCase().replaceAll(":", "%3A")),
    `opening JWS: no published key matches: ${header.get("kid")}`);
  const key = keys.identity("kid", kid);
  need(signed(key.public_key, signature, utf8(`${parts[0]}.${parts[1]}`)), "JWS signature does not verify");
  const v = parse(decoded(payload));
  const sorted = v instanceof Map && new Map([...v].sort(([a], [b]) => a < b ? -1 : 1));
  need(fits(kind, sorted) && (kind === "delivery" || v.get("version") === 1),
    `parsing ${kind}: it has other members than a ${kind} of version 1`);
  return { ...plain(v), kid };
}
