package agentcard

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/corpus/attest"
)

// testJWK is the public test key of RFC 8037, appendix A.1.
const testJWK = `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`

func testKey(t testing.TB) *attest.Key {
	t.Helper()
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		t.Fatal(err)
	}
	k, err := attest.Generate(bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func document(id string) string {
	return `{"id":"did:web:store.example.test","verificationMethod":[{"id":"` + id +
		`","type":"JsonWebKey","controller":"did:web:store.example.test","publicKeyJwk":` + testJWK +
		`}],"assertionMethod":["` + id + `"]}`
}

var keys = map[string]string{
	"did https://store.example.test/.well-known/did.json": document("did:web:store.example.test#key-1"),
	"key https://store.example.test/.well-known/jwks.json": `{"keys":[` +
		strings.Replace(testJWK, "{", `{"kid":"key-1",`, 1) + `]}`,
	"key https://keys.store.example.test/jwks.json": `{"keys":[` + strings.Replace(testJWK, "{", `{"kid":"key-1",`, 1) +
		`]}`, "key https://elsewhere.test/jwks.json": `{"keys":[` +
		strings.Replace(testJWK, "{", `{"kid":"key-1",`, 1) + `]}`,
}

func TestKeptVectorsOfTheOlderForms(t *testing.T) {
	raw, err := os.ReadFile("testdata/signed-card-0.3.0-ed25519.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Card      map[string]any
		Canonical string         `json:"canonical_payload"`
		Python    string         `json:"canonical_payload_python_sdk_0_3"`
		Second    map[string]any `json:"second_signature_python_form"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		form, payload string
		signatures    []any
		state         State
	}{
		{FormWhole, v.Canonical, v.Card["signatures"].([]any), Pass},
		{FormPython, v.Python, []any{v.Second}, Warn},
	} {
		v.Card["signatures"] = c.signatures
		b, err := json.Marshal(v.Card)
		if err != nil {
			t.Fatal(err)
		}
		r := look(t, Checker{URL: at}, served(string(b)), keys)
		if len(r.Signatures) != 1 || r.Signatures[0].State != Pass || r.Signatures[0].Form != c.form ||
			check(r, "signature-valid").State != c.state {
			t.Errorf("%s: %+v, %+v", c.form, r.Signatures, check(r, "signature-valid"))
		}
		parsed, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		made := false
		for _, f := range forms(object(parsed)) {
			made = made || f.name == c.form && string(f.bytes) == c.payload
		}
		if !made {
			t.Errorf("%s is not %s", c.form, c.payload)
		}
		changed := strings.Replace(string(b), "Example Store Agent", "Example Shop Agent", 1)
		if r := look(t, Checker{URL: at}, served(changed), keys); r.Verdict != Fail ||
			check(r, "signature-valid").Code != "INVALID" {
			t.Errorf("%s of another card: %+v", c.form, r.Signatures)
		}
	}
}

func TestTheStockSDKAgreesOnTheFormOfOne(t *testing.T) {
	hybrid := strings.Replace(plain, "{",
		"{"+one[strings.Index(one, `"supportedInterfaces"`):strings.LastIndex(one, `,"version"`)]+",", 1)
	odd := strings.NewReplacer(`"Sells reports."`, `"Sells “reports” \u0001 \ud83d\ude00 <&>"`, `"streaming":false`,
		`"streaming":true,"extendedAgentCard":false,"extensions":[{"uri":"https://x.test/e","required":false,"params":{"a":"","b":[],"c":1.50,"d":[null,"x"],"é":{"z":1,"y":2}}},{"uri":"u","required":true}]`,
		`"skills"`, `"iconUrl":"","documentationUrl":"https://x.test","provider":{"organization":"","url":""},"unknown":{"a":1},"securityRequirements":[{"schemes":{"key":{"list":[]},"o":{"list":["a"]}}}],"securitySchemes":{"key":{"apiKeySecurityScheme":{"location":"header","name":"X","extra":1}},"o":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"a","tokenUrl":"b","scopes":{"s":"t"},"pkceRequired":false}}}},"e":{}},"skills"`,
		`"protocolBinding"`, `"tenant":"","protocolBinding"`).Replace(one)
	cards := []string{one, hybrid, odd, plain, "{}"}
	type question struct {
		Canonical string          `json:"canonical,omitempty"`
		Sign      string          `json:"sign,omitempty"`
		Verify    string          `json:"verify,omitempty"`
		KID       string          `json:"kid,omitempty"`
		JWK       json.RawMessage `json:"jwk,omitempty"`
	}
	type answer struct {
		OK    bool
		Value string
	}
	private := json.RawMessage(strings.Replace(testJWK, "{", `{"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",`, 1))
	var questions []question
	for _, c := range cards {
		questions = append(questions, question{Canonical: c}, question{Sign: c, KID: "did:web:store.example.test#key-1",
			JWK: private})
		parsed, err := parse([]byte(c))
		if err != nil {
			t.Fatal(err)
		}
		ours := withSignature(t, object(parsed), FormOne,
			`{"alg":"EdDSA","typ":"JOSE","kid":"did:web:store.example.test#key-1"}`)
		questions = append(questions, question{Verify: ours, JWK: json.RawMessage(testJWK)},
			question{Verify: strings.Replace(ours, `"Store"`, `"Shop"`, 1), JWK: json.RawMessage(testJWK)})
	}
	var answers []answer
	oracles.Ask(t, "cards.mjs", questions, &answers)
	for i, c := range cards {
		canonical, signed, verified, tampered := answers[4*i], answers[4*i+1], answers[4*i+2], answers[4*i+3]
		parsed, err := parse([]byte(c))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range forms(object(parsed)) {
			if f.name == FormOne && string(f.bytes) != canonical.Value {
				t.Errorf("card %d: the SDK's form is\n%s\nours\n%s", i, canonical.Value, f.bytes)
			}
		}
		if !verified.OK || tampered.OK != (c == "{}") {
			t.Errorf("card %d: the SDK says of our signature %+v, of a changed card %+v", i, verified, tampered)
		}
		// The SDK adds members of its own type to the card it returns; the signature is moved to
		// the card as it was.
		var whole struct{ Signatures []any }
		if err := json.Unmarshal([]byte(signed.Value), &whole); err != nil || len(whole.Signatures) != 1 {
			t.Fatalf("card %d: signed %s, %v", i, signed.Value, err)
		}
		one, err := json.Marshal(whole.Signatures)
		if err != nil {
			t.Fatal(err)
		}
		r := look(t, Checker{URL: at},
			served(strings.TrimSuffix(strings.Replace(c, "{", `{"signatures":`+string(one)+",", 1), ",}")+
				map[bool]string{true: "}"}[c == "{}"]), keys)
		if len(r.Signatures) != 1 || r.Signatures[0].State != Pass {
			t.Errorf("card %d: of the SDK's signature we say %+v", i, r.Signatures)
		}
	}
}

// withSignature returns the card as JSON, signed by the test key in a form.
func withSignature(t testing.TB, card map[string]node, form, header string) string {
	t.Helper()
	protected := base64.RawURLEncoding.EncodeToString([]byte(header))
	for _, f := range forms(card) {
		if f.name == form {
			s := testKey(t).Sign([]byte(protected + "." + base64.RawURLEncoding.EncodeToString(f.bytes)))
			signed := map[string]node{"signatures": []node{map[string]node{"protected": protected,
				"signature": base64.RawURLEncoding.EncodeToString(s)}}}
			maps.Copy(signed, card)
			return string(write(nil, signed, false))
		}
	}
	t.Fatalf("no form %s", form)
	return ""
}

func TestKeys(t *testing.T) {
	parsed, err := parse([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, header string
		state        State
		code         string
	}{
		{"did:web", `{"alg":"EdDSA","kid":"did:web:store.example.test#key-1"}`, Pass, ""},
		{"another method", `{"alg":"EdDSA","kid":"did:web:store.example.test#key-2"}`, Unverifiable, "KEY_NOT_FOUND"},
		{"did:key", `{"alg":"Ed25519","kid":"did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw#x"}`, Pass, ""},
		{"well known", `{"alg":"EdDSA","kid":"key-1"}`, Pass, ""},
		{"jku", `{"alg":"EdDSA","kid":"key-1","jku":"https://keys.store.example.test/jwks.json"}`, Pass, ""},
		{"foreign jku", `{"alg":"EdDSA","kid":"key-1","jku":"https://elsewhere.test/jwks.json"}`, Warn, "FOREIGN_KEY"},
		{"http jku", `{"alg":"EdDSA","kid":"key-1","jku":"http://store.example.test/jwks.json"}`, Unverifiable,
			"KEY_NOT_FOUND"},
		{"no such key", `{"alg":"EdDSA","kid":"key-9"}`, Unverifiable, "KEY_NOT_FOUND"},
		{"gone", `{"alg":"EdDSA","kid":"key-1","jku":"https://gone.test/jwks.json"}`, Unverifiable, "KEY_NOT_FOUND"},
	} {
		r := look(t, Checker{URL: at}, served(withSignature(t, object(parsed), FormWhole, c.header)), keys)
		if got := check(r, "signature-key"); got.State != c.state || got.Code != c.code {
			t.Errorf("%s: %+v, %+v", c.name, got, r.Signatures)
		}
	}
	rsa := withSignature(t, object(parsed), FormWhole, `{"alg":"RS256","kid":"key-1"}`)
	if r := look(t, Checker{URL: at}, served(rsa), keys); r.Signatures[0].State != Unverifiable ||
		r.Verdict != Unverifiable {
		t.Errorf("an algorithm that is not known: %+v", r.Signatures)
	}
}
