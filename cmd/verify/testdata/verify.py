#!/usr/bin/python3
"""verify FOLDER... checks records in the form store-corpus/v1. It was made from the pages
/spec/store-corpus/v1, /spec/store-corpus/v1/rules and /spec/store-evidence/v1, and from nothing else.

For each it says what it saw, or "rule: file: why" by the rule that refuses it; it ends with 0,
with 1 where one was refused, and with 4 where one ends before something that is known of it: -remember FILE,
a checkpoint seen before; -keys FILE, a ring held before. It does not judge walks again, which takes the
battery. Ed25519 is the package cryptography's, proofs of time are read by opentimestamps.
"""
import base64, datetime, hashlib, json, os, re, struct, sys, zlib
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from opentimestamps.core.serialize import BytesDeserializationContext, DeserializationError
from opentimestamps.core.timestamp import DetachedTimestampFile

FOLDERS = ("rounds", "observations", "words", "evidence", "proofs", "log", "keys", "manifest")
PURPOSES = ["identity", "log", "git", "webhook"]
ZERO = "0" * 64
where = form_rule = ""  # the file that is looked at, and the rule that says of what form it is

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
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(sig, message)
    except (InvalidSignature, ValueError):
        need(rule, False, "the signature does not fit")

def signed(rule, raw, key):
    """Checks the signature that stands last in canonical bytes."""
    body, _, last = raw.rpartition(b',"signature":"')
    check(rule, key, bytes.fromhex(last[:128].decode()), body + b"}")

def kid_of(key):
    x = base64.urlsafe_b64encode(bytes.fromhex(key)).rstrip(b"=")
    thumb = sha(b'{"crv":"Ed25519","kty":"OKP","x":"' + x + b'"}')
    return base64.urlsafe_b64encode(thumb).rstrip(b"=").decode()

# JSON, and what its members may be.

def pairs(members):
    formed(len(dict(members)) == len(members), "a name twice")
    return dict(members)

def parse(raw, number=lambda text: formed(False, f"the number {text}")):
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=pairs, parse_float=number, parse_constant=lambda text: formed(False, text))
    except (ValueError, RecursionError) as e:
        formed(False, f"no JSON: {e}")

def canonical(v, **how):
    try:
        return json.dumps(v, separators=(",", ":"), ensure_ascii=False, **how).encode("utf-8")
    except (UnicodeEncodeError, RecursionError) as e:
        formed(False, f"no text: {e}")

def exact(raw, of, why="is not of its form, or is spelt in another way"):
    v = parse(raw)
    formed(NAMED[of](v) and canonical(v) == raw, why)
    return v

def matching(pattern):
    return lambda v: type(v) is str and bool(re.fullmatch(pattern, v, re.A))

def dated(pattern, read):
    def is_one(v):
        try:
            return matching(pattern)(v) and bool(read(v))
        except ValueError:
            return False
    return is_one

is_day = dated(r"\d{4}-\d\d-\d\d", datetime.date.fromisoformat)
is_time = dated(r"[-0-9]{10}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", lambda v: is_day(v[:10]))
is_week = dated(r"\d{4}-W\d\d", lambda v: datetime.date.fromisocalendar(int(v[:4]), int(v[6:]), 1))

def integer(least):
    return lambda v: type(v) is int and least <= v < 1 << 53

NAMED = {
    "n": integer(0), "n1": integer(1), "place": lambda v: integer(0)(v), "bool": lambda v: type(v) is bool, "true": lambda v: v is True,
    "day": is_day, "time": is_time, "since": lambda v: v == "" or is_time(v), "week": is_week,
    "digest": matching("[0-9a-f]{64}"), "signature": matching("[0-9a-f]{128}"), "block": matching("[0-9a-f]{160}"),
    "kid": matching("[-_A-Za-z0-9]{43}"), "host": matching(r"[!#-.0-@\[\]-~]{1,253}"), "level": matching("L[0-6]"),
    "network": matching(r"eip155:(0|[1-9]\d{0,31})|(?!eip155:)[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}|other"),
    "amount": matching(r"(?=.{1,80}$)(0|[1-9]\d*)(\.\d{1,6})?"), "transaction": matching("[!-~]{1,128}"),
    "media": matching(r"other||[-!#$&^_.+a-z0-9]+/[-!#$&^_.+a-z0-9]+"), "declared": matching("POST|"),
    "walked": matching("ready|not_ready|unreachable"), "verdict": matching("ready|not_ready|unreachable|not_probed"),
    "tag": matching("[0-9A-Za-z][-+._0-9A-Za-z]{0,63}"), "filename": matching("[0-9A-Za-z][-+._0-9A-Za-z]{0,99}"),
    "commit": matching("[0-9a-f]{40}|[0-9a-f]{64}"), "fault": matching("none|door|path|instrument"), "purpose": matching("identity|log|git|webhook"),
}

def kind(spec):
    """What a word stands for: a name above, t9 a text of at most 9 bytes, s9 one that is not empty, kind*9 a
    list of at most 9, with ^ behind it sorted, by the member that follows, or else one of some words."""
    many = re.fullmatch(r"(.+)\*(\d+)(?:(\^)(\w*))?", spec)
    if many:
        of, most, is_sorted, key = kind(many[1]), int(many[2]), many[3], many[4]

        def is_list(v):
            if type(v) is not list or len(v) > most or not all(map(of, v)):
                return False
            keys = [(x[key] if key else x).encode() for x in v] if is_sorted else []
            return all(a < b for a, b in zip(keys, keys[1:]))
        return is_list
    if re.fullmatch(r"[ts]\d+", spec):
        return lambda v: type(v) is str and (spec[0] == "t" or v != "") and len(canonical(v)) - 2 <= int(spec[1:])
    return NAMED.get(spec) or (lambda v: type(v) is str and v in spec.split("|"))

def form(spec):
    """An object: its members in their order, name:kind, name?:kind where it may be left out."""
    members = [(m[0].rstrip("?"), m[0].endswith("?"), kind(m[1])) for m in (w.split(":", 1) for w in spec.split())]

    def is_one(v):
        if type(v) is not dict:
            return False
        names = [name for name, optional, _ in members if name in v or not optional]
        return list(v) == names and all(
            of(v[name]) and (not optional or of is NAMED["place"] or v[name] not in ("", 0, [], {}))
            for name, optional, of in members if name in v)
    return is_one

for name, spec in {
    "payto": "network:network digest:digest", "words": "sha256:digest", "last": "size:n root:digest",
    "offer": "networks:network*32 networks_left_out?:n1 schemes:t64*8 min_usdc?:amount max_usdc?:amount "
        "pay_to:payto*32 pay_to_left_out?:n1 not_captured_reason?:t64",
    "also": "version:s16 verdict:ready|not_ready|unreachable|method_unresolved difference?:t160",
    "method": "used:t64 attempted:t64*4 declared_by?:t64", "vantage": "id:kid verdict:walked evidence_digest:digest",
    "row": "format:store-row/v1 origin:s320 sequence:n1 week:week host:host url:t2560 listed:bool "
        "source:discovery|well-known|list|revisit catalog:t64 late?:true verdict:verdict reason?:t64 "
        "reached_level?:level failed:t44*24 advisories:t44*44 also_under?:also*4^version protocols:t64*8 "
        "probe_method?:method offer?:offer battery:s16 fault:fault observed_at?:time evidence_digest?:digest "
        "vantages?:vantage*4^id previous_leaf?:place kid:kid signature:signature",
    "source": "name:t9999 kind:t9999 hosts:n complete:bool problem?:t9999",
    "roster": "listed:n walked:n capped:bool sources:source*9999",
    "lot": "roster_digest:digest height?:n1 header?:block own?:digest",
    "coverage": "due:n probed:n not_probed:n previous_probed:n dropped:bool suspect:bool",
    "control": "walks:n failed:n evidence?:digest*4096^ evidence_left_out?:n1",
    "flow": "network:network read:bool transfers:n addresses:n addresses_left_out?:n1 usdc:amount reason?:t9999",
    "inflows": "from:since to:since networks:flow*9999", "part": "rows:n1 sha256:digest",
    "header": "format:store-round/v1 origin:s320 sequence:n1 week:week taken_at:time previous_digest:digest "
        "battery:s16 battery_digest:digest private?:true roster:roster lot?:lot coverage:coverage control:control inflows:inflows "
        "first_leaf:n rows:n parts:part*999999 kid:kid digest:digest signature:signature",
    "key": "purpose:purpose public_key:digest kid:kid since:day",
    "retired": "purpose:purpose public_key:digest kid:kid since:day retired_on:day",
    "handover": "format:store-key-handover/v1 purpose:purpose from_kid:kid from_public_key:digest to_kid:kid "
        "to_public_key:digest effective:day reason:t9999 last_head?:last signature:signature",
    "walker": "public_key:digest kid:kid since:day retired_on?:day",
    "ring": "format:store-key-ring/v1 current:key*4 retired:retired*9999 handovers:handover*9999 walkers?:walker*64^kid",
    "refresh": "host:host url:t2560 verdict:walked reached_level:level failed:t44*24 battery:s16 fault:fault "
        "evidence_digest:digest", "claim": "status:n body_sha256:digest bytes:n latency_ms:n content_type:media",
    "walk": "host:host url:t2560 network:network transaction:transaction usdc:amount claim?:claim",
    "declaration": "host:host shape:t9999 doors:t2560*20 doors_left_out?:n1 foreign:n",
    "note": "host:host lane:wallet|host statement:words signed_at:time pay_to?:payto",
    "tip": "id:t9999 title:words text:words by?:words", "class": "class:t9999 total:n",
    "counted": "through:week size:n1 root:digest", "issued": "total:n classes:class*64^class certificates?:counted", "withdrawn": "sha256:digest reason:s500",
    "built": "name:filename sha256:digest", "release": "version:tag commit:commit files:built*64^name",
    "closed": "week:week hosts:n digest:digest height?:n1 own:digest",
    "erratum": "leaf:n reason:t9999 verdict_now:verdict evidence_digest?:digest",
    "text": "format:store-words/v1 salt:digest text:s8192", "packed": "host:host sha256:digest offset:n bytes:n1",
    "pack": "format:store-evidence-index/v1 entries:packed*20480", "stated": "method:declared by:t64",
    "opt-out": "format:store-opt-out/v1 url:t9999 census:no salt:digest", "judgement": "format:store-judgement/v1 battery:s16 url:t9999 declared:stated exchanges:n salt:digest",
    "file": "path:t9999 size:n sha256:digest", "left": "path:t9999 why:t9999",
    "piece": "path:t9999 directory:t9999 bucket:t9999 files:n bytes:n root:digest sha256:digest",
    "pieces": "format:store-manifest-part/v1 directory:t9999 bucket:t9999 files:file*99999^path",
    "manifest": "format:store-manifest/v1 base_url:t9999 content_digest:t9999 files:n bytes:n leaves_out:left*9999 "
        "parts:piece*99999 root:digest kid:kid public_key:digest signature:signature",
}.items():
    NAMED[name] = form(spec)
KINDS = {k: form(f"format:store-observation/v1 number:n1 at:time kind:{k}| {members} kid:kid signature:signature")
         for k, members in re.findall(r"(\w+) ([^,]*)", "retired_word word:words epitaph?:t1000,paid_refresh refresh:refresh,"
                                      "paid_walk walk:walk,declaration declaration:declaration,standing_note note:note,"
                                      "published_tip tip:tip,artifacts_issued issued:issued,key_event handover:handover,"
                                      "withdrawn withdrawn:withdrawn,roster roster:closed,erratum erratum:erratum,release release:release")}
BATTERIES = {"v1": "bd636ef28811dc31a14d7715440cc668afc361020aae79490071a820cc3d0903",
             "v2": "3e0718309248e232520993ca211c91e475bf9331e5553ac616d46ff67756e48b"}
ORDER = "format method url started_at duration_ms status proto headers other_headers body challenges error head_bytes"

# Merkle trees (RFC 6962) and their tiles.

class Tree:
    def __init__(self, leaves):
        self.leaves, self.levels = leaves, [[sha(b"\0", x) for x in leaves]]
        while len(low := self.levels[-1]) > 1:
            self.levels.append([sha(b"\1", low[i], low[i + 1]) for i in range(0, len(low) - 1, 2)])

    def root(self, size):
        out, begin, subtrees = None, 0, []
        for level in reversed(range(size.bit_length())):
            if size >> level & 1:
                subtrees.append(self.levels[level][begin >> level])
                begin += 1 << level
        for h in reversed(subtrees):
            out = h if out is None else sha(b"\1", h, out)
        return out or sha()

    def count(self, level):
        return len(self.leaves) if level == "entries" else len(self.leaves) >> 8 * level

    def files(self, folder):
        """Every tile and bundle, the last of a level as wide as it is."""
        for level in ("entries", *range(8)):
            for n in range(-(-self.count(level) // 256)):
                width = min(256, self.count(level) - 256 * n)
                yield f"{folder}/{level}/{tile_name(n)}" + (f".p/{width}" if width < 256 else ""), self.tile(level, n, width)

    def tile(self, level, n, width):
        some = slice(256 * n, 256 * n + width)
        if level == "entries":
            return b"".join(struct.pack(">H", len(e)) + e for e in self.leaves[some])
        return b"".join(self.levels[8 * level][some])

def tile_name(n):
    groups = [f"{n % 1000:03d}"]
    while n := n // 1000:
        groups.insert(0, f"x{n % 1000:03d}")
    return "/".join(groups)

def base64_of(text):
    formed(re.fullmatch(r"(?:[+/\w]{4})*(?:[+/\w]{2}==|[+/\w]{3}=)?", text, re.A) and "_" not in text, "no base64")
    raw = base64.b64decode(text)
    formed(base64.b64encode(raw).decode() == text, "base64 in another way")
    return raw

def checkpoint(raw):
    try:
        text = raw.decode("utf-8")
        lines = [] if re.search("[\0-\x09\x0b-\x1f\x7f-\x9f]", text) else text.split("\n")
    except ValueError:
        lines = []
    formed(len(lines) > 5 and lines[0] and re.fullmatch(r"0|[1-9]\d*", lines[1], re.A) and lines[3] == lines[-1] == "", "no checkpoint")
    return int(lines[1]), base64_of(lines[2]), lines

def signature_line(line):
    m = re.fullmatch("\u2014 ([^ +]+) (\\S+)", line)
    formed(m, "no signature line")
    raw = base64_of(m[2])
    formed(len(raw) > 4, "no signature")
    return m[1], raw[:4], raw[4:]

class Record:
    def __init__(self, folder):
        self.files, self.asked, names = {}, set(), set()
        tops = [x for x in os.listdir(folder) if x.lower() in FOLDERS or x.lower() == "manifest.json"]
        for above, folders, files in [(folder, tops, ())] + [x for top in FOLDERS for x in os.walk(os.path.join(folder, top))]:
            for name in folders + list(files):
                full = os.path.join(above, name)
                at(os.path.relpath(full, folder))
                need("file.kind", not os.path.islink(full) and (os.path.isdir(full) or os.path.isfile(full)), "is no file")
                need("file.name", where.upper().lower() not in names, "differs from another in case alone")
                names.add(where.upper().lower())
                if os.path.isfile(full):
                    self.files[where] = full

    def read(self, name, form=None, most=1 << 26):
        at(name, form)
        need("file.missing", name in self.files, "is missing")
        need("file.size", os.path.getsize(self.files[name]) <= most, "is too large")
        self.asked.add(name)
        with open(self.files[name], "rb") as f:
            return f.read()

    def json(self, name, of, form, most=1 << 26, end=b""):
        raw = self.read(name, form, most)
        formed(raw.endswith(end), "has no newline at its end")
        return exact(raw[:len(raw) - len(end)], of), raw

    def under(self, folder):
        return sorted(name for name in self.files if name.startswith(folder + "/"))

    # Keys

    def keys(self, held):
        raw = self.read("keys/ring.json", "ring.form", 4 << 20)
        self.ring = ring = parse(raw)
        formed(NAMED["ring"](ring) and json.dumps(ring, indent=2, ensure_ascii=False).encode() + b"\n" == raw, "another form")
        walkers = ring.get("walkers", [])
        formed(all(w["since"] <= w.get("retired_on", "~") for w in walkers), "a walker's key ends before it begins")
        keys = ring["current"] + ring["retired"] + walkers
        need("ring.key", all(kid_of(k["public_key"]) == k["kid"] for k in keys), "a kid is no thumbprint of its key")
        need("ring.key", len({k["kid"] for k in keys}) == len(keys), "a key twice")
        need("ring.handover", len(ring["handovers"]) == len(ring["retired"]) and
             all(k["since"] <= k["retired_on"] for k in ring["retired"]), "not one handover for each retired key")
        of = {p: [k for k in keys if k.get("purpose") == p] for p in PURPOSES}
        for p in PURPOSES:
            chain, by = [h for h in ring["handovers"] if h["purpose"] == p], {k["kid"]: k for k in of[p]}
            for h in chain:
                self.handover(h)
            path = [h["from_kid"] for h in chain] + [chain[-1]["to_kid"] if chain else of[p][0]["kid"] if of[p] else ""]
            need("ring.handover", len(set(path)) == len(path) == len(by) and set(path) == by.keys() or not of[p] and not chain,
                 f"handovers of {p} that do not lead from key to key")
            of[p] = [by[kid] for kid in path if kid]
            for k, h, following in zip(of[p], chain, of[p][1:]):
                need("ring.handover", (h["to_kid"], h["effective"], k.get("retired_on")) ==
                     (following["kid"], following["since"], h["effective"]), f"a handover of {p} does not fit")
            heads = [h["last_head"] for h in chain] if p == "log" else []
            need("ring.handover", all(a == b or a["size"] < b["size"] for a, b in zip(heads, heads[1:])), "a log that shrinks")
        need("ring.key", [k["purpose"] for k in ring["current"]] == PURPOSES, "not one key for each purpose")
        self.own_heads, self.own_identity = self.heads_of(ring), of["identity"][-1]["kid"]
        known = ring
        if held and not continues(ring, held):
            need("ring.known", continues(held, ring), "neither goes on from the ring that is known nor is its beginning")
            known = held
        self.known_heads = self.heads_of(known)
        keys = sorted(known["current"] + known["retired"], key=lambda k: k.get("retired_on", "~"))
        self.of = {p: [k for k in keys if k["purpose"] == p] for p in PURPOSES}
        self.ring, self.walkers = known, {w["kid"]: w for w in known.get("walkers", [])}

    def handover(self, h, inside=None):
        need(inside or "ring.key", kid_of(h["from_public_key"]) == h["from_kid"] and kid_of(h["to_public_key"]) == h["to_kid"],
             "a kid is no thumbprint of its key")
        last = h.get("last_head")
        need(inside or "ring.handover", h["from_kid"] != h["to_kid"] and (last is not None) == (h["purpose"] == "log") and
             (not last or last["size"] or last["root"] == sha().hex()), "a head where none is, or none where one is")
        signed(inside or "ring.signature", canonical(h), bytes.fromhex(h["from_public_key"]))

    def heads_of(self, ring):
        return [h["last_head"] for h in ring["handovers"] if h["purpose"] == "log"]

    def identity(self, rule, kid, time):
        k = next((k for k in self.of["identity"] if k["kid"] == kid), None)
        need(rule, k and k["since"] <= time[:10] <= k.get("retired_on", "~"), "by no identity key in force")
        return bytes.fromhex(k["public_key"])

    # Manifest

    def manifest(self):
        if not any(name.startswith("manifest") for name in self.files):
            return
        m, raw = self.json("manifest.json", "manifest", "manifest.form", end=b"\n")
        need("manifest.key", kid_of(m["public_key"]) == m["kid"], "its kid is no thumbprint of its key")
        signed("manifest.signature", raw[:-1], bytes.fromhex(m["public_key"]))
        root = lambda leaves: Tree([canonical(x) for x in leaves]).root(len(leaves)).hex()
        places = [(p["directory"], p["bucket"]) for p in m["parts"]]
        need("manifest.root", all(a < b and (a[0] != b[0] or len(a[1]) == len(b[1]) and "all" not in (a[1], b[1]))
                                  for a, b in zip(places, places[1:])), "its parts overlap, or are not sorted")
        need("manifest.root", all(p["path"] == f"manifest/{p['directory']}/{p['bucket']}.json" for p in m["parts"]) and
             [sum(p[x] for p in m["parts"]) for x in ("files", "bytes")] == [m["files"], m["bytes"]] and
             root(m["parts"]) == m["root"], "its sums, root or places are not those of its parts")
        need("manifest.key", m["kid"] == self.own_identity, "not by the identity key")
        have, left = {}, [x["path"] for x in m["leaves_out"]]
        for p in m["parts"]:
            at(p["path"], "manifest.part")
            need("manifest.part", where in self.files, "is missing")
            body = self.read(where)
            need("manifest.part", sha(body).hex() == p["sha256"], "is not of its digest")
            v = parse(body)
            need("manifest.part", NAMED["pieces"](v), "is not of its form")
            lines = b",\n".join(map(canonical, v["files"]))
            need("manifest.part", body == canonical(dict(v, files=[]))[:-2] + b"\n" + lines + b"\n]}\n", "is spelt in another way")
            need("manifest.part", all(e["path"].startswith(p["directory"] + "/") and (p["bucket"] == "all" or sha(
                e["path"].encode()).hex().startswith(p["bucket"])) for e in v["files"]), "holds what is of another part")
            need("manifest.part", (v["directory"], v["bucket"], len(v["files"]), sum(e["size"] for e in v["files"]), root(
                v["files"])) == (p["directory"], p["bucket"], p["files"], p["bytes"], p["root"]), "its figures are others")
            have.update({e["path"]: e for e in v["files"]})
        for name in sorted(self.files):
            at(name)
            if name in left or any(x.endswith("/") and name.startswith(x) for x in left):
                continue
            if name.startswith("manifest/"):
                need("manifest.part", name in self.asked, "is no part of the manifest")
                continue
            need("manifest.added", name in have, "the manifest does not list it")
            e, full = have.pop(name), self.files[name]
            need("manifest.changed", os.path.getsize(full) == e["size"], "the manifest has another")
            with open(full, "rb") as f:
                need("manifest.changed", sha(f.read()).hex() == e["sha256"], "the manifest has another")
        for name in have:
            at(name)
            need("manifest.missing", False, "the manifest lists it")

    # Rounds and observations, each by itself

    def headers(self):
        self.heads, before = [], None
        numbers = [int(m[1]) for m in (re.match(r"rounds/([1-9]\d{0,8})/", name, re.A) for name in self.files) if m]
        for n in range(1, max(numbers, default=0) + 1):
            h, raw = self.json(f"rounds/{n}/header.json", "header", "round.form", 4 << 20)
            lot, parts, control, flows = h.get("lot"), h["parts"], h["control"], h["inflows"]
            formed((h["sequence"] == 1) == (h["previous_digest"] == ZERO), "a first round after another")
            formed(not lot or ("header" in lot) != ("own" in lot) and ("header" not in lot or "height" in lot), "not one seed")
            need("round.battery", BATTERIES.get(h["battery"]) == h["battery_digest"], "by a battery that is not known")
            need("round.parts", all(p["rows"] == 4096 for p in parts[:-1]) and all(p["rows"] <= 4096 for p in parts) and
                 sum(p["rows"] for p in parts) == h["rows"], "its parts do not add up")
            walks = control.get("evidence", [])
            need("round.control", control["failed"] <= control["walks"] == len(walks) + control.get("evidence_left_out", 0),
                 "its control walks do not add up")
            need("round.inflows", "" < flows["from"] <= flows["to"] or list(flows.values()) == ["", "", []], "inflows of no time")
            need("round.inflows", all(x["read"] != ("reason" in x) for x in flows["networks"]), "a reason where none is")
            need("round.inflows", all(x["read"] or "addresses_left_out" not in x for x in flows["networks"]), "some left out of none")
            bare = canonical({k: v for k, v in h.items() if k not in ("digest", "signature")})
            need("round.digest", sha(bare).hex() == h["digest"], "its digest is another")
            h["key"] = self.identity("round.key", h["kid"], h["taken_at"])
            check("round.signature", h["key"], bytes.fromhex(h["signature"]), bare)
            need("round.sequence", h["sequence"] == n, "stands in the place of another")
            if before:
                need("round.previous", h["previous_digest"] == before["digest"], "is of another round before")
                need("round.origin", h["origin"] == before["origin"], "is of another log")
                need("round.private", ("private" in h) == ("private" in before), "is private, or the one before")
                need("round.later", h["week"] > before["week"] and h["taken_at"] > before["taken_at"], "is not later")
                need("round.place", h["first_leaf"] >= before["first_leaf"] + before["rows"], "overlaps")
                need("round.lot", lot or "lot" not in before, "has no lot")
            need("round.probed", h["coverage"]["previous_probed"] == (before or NONE)["coverage"]["probed"], "counts another round before")
            h["file_sha256"], before = sha(raw).hex(), h
            self.heads.append(h)

    def observations(self):
        self.obs, self.withdrawn, counts, told, through = [], set(), {}, [], ""
        while (name := f"observations/{len(self.obs) + 1:09d}.json") in self.files:
            raw = self.read(name, "observation.form", 16384)
            o = parse(raw)
            formed(type(o) is dict and KINDS.get(str(o.get("kind")), lambda _: False)(o) and canonical(o) == raw,
                   "is not of its form, or is spelt in another way")
            kind, body = o["kind"], list(o.values())[4]
            if kind == "paid_refresh":
                formed(body["verdict"] != "ready" or not body["failed"], "failed although it is ready")
                formed(o["at"] >= "2026-09-01" or body["battery"] == "v1", "a battery before its time")
            if kind == "declaration":
                formed(sum(len(canonical(d)) - 2 for d in body["doors"]) <= 12288, "too many doors")
            if kind == "standing_note":
                formed((body["lane"] == "wallet") == ("pay_to" in body), "a lane without what it needs")
            if kind == "erratum":
                formed((body["verdict_now"] == "not_probed") != ("evidence_digest" in body), "a digest where none is")
            tree = body.get("certificates", {}).get("through") if kind == "artifacts_issued" else None
            formed(not tree or tree < "%04d-W%02d" % datetime.date.fromisoformat(o["at"][:10]).isocalendar()[:2], "a week that is not over")
            if kind == "release":
                formed(body["files"], "no files")
            if kind == "key_event":
                self.handover(body, "observation.form")
            now = {c["class"]: c["total"] for c in body["classes"]} if kind == "artifacts_issued" else counts
            formed(kind != "artifacts_issued" or sum(now.values()) == body["total"], "its totals do not add up")
            signed("observation.signature", raw, self.identity("observation.key", o["kid"], o["at"]))
            need("observation.number", o["number"] == len(self.obs) + 1, "stands in the place of another")
            need("handover.told", kind != "key_event" or body in self.ring["handovers"] and body not in told,
                 "a handover is told twice, or is none")
            need("issued.falls", all(now.get(c, -1) >= n for c, n in counts.items()), "counts fall")
            need("issued.week", not tree or tree > through, "two trees of one week")
            need("release.twice", kind != "release" or body["version"] not in [o["release"]["version"] for o, _ in self.obs
                 if "release" in o], "a version is released twice")
            counts, through = now, tree or through
            told += [body] * (kind == "key_event")
            self.withdrawn |= {body["sha256"]} if kind == "withdrawn" else set()
            self.obs.append((o, raw))

    # Rows, as the log has them

    def rows(self):
        self.index, self.row_at, self.leaves, number = {}, {}, [], 0
        self.closed = {}
        for i, (o, _) in enumerate(self.obs):
            if o["kind"] == "roster":
                at(f"observations/{o['number']:09d}.json")
                need("lot.twice", o["roster"]["week"] not in self.closed, "closes a roster that was closed")
                self.closed[o["roster"]["week"]] = (i, o)
        for h, before in zip(self.heads, [NONE] + self.heads):
            while len(self.leaves) < h["first_leaf"] and number < len(self.obs):
                self.leaves.append(self.obs[number][1])
                number += 1
            at(f"rounds/{h['sequence']}/header.json")
            need("round.place", len(self.leaves) == h["first_leaf"], "does not begin where the one before ends")
            self.round(h, before, number)
            size = len(h["hosts"].leaves)
            self.leaves += [canonical(x) for x in (
                {"digest": h["digest"], "file_sha256": h["file_sha256"], "sequence": h["sequence"], "type": "round"},
                {"root": h["hosts"].root(size).hex(), "sequence": h["sequence"], "size": size, "type": "hosts"})]
            h["end"] = len(self.leaves)
        self.leaves += [raw for _, raw in self.obs[number:]]

    def round(self, h, before, observed):
        name, rows = where, []
        for i, part in enumerate(h["parts"]):
            body = self.read(f"rounds/{h['sequence']}/part-{i + 1:04d}.jsonl", "row.form", 4096 * 16385)
            need("part.digest", sha(body).hex() == part["sha256"], "is not of its digest")
            lines = body.split(b"\n")
            need("part.rows", lines.pop() == b"" and len(lines) == part["rows"], "has another number of rows")
            some = []
            for line in lines:
                some.append(self.row(h, line, (rows + some or [None])[-1]))
            if self.under("evidence"):
                self.pack(f"evidence/{h['sequence']:09d}/{i + 1:06d}", some)
            at(f"rounds/{h['sequence']}/part-{i + 1:04d}.jsonl")
            for r, line in zip(some, lines):
                held = self.index.get(r["host"], {"first_sequence": h["sequence"], "head": ZERO, "rows": 0})
                need("row.previous", r.get("previous_leaf") == held.get("last_leaf"), "does not name its host's row before")
                self.index[r["host"]] = dict(held, host=r["host"], last_leaf=len(self.leaves), rows=held["rows"] + 1,
                                             head=sha(bytes.fromhex(held["head"]), sha(line)).hex())
                self.row_at[len(self.leaves)] = h["taken_at"]
                self.leaves.append(line)
            rows += some
        at(name)
        roster, previous = h["roster"], before["coverage"]["probed"]
        probed = sum(r["verdict"] != "not_probed" for r in rows)
        dropped = 100 * probed < 60 * previous
        own = "own" in h.get("lot", {}) and "own" in before.get("lot", {})
        suspect = dropped or roster["capped"] or own or not all(s["complete"] for s in roster["sources"])
        need("round.coverage", roster["walked"] == probed and h["coverage"] == {
            "due": len(rows), "probed": probed, "not_probed": len(rows) - probed, "previous_probed": previous,
            "dropped": dropped, "suspect": suspect}, "its counts are not those of its rows")
        if "lot" in h:
            self.lot(h, [r for r in rows if "late" not in r], observed)
        tree = h["hosts"] = Tree([canonical(self.index[x], sort_keys=True) for x in sorted(self.index)])
        stem = f"rounds/{h['sequence']}/hosts/"
        first = "".join(x + "\n" for x in sorted(self.index)[::256])
        for file, data in [(stem + "first.txt", first.encode())] + list(tree.files(stem + "tile")):
            need("index.fold", self.read(file) == data, "is not what the rows give")

    def row(self, h, line, last):
        r = exact(line, "row", "a row is not of its form")
        formed(len(line) <= 16384, "a row is too long")
        walk, offer = ("reached_level", "observed_at", "evidence_digest"), r.get("offer", {"networks": [], "pay_to": []})
        if r["verdict"] == "not_probed":
            need("row.walk", "reason" in r and not r["failed"] and ("evidence_digest" in r) == (r["reason"] == "opted_out") and not any(
                m in r for m in walk[:2] + ("offer", "probe_method", "also_under", "vantages")), "a row was not probed")
        else:
            need("row.walk", all(m in r for m in walk) and (r["verdict"] != "ready" or not r["failed"]), "a row lacks its walk")
        formed(all(m + "_left_out" not in offer or len(offer[m]) == 32 for m in ("networks", "pay_to")),
               "a row leaves out of a list that is not full")
        formed(all(u["version"] != r["battery"] for u in r.get("also_under", [])), "a row is judged twice by one battery")
        formed((r["verdict"], r["fault"]) == ("not_ready", "path") or
               all(v["verdict"] == r["verdict"] for v in r.get("vantages", [])), "a row's vantages disagree")
        need("row.key", r["kid"] == h["kid"], "a row is by another key")
        signed("row.signature", line, h["key"])
        need("row.round", all(r[m] == h[m] for m in ("origin", "sequence", "week")), "a row is not the round's")
        looks = r.get("vantages", [])
        for w in (self.walkers.get(v["id"], {"since": "~"}) for v in looks):
            need("row.vantage", w["since"] <= h["taken_at"][:10] <= w.get("retired_on", "~"), "a vantage is by no walker's key in force")
        need("row.vantage", not looks or len({x["evidence_digest"] for x in [r] + looks}) == len(looks) + 1, "two looks rest on one judgement")
        need("row.sorted", not last or last["host"] < r["host"], "its rows are not sorted")
        return r

    def lot(self, h, on, observed):
        lot = h["lot"]
        nth, o = self.closed.get(h["week"], (observed, None))
        need("lot.closed", nth < observed, "no observation before its rows closed its roster")
        said = o["roster"]
        lines = ["store-roster/v1", h["week"]] + [r["host"] for r in on]
        digest = sha("".join(x + "\n" for x in lines).encode()).hex()
        need("lot.roster", (lot["roster_digest"], said["hosts"]) == (digest, len(on)), "its rows give another roster")
        block = bytes.fromhex(lot.get("header", ""))
        seed = sha(sha(block))[::-1] if block else bytes.fromhex(lot["own"])
        turns = {beyond: [sha(seed, r["host"].encode()) for r in on if (r.get("reason") == "beyond_cap") == beyond]
                 for beyond in (True, False)}
        need("lot.turn", not all(turns.values()) or max(turns[False]) < min(turns[True]), "a host beyond the cap had its turn first")
        need("lot.roster", digest == said["digest"], "its roster was another")
        need("lot.height", said.get("height") == lot.get("height"), "its block is another")
        if not block:
            need("lot.own", sha(seed).hex() == said["own"], "its seed was not the one that was fixed")
            return
        dated, bits = struct.unpack("<II", block[68:76])
        closing = datetime.datetime.fromisoformat(o["at"].replace("Z", "+00:00")).timestamp()
        need("lot.date", dated >= closing - 7200, "its block was there before")
        size, mantissa = bits >> 24, bits & 0x7FFFFF
        need("lot.work", not bits & 0x800000 and mantissa and 3 <= size <= 32 and int.from_bytes(seed, "big") <=
             mantissa << 8 * (size - 3), "its block has no work")

    # Log

    def log(self, remembered):
        tree, size = Tree(self.leaves), len(self.leaves)
        for file, data in tree.files("log/tile"):
            need("log.tile", self.read(file) == data, "does not belong to this log")
        for name in self.under("log/tile"):
            m = re.fullmatch(r"log/tile/(entries|[0-7])/((?:x\d{3}/)*\d{3})\.p/(.+)", name, re.A)
            level, n = ("entries" if m[1] == "entries" else int(m[1]), int(re.sub("[x/]", "", m[2]))) if m else (0, 0)
            width = int(m[3]) if m and re.fullmatch(r"[1-9]\d{0,2}", m[3], re.A) else 0
            if m and tile_name(n) == m[2] and 256 * n < tree.count(level):
                held = self.read(name)
                need("log.tile", 256 * n + width <= tree.count(level) and 0 < width < 256 and held == tree.tile(level, n, width),
                     "is not the beginning of a tile")
        at("log/checkpoint", "checkpoint.form")
        for h in self.known_heads:
            if h["size"] > size and h not in self.own_heads:
                raise Unproven(f"the log ends at {size}, before its key changed hands at {h['size']}")
            need("log.handover", h["size"] <= size and tree.root(h["size"]).hex() == h["root"], f"is another at {h['size']}")
        if not size:
            return
        need("checkpoint.tree", self.signed_head("log/checkpoint", tree) == size, "is of another size")
        for end in sorted({h["end"] for h in self.heads} | {size}):
            at(f"log/checkpoints/{end}")
            need("file.missing", where in self.files, "is missing")
        for name in self.under("log/checkpoints"):
            if re.fullmatch(r"log/checkpoints/(0|[1-9]\d*)", name, re.A):
                need("checkpoint.tree", name == f"log/checkpoints/{self.signed_head(name, tree)}", "is of another size")
                beside = name.replace("checkpoints", "cosignatures")
                lines = self.read(beside, "cosignature.form").decode("utf-8", "replace").split("\n") if beside in self.files else [""]
                formed(lines.pop() == "" and (lines or beside not in self.files), "does not end")
                for line in lines:
                    signature_line(line)
        at("log/checkpoint")
        if remembered:
            origin, old, root = remembered[2][0], *remembered[:2]
            need("log.remembered", origin == self.origin and old <= size and tree.root(old) == root, f"does not go on from the head at {old}")

    def signed_head(self, name, tree):
        size, root, lines = checkpoint(self.read(name, "checkpoint.form", 1 << 16))
        origin, heads, ours = lines[0], self.known_heads, 0
        formed(len(root) == 32, "has no root")
        ids = {sha(origin.encode(), b"\n\1", bytes.fromhex(k["public_key"]))[:4]: (bytes.fromhex(k["public_key"]), i)
               for i, k in enumerate(self.of["log"])}
        for signer, key_id, sig in map(signature_line, lines[4:-1]):
            if signer != origin or key_id not in ids:
                continue
            formed(not ours, "is signed twice")
            (key, i), ours = ids[key_id], 1
            check("checkpoint.signature", key, sig, "".join(x + "\n" for x in lines[:3]).encode())
            need("checkpoint.key", (i == 0 or size >= heads[i - 1]["size"]) and (i == len(heads) or size <= heads[i]["size"]),
                 "its key was not in force")
            need("log.handover", all(h["size"] != size or h["root"] == root.hex() for h in heads[max(i - 1, 0):i + 1]), "another root")
        need("checkpoint.key", ours, "not by the log's key")
        formed(len(lines) == 6, "more lines than the log's own")
        self.origin = self.heads[0]["origin"] if self.heads else origin
        need("checkpoint.tree", size <= len(tree.leaves) and tree.root(size) == root and origin == self.origin, "of another tree")
        return size

    # What was judged, and words

    def judged(self):
        for h in self.heads if self.under("evidence") else ():
            self.pack(f"evidence/{h['sequence']:09d}/control", control=h)
        for o, _ in self.obs:
            at(f"observations/{o['number']:09d}.json")
            e = o.get("erratum")
            need("erratum.row", not e or self.row_at.get(e["leaf"], "~") <= o["at"], "is of no row before it")
        for o, _ in self.obs if self.under("evidence") else ():
            said = o.get("refresh") or o.get("erratum") or {}
            digest = said.get("evidence_digest")
            at(f"evidence/observations/{digest}.jsonl.gz")
            there, gone = where in self.files, digest in self.withdrawn
            need("evidence.withdrawn", not (there and gone), "is there although withdrawn")
            need("evidence.missing", there or gone or "refresh" not in o, "is missing")
            if there and digest:
                j = self.judgement(self.read(where), digest)
                need("judgement.door", "erratum" in o or (said["url"], said["battery"]) == (j["url"], j["battery"]), "of another door")

    def pack(self, stem, rows=(), control=None):
        name, index = stem + ".jsonl.gz", stem + ".index.json"
        at(index)
        need("evidence.pair", (name in self.files) == (index in self.files), "a pack without its index, or the reverse")
        if name not in self.files:
            return
        v, _ = self.json(index, "pack", "evidence.index", end=b"\n")
        entries, raw, end = v["entries"], self.read(name), 0
        keys = [(e["host"], e["sha256"]) for e in entries]
        for e in entries:
            formed(e["offset"] == end, "has a gap")
            end += e["bytes"]
        formed(keys and all(a < b for a, b in zip(keys, keys[1:])) and end == len(raw), "is empty, not sorted, or of another pack")
        member = lambda e, opted=False: self.judgement(raw[e["offset"]:e["offset"] + e["bytes"]], e["sha256"], opted)
        for r in (r for r in rows if "evidence_digest" in r):
            need("evidence.named", not entries or entries[0]["host"] >= r["host"], "holds what no row names")
            named = {r["evidence_digest"], *(v["evidence_digest"] for v in r.get("vantages", []))}
            for digest in sorted(named):
                here, gone = entries and entries[0]["host"] == r["host"], digest in self.withdrawn
                kept = here and (entries[0]["sha256"] <= digest or entries[0]["sha256"] not in named)
                need("evidence.withdrawn", not (kept and gone), "holds what was withdrawn")
                need("evidence.missing", kept or gone, "lacks what a row was judged by")
                if kept:
                    e = entries.pop(0)
                    need("evidence.named", e["sha256"] == digest, "holds what no row names")
                    j = member(e, r.get("reason") == "opted_out")
                    need("judgement.door", (j["url"], j.get("battery", 0)) == (r["url"], r["battery"]) or
                         "census" in j and j["url"] == f"https://{r['host']}/.well-known/x402", "is of another door")
        due, door = set(control["control"].get("evidence", [])) if control else set(), None
        for e in entries:
            need("evidence.withdrawn", not control or e["sha256"] not in self.withdrawn, "holds what was withdrawn")
            need("evidence.named", e["sha256"] in due, "holds what nothing names")
            due.remove(e["sha256"])
            j = member(e)
            need("judgement.door", (j["url"], j["battery"]) == (door or j["url"], control["battery"]), "is of another door")
            door = j["url"]
        need("evidence.missing", due <= self.withdrawn, "lacks a control walk")

    def judgement(self, member, digest, opted=False):
        need("evidence.gzip", member[:10] == bytes.fromhex("1f8b08000000000002ff"), "has another head of gzip")
        unzip = zlib.decompressobj(31)
        try:
            raw = unzip.decompress(member, 262145)
        except zlib.error as e:
            need("evidence.gzip", False, f"is no gzip: {e}")
        need("evidence.gzip", len(raw) > 262144 or unzip.eof and not unzip.unused_data, "is cut off, or goes on")
        need("evidence.digest", len(raw) <= 262144 and sha(raw).hex() == digest, "is too long, or not of its digest")
        at(where, "judgement.form")
        lines = raw.split(b"\n")
        j = exact(lines[0], "opt-out" if opted else "judgement")
        formed(j["salt"] != ZERO and j.get("exchanges", 1) == len(lines) - 2 > 0 and lines[-1] == b"", "no salt, or other exchanges")
        for e in (parse(line, number=str) for line in lines[1:-1]):
            formed(type(e) is dict and [m for m in ORDER.split() if m in e] == list(e) and
                   e.get("format") == "store-probe-evidence/v1", "an exchange is not of its form")
            formed(not opted or (e["method"], e["url"], e["status"], e["body"]["truncated"], e["error"]["stage"]) ==
                   ("GET", j["url"], 200, False, ""), "an opt-out that was not read whole")
        return j

    def words(self):
        salts = {}
        for o, _ in self.obs if self.under("words") else ():
            for said in (o.get("word"), o.get("note", {}).get("statement"), *map(o.get("tip", {}).get, ("title", "by"))):
                if said:
                    digest = said["sha256"]
                    at(f"words/{digest}.json")
                    need("words.withdrawn", where not in self.files or digest not in self.withdrawn, "is there although withdrawn")
                    need("words.missing", where in self.files or digest in self.withdrawn, "is missing")
                    if digest not in self.withdrawn:
                        w, _ = self.json(where, "text", "words.form", end=b"\n")
                        formed(len(w["text"]) <= 500 or o["kind"] != "standing_note", "a statement too long")
                        need("words.digest", sha(bytes.fromhex(w["salt"]), w["text"].encode()).hex() == digest, "is not of its digest")
                        need("words.salt", salts.setdefault(w["salt"], digest) == digest, "a salt twice")

    # Proofs of time

    def proofs(self):
        subjects = {str(h["sequence"]): bytes.fromhex(h["digest"]) for h in self.heads}
        subjects.update((f"anchor-{n + 1}", a) for n, a in enumerate(self.anchors()))
        blocks = {}
        for name in self.under("proofs"):
            if m := re.fullmatch(r"(proofs/[^/]+)/([1-9]\d*|0)\.header", name, re.A):
                blocks[m[1], int(m[2])] = raw = self.read(name, "proof.header")
                formed(re.fullmatch(b"[0-9a-f]{160}\n", raw), "is no block header")
        for name in self.under("proofs"):
            if not name.endswith(".ots"):
                continue
            raw, folder = self.read(name, "proof.form"), name.rpartition("/")[0]
            try:
                proof = DetachedTimestampFile.deserialize(BytesDeserializationContext(raw))
            except (DeserializationError, ValueError, RecursionError) as e:
                formed(False, f"is no proof: {e}")
            need("proof.digest", proof.file_digest == subjects.get(folder[len("proofs/"):]), "is not of its digest")
            for message, attested in proof.timestamp.all_attestations():
                block = blocks.get((folder, getattr(attested, "height", None)))
                need("proof.block", not block or block[72:136] == message.hex().encode(), "a header says otherwise")

    def anchors(self):
        first = self.of["identity"][0]
        current, retired, total, previous, out = first["public_key"], [], 0, ZERO, []
        events = [(first["since"] + "T00:00:00Z", {})] + [(o["at"], o) for o, _ in self.obs if o["kind"] == "artifacts_issued"
                                                          or o.get("handover", {}).get("purpose") == "identity"]
        for taken_at, o in events:
            if "handover" in o:
                retired = retired + [{"public_key": current, "retired_on": o["handover"]["effective"]}]
                current = o["handover"]["to_public_key"]
            total = o.get("issued", {"total": total})["total"]
            out.append(sha(canonical({
                "version": 1, "sequence": len(out) + 1, "taken_at": taken_at, "previous_digest": previous,
                "current_public_key": current, "retired_keys": retired, "artifacts_issued_total": total})))
            previous = out[-1].hex()
        return out

    def verify(self, held, remembered):
        self.keys(held)
        self.manifest()
        self.headers()
        self.observations()
        self.proofs()
        self.rows()
        self.log(remembered)
        self.judged()
        self.words()
        for name in sorted(self.files.keys() - self.asked):
            at(name)
            need("file.unknown", name.startswith("manifest"), "nothing asks for it")
        return f"verified: {len(self.files)} files, {len(self.heads)} rounds, {len(self.row_at)} rows, " \
               f"{len(self.obs)} observations, a log of {len(self.leaves)} leaves"

def continues(ring, older):
    """Whether a ring is an older one with further handovers behind it."""
    now = {w["kid"]: w for w in ring.get("walkers", [])}
    keys = {json.dumps([k[m] for m in ("purpose", "public_key", "since")]) for k in ring["current"] + ring["retired"]}
    return (ring["handovers"][:len(older["handovers"])] == older["handovers"] and
            ring["retired"][:len(older["retired"])] == older["retired"] and
            all(w.items() <= now.get(w["kid"], {}).items() for w in older.get("walkers", [])) and
            all(json.dumps([k[m] for m in ("purpose", "public_key", "since")]) in keys for k in older["current"]))

NONE = {"coverage": {"probed": 0}}

def main(args):
    held = remembered = None
    while len(args) > 2 and args[0] in ("-keys", "-remember"):
        with open(args[1], "rb") as f:
            raw = f.read()
        held, remembered = (parse(raw), remembered) if args[0] == "-keys" else (held, checkpoint(raw))
        args = args[2:]
    worst = 0 if args else print(__doc__) or 2
    for folder in args:
        try:
            said = Record(folder).verify(held, remembered)
        except Refused as e:
            said, worst = str(e), 1
        except Unproven as e:
            said, worst = f"unproven: {e}", worst or 4
        print(f"{folder}: {said}", flush=True)
    return worst

sys.exit(main(sys.argv[1:]))
