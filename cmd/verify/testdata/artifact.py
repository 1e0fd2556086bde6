#!/usr/bin/python3
"""artifact KEYS FILE... checks saved answers of a store, to purchases and of /api/verify.

It was made from the page /spec/store-attestation/v1, for the log from /spec/store-corpus/v1 and the
formats of C2SP that it names, and from nothing else. KEYS is a copy of /.well-known/store-signing-key.
For each file it says "verified:" with class, id and date of what is signed in it, and which leaf of the
certificates counted in the log a certificate is; or why it is refused. It ends with 0, or with 1 where
one was refused.
"""
import base64, datetime, hashlib, json, re, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

CERTIFICATE = """cert_id item patron_number date name tip_usdc note win tag attests made_by paid_usdc asset network
    payer settlement_tx cross_ref purpose from_the_store mandate_id saw settled_via trade_partner trade_price_usd
    trade_instruction""".split()

PAYS = "value network asset from to valid_after valid_before nonce signature"
AUDIT = """audit_id class patron_number date item target slot read_at verdict findings evidence evidence_sha256
    published_sha256 what_this_cannot_tell_you from_the_store"""
CLASSES = {name: members.split() for name, members in {
    "context_anchor": "anchor_id class patron_number date summary name from_the_store",
    "bitcoin_anchor": "anchor_id class patron_number date digest label name from_the_store",
    "patronage_pass": "pass_id class patron_number date name starts ends from_the_store",
    "patronage_note": "month class date text made_by from_the_store",
    "order": """order_id class patron_number date item status paid_usdc window_hours due_at asked completed_at answer
        from_the_store""",
    "service_audit": AUDIT, "onpage_audit": AUDIT,
    "provenance_check": """prov_id class patron_number date item address read_at reading what_this_cannot_tell_you
        from_the_store""",
    "debt": f"debt_id class date kind owed_usdc {PAYS} settlement_tx from_the_store",
    "bounty": f"bounty_id class date target_url reward_usdc {PAYS} settlement_network settlement_tx from_the_store",
    "porch_line": "stamp_id class date line hour weather sealed_week from_the_store",
    "letter": "letter_id class date status wrote replied_at reply made_by from_the_store",
    "commission_request": "request_id class date status asked quoted_at price_usdc window_hours from_the_store",
    "visit_stamp": "class date from_the_store line stamp_id week",
    "guestbook_sticker": "class date entry from_the_store identity line stamp_id",
    "phantom_check": """check_id class patron_number date status url due_at promise looked_at answer missed name
        from_the_store""",
}.items()}
PREFIXES = {"anchor_id": "anchor_", "pass_id": "pass_", "order_id": "order_", "audit_id": "audit_", "prov_id": "prov_",
            "check_id": "check_", "debt_id": "debt_", "bounty_id": "bty_", "letter_id": "let_", "request_id": "req_",
            "stamp_id": "stamp_"}
SEEN = "method url at status failed head_sha256 body_sha256 body_bytes".split()

class Refused(Exception): pass

def need(ok, why):
    if not ok:
        raise Refused(why)

def pairs(members):
    need(len(dict(members)) == len(members), "a name twice")
    return dict(members)

def no_number(text):
    raise Refused(f"the number {text}")

def parse(text):
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_float=no_number, parse_constant=no_number)
    except (ValueError, RecursionError) as e:
        raise Refused(f"no JSON: {e}")

def compact(v):
    try:
        return json.dumps(v, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("no text")

def rfc8785(v):
    """The same with the members of every object sorted by the UTF-16 of their names; all numbers are integers."""
    if type(v) is dict:
        return {k: rfc8785(v[k]) for k in sorted(v, key=lambda k: k.encode("utf-16-be", "surrogatepass"))}
    if type(v) is list:
        return [rfc8785(x) for x in v]
    need(type(v) is not int or abs(v) < 1 << 53, f"the number {v}")
    return v

def sha(raw):
    return "sha256:" + hashlib.sha256(raw).hexdigest()

def in_order(v, members):
    return type(v) is dict and [m for m in members if m in v] == list(v)

def is_date(text):
    """A date, or a time in UTC in whole seconds."""
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return False
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d(T([01]\d|2[0-3])(:[0-5]\d){2}Z)?", text, re.A))

class Keys(dict):
    """The identity keys: public key in hex, since when, and until when, "" for the one in force. log has the log's
    keys from the first to the one in force, heads the last head that each but the last signed."""
    def __init__(self, raw):
        v = parse(raw)
        super().__init__({v["public_key"]: (v["since"], "")})
        self.update((k["public_key"], (k["since"], k["retired_on"])) for k in v["retired"] if k["purpose"] == "identity")
        turns = [h for h in v.get("handovers", []) if h["purpose"] == "log"]
        self.log = [h["from_public_key"] for h in turns] + [
            k["public_key"] for k in v.get("other_keys", []) if k["purpose"] == "log"]
        self.heads = [h["last_head"] for h in turns]

def check_proof(p, keys):
    """Checks both signatures, by a key of the store; returns the object that was signed, and its bytes."""
    need(p.get("algorithm") == "ed25519", "the algorithm is another")
    need(p.get("public_key") in keys, "no key of the store's")
    payload = p["signed_payload"].encode("utf-8")
    v = parse(p["signed_payload"])
    need(type(v) is dict and compact(v) == payload, "the payload is spelt in another way")
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(p["public_key"]))
    for name, message in ("signature", payload), ("signature_jcs", compact(rfc8785(v))):
        try:
            need(re.fullmatch("[0-9a-f]{128}", p.get(name, "")), f"{name} is none")
            key.verify(bytes.fromhex(p[name]), message)
        except InvalidSignature:
            raise Refused(f"{name} does not fit")
    need(p.get("signature_covers") == list(v), "signature_covers is another list")
    return v, payload

def check(p, keys):
    """Returns an object that was signed, its bytes, and what it is."""
    v, payload = check_proof(p, keys)
    members = CLASSES.get(v["class"]) if "class" in v else CERTIFICATE
    need(members, "a class of nobody's")
    need(in_order(v, members) and not any(x in ("", 0, None) for x in v.values()), "its members are others")
    name = members[0]
    need(type(v.get(name)) is str and type(v.get("date")) is str and is_date(v["date"]), "it has no id or no date")
    if name in PREFIXES:
        need(re.fullmatch(PREFIXES[name] + "[a-z2-7]{20}", v[name]), "its id is of another form")
    since, until = keys[p["public_key"]]
    need(since <= v["date"][:10] and (not until or v["date"][:10] <= until), "the key was not in force")
    if members is CLASSES["service_audit"] or members is CLASSES["onpage_audit"]:
        check_audit(v, payload)
    return v, payload, f"{v.get('class', 'certificate')} {v[name]} of {v['date']}"

def check_audit(v, payload):
    need(len(payload) <= 256 << 10, "a report of more than 256 KiB")
    seen = v.get("evidence", [])
    need(all(in_order(e, SEEN) for e in seen), "its evidence has other members")
    need(all(list(f) in (["checker", "verdict", "report"], ["checker", "report"]) and type(f["report"]) is dict
             for f in v.get("findings", [])), "its findings have other members")
    need("evidence_sha256" not in v and not seen or v.get("evidence_sha256") == sha(compact(seen)),
         "evidence_sha256 is another")

# Certificates in the log.

def tree_hash(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def root_above(leaf, index, size, hashes):
    """The root to which hashes lead from a leaf (RFC 9162, section 2.1.3.2)."""
    need(type(index) is int and type(size) is int and 0 <= index < size, "a leaf outside its tree")
    at, last, h = index, size - 1, tree_hash(b"\0", leaf)
    for beside in hashes:
        need(last and len(beside) == 32, "hashes that lead past the root")
        if at & 1 or at == last:
            h = tree_hash(b"\1", beside, h)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            h = tree_hash(b"\1", h, beside)
        at, last = at >> 1, last >> 1
    need(not last, "hashes that do not lead to the root")
    return h

def number(text):
    need(re.fullmatch(r"0|[1-9]\d{0,17}", text, re.A), f"the number {text}")
    return int(text)

def base64_of(text):
    raw = base64.b64decode(text, validate=True)
    need(base64.b64encode(raw).decode() == text, "base64 in another way")
    return raw

def check_head(text, keys):
    """Checks a checkpoint of the log; returns its size and root."""
    head, _, signatures = text.partition("\n\n")
    lines = head.split("\n")
    need(len(lines) == 3 and lines[0] and signatures.endswith("\n"), "no checkpoint")
    size, root, ours = number(lines[1]), base64_of(lines[2]), []
    need(len(root) == 32, "a checkpoint without a root")
    for line in signatures[:-1].split("\n"):
        m = re.fullmatch("\u2014 ([^ +]+) (\\S+)", line)
        need(m, "no signature line")
        raw = base64_of(m[2])
        need(len(raw) > 4, "no signature")
        for i, key in enumerate(keys.log):
            key = bytes.fromhex(key)
            if m[1] == lines[0] and raw[:4] == tree_hash(lines[0].encode(), b"\n\1", key)[:4]:
                Ed25519PublicKey.from_public_bytes(key).verify(raw[4:], (head + "\n").encode())
                need(all(size >= h["size"] for h in keys.heads[:i]) and all(size <= h["size"] for h in keys.heads[i:]),
                     "the log's key was not in force")
                ours.append(key)
    need(len(ours) == 1, "not signed once by the log")
    need(all(h["size"] != size or h["root"] == root.hex() for h in keys.heads), "another head than the log's key left")
    return size, root

def check_issued(issued, payload, keys):
    """Checks that signed bytes are a leaf of a tree of certificates, and that its root is in the log."""
    entry, (head, _, note) = issued["observation"]["entry"].encode(), issued["observation"]["proof"].partition("\n\n")
    name, index, *hashes = head.split("\n")
    need(name == "c2sp.org/tlog-proof@v1" and index.startswith("index ") and len(hashes) <= 64, "no proof of the log")
    size, root = check_head(note, keys)
    need(root_above(entry, number(index[6:]), size, list(map(base64_of, hashes))) == root, "the log has no such leaf")
    o = parse(entry.decode())
    need(compact(o) == entry and o["format"] == "store-observation/v1" and o["kind"] == "artifacts_issued" and
         list(o)[-1] == "signature", "a leaf that counts nothing")
    body, _, signature = entry.rpartition(b',"signature":"')
    by, day = [k for k in keys if kid_of(k) == o["kid"]], o["at"][:10]
    need(by and keys[by[0]][0] <= day and (keys[by[0]][1] or day) >= day, "the leaf is by no key in force")
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(by[0]))
    key.verify(bytes.fromhex(signature[:128].decode()), body + b"}")
    tree = o["issued"]["certificates"]
    leaf, hashes = hashlib.sha256(payload).digest(), [bytes.fromhex(h) for h in issued["hashes"] or []]
    need(root_above(leaf, issued["index"], tree["size"], hashes).hex() == tree["root"], "it is not in that tree")
    return f"certificate {issued['index']} of those through {tree['through']}"

def kid_of(key):
    """The key's thumbprint (RFC 7638)."""
    x = base64.urlsafe_b64encode(bytes.fromhex(key)).rstrip(b"=")
    thumb = tree_hash(b'{"crv":"Ed25519","kty":"OKP","x":"' + x + b'"}')
    return base64.urlsafe_b64encode(thumb).rstrip(b"=").decode()

def check_answer(raw, keys):
    answer = parse(raw)
    need(type(answer) is dict, "no answer")
    top = answer if "signed_payload" in answer else None
    beside, note = answer.get("artifact"), answer.get("monthly_note")
    found = {name: check(p, keys) for name, p in (("top", top), ("beside", beside), ("note", note)) if p}
    need(found, "nothing in it is signed")
    if type(answer.get("certificate")) is dict:
        need(top and answer["certificate"] == found["top"][0], "the certificate that is shown is another")
    if top and beside:
        certificate, (paper, payload, _) = found["top"][0], found["beside"]
        need("class" not in certificate and certificate.get("cross_ref") == sha(payload),
             "the certificate does not name what stands beside it")
        if "evidence" in paper:
            need(certificate.get("attests") == paper.get("published_sha256", paper["evidence_sha256"]),
                 "the certificate attests other evidence")
    said = [what for _, _, what in found.values()]
    if top and answer.get("issued") is not None:
        said.append(check_issued(answer["issued"], found["top"][1], keys))
    return "; ".join(said)

def main(args):
    if len(args) < 2:
        print(__doc__)
        return 2
    with open(args[0], encoding="utf-8") as f:
        keys = Keys(f.read())
    worst = 0
    for name in args[1:]:
        try:
            with open(name, encoding="utf-8", newline="") as f:
                said = "verified: " + check_answer(f.read(), keys)
        except (Refused, InvalidSignature, KeyError, TypeError, AttributeError, ValueError) as e:
            said, worst = f"refused: {e!r}", 1
        print(f"{name}: {said}".encode("ascii", "backslashreplace").decode(), flush=True)
    return worst

sys.exit(main(sys.argv[1:]))
