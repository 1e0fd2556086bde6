// Checkpoints of the log (c2sp.org/tlog-checkpoint, c2sp.org/signed-note) and proofs that a leaf
// stands in it (c2sp.org/tlog-proof). They are read line by line: each signature has one spelling,
// and no key signs twice.
import { compare, digest, fromBase64, fromHex, signed, text as decoded, toHex, utf8 } from "./bytes.js";
import { rootAbove } from "./merkle.js";
import { need, under } from "./refused.js";

const most = 256 << 10, mostSignatures = 64, format = "c2sp.org/tlog-proof@v1";

// number reads a number of the log: digits without leading zeros, at most 2^53-1.
function number(digits, what) {
  need(/^(0|[1-9]\d{0,15})$/.test(digits) && Number.isSafeInteger(Number(digits)), `${what} ${JSON.stringify(digits)}`);
  return Number(digits);
}

// readSignatures reads the signature lines of a note: {name, id, signature}.
export function readSignatures(lines) {
  need(lines.endsWith("\n"), "opening note: no signature lines, or the last one does not end");
  const all = lines.slice(0, -1).split("\n");
  need(all.length <= mostSignatures, `opening note: more than ${mostSignatures} signatures`);
  return all.map((line, i) => {
    const [, name, coded] = /^\u2014 ([^ +\n]+) ([^ \n]+)$/.exec(line) ?? [];
    need(name, `opening note: malformed signature line ${i + 1}`);
    const raw = fromBase64(coded);
    need(raw.length > 4, `opening note: malformed signature line ${i + 1}`);
    return { name, id: raw.slice(0, 4), signature: raw.slice(4) };
  });
}

// openCheckpoint checks a checkpoint, a text or its bytes, by the log keys of the store: {origin,
// size, root, cosigned}, root as 64 digits of hex, cosigned being how many lines of others it has,
// which are looked at for their form alone. A key signs only between the heads that it took over
// and handed over.
export function openCheckpoint(note, keys) {
  const { signatures, lines, size, root } = under("checkpoint.form", () => {
    const all = decoded(note);
    need(all.length <= most, `opening note: larger than ${most} bytes`, "file.size");
    need(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(all), "opening note: control character");
    const end = all.lastIndexOf("\n\n");
    need(end >= 0, "opening note: no signatures");
    const lines = all.slice(0, end).split("\n");
    need(lines.length === 3 && lines[0], "reading checkpoint: not three lines");
    const root = fromBase64(lines[2]);
    need(root.length === 32, `reading checkpoint: root ${JSON.stringify(lines[2])}`);
    return { lines, signatures: readSignatures(all.slice(end + 2)), root: toHex(root),
      size: number(lines[1], "reading checkpoint: size") };
  });
  const [origin] = lines, signedText = utf8(lines.join("\n") + "\n");
  let by;
  for (const s of signatures) {
    const k = keys.log.find((k) => s.name === origin && compare(s.id, keyId(origin, k)) === 0);
    if (!k) continue;
    need(!by, "opening checkpoint: more than one signature by the log", "checkpoint.form");
    need(signed(k.public_key, s.signature, signedText), "opening checkpoint: the log's signature does not fit",
      "checkpoint.signature");
    by = k;
  }
  need(by, "opening checkpoint: no published key matches: not signed by a log key of the ring", "checkpoint.key");
  need(size >= by.from.size && size <= (by.to?.size ?? Infinity),
    `opening checkpoint: the key was not in force: log key ${by.kid} does not sign a head of ${size} leaves`,
    "checkpoint.key");
  for (const head of [by.from, by.to])
    need(!head || head.size !== size || head.root === root,
      `opening checkpoint: at ${size} leaves, where the log changed hands, its root is ${head?.root} and not ${root}`,
      "log.handover");
  return { origin, size, root, cosigned: signatures.length - 1 };
}

const keyId = (origin, k) => digest(utf8(`${origin}\n\u0001`), fromHex(k.public_key)).slice(0, 4);

// checkProof checks that a leaf, its exact bytes, stands in the log: {origin, index, size, root,
// leaf}. A proof in the file form of `verify -proof` brings its leaf, in a line that nobody signed
// until it is shown to be the leaf; then leaf may be left out.
export function checkProof(proof, keys, leaf) {
  const all = decoded(proof);
  need(all.length <= 2 * most, "reading proof: too large");
  const end = all.indexOf("\n\n");
  const [first, ...lines] = all.slice(0, Math.max(end, 0)).split("\n");
  need(end >= 0 && first === format, `reading proof: not in the form of ${format}`);
  const extra = lines[0]?.startsWith("extra ") ? fromBase64(lines.shift().slice(6)) : undefined;
  const [head, ...coded] = lines;
  need(head?.startsWith("index ") && coded.length <= 64, `reading proof: not in the form of ${format}`);
  const index = number(head.slice(6), "reading proof: index");
  const hashes = coded.map(fromBase64);
  const held = leaf === undefined ? extra : utf8(decoded(leaf));
  need(held?.length > 0, "the proof does not bring the leaf: give its exact bytes");
  const c = openCheckpoint(all.slice(end + 2), keys);
  need(toHex(rootAbove(held, index, c.size, hashes)) === c.root, "checking proof: the log has another leaf there");
  return { ...c, index, leaf: decoded(held) };
}
