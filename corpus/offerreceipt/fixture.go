package offerreceipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// FixtureVersion names the edition of the fixture set. A change of any fixture is a new version.
const FixtureVersion = "conformance-fixtures/v1"

// The times in the fixtures are fixed, so that their digest does not change with time.
const (
	fixtureIssued  = 1767225600 // 2026-01-01
	fixtureExpired = 1577836800 // 2020-01-01
	fixtureUntil   = 4102444800 // 2100-01-01
)

// Nobody holds the zero account, and nothing is sold at a fixture's URL.
const (
	fixtureNobody = "0x0000000000000000000000000000000000000000"
	fixtureAsset  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	fixturePath   = "/conformance-fixture/never-pay-this/"
)

// FixtureSet is the document with which others test their verifiers.
type FixtureSet struct {
	WhatThisIs  string     `json:"what_this_is"`
	Version     string     `json:"version"`
	Registry    Registry   `json:"signer_registry"`
	Digest      string     `json:"fixture_set_digest"` // SHA-256 in hexadecimal
	DigestRule  string     `json:"digest_rule"`
	HowTo       []string   `json:"how_to_integrate_fail_closed"`
	Fixtures    []Fixture  `json:"fixtures"`
	CheckNames  []string   `json:"check_names"`
	VerdictEnum [2]string  `json:"verdicts"`
	KindEnum    [2]string  `json:"kinds"`
	PublicTest  PublicTest `json:"unknown_signer"`
}

// Registry says whose signatures the fixtures that conform carry.
type Registry struct {
	DID           string `json:"did"`
	SigningKeyURL string `json:"signing_key_url"`
	DIDJSONURL    string `json:"did_json_url"`
	PublicKeyHex  string `json:"public_key_hex"`
}

// PublicTest names the second key, which is in no registry. Its private half is public.
type PublicTest struct {
	PublicKeyHex string `json:"public_key_hex"`
	Source       string `json:"source"`
}

// Fixture is an artifact and what a right verifier says of it.
type Fixture struct {
	ID       string `json:"id"`
	Artifact string `json:"artifact"`
	// SignedInput is what the signature covers: header and payload in base64url with a dot between.
	SignedInput  string         `json:"canonical_signed_input"`
	Payload      jsontext.Value `json:"payload"`
	Call         Call           `json:"call"`
	Expect       Expect         `json:"expect"`
	Note         string         `json:"note"`
	TamperedFrom string         `json:"tampered_from,omitzero"`
}

// Call is the request that judges the fixture.
type Call struct {
	PublicKeyHex string `json:"public_key_hex"`
	Artifact     string `json:"artifact"`
}

// Expect is what the call answers.
type Expect struct {
	Verdict       string `json:"verdict"`
	Kind          string `json:"kind"`
	Live          *bool  `json:"live"` // null where the question does not arise
	KeyResolution string `json:"key_resolution"`
}

const digestRule = "SHA-256 over the RFC 8785 form of a list with one object for each fixture, in the order of this " +
	"document, " +
	"whose two members are id and artifact. It changes when a key is handed over or the version changes, and never " +
	"with time; any other change is a finding."

// fixtureRow is one fixture before it is signed. From and old/new make a tampered one.
type fixtureRow struct {
	id, kind, verdict, note string
	live                    *bool
	payload                 any // attest.Offer or attest.Receipt
	stranger                bool
	from, old, new          string
}

func fixtureRows(base string) []fixtureRow {
	yes, no := true, false
	offer := func(id string, until int64) attest.Offer {
		return attest.Offer{Version: 1, ResourceURL: base + fixturePath + id, Scheme: "exact", Network: "eip155:8453",
			Asset: fixtureAsset,
			PayTo: fixtureNobody, Amount: "10000", ValidUntil: until}
	}
	receipt := attest.Receipt{Version: 1, Network: "eip155:8453", ResourceURL: base + fixturePath + "receipt-valid",
		Payer:    fixtureNobody,
		IssuedAt: fixtureIssued, Transaction: "0x" + strings.Repeat("0", 64)}
	return []fixtureRow{
		{id: "offer-valid-live", kind: KindOffer, verdict: Conforms, live: &yes,
			payload: offer("offer-valid-live", fixtureUntil),
			note:    "well formed, signed and not expired; it pays nobody, at a URL where nothing is sold"},
		{id: "offer-valid-expired", kind: KindOffer, verdict: Conforms, live: &no,
			payload: offer("offer-valid-expired", fixtureExpired),
			note:    "rightly signed, and past its validUntil: it conforms, and must not be acted on"},
		{id: "offer-tampered", kind: KindOffer, verdict: DoesNotConform, from: "offer-valid-live",
			old: `"amount":"10000"`, new: `"amount":"10001"`,
			note: "one signed field is altered and the signature kept"},
		{id: "receipt-valid", kind: KindReceipt, verdict: Conforms, payload: receipt,
			note: "a receipt has nothing to expire, so live is null"},
		{id: "receipt-tampered", kind: KindReceipt, verdict: DoesNotConform, from: "receipt-valid",
			old: `"issuedAt":17`, new: `"issuedAt":16`,
			note: "one signed byte is changed and the signature kept"},
		{id: "unknown-signer", kind: KindOffer, verdict: DoesNotConform, payload: offer("unknown-signer", fixtureUntil),
			stranger: true,
			note: "the signature is good, and by a key that the registry does not hold: a verifier that takes the " +
				"key from the artifact is fooled"},
	}
}

// stranger is the key of RFC 8032, section 7.1, test 1: public, so that nobody can rely on it.
func stranger() (*attest.Key, error) {
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		return nil, err
	}
	return attest.Generate(bytes.NewReader(seed))
}

// Fixtures returns the document of GET /api/conformance/v1/fixtures and of
// /.well-known/conformance/offer-receipt-vectors.json, signed by the identity key in force. The
// same key and base URL give the same bytes at any time.
func Fixtures(k *attest.Key, baseURL string) ([]byte, error) {
	base := strings.TrimSuffix(baseURL, "/")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("making fixtures: base URL %q has no host", baseURL)
	}
	other, err := stranger()
	if err != nil {
		return nil, fmt.Errorf("making fixtures: %w", err)
	}
	if k.KID() == other.KID() {
		return nil, errors.New("making fixtures: the signer is the public test key")
	}
	set := FixtureSet{
		WhatThisIs: "Signed offers and receipts with the verdict that a right verifier gives each. Nothing here is " +
			"for sale and nothing may be paid.",
		Version: FixtureVersion,
		Registry: Registry{DID: attest.DID(u.Host), SigningKeyURL: base + "/.well-known/store-signing-key",
			DIDJSONURL:   base + "/.well-known/did.json",
			PublicKeyHex: hex.EncodeToString(k.Public())},
		DigestRule: digestRule,
		HowTo: []string{
			"Pin public_key_hex, or resolve did_json_url yourself; never take the key from the artifact.",
			"Verify the signature over the bytes of canonical_signed_input before you read a field.",
			"Treat every answer but conforms as a refusal, errors and timeouts among them.",
			"An offer that conforms but is not live is history: do not pay on it.",
			"Compare every field of a live offer with the challenge you are about to sign: resourceUrl, network, " +
				"asset, payTo, amount.",
			"Run your verifier on every fixture of this set; if fixture_set_digest changed without a new version or " +
				"a key handover, stop and look.",
		},
		CheckNames: Checks(), VerdictEnum: [2]string{Conforms, DoesNotConform},
		KindEnum: [2]string{KindOffer, KindReceipt}, PublicTest: PublicTest{hex.EncodeToString(other.Public()),
			"RFC 8032, section 7.1, test 1; its private half is public"},
	}
	made := map[string]string{}
	for _, r := range fixtureRows(base) {
		f, err := r.fixture(k, other, u.Host, made)
		if err != nil {
			return nil, fmt.Errorf("making fixture %s: %w", r.id, err)
		}
		f.Call.PublicKeyHex = set.Registry.PublicKeyHex
		made[f.ID] = f.Artifact
		set.Fixtures = append(set.Fixtures, f)
	}
	if set.Digest, err = digest(set.Fixtures); err != nil {
		return nil, err
	}
	out, err := json.Marshal(set, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encoding fixtures: %w", err)
	}
	return append(out, '\n'), nil
}

func (r fixtureRow) fixture(k, other *attest.Key, host string, made map[string]string) (Fixture, error) {
	f := Fixture{ID: r.id, Note: r.note, TamperedFrom: r.from,
		Expect: Expect{Verdict: r.verdict, Kind: r.kind, Live: r.live, KeyResolution: ResolvedOffline}}
	if r.stranger {
		k = other
	}
	kid := attest.DIDURL(host, k.KID())
	var err error
	switch p := r.payload.(type) {
	case attest.Offer:
		f.Artifact, err = attest.SignOffer(k, kid, p)
	case attest.Receipt:
		f.Artifact, err = attest.SignReceipt(k, kid, p)
	default:
		f.Artifact, err = tamper(made[r.from], r.old, r.new)
	}
	if err != nil {
		return Fixture{}, err
	}
	f.Call.Artifact = f.Artifact
	parts := strings.Split(f.Artifact, ".")
	f.SignedInput = parts[0] + "." + parts[1]
	f.Payload, err = base64.RawURLEncoding.DecodeString(parts[1])
	return f, err
}

// tamper changes the payload of a JWS and keeps its signature.
func tamper(jws, old, new string) (string, error) {
	parts := strings.Split(jws, ".")
	if len(parts) != 3 {
		return "", errors.New("there is nothing to tamper with")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	changed := strings.Replace(string(payload), old, new, 1)
	if changed == string(payload) {
		return "", fmt.Errorf("the payload holds no %s", old)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(changed))
	return strings.Join(parts, "."), nil
}

// digest applies digestRule.
func digest(fixtures []Fixture) (string, error) {
	type pair struct {
		ID       string `json:"id"`
		Artifact string `json:"artifact"`
	}
	pairs := make([]pair, len(fixtures))
	for i, f := range fixtures {
		pairs[i] = pair{f.ID, f.Artifact}
	}
	b, err := attest.JCS(pairs)
	if err != nil {
		return "", fmt.Errorf("digesting fixtures: %w", err)
	}
	return attest.Digest(sha256.Sum256(b)).String(), nil
}
