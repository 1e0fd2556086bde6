#!/usr/bin/python3
"""Checks records in the form store-corpus/v1. It was made from the pages of store-corpus/v1 and store-evidence/v1 and their
table forms.txt, and from nothing else.

For each it says what it saw, or "rule: file: why" by the rule that refuses it; it ends with 0, with 1 where one was refused, and
with 4 where one ends before something that is known of it. It does not judge walks again, which takes the battery.
"""
import argparse, base64, datetime, functools, hashlib, json, pathlib, re, struct, sys, zlib
from itertools import accumulate, islice, pairwise
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from opentimestamps.core.serialize import BytesDeserializationContext, DeserializationError
from opentimestamps.core.timestamp import DetachedTimestampFile

FOLDERS = ("rounds", "observations", "words", "evidence", "proofs", "log", "keys", "manifest")
PURPOSES = ["identity", "log", "git", "webhook"]
ZERO = "0" * 64
NONE = {"coverage": {"probed": 0}}  # the round before the first
where = form_rule = ""  # the file that is looked at, and the rule that is broken by what cannot be read there

class Refused(Exception): pass
class Unproven(Exception): pass

def at(name, form=None):
    global where, form_rule
    where, form_rule = name, form or form_rule

def need(rule, ok, why):
    if not ok:
        raise Refused(f"{rule}: {where}: {why}")

def formed(ok, why):
    need(form_rule, ok, why)

def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def check(rule, key, sig, message):
    at(where, rule)
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(sig, message)

def signed(rule, raw, key):
    """Checks the signature that stands last in canonical bytes."""
    body, _, last = raw.rpartition(b',"signature":"')
    check(rule, key, bytes.fromhex(last[:128].decode()), body + b"}")

def is_kid(kid, key):
    base64url = lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"=")
    return kid.encode() == base64url(sha(b'{"crv":"Ed25519","kty":"OKP","x":"' + base64url(bytes.fromhex(key)) + b'"}'))

def in_force(key, time):
    return key["since"] <= time[:10] <= key.get("retired_on", "~")

def moment(time):
    return datetime.datetime.strptime(time, "%Y-%m-%dT%H:%M:%S%z").timestamp()

def week_of(time):
    return "%04d-W%02d" % datetime.date.fromisoformat(time[:10]).isocalendar()[:2]

def begin_of(week):
    return moment(f"{datetime.date.fromisocalendar(int(week[:4]), int(week[6:]), 1)}T00:00:00Z")

DAY = 86400

def in_week(time, week):
    """Whether a walk began in a week: it may end in the day after that."""
    return -60 <= moment(time) - begin_of(week) < 8 * DAY

READY = {"v1": "L3", "v2": "L4"}  # the first level that a battery calls ready

def is_door(url, host):
    return re.match("https://" + re.escape(host) + "([/?#:]|$)", url) is not None

def lines_of(texts):
    return "".join(x + "\n" for x in texts).encode()

# JSON, and the forms of what stands in it, which forms.txt says and explains.

def pairs(members):
    formed(len(dict(members)) == len(members), "a name twice")
    return dict(members)

def parse(raw):
    return json.loads(raw.decode("utf-8"), object_pairs_hook=pairs, parse_constant=int)  # int reads no NaN

def canonical(v, **how):
    return json.dumps(v, separators=(",", ":"), ensure_ascii=False, **how).encode("utf-8")

def exact(raw, kind, end=b""):
    v = parse(raw)
    formed(fits(kind, v) and canonical(v) + end == raw, "is not of its form, or is spelt in another way")
    return v

def matches(expression, v):
    return type(v) is str and re.fullmatch(expression, v, re.A) is not None

FORMS = {
    "n": lambda v: type(v) is int and 0 <= v < 1 << 53, "n1": lambda v: fits("n", v) and v > 0, "place": lambda v: fits("n", v),
    "bool": lambda v: type(v) is bool, "true": lambda v: v is True, "any": lambda v: True,
    "date": lambda v: matches(r"\d{4}-\d\d-\d\d", v) and bool(datetime.date.fromisoformat(v)),
    "time": lambda v: matches(r"[-\d]{10}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", v) and fits("date", v[:10]),
    "week": lambda v: matches(r"\d{4}-W\d\d", v) and bool(datetime.date.fromisocalendar(int(v[:4]), int(v[6:]), 1)),
}

def fits(kind, v):
    """Whether a value is of a kind, which is told in the words of forms.txt."""
    if m := re.fullmatch(r"(\w+)([*+])(\d*)(\^?)([\w,]*)", kind):
        of, sign, most, is_sorted, keys = m.groups()
        if type(v) is not list or not (sign == "+") <= len(v) <= int(most or len(v)) or not all(fits(of, x) for x in v):
            return False
        order = [[(x[key] if key else x).encode() for key in keys.split(",")] for x in v if is_sorted]
        return all(a < b for a, b in pairwise(order))
    if m := re.fullmatch(r"([ts])(\d*)", kind):
        return type(v) is str and (m[1] == "t" or v != "") and len(canonical(v)) - 2 <= int(m[2] or sys.maxsize)
    return FORMS[kind](v)

def is_object(members, v):
    return type(v) is dict and list(v) == [name for name, optional, _, _ in members if name in v or not optional] and all(
        (matches if sign == "=" else fits)(kind, v[name]) and (not optional or kind in ("place", "any") or v[name])
        for name, optional, sign, kind in members if name in v)

def read_forms(text):
    for line in filter(None, re.sub(r"\n +", " ", re.sub("(?m)^#.*", "", text)).splitlines()):
        name, *words = line.split()
        if words[0] == "=":
            FORMS[name] = functools.partial(matches, "".join(words[1:]))
        elif words[0] == "|":
            FORMS[name] = lambda v, kinds=words[1::2]: any(fits(kind, v) for kind in kinds)
        else:
            FORMS[name] = functools.partial(is_object, [re.fullmatch(r"(\w+)(\??)([:=])(.*)", w).groups() for w in words])

# Merkle trees (RFC 6962), their tiles and their checkpoints.

class Tree:
    def __init__(self, leaves):
        self.leaves, self.size, self.node = leaves, len(leaves), functools.cache(self.node)

    def node(self, begin, end):
        """The root over some of the leaves."""
        if end - begin < 2:
            return sha(b"\0", self.leaves[begin]) if begin < end else sha()
        middle = begin + (1 << (end - begin - 1).bit_length() - 1)
        return sha(b"\1", self.node(begin, middle), self.node(middle, end))

    def tiles(self, folder):
        """Every tile and bundle with its name, as a list of its hashes or entries."""
        entry = lambda i: struct.pack(">H", len(self.leaves[i])) + self.leaves[i]
        for level in ("entries", *range(8)):
            height = 0 if level == "entries" else 8 * level
            item = entry if level == "entries" else lambda i: self.node(i << height, i + 1 << height)
            for begin in range(0, self.size >> height, 256):
                number = re.sub(r"(\d{3}),", r"x\1/", re.sub("^(000,)*", "", f"{begin // 256:019,}"))
                yield f"{folder}/{level}/{number}", [item(i) for i in range(begin, min(begin + 256, self.size >> height))]

    def files(self, folder):
        for name, items in self.tiles(folder):
            yield name + (f".p/{len(items)}" if len(items) < 256 else ""), b"".join(items)

def base64_of(text):
    raw = base64.b64decode(text, validate=True)
    formed(base64.b64encode(raw).decode() == text, "base64 in another way")
    return raw

def checkpoint(raw):
    text = raw.decode("utf-8")
    lines = text.split("\n") if not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f]", text) else []
    formed(len(lines) > 5 and lines[0] and matches(r"0|[1-9]\d*", lines[1]) and lines[3] == lines[-1] == "", "no checkpoint")
    return int(lines[1]), base64_of(lines[2]), lines

def signature_line(line):
    m = re.fullmatch("\u2014 ([^ +]+) (\\S+)", line)
    formed(m and len(base64_of(m[2])) > 4, "no signature line")
    return m[1], base64_of(m[2])[:4], base64_of(m[2])[4:]

class Record:
    def __init__(self, folder):
        self.files, self.asked, self.seen, names = {}, set(), {}, set()
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            top, _, below = name.partition("/")
            if top in FOLDERS or not below and top.lower() in (*FOLDERS, "manifest.json"):
                at(name)
                need("file.kind", not path.is_symlink() and (path.is_dir() or path.is_file()), "is no file")
                need("file.name", name.upper().lower() not in names, "differs from another in case alone")
                names.add(name.upper().lower())
                if path.is_file():
                    self.files[name] = path

    def read(self, name, form=None, most=1 << 26):
        at(name, form)
        need("file.missing", name in self.files, "is missing")
        need("file.size", self.files[name].stat().st_size <= most, "is too large")
        self.asked.add(name)
        return self.files[name].read_bytes()

    def json(self, name, of, form, most=1 << 26, end=b""):
        raw = self.read(name, form, most)
        return exact(raw, of, end), raw

    def under(self, folder):
        return sorted(name for name in self.files if name.startswith(folder + "/"))

    def said(self, member):
        return [o[member] for o in self.obs if member in o]

    def verify(self, held, remembered):
        self.keys(held)
        for look in (self.manifest, self.headers, self.observations, self.dates, self.proofs, self.rows):
            look()
        self.log(remembered)
        self.judged()
        self.words()
        for name in sorted(self.files.keys() - self.asked):
            at(name)
            need("file.unknown", name.startswith("manifest"), "nothing asks for it")
        return f"verified: {len(self.heads)} rounds, {sum(h['rows'] for h in self.heads)} rows, {len(self.obs)} observations"

    def keys(self, held):
        raw = self.read("keys/ring.json", "ring.form", 4 << 20)
        ring = parse(raw)
        formed(fits("ring", ring) and json.dumps(ring, indent=2, ensure_ascii=False).encode() + b"\n" == raw, "another form")
        walkers = ring.get("walkers", [])
        formed(all(w["since"] <= w.get("retired_on", "~") for w in walkers), "a walker's key ends before it begins")
        keys = {k["kid"]: k for k in ring["current"] + ring["retired"] + walkers}
        need("ring.key", all(is_kid(kid, k["public_key"]) for kid, k in keys.items()), "a kid is no thumbprint of its key")
        need("ring.key", len(keys) == len(ring["current"] + ring["retired"] + walkers), "a key twice")
        last = {p: {} for p in PURPOSES}
        for h in ring["handovers"]:
            self.handover(h)
            old, new, before = keys.get(h["from_kid"], {}), keys.get(h["to_kid"], {}), last[h["purpose"]]
            need("ring.handover", before.get("to_kid", h["from_kid"]) == h["from_kid"] and old.get("retired_on") == h["effective"] ==
                 new.get("since") and h["purpose"] == old.get("purpose") == new.get("purpose"), "a handover does not fit its keys")
            last[h["purpose"]] = h
        need("ring.handover", sorted(h["from_kid"] for h in ring["handovers"]) == sorted(k["kid"] for k in ring["retired"]) and
             all(k["since"] <= k["retired_on"] for k in ring["retired"]), "not one handover for each retired key")
        need("ring.key", [k["purpose"] for k in ring["current"]] == PURPOSES, "not one key for each purpose")
        need("ring.handover", all(h.get("to_kid", k["kid"]) == k["kid"] for h, k in zip(last.values(), ring["current"])), "ends elsewhere")
        heads = lambda ring: [h["last_head"] for h in ring["handovers"] if "last_head" in h]
        need("ring.handover", all(a == b or a["size"] < b["size"] for a, b in pairwise(heads(ring))), "a log that shrinks")
        self.own, self.ring = ring, held if held and not continues(ring, held) else ring
        need("ring.known", continues(self.ring, ring), "neither goes on from the ring that is known nor is its beginning")
        self.own_heads, self.known_heads = heads(self.own), heads(self.ring)
        keys = sorted(self.ring["current"] + self.ring["retired"], key=lambda k: k.get("retired_on", "~"))
        self.of = {p: [k for k in keys if k["purpose"] == p] for p in PURPOSES}

    def handover(self, h, inside=None):
        need(inside or "ring.key", all(is_kid(h[x + "_kid"], h[x + "_public_key"]) for x in ("from", "to")), "a kid is of another key")
        is_log = h["purpose"] == "log"
        need(inside or "ring.handover", h["from_kid"] != h["to_kid"] and ("last_head" in h) == is_log, "a head where none belongs, or none")
        need(inside or "ring.handover", not is_log or h["last_head"]["size"] or h["last_head"]["root"] == sha().hex(), "a head of nothing")
        signed(inside or "ring.signature", canonical(h), h["from_public_key"])

    def identity(self, rule, kid, time):
        """The public key of an identity key in force."""
        keys = [k["public_key"] for k in self.of["identity"] if k["kid"] == kid and in_force(k, time)]
        need(rule, keys, "by no identity key in force")
        return keys[0]

    def manifest(self):
        if not any(name.startswith("manifest") for name in self.files):
            return
        m, raw = self.json("manifest.json", "manifest", "manifest.form", end=b"\n")
        need("manifest.key", is_kid(m["kid"], m["public_key"]), "its kid is no thumbprint of its key")
        signed("manifest.signature", raw[:-1], m["public_key"])
        root = lambda leaves: Tree([canonical(x) for x in leaves]).node(0, len(leaves)).hex()
        need("manifest.root", all(a < b and (a[0] != b[0] or len(a[1]) == len(b[1]) and "all" not in (a[1], b[1])) for a, b in
                                  pairwise((p["directory"], p["bucket"]) for p in m["parts"])), "its parts overlap, or are not sorted")
        need("manifest.root", all(p["path"] == f"manifest/{p['directory']}/{p['bucket']}.json" for p in m["parts"]) and root(m["parts"]) ==
             m["root"] and all(sum(p[x] for p in m["parts"]) == m[x] for x in ("files", "bytes")), "has other parts than it says")
        need("manifest.key", m["kid"] == self.own["current"][0]["kid"], "not by the identity key")
        is_left = lambda name: any(name == x["path"] or x["path"].endswith("/") and name.startswith(x["path"]) for x in m["leaves_out"])
        have = {}
        for p in m["parts"]:
            at(p["path"], "manifest.part")
            formed(where in self.files, "is missing")
            body = self.read(where)
            v = parse(body)
            formed(fits("manifest_files", v), "is not of its form")
            lines = b",\n".join(map(canonical, v["files"]))
            formed(body == canonical(dict(v, files=[]))[:-2] + b"\n" + lines + b"\n]}\n", "is spelt in another way")
            figures = [v["directory"], v["bucket"], len(v["files"]), sum(e["size"] for e in v["files"]), root(v["files"]), sha(body).hex()]
            formed([p["path"], *figures] == list(p.values()), "its figures are others")
            for e in v["files"]:
                name, bucket = e["path"], "" if p["bucket"] == "all" else p["bucket"]
                formed(name.startswith(p["directory"] + "/") and not name.startswith("manifest/") and not is_left(name) and
                       sha(name.encode()).hex().startswith(bucket), "holds what does not belong there")
                have[name] = e
        for name in sorted(have.keys() | self.files.keys()):
            at(name, "manifest.part")
            if name.startswith("manifest/"):
                formed(name in self.asked or is_left(name), "is no part of the manifest")
            elif not is_left(name):
                need("manifest.missing", name in self.files, "the manifest lists it")
                need("manifest.added", name in have, "the manifest does not list it")
                raw = self.files[name].read_bytes()
                need("manifest.changed", (len(raw), sha(raw).hex()) == (have[name]["size"], have[name]["sha256"]), "it has another")

    def headers(self):
        self.heads, before = [], None
        numbers = [int(m[1]) for m in (re.match(r"rounds/([1-9]\d{0,8})/", name, re.A) for name in self.files) if m]
        for n in range(1, max(numbers, default=0) + 1):
            h, raw = self.json(f"rounds/{n}/header.json", "round", "round.form", 4 << 20)
            rows, control, flows = [p["rows"] for p in h["parts"]], h["control"], h["inflows"]
            formed((h["sequence"] == 1) == (h["previous_digest"] == ZERO), "a first round after another")
            need("round.battery", fits("known", {m: h[m] for m in ("battery", "battery_digest")}), "by a battery that is not known")
            need("round.parts", set(rows[:-1]) <= {4096} and max(rows, default=0) <= 4096 and sum(rows) == h["rows"], "they do not add up")
            walks = len(control.get("evidence", [])) + control.get("evidence_left_out", 0)
            need("round.control", control["failed"] <= control["walks"] == walks, "its control walks do not add up")
            need("round.inflows", "" < flows["from"] <= flows["to"] or list(flows.values()) == ["", "", []], "inflows of no time")
            need("round.inflows", all(x["read"] != ("reason" in x) and (x["read"] or "addresses_left_out" not in x)
                                      for x in flows["networks"]), "a reason or addresses left out that do not go with read")
            bare = canonical({k: v for k, v in h.items() if k not in ("digest", "signature")})
            need("round.digest", sha(bare).hex() == h["digest"], "its digest is another")
            need("round.week", 0 <= moment(h["taken_at"]) - begin_of(h["week"]) < 98 * DAY, "was not taken in its week")
            h["key"] = self.identity("round.key", h["kid"], h["taken_at"])
            check("round.signature", h["key"], bytes.fromhex(h["signature"]), bare)
            need("round.sequence", h["sequence"] == n, "stands in the place of another")
            if before:
                need("round.previous", h["previous_digest"] == before["digest"], "is of another round before")
                need("round.origin", h["origin"] == before["origin"], "is of another log")
                need("round.later", h["week"] > before["week"] and h["taken_at"] > before["taken_at"], "is not later")
                need("round.place", h["first_leaf"] >= before["first_leaf"] + before["rows"], "overlaps")
                need("round.lot", "lot" in h or "lot" not in before, "has no lot")
            need("round.probed", h["coverage"]["previous_probed"] == (before or NONE)["coverage"]["probed"], "counts another round before")
            h["file_sha256"], before = sha(raw).hex(), h
            self.heads.append(h)

    def observations(self):
        """Reads the observations up to the first gap."""
        self.obs, self.raw = [], []
        while (name := f"observations/{len(self.obs) + 1:09d}.json") in self.files:
            o, raw = self.json(name, "observation", "observation.form", 16384)
            doors, issued = o.get("declaration", {"doors": []})["doors"], o.get("issued", {"total": 0, "classes": []})
            formed("refresh" not in o or o["at"] >= "2026-09-01" or o["refresh"]["battery"] == "v1", "by a battery before its time")
            for seen in (o[m] for m in ("refresh", "walk", "unpaid") if m in o):
                formed(is_door(seen["url"], seen["host"]), "a url that is none of its host's")
                formed(seen.get("second_transaction") != seen.get("transaction", "none"), "charged twice in one transaction")
                formed(seen.get("verdict") != "ready" or seen["reached_level"] >= READY[seen["battery"]], "ready at another level")
            formed(sum(len(canonical(d)) - 2 for d in doors) <= 12288, "too many doors")
            formed("certificates" not in issued or issued["certificates"]["through"] < week_of(o["at"]), "a week that is not over")
            formed(sum(c["total"] for c in issued["classes"]) == issued["total"], "its totals do not add up")
            if "handover" in o:
                self.handover(o["handover"], "observation.form")
            signed("observation.signature", raw, self.identity("observation.key", o["kid"], o["at"]))
            need("observation.number", o["number"] == len(self.obs) + 1, "stands in the place of another")
            told = o.get("handover")
            need("handover.told", not told or told in self.ring["handovers"] and told not in self.said("handover"), "is none or twice")
            if "issued" in o:
                before, counts = self.said("issued"), {c["class"]: c["total"] for c in issued["classes"]}
                falls = [c for b in before[-1:] for c in b["classes"] if counts.get(c["class"], -1) < c["total"]]
                need("issued.falls", not falls, "counts fall")
                weeks = [b["certificates"]["through"] for b in before + [issued] if "certificates" in b]
                need("issued.week", all(a < b for a, b in pairwise(weeks)), "two trees of one week")
            self.obs.append(o)
            self.raw.append(raw)
        self.withdrawn = {}
        for o in self.obs:
            if "withdrawn" in o:
                self.withdrawn.setdefault(o["withdrawn"]["sha256"], o)

    def dates(self):
        """Looks whether each observation is dated as it stands between the rounds."""
        for n, o in enumerate(self.obs):
            behind = [h for i, h in enumerate(self.heads) if n < h["first_leaf"] - sum(x["rows"] + 2 for x in self.heads[:i])]
            before = self.heads[:len(self.heads) - len(behind)]
            at(f"observations/{o['number']:09d}.json")
            need("observation.date", all(moment(h["taken_at"]) - DAY <= moment(o["at"]) for h in before[-1:]) and
                 all(moment(o["at"]) <= moment(h["taken_at"]) + DAY for h in behind[:1]), "is not dated as it stands in the log")

    def proofs(self):
        subjects = {f"proofs/{h['sequence']}": bytes.fromhex(h["digest"]) for h in self.heads}
        dated = {f"proofs/{h['sequence']}": h["taken_at"] for h in self.heads}
        for n, (time, digest) in enumerate(self.anchors()):
            subjects[f"proofs/anchor-{n + 1}"], dated[f"proofs/anchor-{n + 1}"] = digest, time
        for name in sorted(self.under("proofs"), key=lambda name: name.endswith(".ots")):
            if re.fullmatch(r"proofs/[^/]+/([1-9]\d*|0)\.header", name, re.A):
                formed(re.fullmatch(b"[0-9a-f]{160}\n", self.read(name, "proof.header")), "is no block header")
            if name.endswith(".ots"):
                proof = DetachedTimestampFile.deserialize(BytesDeserializationContext(self.read(name, "proof.form", 1 << 16)))
                folder = name.rpartition("/")[0]
                need("proof.digest", proof.file_digest == subjects.get(folder), "is not of its digest")
                for message, attested in proof.timestamp.all_attestations():
                    block = f"{folder}/{getattr(attested, 'height', None)}.header"
                    if block in self.asked:
                        header = bytes.fromhex(self.files[block].read_text())
                        need("proof.block", header[36:68] == message, "a header says otherwise")
                        made = struct.unpack("<I", header[68:72])[0]
                        need("proof.date", moment(dated[folder]) <= made + DAY, "was there before it is dated")

    def anchors(self):
        """When the anchors are dated, and their digests, the oldest first."""
        first, retired, total, out = self.of["identity"][0], [], 0, []
        key, events = first["public_key"], [o for o in self.obs if "issued" in o or o.get("handover", {}).get("purpose") == "identity"]
        for o in [{"at": first["since"] + "T00:00:00Z"}, *events]:
            if "handover" in o:
                retired.append({"public_key": key, "retired_on": o["handover"]["effective"]})
                key = o["handover"]["to_public_key"]
            total = o.get("issued", {"total": total})["total"]
            out.append((o["at"], sha(canonical({
                "version": 1, "sequence": len(out) + 1, "taken_at": o["at"], "previous_digest": out[-1][1].hex() if out else ZERO,
                "current_public_key": key, "retired_keys": retired, "artifacts_issued_total": total}))))
        return out

    def rows(self):
        """Goes through the rounds as the log has them, between observations."""
        self.index, self.leaves, between = {}, [], iter(self.raw)
        self.closed = {o["roster"]["week"]: o for o in self.obs if "roster" in o}
        at("observations")
        need("lot.twice", len(self.closed) == len(self.said("roster")), "a roster is closed twice")
        for h, before in zip(self.heads, [NONE] + self.heads):
            self.leaves += islice(between, max(0, h["first_leaf"] - len(self.leaves)))
            at(f"rounds/{h['sequence']}/header.json")
            need("round.place", len(self.leaves) == h["first_leaf"], "does not begin where the one before ends")
            hosts = self.round(h, before)
            self.leaves += [canonical(x, sort_keys=True) for x in (
                {"type": "round", "sequence": h["sequence"], "digest": h["digest"], "file_sha256": h["file_sha256"]},
                {"type": "hosts", "sequence": h["sequence"], "size": hosts.size, "root": hosts.node(0, hosts.size).hex()})]
        self.leaves += between

    def round(self, h, before):
        """Goes through the rows of a round, and gives the tree of its host index."""
        stem, rows = f"rounds/{h['sequence']}/", []
        for i, part in enumerate(h["parts"]):
            body = self.read(f"{stem}part-{i + 1:04d}.jsonl", "row.form", 4096 * 16385)
            need("part.digest", sha(body).hex() == part["sha256"], "is not of its digest")
            *lines, end = body.split(b"\n")
            need("part.rows", end == b"" and len(lines) == part["rows"], "has another number of rows")
            for line in lines:
                rows.append(self.row(h, line, rows[-1] if rows else None))
            self.pack(f"evidence/{h['sequence']:09d}/{i + 1:06d}", h, rows[-len(lines):])
            at(f"{stem}part-{i + 1:04d}.jsonl")
            for r, line in zip(rows[-len(lines):], lines):
                host = self.index.setdefault(r["host"], {"first_sequence": h["sequence"], "head": ZERO, "host": r["host"], "rows": 0})
                need("row.previous", r.get("previous_leaf") == host.get("last_leaf"), "does not name its host's row before")
                host.update(last_leaf=len(self.leaves), rows=host["rows"] + 1, head=sha(bytes.fromhex(host["head"]), sha(line)).hex())
                self.leaves.append(line)
        at(f"{stem}header.json")
        roster, due, previous = h["roster"], len(rows), before["coverage"]["probed"]
        probed = sum(r["verdict"] != "not_probed" for r in rows)
        dropped = 100 * probed < 60 * previous
        own = all("own" in x.get("lot", {}) for x in (h, before))
        suspect = dropped or roster["capped"] or own or not all(s["complete"] for s in roster["sources"])
        need("round.coverage", [roster["walked"], *h["coverage"].values()] ==
             [probed, due, probed, due - probed, previous, dropped, suspect], "its counts are not those of its rows")
        if "lot" in h:
            self.lot(h, [r for r in rows if "late" not in r])
        hosts = sorted(self.index)
        tree = Tree([canonical(self.index[x], sort_keys=True) for x in hosts])
        for name, data in [(stem + "hosts/first.txt", lines_of(hosts[::256])), *tree.files(stem + "hosts/tile")]:
            need("index.fold", self.read(name) == data, "is not what the rows give")
        return tree

    def row(self, h, line, last):
        at(where, "row.form")
        r = exact(line, "row")
        looks, offer = r.get("vantages", []), r.get("offer", {})
        formed(len(line) <= 16384, "a row is too long")
        need("row.url", is_door(r["url"], r["host"]), "a url that is none of its host's")
        walked, is_walked = {"reached_level", "observed_at"}, r["verdict"] != "not_probed"
        seen = r.keys() & (walked | {"offer", "probe_method", "also_under", "vantages"})
        need("row.walk", walked <= seen if is_walked else not seen and "reason" in r, "a row lacks its walk, or was not probed")
        need("row.walk", ("evidence_digest" in r) == (is_walked or r["reason"] == "opted_out"), "a row with evidence, or without it")
        need("row.walk", not r["failed"] or r["verdict"] not in ("ready", "not_probed"), "a row failed, and it is ready or was not probed")
        formed(all(m + "_left_out" not in offer or len(offer[m]) == 32 for m in ("networks", "pay_to")), "leaves out of a list not full")
        formed(all(u["version"] != r["battery"] for u in r.get("also_under", [])), "a row is judged twice by one battery")
        formed((r["verdict"], r["fault"]) == ("not_ready", "path") or all(v["verdict"] == r["verdict"] for v in looks), "vantages disagree")
        need("row.walk", r["verdict"] != "ready" or r["reached_level"] >= READY[r["battery"]], "ready at a level that is not")
        need("row.key", r["kid"] == h["kid"], "a row is by another key")
        signed("row.signature", line, h["key"])
        need("row.round", all(r[m] == h[m] for m in ("origin", "sequence", "week")), "a row is not the round's")
        seen = r.get("observed_at")
        need("row.date", not seen or in_week(seen, h["week"]) and moment(seen) <= moment(h["taken_at"]) + 60, "a walk of another time")
        walkers = {w["kid"] for w in self.ring.get("walkers", []) if in_force(w, h["taken_at"])}
        need("row.vantage", all(v["id"] in walkers for v in looks), "a vantage is by no walker's key in force")
        need("row.vantage", not looks or len({x["evidence_digest"] for x in [r] + looks}) > len(looks), "two looks rest on one judgement")
        need("row.sorted", not last or last["host"] < r["host"], "its rows are not sorted")
        return r

    def lot(self, h, on):
        """Looks whether the rows that stood on the roster had their turns as the lot gave them."""
        lot, o = h["lot"], self.closed.get(h["week"])
        observed = h["first_leaf"] - sum(x["rows"] + 2 for x in self.heads[:h["sequence"] - 1])
        need("lot.closed", o and o["number"] <= observed, "no observation before its rows closed its roster")
        said, digest = o["roster"], sha(lines_of(["store-roster/v1", h["week"]] + [r["host"] for r in on])).hex()
        need("lot.roster", lot["roster_digest"] == said["digest"] == digest and said["hosts"] == len(on), "its rows give another roster")
        block = bytes.fromhex(lot.get("header", ""))
        seed = sha(sha(block))[::-1] if block else bytes.fromhex(lot["own"])
        turns = [[sha(seed, r["host"].encode()) for r in on if (r.get("reason") == "beyond_cap") == late] for late in (False, True)]
        need("lot.turn", not all(turns) or max(turns[0]) < min(turns[1]), "a host beyond the cap had its turn first")
        need("lot.height", said.get("height") == lot.get("height"), "its block is another")
        need("lot.own", block or sha(seed).hex() == said["own"], "its seed was not the one that was fixed")
        closed, first = moment(o["at"]), min((moment(r["observed_at"]) for r in on if "observed_at" in r), default=None)
        dated = 0
        if block:
            dated, bits = struct.unpack("<II", block[68:76])
            need("lot.date", dated >= closed - 7200, "its block was there before")
            size, mantissa, hashed = bits >> 24, bits & 0x7FFFFF, int.from_bytes(seed, "big")
            is_sound = mantissa and not bits & 0x800000 and 3 <= size <= 32
            need("lot.work", is_sound and hashed <= mantissa << 8 * (size - 3), "its block has no work")
        need("lot.walk", first is None or closed <= first + 60 and dated <= first + 7200, "a host was walked before")

    def log(self, remembered):
        tree = Tree(self.leaves)
        for name, data in tree.files("log/tile"):
            need("log.tile", self.read(name) == data, "does not belong to this log")
        tiles = dict(tree.tiles("log/tile"))
        for name in self.under("log/tile"):
            stem, part, width = name.partition(".p/")
            if part and stem in tiles:
                is_width = matches(r"[1-9]\d{0,2}", width) and int(width) <= min(len(tiles[stem]), 255)
                need("log.tile", is_width and self.read(name) == b"".join(tiles[stem][:int(width)]), "is no beginning of a tile")
        at("log/checkpoint", "checkpoint.form")
        for head in self.known_heads:
            if head["size"] > tree.size and head not in self.own_heads:
                raise Unproven(f"the log ends at {tree.size}, before its key changed hands at {head['size']}")
            need("log.handover", head["size"] <= tree.size and tree.node(0, head["size"]).hex() == head["root"], "is another log")
        if not tree.size:
            return
        need("checkpoint.tree", self.signed_head("log/checkpoint", tree) == tree.size, "is of another size")
        for end in sorted({h["first_leaf"] + h["rows"] + 2 for h in self.heads} | {tree.size}):
            self.read(f"log/checkpoints/{end}")
        for name in self.under("log/checkpoints"):
            if re.fullmatch(r"log/checkpoints/(0|[1-9]\d*)", name, re.A):
                need("checkpoint.tree", name == f"log/checkpoints/{self.signed_head(name, tree)}", "is of another size")
                if (beside := name.replace("checkpoints", "cosignatures")) in self.files:
                    *lines, end = self.read(beside, "cosignature.form").decode("utf-8").split("\n")
                    formed(lines and end == "" and all(map(signature_line, lines)), "does not end")
        at("log/checkpoint")
        if remembered:
            old, root, (origin, *_) = remembered
            if origin == self.origin and old > tree.size:
                raise Unproven(f"the log ends at {tree.size}, and {old} leaves were seen")
            need("log.remembered", origin == self.origin and tree.node(0, old) == root, "does not go on from it")

    def signed_head(self, name, tree):
        size, root, lines = checkpoint(self.read(name, "checkpoint.form", 1 << 18))
        formed(len(root) == 32 and len(lines) == 6, "has no root, or more lines than the log's own")
        origin, heads, (signer, key_id, sig) = lines[0], self.known_heads, signature_line(lines[4])
        ids = {sha(origin.encode(), b"\n\1", bytes.fromhex(k["public_key"]))[:4]: i for i, k in enumerate(self.of["log"])}
        need("checkpoint.key", signer == origin and key_id in ids, "not by the log's key")
        i = ids[key_id]
        check("checkpoint.signature", self.of["log"][i]["public_key"], sig, lines_of(lines[:3]))
        begin, end = heads[i - 1:i], heads[i:i + 1]
        need("checkpoint.key", all(h["size"] <= size for h in begin) and all(size <= h["size"] for h in end), "its key was not in force")
        need("log.handover", all(h["size"] != size or h["root"] == root.hex() for h in begin + end), "another root")
        self.origin = self.heads[0]["origin"] if self.heads else origin
        need("checkpoint.tree", size <= tree.size and tree.node(0, size) == root and origin == self.origin, "of another tree")
        return size

    def judged(self):
        for h in self.heads:
            self.pack(f"evidence/{h['sequence']:09d}/control", h)
        last = {o["erratum"]["leaf"]: o for o in self.obs if "erratum" in o}
        for o in self.obs:
            said = o.get("refresh") or o.get("erratum", {})
            w = self.withdrawn.get(said.get("evidence_digest"))
            at(f"observations/{o['number']:09d}.json")
            if w:
                need("withdrawn.basis", week_of(w["at"]) > week_of(o["at"]) if "refresh" in o else last[said["leaf"]] is not o,
                     "what it rests on was withdrawn")
        for o in self.obs:
            if "erratum" in o:
                self.corrects(o, o["erratum"])
        for o in self.obs:
            if said := o.get("refresh"):
                j, started, _ = self.looked(o, said["evidence_digest"])
                need("judgement.door", not j or (said["url"], said["battery"]) == (j["url"], j["battery"]) and min(started) <= o["at"],
                     "of another door or time")

    def corrects(self, o, said):
        """Looks whether an erratum is of a row, and rests on what can give its verdict."""
        at(f"observations/{o['number']:09d}.json")
        leaf, digest = said["leaf"], said.get("evidence_digest")
        need("erratum.row", any(h["first_leaf"] <= leaf < h["first_leaf"] + h["rows"] and h["taken_at"] <= o["at"]
                                for h in self.heads), "is of no row before it")
        row, error = parse(self.leaves[leaf]), "kind" in said
        need("erratum.basis", not error or row["verdict"] not in ("not_probed", said["verdict_now"]), "is no error of a verdict")
        for before, raw in zip(self.obs[:o["number"] - 1], self.raw):
            if "walk" in before and sha(raw).hex() == digest:
                walk = before["walk"]
                silent = {"status": 0 if walk.get("by") == "store" else 200}
                paid = 200 <= walk.get("claim", silent)["status"] < 300 and said["verdict_now"] == "ready" and walk.get("by") != "seller"
                door = (walk["host"], walk["url"]) == (row["host"], row["url"])
                need("erratum.basis", paid and door and in_week(before["at"], row["week"]) and before["at"] <= o["at"], "another walk")
                need("erratum.basis", not error or said.get("checks", []) == row["failed"], "other checks than the row failed")
                return
        if digest:
            j, started, seen = self.looked(o, digest)
            need("judgement.door", not j or j["url"] == row["url"], "rests on a look at another door")
            at(f"observations/{o['number']:09d}.json")
            order = lambda battery: (len(battery), battery)
            need("erratum.basis", not j or order(j["battery"]) >= order(row["battery"]), "rests on an older battery")
            need("erratum.basis", all(s <= o["at"] and in_week(s, row["week"]) for s in started), "rests on a look of another time")
            need("erratum.basis", not error or all(v["verdict"] == row["verdict"] for v in row.get("vantages", [])), "gainsays a vantage")
            gone = self.withdrawn.get(row.get("evidence_digest"))
            need("erratum.basis", not error or not j or not gone or gone["number"] > o["number"], "rests on what was gone before")
            own = self.seen.get(row.get("evidence_digest"), seen)
            need("erratum.basis", not error or not seen or own == seen, "rests on another look than the row's own")

    def looked(self, o, digest):
        """The judgement of an observation with the times of its exchanges; nothing where none is kept."""
        at(f"evidence/observations/{digest}.jsonl.gz")
        there, gone = where in self.files, digest in self.withdrawn
        need("evidence.withdrawn", not (there and gone), "is there although withdrawn")
        need("evidence.missing", there or gone or not self.under("evidence"), "is missing")
        return self.judgement(self.read(where), digest) if there else (None, [], b"")

    def pack(self, stem, h, rows=None):
        """Looks through the pack of some rows of a round or, without rows, of its control walks."""
        name, index, door = stem + ".jsonl.gz", stem + ".index.json", None
        at(index)
        need("evidence.pair", (name in self.files) == (index in self.files), "a pack without its index, or the reverse")
        if name not in self.files:
            return
        entries, raw = self.json(index, "index", "evidence.index", end=b"\n")[0]["entries"], self.read(name)
        formed([e["offset"] for e in entries] + [len(raw)] == [0, *accumulate(e["bytes"] for e in entries)], "is not of its pack")
        named = {(r["host"], x["evidence_digest"]): r for r in rows or () for x in [r, *r.get("vantages", [])] if "evidence_digest" in x}
        if rows is None:
            named = {("", digest): h for digest in h["control"].get("evidence", [])}
        for e in entries:
            r = named.pop(("" if rows is None else e["host"], e["sha256"]), None)
            need("evidence.named", r, "holds what nothing names")
            need("evidence.withdrawn", e["sha256"] not in self.withdrawn, "holds what was withdrawn")
            j, started, self.seen[e["sha256"]] = self.judgement(raw[e["offset"]:e["offset"] + e["bytes"]], e["sha256"], r.get("reason") == "opted_out")
            door = f"https://{r['host']}/.well-known/x402" if "census" in j else r.get("url", door or j["url"])
            need("judgement.door", (j["url"], j.get("battery", r["battery"])) == (door, r["battery"]), "is of another door")
            own = e["sha256"] == r.get("evidence_digest") and "observed_at" in r
            need("judgement.door", not own or r["observed_at"] in started, "is of another time")
        need("evidence.missing", all(digest in self.withdrawn for _, digest in named), "lacks what a row or a control walk rests on")

    def judgement(self, member, digest, opted=False):
        at(where, "evidence.gzip")
        formed(member[:10] == bytes.fromhex("1f8b08000000000002ff"), "has another head of gzip")
        unzip = zlib.decompressobj(31)
        raw = unzip.decompress(member, 262145)
        formed(len(raw) > 262144 or unzip.eof and not unzip.unused_data, "is cut off, or goes on")
        need("evidence.digest", len(raw) <= 262144 and sha(raw).hex() == digest, "is too long, or not of its digest")
        at(where, "judgement.form")
        first, *lines, end = raw.split(b"\n")
        j = exact(first, "opt_out" if opted else "judgement")
        formed(j["salt"] != ZERO and j.get("exchanges", 1) == len(lines) and end == b"", "no salt, or other exchanges")
        for e in map(parse, lines):
            formed(fits("exchange", e), "an exchange is not of its form")
            formed(not opted or (e["method"], e["url"], e["status"], e["body"]["truncated"], e["error"]["stage"]) ==
                   ("GET", j["url"], 200, False, ""), "an opt-out that was not read whole")
        return j, [parse(line)["started_at"] for line in lines], sha(*lines)

    def words(self):
        salts = {}
        for o in self.obs if self.under("words") else ():
            said = [o.get("word"), o.get("note", {}).get("statement"), *map(o.get("tip", {}).get, ("title", "by"))]
            for digest in [x["sha256"] for x in said if x]:
                at(f"words/{digest}.json")
                there, gone = where in self.files, digest in self.withdrawn
                need("words.withdrawn", not (there and gone), "is there although withdrawn")
                need("words.missing", there or gone, "is missing")
                if there:
                    w, _ = self.json(where, "words_file", "words.form", end=b"\n")
                    text = w["text"].encode()
                    formed(len(text) <= 8192 and (len(w["text"]) <= 500 or "note" not in o), "is too long")
                    need("words.digest", sha(bytes.fromhex(w["salt"]), text).hex() == digest, "is not of its digest")
                    need("words.salt", salts.setdefault(w["salt"], digest) == digest, "a salt twice")

def continues(ring, older):
    """Whether a ring is an older one with further handovers behind it."""
    dated = lambda keys: {(k["purpose"], k["public_key"], k["since"]) for k in keys}
    return (all(ring[m][:len(older[m])] == older[m] for m in ("handovers", "retired")) and
            dated(older["current"]) <= dated(ring["current"] + ring["retired"]) and
            all(any(w.items() <= x.items() for x in ring.get("walkers", [])) for w in older.get("walkers", [])))

def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-forms", type=pathlib.Path, default=pathlib.Path(__file__).with_name("forms.txt"), help="the table of forms")
    options.add_argument("-keys", type=lambda name: parse(pathlib.Path(name).read_bytes()), help="a ring held before")
    options.add_argument("-remember", type=lambda name: checkpoint(pathlib.Path(name).read_bytes()), help="a checkpoint seen before")
    options.add_argument("folder", type=pathlib.Path, nargs="+")
    args, worst = options.parse_args(), 0
    read_forms(args.forms.read_text("ascii"))
    for folder in args.folder:
        try:
            said = Record(folder).verify(args.keys, args.remember)
        except (Refused, ValueError, RecursionError, DeserializationError, zlib.error, InvalidSignature) as e:
            said, worst = str(e) if type(e) is Refused else f"{form_rule}: {where}: {str(e) or type(e).__name__}", 1
        except Unproven as e:
            said, worst = f"unproven: {e}", worst or 4
        print(f"{folder}: {said}", flush=True)
    return worst

sys.exit(main())
