// Holds the package to the committed vectors: node vectors.mjs PUBLIC prints what does not hold. Each
// record that holds has to be taken, file by file, and each that breaks a rule which one file alone
// shows has to be refused by that rule.
import { readFileSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import * as verify from "agentstore";
import { fits } from "./formtable.js";
import { parse } from "./json.js";
import { readSignatures } from "./note.js";
import { under } from "./refused.js";

const folder = join(process.argv[2], "spec/vectors");
const bytes = (coded) => new Uint8Array(Buffer.from(coded, "base64"));
const load = (name) => JSON.parse(readFileSync(join(folder, name + ".json"), "utf8"));
const { good, bad } = load("index");

// The rules that a whole record is needed for, which the package does not check.
const beyond = new RegExp("^(" + [
  "(file|part|evidence|judgement|erratum|withdrawn|words|index|lot|issued|proof)\\..*", "handover\\.told",
  "log\\.(tile|remembered|handover)", "checkpoint\\.tree", "observation\\.(number|date)",
  "round\\.(sequence|previous|origin|later|place|lot|probed|coverage)", "row\\.(date|vantage|sorted|previous)",
].join("|") + ")$");

// check goes through the files of a record in the order of the rules.
function check(files, held) {
  const keys = new verify.Keys(files.get("keys/ring.json"));
  if (held && !keys.continues(new verify.Keys(held)) && !new verify.Keys(held).continues(keys)) return "ring.known";
  const names = [...files.keys()].sort(), rounds = new Map();
  if (files.has("manifest.json")) verify.checkTree(files, keys, "manifest");
  for (const name of names.filter((n) => /^rounds\/\d+\/header.json$/.test(n)))
    rounds.set(name.split("/")[1], verify.checkRound(files.get(name), keys));
  for (const name of names.filter((n) => n.startsWith("observations/"))) verify.checkObservation(files.get(name), keys);
  for (const name of names.filter((n) => n.endsWith(".jsonl") && n.startsWith("rounds/")))
    for (const row of new TextDecoder().decode(files.get(name)).trimEnd().split("\n"))
      verify.checkRow(row, keys, rounds.get(name.split("/")[1]));
  for (const name of names.filter((n) => n.startsWith("log/checkpoint"))) {
    const note = Buffer.from(files.get(name)).toString();
    const beside = files.get(name.replace("checkpoints", "cosignatures"));
    const c = verify.openCheckpoint(note, keys);
    if (c.cosigned > 0) return "checkpoint.form"; // a file of the record has the log's line alone
    if (beside && name.includes("checkpoints"))
      under("cosignature.form", () => readSignatures(Buffer.from(beside).toString()));
  }
  return "";
}

function says(files, held) {
  try {
    return check(files, held);
  } catch (e) {
    if (!(e instanceof verify.Refused)) throw e;
    return e.rule || e.message;
  }
}

const trees = new Map();
for (const { name } of good) {
  const files = new Map(Object.entries(load(`good/${name}`).files).map(([n, b]) => [n, bytes(b)]));
  trees.set(name, files);
  const said = says(files);
  if (said) console.log(`${name} is refused: ${said}`);
}
let refused = 0;
for (const { name, rule, base } of bad) {
  if (beyond.test(rule)) continue;
  const { files, gone = [], keys } = load(`bad/${name}`), changed = new Map(trees.get(base));
  for (const [n, b] of Object.entries(files)) changed.set(n, bytes(b));
  for (const n of gone) changed.delete(n);
  const said = says(changed, keys && bytes(keys));
  if (said !== rule) console.log(`${name}: want ${rule}, it says ${said || "nothing"}`);
  refused++;
}
const forms = parse(readFileSync(join(folder, "forms.json"))).get("forms");
for (const { form, good, bad } of forms.map((f) => Object.fromEntries(f)))
  for (const [want, values] of [[true, good], [false, bad]])
    for (const v of values) if (fits(form, v) !== want) console.log(`${form}: ${want ? "refused" : "taken"}`, v);

// What the store itself publishes.
const at = process.argv[2], published = new verify.Keys(readFileSync(join(at, ".well-known/store-signing-key")));
const tree = new Map(readdirSync(at, { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
  .map((e) => relative(at, join(e.parentPath ?? e.path, e.name)).split(sep).join("/"))
  .map((name) => [name, readFileSync(join(at, name))]));
if (verify.checkTree(tree, published) < 1000) console.log("few files are covered");
const { fixtures } = JSON.parse(tree.get(".well-known/conformance/offer-receipt-vectors.json"));
for (const { id, artifact, expect } of fixtures) {
  const open = expect.kind === "offer" ? verify.openOffer : verify.openReceipt;
  let said = "conforms";
  try {
    open(artifact, published, "store.example");
  } catch (e) {
    said = e instanceof verify.Refused ? "does_not_conform" : e.stack;
  }
  if (said !== expect.verdict) console.log(`${id}: ${said}`);
}
console.error(`${good.length} records taken, ${refused} refused`);
