package did

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

func TestWebURL(t *testing.T) {
	for in, want := range map[string]string{
		"did:web:store.example":            "https://store.example/.well-known/did.json",
		"did:web:Store.Example#k":          "https://store.example/.well-known/did.json",
		"did:web:store.example:a:b#k":      "https://store.example/a/b/did.json",
		"did:web:store.example%3A443":      "https://store.example/.well-known/did.json",
		"did:web:store.example%3A8443":     "",
		"did:web:127.0.0.1":                "",
		"did:web:localhost":                "",
		"did:web:[::1]":                    "",
		"did:web:store.example:..:x":       "",
		"did:web:store.example:a%2Fb":      "",
		"did:web:store.example/x":          "",
		"did:web:user@store.example":       "",
		"did:web:user%40store.example":     "",
		"did:web:store.example?x":          "",
		"did:web:store.example:":           "",
		"did:web:":                         "",
		"did:web:%zz":                      "",
		"did:key:z6Mk":                     "",
		"did:web:store.example%0d%0aX: y":  "",
		"did:web:store example":            "",
		"did:web:store.example%3Fx":        "",
		"did:web:store.example\\evil.test": "",
	} {
		got, err := WebURL(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("WebURL(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestOurOwnDocument(t *testing.T) {
	b, err := attest.DIDDocument("store.example", attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseDocument(b, "did:web:store.example")
	if err != nil {
		t.Fatal(err)
	}
	k := attest.SpecimenKey()
	kid := attest.DIDURL("store.example", k.KID())
	for _, id := range []string{kid, attest.DIDURL("store.example", "multikey-"+k.KID())} {
		m, err := d.Method(id)
		if err != nil || m.Err != nil || m.Asserted != (id == kid) {
			t.Fatalf("method %s: %+v, %v", id, m, err)
		}
		message := []byte("signed")
		for _, alg := range []string{"EdDSA", "Ed25519"} {
			if err := m.Key.Verify(alg, message, k.Sign(message)); err != nil {
				t.Errorf("%s with %s: %v", alg, id, err)
			}
		}
		if err := m.Key.Verify("EdDSA", []byte("other"), k.Sign(message)); !errors.Is(err, ErrSignature) {
			t.Errorf("another message: %v", err)
		}
		if err := m.Key.Verify("ES256", message, k.Sign(message)); !errors.Is(err, ErrUnsupported) {
			t.Errorf("another algorithm: %v", err)
		}
	}
	if _, err := ParseDocument(b, "did:web:other.example"); err == nil {
		t.Error("another host's document was taken")
	}
	if _, err := d.Method(kid + "x"); err == nil {
		t.Error("a method was found that is not there")
	}
	if _, err := ParseDocument([]byte(strings.Replace(string(b), `"id"`, `"id":"x","id"`, 1)),
		"did:web:store.example"); err == nil {
		t.Error("a document with a name twice was taken")
	}
}

func TestJWK(t *testing.T) {
	const x = `"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	for in, ok := range map[string]bool{
		`{"kty":"OKP","crv":"Ed25519",` + x +
			`}`: true, `{"kty":"OKP","crv":"Ed25519",` + x +
			`,"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`: false, `{"kty":"OKP","crv":"Ed448",` + x +
			// unused bits
			`}`: false, `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp"}`: false,
		`{"kty":"OKP","crv":"Ed25519","x":""}`: false,
		// not on the curve
		`{"kty":"EC","crv":"P-256",` + x +
			`,"y":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`: false,
		`{"kty":"EC","crv":"secp256k1","x":"eb5mfvncu6xVoGKVzocLBwKb_NstzijZWfKBWxb4F5g","y":"SDradyajxGVdpPv8DhEIqP0XtEimhVQZnEfQj_sQ1Lg"}`: true, `{"kty":"oct","k":"AAAA"}`: false,
	} {
		j, err := ParseJWK([]byte(in))
		if err != nil || (j.Err == nil) != ok {
			t.Errorf("%s: %+v, %v", in, j, err)
		}
	}
	for _, in := range []string{"[]", "{", `{"kty":1}`, `{"kty":"OKP","kty":"EC"}`, `{"nbf":"x"}`, "null"} {
		if _, err := ParseJWK([]byte(in)); err == nil {
			t.Errorf("%s was read", in)
		}
	}
	if _, err := ParseJWKS([]byte(`{"keys":[` + strings.Repeat("{},", MaxKeys) + `{}]}`)); err == nil {
		t.Error("a set of too many keys was read")
	}
}

func TestMultikey(t *testing.T) {
	k, method, ok, err := Embedded("did:key:z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z#x")
	want := ed25519.NewKeyFromSeed([]byte(strings.Repeat("\x07", 32))).Public().(ed25519.PublicKey)
	if !ok || err != nil || method != "did:key" || k.Curve != Ed25519 || string(k.Bytes) != string(want) {
		t.Errorf("read %+v by %s, %v", k, method, err)
	}
	for _, s := range []string{"", "z", "z1", "x6Mk", "z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3", "z0OIl"} {
		if k, err := ParseMultikey(s); err == nil {
			t.Errorf("%q is the key %+v", s, k)
		}
	}
	if _, _, ok, _ := Embedded("did:web:store.example#k"); ok {
		t.Error("a did:web carries a key")
	}
}

func FuzzParseDocument(f *testing.F) {
	b, err := attest.DIDDocument("store.example", attest.SpecimenRing())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, "did:web:store.example#k")
	f.Add([]byte(`{"id":"","assertionMethod":[{"id":"a","publicKeyMultibase":"z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z"}]}`), "did:jwk:e30#0")
	f.Add([]byte(`{"id":"a","verificationMethod":[{"publicKeyJwk":{"kty":"EC","crv":"secp256k1","x":"","y":""}}]}`),
		"did:web:a.b:c%3A#k")
	f.Fuzz(func(t *testing.T, raw []byte, id string) {
		if at, err := WebURL(id); err == nil && !strings.HasPrefix(at, "https://") {
			t.Errorf("%q lies at %q", id, at)
		}
		if k, _, ok, err := Embedded(id); ok && err == nil &&
			k.Verify(k.Algorithms()[0], raw, make([]byte, 64)) == nil {
			t.Errorf("%q verifies a signature of zeros", id)
		}
		d, err := ParseDocument(raw, id)
		if err != nil {
			return
		}
		for _, m := range d.Methods {
			if m.Err == nil && len(m.Key.Bytes) != 32 && len(m.Key.Bytes) != 64 {
				t.Errorf("method %+v", m)
			}
		}
	})
}
