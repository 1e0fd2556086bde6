package offerreceipt

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	wire "encoding/json/v2"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

var judged = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const base = "https://store.example"

func judgeNow(t *testing.T, r Request) Report {
	t.Helper()
	rep, next, err := Checker{Request: r, At: judged}.Step(nil)
	if err != nil || next != nil {
		t.Fatalf("asked for %+v, %v", next, err)
	}
	return rep
}

func state(r Report, name string) State {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.State
		}
	}
	return ""
}

func fixtures(t *testing.T) FixtureSet {
	t.Helper()
	b, err := Fixtures(attest.SpecimenKey(), base)
	if err != nil {
		t.Fatal(err)
	}
	var set FixtureSet
	if err := json.Unmarshal(b, &set); err != nil {
		t.Fatal(err)
	}
	if len(set.Fixtures) != 6 {
		t.Fatalf("%d fixtures, want 6", len(set.Fixtures))
	}
	return set
}

func TestFixturesGetTheirVerdicts(t *testing.T) {
	for _, f := range fixtures(t).Fixtures {
		r := judgeNow(t, Request{Artifact: f.Call.Artifact, PublicKeyHex: f.Call.PublicKeyHex})
		got := Expect{r.Verdict, r.Kind, r.Live, r.KeyResolution}
		if d := cmp.Diff(f.Expect, got); d != "" || f.Artifact != f.Call.Artifact || f.Note == "" {
			t.Errorf("%s: %s", f.ID, d)
		}
	}
}

func TestEveryChangedByteIsRefused(t *testing.T) {
	for _, f := range fixtures(t).Fixtures {
		for i := range f.Artifact {
			for _, c := range []byte{f.Artifact[i] ^ 1, 'A', '.', ' ', '='} {
				changed := []byte(f.Artifact)
				changed[i] = c
				if string(changed) == f.Artifact {
					continue
				}
				rep, _, err := Checker{Request: Request{Artifact: string(changed), PublicKeyHex: f.Call.PublicKeyHex},
					At: judged}.Step(nil)
				if err != nil || rep.Verdict != DoesNotConform {
					t.Errorf("%s with byte %d as %q: %s, %v", f.ID, i, c, rep.Verdict, err)
				}
			}
		}
	}
}

func TestFixturesAreFixed(t *testing.T) {
	one, err := Fixtures(attest.SpecimenKey(), base+"/")
	if err != nil {
		t.Fatal(err)
	}
	two, err := Fixtures(attest.SpecimenKey(), base)
	if err != nil || !bytes.Equal(one, two) {
		t.Fatalf("the same key made other bytes, %v", err)
	}
	// This changes with FixtureVersion and with nothing else.
	const want = "26a48a57646a49ade63f40b33f266a521099d1e26fee19b4ef336ddbeeb73384"
	if got := fixtures(t).Digest; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	set := fixtures(t)
	set.Fixtures[0].Artifact += "x"
	if d, err := digest(set.Fixtures); err != nil || d == set.Digest {
		t.Errorf("another artifact has the same digest, %v", err)
	}
}

func TestJoseAgreesAboutTheFixtures(t *testing.T) {
	type question struct {
		Verify string `json:"verify"`
		Key    string `json:"key"`
	}
	type answer struct {
		OK      bool
		Payload string
	}
	var questions []question
	set := fixtures(t)
	for _, f := range set.Fixtures {
		questions = append(questions, question{f.Artifact, f.Call.PublicKeyHex})
	}
	questions = append(questions, question{set.Fixtures[5].Artifact, set.PublicTest.PublicKeyHex})
	var answers []answer
	oracles.Ask(t, "offers.mjs", questions, &answers)
	for i, f := range set.Fixtures {
		if answers[i].OK != (f.Expect.Verdict == Conforms) {
			t.Errorf("%s: jose says %+v", f.ID, answers[i])
		}
		if answers[i].OK && !json.Valid([]byte(answers[i].Payload)) {
			t.Errorf("%s: jose read %q", f.ID, answers[i].Payload)
		}
	}
	if !answers[6].OK {
		t.Errorf("the stranger's signature does not verify under the stranger's key: %s", answers[6].Payload)
	}
}

func TestStockArtifactsConform(t *testing.T) {
	type question struct {
		Make   string         `json:"make"`
		Format string         `json:"format"`
		Alg    string         `json:"alg"`
		KID    string         `json:"kid"`
		URL    string         `json:"url"`
		Input  map[string]any `json:"input"`
	}
	const didKey = "did:key:z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z#z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z"
	offer := map[string]any{"acceptIndex": 0, "scheme": "exact", "network": "eip155:8453", "asset": fixtureAsset,
		"payTo": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "amount": "1000", "offerValiditySeconds": 300}
	receipt := map[string]any{"resourceUrl": "https://shop.example/x", "network": "eip155:8453",
		"payer": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}
	paid := map[string]any{"transaction": "0x" + strings.Repeat("ab", 32)}
	maps.Copy(paid, receipt)
	const at = "https://shop.example/x?a=1"
	questions := []question{
		{"offer", "jws", "EdDSA", didKey, at, offer}, {"offer", "jws", "Ed25519", didKey, at, offer},
		{"offer", "eip712", "", "", at, offer}, {"receipt", "jws", "EdDSA", didKey, "", receipt},
		{"receipt", "jws", "EdDSA", didKey, "", paid}, {"receipt", "eip712", "", "", "", receipt},
		{"receipt", "eip712", "", "", "", paid},
	}
	var answers []struct{ Artifact, Address string }
	oracles.Ask(t, "offers.mjs", questions, &answers)
	for i, a := range answers {
		q := questions[i]
		c := Checker{Request: Request{Artifact: a.Artifact, Kind: q.Make}, At: time.Now()}
		if q.Format == "eip712" && q.Make == "receipt" {
			if r, _, err := c.Step(nil); err != nil || r.Verdict != DoesNotConform ||
				state(r, "signer") != Unverifiable {
				t.Errorf("a receipt of an unknown account: %+v, %v", r, err)
			}
			c.Request.SignerAddress = a.Address
		}
		r, next, err := c.Step(nil)
		if err != nil || next != nil || r.Verdict != Conforms || r.Kind != q.Make || r.Format != q.Format ||
			(r.Live != nil) != (q.Make == "offer") || r.Live != nil && !*r.Live {
			t.Errorf("%+v:\n%s\n%+v, %v", q, a.Artifact, r, err)
		}
		for _, old := range []string{"8453", "shop"} { // in EIP-712 form a changed field recovers to another account
			if changed := strings.Replace(a.Artifact, old, "8454", 1); changed != a.Artifact {
				c.Request.Artifact = changed
				if r, _, err := c.Step(nil); err != nil || r.Verdict != DoesNotConform {
					t.Errorf("changed %s: %s, %v", changed, r.Verdict, err)
				}
			}
		}
	}
}

func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/offers.json")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]struct {
		JWS, Signature string
		Payload        json.RawMessage
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"offerJwsEdDSA": ResolvedKey, "receiptJwsEdDSA": ResolvedKey,
		"offerJwsES256K": ResolvedKey, "offerJwsES256_didJwk": ResolvedJWK} {
		r := judgeNow(t, Request{Artifact: v[name].JWS})
		if r.Verdict != Conforms || r.KeyResolution != want {
			t.Errorf("%s: %+v", name, r)
		}
		changed := v[name].JWS[:len(v[name].JWS)-20] + "A" + v[name].JWS[len(v[name].JWS)-19:]
		if r := judgeNow(t, Request{Artifact: changed}); r.Verdict != DoesNotConform || state(r, "signature") != Fail {
			t.Errorf("%s with a changed signature: %+v", name, r)
		}
	}
	for name, kind := range map[string]string{"offerEip712": KindOffer, "receiptEip712": KindReceipt} {
		b, err := json.Marshal(map[string]any{"format": "eip712", "payload": v[name].Payload,
			"signature": v[name].Signature})
		if err != nil {
			t.Fatal(err)
		}
		r := judgeNow(t, Request{Artifact: string(b), SignerAddress: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"})
		if r.Kind != kind || state(r, "signature") != Pass || r.Signer.Address == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// document is the specimen's DID document as its host serves it.
func document(t *testing.T, change ...string) exchange.Exchange {
	t.Helper()
	b, err := attest.DIDDocument("store.example", attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Exchange{Request: exchange.Request{Method: "GET", URL: base + "/.well-known/did.json"},
		StartedAt: judged,
		Response: exchange.Response{Status: 200, Header: http.Header{},
			Body: []byte(strings.NewReplacer(change...).Replace(string(b)))}}
}

func TestResolvesDIDWeb(t *testing.T) {
	set := fixtures(t)
	c := Checker{Request: Request{Artifact: set.Fixtures[0].Artifact}}
	_, next, err := c.Step(nil)
	if err != nil || next == nil || next.Kind != "did" || next.Request.URL != base+"/.well-known/did.json" {
		t.Fatalf("asked for %+v, %v", next, err)
	}
	kid := attest.SpecimenKey().KID()
	down := document(t)
	down.Response, down.Error = exchange.Response{}, exchange.Error{Stage: exchange.StageConnect, Text: "refused"}
	gone := document(t)
	gone.Response.Status = 404
	for _, test := range []struct {
		name          string
		x             exchange.Exchange
		verdict       string
		key, asserted State
	}{
		{"as served", document(t), Conforms, Pass, Pass},
		{"another id", document(t, `"id": "did:web:store.example",`, `"id": "did:web:other.example",`), DoesNotConform,
			Fail, NotChecked},
		{"no such key", document(t, "#"+kid, "#x"), DoesNotConform, Fail, NotChecked},
		{"not asserted", document(t, `"assertionMethod"`, `"capabilityDelegation"`), DoesNotConform, Pass, Fail},
		{"unreachable", down, DoesNotConform, Unverifiable, NotChecked},
		{"404", gone, DoesNotConform, Unverifiable, NotChecked},
	} {
		r, next, err := c.Step([]exchange.Exchange{test.x})
		if err != nil || next != nil || r.Verdict != test.verdict || state(r, "key") != test.key ||
			state(r, "key-asserted") != test.asserted {
			t.Errorf("%s: %+v, %+v, %v", test.name, r, next, err)
		}
		if !r.JudgedAt.Equal(judged) || (r.KeyResolution == ResolvedWeb) != (test.key == Pass) {
			t.Errorf("%s: judged at %s by %s", test.name, r.JudgedAt, r.KeyResolution)
		}
	}
	// A retired key keeps its receipts and its expired offers.
	for i, want := range map[int]string{1: Conforms, 3: Conforms, 4: DoesNotConform, 5: DoesNotConform} {
		c := Checker{Request: Request{Artifact: set.Fixtures[i].Artifact}}
		r, _, err := c.Step([]exchange.Exchange{document(t, `"assertionMethod"`, `"capabilityDelegation"`)})
		if err != nil || r.Verdict != want {
			t.Errorf("%s by a retired key: %+v, %v", set.Fixtures[i].ID, r, err)
		}
	}
}

func TestWhatDoesNotConform(t *testing.T) {
	k := attest.SpecimenKey()
	key := hex.EncodeToString(k.Public())
	sign := func(kid, payload string) string {
		s, err := attest.SignJWS(k, kid, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const kid = "did:web:store.example#k"
	const offer = `{"amount":"1000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","network":"eip155:8453","payTo":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","resourceUrl":"https://shop.example/x","scheme":"exact","validUntil":4102444800,"version":1}`
	if r := judgeNow(t, Request{Artifact: sign(kid, offer), PublicKeyHex: key}); r.Verdict != Conforms ||
		state(r, "payload-canonical") != Pass {
		t.Fatalf("the unchanged offer: %+v", r)
	}
	for _, c := range []struct{ name, kid, old, new, check string }{
		{"version", kid, `"version":1`, `"version":2`, "payload-values"},
		{"amount as number", kid, `"1000"`, `1000`, "payload-fields"},
		{"amount with a point", kid, `"1000"`, `"10.00"`, "payload-values"},
		{"no payTo", kid, `"payTo":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8",`, ``, "payload-fields"},
		{"name for payTo", kid, `0x70997970C51812dc3A010C7d01b50e0d17dc79C8`, `vitalik.eth`, "payload-values"},
		{"no network", kid, `eip155:8453`, `base`, "payload-values"},
		{"relative URL", kid, `https://shop.example`, ``, "payload-values"},
		{"a name twice", kid, `"version":1`, `"version":1,"version":1`, "payload-json"},
		{"no kind", kid, `"amount":"1000",`, `"payer":"x",`, "kind"},
		{"an array", kid, offer, `[1]`, "payload-json"},
		{"validUntil as text", kid, `4102444800`, `"4102444800"`, "payload-fields"},
		{"bare kid", "k", ``, ``, "jws-kid"},
	} {
		r := judgeNow(t, Request{Artifact: sign(c.kid, strings.Replace(offer, c.old, c.new, 1)), PublicKeyHex: key})
		if r.Verdict != DoesNotConform || state(r, c.check) != Fail || state(r, "signature") != Pass {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if r := judgeNow(t, Request{Artifact: sign(kid, offer), Kind: KindReceipt,
		PublicKeyHex: key}); r.Verdict != DoesNotConform || state(r, "kind") != Fail {
		t.Errorf("an offer announced as a receipt: %+v", r)
	}
	for name, odd := range map[string]string{"spaces": strings.Replace(offer, ":", ": ", 1),
		"an unknown member": strings.Replace(offer, "{", `{"a":1,`, 1),
		"no validUntil":     strings.Replace(offer, `"validUntil":4102444800,`, "", 1)} {
		if r := judgeNow(t, Request{Artifact: sign(kid, odd), PublicKeyHex: key}); r.Verdict != Conforms || !*r.Live {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, garbage := range []string{"x", "a.b.c", "{}", `{"format":"eip712","payload":{},"signature":"0x"}`,
		`{"format":"jws","signature":"..","payload":{}}`, "eyJhbGciOiJub25lIn0.e30."} {
		if r := judgeNow(t, Request{Artifact: garbage}); r.Verdict != DoesNotConform || r.Live != nil {
			t.Errorf("%q: %+v", garbage, r)
		}
	}
}

func TestRequestsThatCannotBeJudged(t *testing.T) {
	for _, c := range []struct {
		field string // "" for a request that is judged
		r     Request
	}{
		{"artifact", Request{}},
		{"artifact", Request{Artifact: strings.Repeat("é", MaxArtifact+1)}},
		{"", Request{Artifact: strings.Repeat("é", MaxArtifact)}},
		{"kind", Request{Artifact: "x", Kind: "invoice"}},
		{"public_key_hex", Request{Artifact: "x", PublicKeyHex: "AB"}},
		{"", Request{Artifact: "x", PublicKeyHex: strings.Repeat("AB", 32)}},
		{"signer_address", Request{Artifact: "x", SignerAddress: "0x1"}},
	} {
		_, _, err := (Checker{Request: c.r}).Step(nil)
		got := ""
		if e, ok := errors.AsType[*RequestError](err); ok {
			got = e.Field
		}
		if got != c.field || (err == nil) != (c.field == "") {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}

func FuzzStep(f *testing.F) {
	b, err := Fixtures(attest.SpecimenKey(), base)
	if err != nil {
		f.Fatal(err)
	}
	var set FixtureSet
	if err := json.Unmarshal(b, &set); err != nil {
		f.Fatal(err)
	}
	for _, x := range set.Fixtures {
		f.Add(x.Artifact, set.Registry.PublicKeyHex, []byte("{}"))
	}
	f.Add(`{"format":"eip712","payload":{"version":1,"network":"eip155:1","payer":"0x","issuedAt":1},"signature":"0x00"}`, "", []byte(`{"id":"did:web:store.example","verificationMethod":[{"id":"a","publicKeyJwk":{"kty":"OKP"}}]}`))
	f.Add(`{"format":"eip712","payload":{"payTo":1e999,"payer":"\u0000"},"signature":"0x00"}`, "", []byte("{}"))
	f.Add("eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDp3ZWI6YS5leGFtcGxlI2sifQ.eyJhbW91bnQiOjFlOTk5fQ.AA",
		set.Registry.PublicKeyHex, []byte("{}"))
	conforming := map[string]bool{}
	for _, x := range set.Fixtures {
		conforming[x.Artifact] = x.Expect.Verdict == Conforms
	}
	f.Fuzz(func(t *testing.T, artifact, key string, body []byte) {
		c := Checker{Request: Request{Artifact: artifact, PublicKeyHex: key}, At: judged}
		r, next, err := c.Step(nil)
		if err == nil && next != nil {
			r, next, err = c.Step([]exchange.Exchange{{Request: next.Request, StartedAt: judged,
				Response: exchange.Response{Status: 200, Body: body}}})
			if next != nil {
				t.Fatal("asked twice")
			}
		}
		if _, unwritten := wire.Marshal(r); unwritten != nil {
			t.Error(unwritten)
		}
		if err == nil && key == set.Registry.PublicKeyHex && r.Verdict == Conforms &&
			!conforming[strings.TrimSpace(artifact)] && !strings.Contains(artifact, "{") {
			t.Errorf("%q conforms under our key", artifact)
		}
	})
}
