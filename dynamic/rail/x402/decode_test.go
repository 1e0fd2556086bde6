package x402_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/x402"
)

const valid = `{"x402Version":2,"payload":{"signature":"0x00"},"accepted":{"scheme":"exact","network":"eip155:8453","amount":"1",` +
	`"asset":"0x1","payTo":"0x2","maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}},"resource":{"url":"https://s/x"},` +
	`"extensions":{"store-challenge":{"info":{"nonce":"n"}},"payment-identifier":{"info":{"required":false,"id":"0123456789abcdef"}}}}`

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestDecode(t *testing.T) {
	p, err := x402.Decode(encode(valid))
	if err != nil {
		t.Fatal(err)
	}
	if p.Accepted.Amount != "1" || p.Accepted.MaxTimeoutSeconds != 300 || p.Accepted.Extra["version"] != "2" || p.Resource != "https://s/x" ||
		string(p.Payload) != `{"signature":"0x00"}` || x402.EchoedNonce(p) != "n" || p.Digest != sha256.Sum256([]byte(encode(valid))) {
		t.Errorf("Decode = %+v", p)
	}
	if id, ok := x402.PaymentID(p); !ok || id != "0123456789abcdef" {
		t.Errorf("PaymentID = %q, %v", id, ok)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, header := range map[string]string{
		"nothing":        "",
		"a list":         encode("[]"),
		"version":        encode(strings.Replace(valid, ":2,", ":3,", 1)),
		"a name twice":   encode(strings.Replace(valid, `"amount":"1"`, `"amount":"1","amount":"1"`, 1)),
		"twice, deep":    encode(strings.Replace(valid, `{"nonce":"n"}`, `{"nonce":"n","nonce":"n"}`, 1)),
		"twice, escaped": encode(strings.Replace(valid, `"amount":"1"`, `"amount":"1","\u0061mount":"1"`, 1)),
		"no payload":     encode(strings.Replace(valid, `"payload"`, `"Payload"`, 1)),
		"fraction":       encode(strings.Replace(valid, "300", "300.5", 1)),
		"extra a list":   encode(strings.Replace(valid, `{"name":"USD Coin","version":"2"}`, "[]", 1)),
		"line break":     encode(valid)[:8] + "\n" + encode(valid)[8:],
		"loose bits":     encode("{}")[:3] + "1", // the last character's unused bits are set
		"three pads":     encode(valid) + "===",
		"oversized":      strings.Repeat("A", x402.MaxHeader+4),
	} {
		p, err := x402.Decode(header)
		if refusal, ok := errors.AsType[*rail.Refusal](err); !ok || refusal.Reason == "" {
			t.Errorf("%s: Decode = %+v, %v, want a refusal", name, p, err)
		}
	}
}

func TestNonces(t *testing.T) {
	n, other := x402.NewNonces([]byte("one secret")), x402.NewNonces([]byte("another"))
	s := string(n.Append(nil))
	if len(s) != x402.NonceLen || !n.Valid(s) || other.Valid(s) || string(n.Append(nil)) == s {
		t.Fatalf("nonce %q", s)
	}
	for i := range len(s) {
		for _, c := range "AZaz09-_+=" {
			if changed := s[:i] + string(c) + s[i+1:]; changed != s && n.Valid(changed) {
				t.Errorf("the nonce %q is valid as %q", s, changed)
			}
		}
	}
	for _, bad := range []string{"", s[:47], s + "A", strings.Repeat("A", x402.NonceLen)} {
		if n.Valid(bad) {
			t.Errorf("the nonce %q is valid", bad)
		}
	}
}

func TestMatch(t *testing.T) {
	asked := []rail.Requirement{
		{Scheme: "exact", Network: "eip155:1", Amount: "1", Asset: "0xA", PayTo: "0xB", MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "n"}},
		{Scheme: "exact", Network: "eip155:1", Amount: "2", Asset: "0xA", PayTo: "0xB", MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "n"}},
	}
	for accepted, want := range map[string]int{
		`{"scheme":"exact","network":"eip155:1","amount":"2","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"name":"n"}}`:          1,
		`{"scheme":"exact","network":"eip155:1","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"name":"n","x":1}}`:    0,
		`{"scheme":"exact","network":"eip155:1","amount":"1","asset":"0xa","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"name":"n"}}`:          -1,
		`{"scheme":"exact","network":"eip155:1","amount":"01","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"name":"n"}}`:         -1,
		`{"scheme":"exact","network":"eip155:1","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"name":"m"}}`:          -1,
		`{"scheme":"exact","network":"eip155:1","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"x":1}}`:               -1,
		`{"scheme":"exact","network":"eip155:1","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300}`:                               -1,
		`{"scheme":"exact","network":"eip155:1","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":{"name":"n"},"more":1}`: -1,
	} {
		p, err := x402.Decode(encode(`{"x402Version":2,"payload":{},"accepted":` + accepted + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := x402.Match(p, asked); got != want {
			t.Errorf("Match(%s) = %d, want %d", accepted, got, want)
		}
	}
}

func TestEchoHolds(t *testing.T) {
	ext := func(info string) x402.Extension { return x402.Extension{Info: json.RawMessage(info)} }
	declared := map[string]x402.Extension{"bazaar": ext(`{"a":1,"b":{"c":[1,2]}}`), "store-challenge": ext(`{"nonce":"x"}`),
		"payment-identifier": ext(`{"id":"store-x","required":false}`)}
	for info, want := range map[string]bool{
		`{"a":1,"b":{"c":[1,2]}}`:          true,
		`{"b":{"c":[1,2]},"a":1,"more":1}`: true,
		`{"a":1}`:                          false,
		`{"a":2,"b":{"c":[1,2]}}`:          false,
		`{"a":1,"b":{"c":[2,1]}}`:          false,
		`null`:                             false,
		`[]`:                               false,
	} {
		if got := x402.EchoHolds(map[string]x402.Extension{"bazaar": ext(info)}, declared); got != want {
			t.Errorf("EchoHolds(%s) = %v, want %v", info, got, want)
		}
	}
	for info, want := range map[string]bool{`{"id":"store-x","required":false}`: true, `{"id":"mine","required":false}`: true, `{"required":false}`: true, `{"id":"store-x","required":true}`: false} {
		if got := x402.EchoHolds(map[string]x402.Extension{"payment-identifier": ext(info)}, declared); got != want {
			t.Errorf("EchoHolds(%s) = %v, want %v", info, got, want)
		}
	}
	if !x402.EchoHolds(nil, declared) || !x402.EchoHolds(map[string]x402.Extension{"other": ext("1")}, declared) {
		t.Error("an echo of nothing does not hold")
	}
}

// A challenge spliced for a nonce is what encoding it whole would give.
func TestChallengeSplices(t *testing.T) {
	r := &x402.Required{X402Version: 2, Extensions: map[string]x402.Extension{}}
	body := []byte(`{"suggested_key":"` + x402.KeyHole + `","extensions":{"payment-identifier":{"info":{"id":"` + x402.KeyHole + `"}},"store-challenge":{"info":{"nonce":"` +
		strings.Repeat("_", x402.NonceLen) + `"}}}}`)
	key := "store-" + strings.Repeat("k", 26) + "-202611221200"
	for i := range 9 {
		r.Error = strings.Repeat("e", i%3)
		r.Extensions["q"] = x402.Extension{Info: json.RawMessage(`"` + strings.Repeat("q", i/3) + `"`)} // between the two holes
		c, err := x402.NewChallenge(r, body)
		if err != nil {
			t.Fatal(err)
		}
		nonce := x402.NewNonces([]byte("s")).Append(nil)
		fill := x402.Fill{Nonce: nonce, Key: []byte(key)}
		raw, err := base64.StdEncoding.DecodeString(c.Header(fill))
		if err != nil || len(c.Header(fill)) != c.HeaderLen() {
			t.Fatalf("%v, length %d, want %d", err, len(c.Header(fill)), c.HeaderLen())
		}
		var written bytes.Buffer
		if err := c.WriteBody(&written, fill); err != nil || written.Len() != c.BodyLen() {
			t.Fatalf("%v, length %d, want %d", err, written.Len(), c.BodyLen())
		}
		for _, b := range [][]byte{raw, written.Bytes()} {
			var got struct {
				Key        string `json:"suggested_key"`
				Extensions map[string]struct{ Info any }
			}
			info := func(name string) map[string]any { m, _ := got.Extensions[name].Info.(map[string]any); return m }
			if err := json.Unmarshal(b, &got); err != nil || info("store-challenge")["nonce"] != string(nonce) ||
				info("payment-identifier")["id"] != key || got.Key != "" && got.Key != key {
				t.Errorf("%s does not hold %s and %s: %v", b, nonce, key, err)
			}
		}
	}
	for _, lacks := range []string{`{}`, `{"a":"` + x402.KeyHole + `"}`, `{"a":"` + strings.Repeat("_", x402.NonceLen) + `"}`} {
		if _, err := x402.NewChallenge(r, []byte(lacks)); err == nil {
			t.Errorf("a body of %s is a challenge", lacks)
		}
	}
}

// FuzzDecode looks for a header that is neither read nor refused.
func FuzzDecode(f *testing.F) {
	f.Add(encode(valid))
	f.Add(encode(`{"x402Version":2,"payload":{},"accepted":{}}`))
	f.Add(encode(strings.Repeat("[", 100)))
	f.Add("=")
	nonces := x402.NewNonces([]byte("s"))
	f.Fuzz(func(t *testing.T, header string) {
		p, err := x402.Decode(header)
		if err != nil {
			if _, ok := errors.AsType[*rail.Refusal](err); !ok {
				t.Fatalf("Decode fails with %v, which is no refusal", err)
			}
			return
		}
		if !json.Valid(p.Payload) || len(p.Payload) == 0 || p.Payload[0] != '{' || p.Digest != sha256.Sum256([]byte(header)) {
			t.Fatalf("Decode = %+v", p)
		}
		if nonces.Valid(x402.EchoedNonce(p)) {
			t.Fatal("a made-up header holds a nonce of ours")
		}
		x402.PaymentID(p)
		x402.Match(p, []rail.Requirement{{Extra: map[string]any{"name": "n"}}})
		x402.EchoHolds(p.Extensions, map[string]x402.Extension{"bazaar": {Info: json.RawMessage(`{"a":1}`)}})
	})
}
