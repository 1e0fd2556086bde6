// Answers of the store in which something is signed: to a purchase, or of /api/verify/{id}.
import { digest, fromHex, signed, text as decoded, toHex, utf8 } from "./bytes.js";
import { canonical, exact, jcs, parse, plain } from "./json.js";
import { openDelivery } from "./jws.js";
import { rootAbove } from "./merkle.js";
import { checkProof } from "./note.js";
import { classes, fits } from "./papers.js";
import { checkObservation } from "./record.js";
import { need } from "./refused.js";

const most = 4 << 20, mostReport = 256 << 10;

const sha256 = (text) => "sha256:" + toHex(digest(utf8(text)));

// checkAnswer checks everything that is signed in an answer, a text or its bytes, by the keys of
// the store: {artifacts, issued?, delivery?}. Each artifact is {class, id, date, public_key,
// retired_on?, sha256, fields}, the certificate first; issued says where the log counts the
// certificate, if the answer shows that, and delivery is the delivery receipt that binds the answer,
// if it has one. An answer that holds nothing signed is refused.
export function checkAnswer(answer, keys) {
  const raw = decoded(answer);
  need(utf8(raw).length <= most, `the file of an artifact has at most ${most} bytes`);
  const v = parse(raw);
  need(v instanceof Map, "reading an artifact: not an object");
  const proofs = [v, v.get("artifact"), v.get("monthly_note")].map((p) =>
    p instanceof Map && p.get("signed_payload") ? p : undefined);
  const [top, beside] = proofs;
  const artifacts = proofs.filter(Boolean).map((p) => checkArtifact(p, keys));
  const receipt = v.get("delivery_receipt");
  const delivery = receipt === undefined ? {} : { delivery: openDelivery(receipt, keys, raw) };
  need(artifacts.length > 0 || delivery.delivery, "the file holds no signed_payload: save the answer of /api/verify/{id}");
  if (v.get("certificate") instanceof Map)
    need(top && jcs(v.get("certificate")) === jcs(parse(top.get("signed_payload"))),
      "the certificate that is shown is not the one that was signed");
  if (top && v.get("artifact")) {
    need(beside, "what stands beside the certificate is not signed");
    refers(artifacts[0].fields, beside.get("signed_payload"), artifacts[1].fields);
  }
  const issued = v.get("issued");
  return top && issued instanceof Map
    ? { artifacts, ...delivery, issued: checkIssued(issued, top.get("signed_payload"), keys) }
    : { artifacts, ...delivery };
}

// refers demands that a certificate names what was signed beside it.
function refers(certificate, payload, fields) {
  need(!certificate.class && certificate.cross_ref === sha256(payload),
    "the certificate does not name the artifact beside it in cross_ref");
  if (fields.evidence)
    need(certificate.attests === (fields.published_sha256 ?? fields.evidence_sha256),
      "the certificate attests other evidence than that of the report beside it");
}

// checkArtifact checks one proof: both signatures, and that what was signed is of its class.
function checkArtifact(p, keys) {
  const payload = p.get("signed_payload"), key = p.get("public_key");
  need(p.get("algorithm") === "ed25519", `verifying signature: algorithm is ${JSON.stringify(p.get("algorithm"))}`);
  need(typeof payload === "string" && /^[0-9a-f]{64}$/.test(key), "verifying signature: no payload, or no key");
  const v = exact(payload);
  need(v instanceof Map, "parsing artifact: not an object");
  const fit = (name, message) =>
    /^[0-9a-f]{128}$/.test(p.get(name)) && signed(key, fromHex(p.get(name)), utf8(message));
  need(fit("signature", payload), "verifying signature: it does not fit the signed payload");
  need(fit("signature_jcs", jcs(v)), "verifying signature: signature_jcs does not fit the signed payload");
  need(Array.isArray(p.get("signature_covers")) &&
    canonical(p.get("signature_covers")) === JSON.stringify([...v.keys()]),
  "verifying signature: signature_covers does not list the signed fields");
  const found = parseArtifact(v, payload);
  const { retired_on } = keys.identity("public_key", key, found.date);
  return { ...found, public_key: key, ...retired_on && { retired_on }, sha256: toHex(digest(utf8(payload))) };
}

// parseArtifact reads what was signed.
function parseArtifact(v, payload) {
  const known = v.has("class") ? v.get("class") : "certificate";
  const id = known === "certificate" && !v.has("class") ? "cert_id" : classes[known];
  need(id, `parsing artifact: a class of artifact that this program does not know: ${JSON.stringify(known)}`);
  need(!/_(audit|check)$/.test(known) || utf8(payload).length <= mostReport, "a report is larger than 256 KiB");
  need(fits(known, v), `parsing ${known}: its members are not those of its class, or not in their order`);
  const fields = plain(v);
  beyond[known]?.(fields, v);
  return { class: known, id: fields[id], date: fields.date, fields };
}

const auditSays = (f, v) => {
  need(!f.slot || f.slot.number <= f.slot.of, "a slot has a number, how many there are, and the time it was due");
  need(!f.evidence || f.evidence_sha256 === sha256(canonical(v.get("evidence"))),
    "evidence_sha256 is not the digest of the evidence");
};

// beyond is what a class demands that its form does not say.
const beyond = {
  __proto__: null,
  patronage_pass: (f) => need(f.starts < f.ends, "starts and ends must be times in their order"),
  service_audit: auditSays,
  onpage_audit: auditSays,
  phantom_check: (f) => need(f.status !== "observed" ||
    f.looked_at >= f.due_at && (f.answer.http_status || f.answer.failed),
  "what was observed has a time, not before it was due, and an answer"),
};

// checkIssued shows that a payload is a leaf of a tree of certificates, and that its root is in the
// log.
function checkIssued(issued, payload, keys) {
  const { index, hashes, observation } = plain(issued);
  need(typeof observation?.entry === "string" && typeof observation.proof === "string" &&
    (hashes === null || Array.isArray(hashes) && hashes.every((h) => /^[0-9a-f]{64}$/.test(h))),
  "issued shows no leaf of the log");
  const proved = checkProof(observation.proof, keys, observation.entry);
  const o = checkObservation(observation.entry, keys), tree = o.issued?.certificates;
  need(tree, "the leaf that is to count certificates has no tree of them");
  const root = rootAbove(digest(utf8(payload)), index, tree.size, (hashes ?? []).map(fromHex));
  need(toHex(root) === tree.root,
    `the certificate is not at leaf ${index} of the certificates through ${tree.through}`);
  return { observation: o.number, at: o.at, through: tree.through, index, log_size: proved.size };
}
