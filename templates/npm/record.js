// What the store signs into its record (/spec/store-corpus/v1), each by itself: a row, a round, an
// observation, a manifest with the files that it covers. What only a whole record shows, such as
// that no round is missing, the program verify checks.
import { compare, digest, fromHex, signed, text as decoded, thumbprint, toHex, utf8 } from "./bytes.js";
import { beginOf, weekOf } from "./forms.js";
import { fits } from "./formtable.js";
import { checkHandover, signedAs } from "./keys.js";
import { canonical, exact, length, parse, plain } from "./json.js";
import { rootOf } from "./merkle.js";
import { need, under } from "./refused.js";

const ready = { v1: "L3", v2: "L4" }; // the first level that a battery calls ready
const day = 86_400;

const seconds = (time) => Date.parse(time) / 1000;

const isDoor = (url, host) => url.startsWith(`https://${host}`) && /^([/?#:]|$)/.test(url.slice(8 + host.length));

// read reads canonical JSON of a form, of at most so many bytes.
function read(raw, kind, most, rule, end = "") {
  return under(rule, () => {
    const all = decoded(raw);
    need(utf8(all).length <= most, `${kind}: larger than ${most} bytes`, rule === "row.form" ? rule : "file.size");
    need(all.endsWith(end), `${kind}: it does not end in a newline`);
    const text = all.slice(0, all.length - end.length), v = exact(text);
    need(fits(kind, v), `${kind}: it is not of its form`);
    return { text, v, fields: plain(v) };
  });
}

// checkObservation checks an observation, its exact bytes, and gives its members.
export function checkObservation(raw, keys) {
  const { text, fields: o } = read(raw, "observation", 16_384, "observation.form");
  const formed = (ok, why) => need(ok, `observation: ${why}`, "observation.form");
  formed(!o.refresh || o.at >= "2026-09-01" || o.refresh.battery === "v1", "a battery before its time");
  for (const seen of [o.refresh, o.walk, o.unpaid].filter(Boolean)) {
    formed(isDoor(seen.url, seen.host), "a url that is none of its host's");
    formed(!seen.transaction || seen.second_transaction !== seen.transaction, "charged twice in one transaction");
    formed(seen.verdict !== "ready" || seen.reached_level >= ready[seen.battery], "ready at a level that is not");
  }
  const doors = o.declaration?.doors ?? [];
  formed(doors.reduce((n, d) => n + length(d), 0) <= 12_288, "too many bytes of doors");
  if (o.issued) {
    const { total, classes, certificates } = o.issued;
    formed(!certificates || certificates.through < weekOf(o.at), "certificates of a week that is not over");
    formed(classes.reduce((n, c) => n + c.total, 0) === total, "totals that do not add up");
  }
  if (o.handover) checkHandover(o.handover, "observation.form");
  const k = keys.identity("kid", o.kid, o.at, "observation.key");
  need(signed(k.public_key, fromHex(o.signature), signedAs(text, o.signature)),
    "observation: the signature does not fit", "observation.signature");
  return o;
}

// checkRound checks the header of a round, its exact bytes, and gives its members.
export function checkRound(raw, keys) {
  const { v, fields: h } = read(raw, "round", 4 << 20, "round.form");
  const { parts, control, inflows } = h;
  const must = (rule, ok, why) => need(ok, `round: ${why}`, rule);
  must("round.form", (h.sequence === 1) === (h.previous_digest === "0".repeat(64)), "a first round after another");
  must("round.battery", fits("known", new Map(["battery", "battery_digest"].map((m) => [m, h[m]]))),
    "by a battery that is not known");
  must("round.parts", parts.every((p, i) => p.rows <= 4096 && (i === parts.length - 1 || p.rows === 4096)) &&
    parts.reduce((n, p) => n + p.rows, 0) === h.rows, "parts that do not add up");
  const walks = (control.evidence ?? []).length + (control.evidence_left_out ?? 0);
  must("round.control", control.failed <= control.walks && walks === control.walks,
    "control walks that do not add up");
  must("round.inflows", inflows.from && inflows.from <= inflows.to ||
    !inflows.from && !inflows.to && inflows.networks.length === 0, "inflows of no time");
  must("round.inflows", inflows.networks.every((n) =>
    n.read !== (n.reason !== undefined) && (n.read || n.addresses_left_out === undefined)),
  "a reason or addresses left out that do not go with read");
  const bare = utf8(canonical(new Map([...v].filter(([m]) => m !== "digest" && m !== "signature"))));
  must("round.digest", toHex(digest(bare)) === h.digest, "another digest");
  const late = seconds(h.taken_at) - beginOf(h.week);
  must("round.week", late >= 0 && late < 98 * day, "not taken in its week");
  const k = keys.identity("kid", h.kid, h.taken_at, "round.key");
  must("round.signature", signed(k.public_key, fromHex(h.signature), bare), "the signature does not fit");
  return h;
}

// checkRow checks a row, its exact bytes without a newline, and gives its members. With the header
// of its round, as checkRound gives it, it also checks that it is of that round.
export function checkRow(raw, keys, round) {
  const { text, fields: r } = read(raw, "row", 16_384, "row.form");
  const must = (rule, ok, why) => need(ok, `row: ${why}`, rule);
  must("row.url", isDoor(r.url, r.host), "a url that is none of its host's");
  const walked = r.verdict !== "not_probed";
  must("row.walk", walked ? r.reached_level && r.observed_at : r.reason && !["reached_level", "observed_at", "offer",
    "probe_method", "also_under", "vantages"].some((m) => m in r), "it lacks its walk, or was not probed");
  must("row.walk", "evidence_digest" in r === (walked || r.reason === "opted_out"), "evidence, or none, out of place");
  must("row.walk", r.failed.length === 0 || !["ready", "not_probed"].includes(r.verdict), "it failed, and is ready");
  must("row.form", ["networks", "pay_to"].every((m) => !r.offer?.[m + "_left_out"] || r.offer[m].length === 32),
    "what is left out of a list that is not full");
  must("row.form", (r.also_under ?? []).every((u) => u.version !== r.battery), "judged twice by one battery");
  must("row.form", r.verdict === "not_ready" && r.fault === "path" ||
    (r.vantages ?? []).every((s) => s.verdict === r.verdict), "vantages that disagree");
  must("row.walk", r.verdict !== "ready" || r.reached_level >= ready[r.battery], "ready at a level that is not");
  must("row.key", !round || r.kid === round.kid, "by another key than its round");
  const k = keys.identity("kid", r.kid, round?.taken_at, "row.key");
  must("row.signature", signed(k.public_key, fromHex(r.signature), signedAs(text, r.signature)),
    "the signature does not fit");
  must("row.round", !round || ["origin", "sequence", "week"].every((m) => r[m] === round[m]), "of another round");
  return r;
}

// checkManifest checks a manifest, its exact bytes, and gives its members.
export function checkManifest(raw, keys) {
  const { text, v, fields: m } = read(raw, "manifest", 64 << 20, "manifest.form", "\n");
  const { parts } = m;
  need(m.kid === thumbprint(m.public_key), "manifest: the kid is not the thumbprint of its key", "manifest.key");
  need(signed(m.public_key, fromHex(m.signature), signedAs(text, m.signature)), "manifest: the signature does not fit",
    "manifest.signature");
  need(parts.every((p, i) => i === 0 || inOrder(parts[i - 1], p)) && toHex(rootOf(leaves(v.get("parts")))) === m.root &&
    ["files", "bytes"].every((n) => parts.reduce((sum, p) => sum + p[n], 0) === m[n]),
  "manifest: its root or its sums are not those of its parts", "manifest.root");
  need(m.kid === keys.current[0].kid, "manifest: signed by no identity key in force", "manifest.key");
  return m;
}

const leaves = (values) => values.map((x) => utf8(canonical(x)));

// inOrder reports whether parts are sorted, and buckets of one directory are of one kind.
const inOrder = (a, b) => {
  const by = compare(utf8(a.directory), utf8(b.directory)) || compare(utf8(a.bucket), utf8(b.bucket));
  return by < 0 && (a.directory !== b.directory ||
    a.bucket.length === b.bucket.length && a.bucket !== "all" && b.bucket !== "all");
};

// checkTree checks all files of a folder against its manifest: a Map of paths and their bytes,
// the manifest and its parts among them. place is where the manifest is, without .json. It gives
// how many files are covered.
export function checkTree(files, keys, place = ".well-known/manifest") {
  need(files.has(place + ".json"), `${place}.json is missing`, "file.missing");
  const m = checkManifest(files.get(place + ".json"), keys), covered = new Map();
  const isLeft = (name) => m.leaves_out.some(({ path }) =>
    name === path || path.endsWith("/") && name.startsWith(path));
  const within = (name) => name.startsWith(place + "/");
  for (const p of m.parts) {
    need(files.has(p.path), `${p.path} is missing`, "manifest.part");
    for (const e of readPart(files.get(p.path), p)) {
      need(!within(e.path) && !isLeft(e.path), `${p.path} holds what does not belong there`, "manifest.part");
      covered.set(e.path, e);
    }
  }
  for (const [name, raw] of files) {
    if (isLeft(name)) continue;
    if (within(name)) {
      need(m.parts.some((p) => p.path === name), `${name} is no part of the manifest`, "manifest.part");
      continue;
    }
    const e = covered.get(name);
    need(e, `${name}: the manifest does not list it`, "manifest.added");
    need(e.size === raw.length && e.sha256 === toHex(digest(raw)), `${name} has another digest`, "manifest.changed");
  }
  for (const name of covered.keys())
    need(files.has(name), `${name} is missing, and the manifest lists it`, "manifest.missing");
  return covered.size;
}

// readPart reads the file of a part: each entry stands on a line of its own.
function readPart(raw, p) {
  const refused = `${p.path} is not the part that the manifest commits to`;
  return under("manifest.part", () => {
    const all = decoded(raw), v = parse(all);
    need(fits("manifest_files", v), refused);
    const f = plain(v), start = canonical(new Map(v).set("files", [])).slice(0, -2);
    need(all === `${start}\n${v.get("files").map(canonical).join(",\n")}\n]}\n`, refused);
    const sum = f.files.reduce((n, e) => n + e.size, 0), inBucket = p.bucket === "all" ? "" : p.bucket;
    need(f.directory === p.directory && f.bucket === p.bucket && f.files.length === p.files && sum === p.bytes &&
      toHex(rootOf(leaves(v.get("files")))) === p.root && toHex(digest(raw)) === p.sha256, refused);
    need(f.files.every((e) => toHex(digest(utf8(e.path))).startsWith(inBucket) &&
      (p.directory === "" ? !e.path.includes("/") : e.path.startsWith(p.directory + "/"))), refused);
    return f.files;
  });
}
