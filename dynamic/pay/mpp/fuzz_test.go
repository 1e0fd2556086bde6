package mpp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
)

// fixed is a fill that is the same in every process of a fuzzer.
func fixed(q *pay.Quote) pay.Fill {
	f := fill(q)
	f.Nonce = strings.Repeat("n", pay.NonceLen)
	return f
}

// FuzzRead looks for a header that is neither read nor refused, has two spellings, or answers a
// challenge that was not given.
func FuzzRead(f *testing.F) {
	q := quote()
	field, _ := ask(f, q, fixed(q), "")
	good := answer(field).encode(f)
	f.Add(good)
	f.Add("Payment")
	f.Add("payment e30")
	f.Add("Payment " + base64.RawURLEncoding.EncodeToString(
		[]byte(`{"challenge":{"method":"evm","intent":"charge"},"payload":{}}`)))
	p := New(shop)
	f.Fuzz(func(t *testing.T, value string) {
		got, err := p.Read(header{headerCredential: {value}})
		if err != nil {
			if reasonOf(err) == "" {
				t.Fatalf("Read fails with %v, which is no refusal", err)
			}
			return
		}
		if got == nil {
			return
		}
		text := credentials(header{headerCredential: {value}})[0].text
		if raw, err := base64.RawURLEncoding.DecodeString(text); err != nil ||
			base64.RawURLEncoding.EncodeToString(raw) != text {
			t.Fatal("a credential has two spellings")
		}
		if got.Digest != sha256.Sum256([]byte(text)) || !json.Valid(got.Payload) {
			t.Fatalf("Read = %+v", got)
		}
		checkMatch(t, p, got, q, field)
	})
}

// FuzzCredential is FuzzRead for the JSON of a credential.
func FuzzCredential(f *testing.F) {
	q := quote()
	field, _ := ask(f, q, fixed(q), "")
	b, err := json.Marshal(answer(field))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"challenge":{"method":"evm","intent":"charge","request":{},"opaque":""},"payload":{"type":"authorization"}}`))
	p := New(shop)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := p.Read(pay.Meta{metaCredential: b})
		if err != nil {
			if reasonOf(err) == "" {
				t.Fatalf("Read fails with %v, which is no refusal", err)
			}
			return
		}
		checkMatch(t, p, got, q, field)
	})
}

// checkMatch demands of a credential that matches all that was bound in the challenge, and what the
// chain will be shown.
func checkMatch(t *testing.T, p pay.Protocol, got *pay.Presented, q *pay.Quote, field string) {
	t.Helper()
	if _, err := p.Match(got, q); err != nil {
		if reasonOf(err) == "" {
			t.Fatalf("Match fails with %v, which is no refusal", err)
		}
		return
	}
	c := got.Data.(*credential)
	if c.field() != field {
		t.Fatalf("%s is taken for %s", c.field(), field)
	}
	a := c.authorization
	if a.Value != "10000" && strings.TrimLeft(a.Value, "+0") != "10000" || !sameAddress(a.To, payTo) ||
		!strings.EqualFold(a.Nonce, c.hash()) {
		t.Fatalf("%+v is taken", a)
	}
}

// FuzzOpaque writes and reads an opaque.
func FuzzOpaque(f *testing.F) {
	f.Add(key, strings.Repeat("n", pay.NonceLen), "https://store.example/x", "a=b")
	f.Fuzz(func(t *testing.T, key, nonce, url, query string) {
		plain := regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
		scope := scopeOf(url, query)
		if !plain.MatchString(key) || !plain.MatchString(nonce) {
			return // neither of ours
		}
		text, bad := encodeOpaque(opaque{key, nonce, scope})
		b, err := decode(text)
		var o opaque
		if err := errors.Join(bad, err, json.Unmarshal(b, &o)); err != nil || o != (opaque{key, nonce, scope}) {
			t.Fatalf("%s is read as %+v, %v", b, o, err)
		}
		if url != "" && scopeOf(url[:len(url)-1], query) == scope || scopeOf(url, query+"&") == scope {
			t.Fatal("two addresses have one scope")
		}
	})
}
