// Signed offers and receipts: compact JWS with Ed25519 (x402 extension offer-receipt, RFC 7515, RFC
// 8037). One spelling of each is taken.
import { fromBase64URL, signed, text as decoded, utf8 } from "./bytes.js";
import { readForms } from "./forms.js";
import { parse, plain } from "./json.js";
import { need } from "./refused.js";

const most = 9000;

// The payloads by their members. They may stand in any order, unlike what the store signs
// otherwise.
const fits = readForms(`
offer amount:s asset:s network:s payTo:s resourceUrl:s scheme:s validUntil?:place version:n1
receipt issuedAt:n1 network:s payer:s resourceUrl:s transaction?:t version:n1
`);

// openOffer checks a signed offer by the identity keys of a store and gives its payload with the
// kid. An offer whose validUntil has passed is as good evidence of what was offered as before.
export const openOffer = (compact, keys, host) => open("offer", compact, keys, host);

// openReceipt is openOffer of a receipt.
export const openReceipt = (compact, keys, host) => open("receipt", compact, keys, host);

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
  need(fits(kind, sorted) && v.get("version") === 1,
    `parsing ${kind}: it has other members than a ${kind} of version 1`);
  return { ...plain(v), kid };
}
