#!/usr/bin/python3
"""artifact KEYS FILE... checks saved answers of a store, to purchases and of /api/verify.

It was made from the page /spec/store-attestation/v1 and from nothing else. KEYS is a copy of
/.well-known/store-signing-key. For each file it says "verified:" with class, id and date of what is
signed in it, or why it is refused; it ends with 0, or with 1 where one was refused.
"""
import datetime, hashlib, json, re, sys
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

def read_keys(raw):
    """The identity keys: public key in hex, since when, and until when, "" for the one in force."""
    v = parse(raw)
    keys = {v["public_key"]: (v["since"], "")}
    keys.update({k["public_key"]: (k["since"], k["retired_on"]) for k in v["retired"] if k["purpose"] == "identity"})
    return keys

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
    return "; ".join(what for _, _, what in found.values())

def main(args):
    if len(args) < 2:
        print(__doc__)
        return 2
    with open(args[0], encoding="utf-8") as f:
        keys = read_keys(f.read())
    worst = 0
    for name in args[1:]:
        try:
            with open(name, encoding="utf-8", newline="") as f:
                said = "verified: " + check_answer(f.read(), keys)
        except (Refused, KeyError, TypeError, AttributeError, ValueError) as e:
            said, worst = f"refused: {e!r}", 1
        print(f"{name}: {said}".encode("ascii", "backslashreplace").decode(), flush=True)
    return worst

sys.exit(main(sys.argv[1:]))
