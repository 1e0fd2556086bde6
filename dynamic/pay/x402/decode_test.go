package x402_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
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
	if p.Accepted.Amount != "1" || p.Accepted.MaxTimeoutSeconds != 300 || p.Accepted.Extra["version"] != "2" ||
		p.Resource != "https://s/x" ||
		string(p.Payload) != `{"signature":"0x00"}` || x402.EchoedNonce(p) != "n" ||
		p.Digest != sha256.Sum256([]byte(encode(valid))) {
		t.Errorf("Decode = %+v", p)
	}
	for _, none := range []string{`"resource":null,`, ""} {
		p, err := x402.Decode(encode(strings.Replace(valid, `"resource":{"url":"https://s/x"},`, none, 1)))
		if err != nil || p.Resource != "" {
			t.Errorf("with %q for a resource: %+v, %v", none, p, err)
		}
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
		"resource text":  encode(strings.Replace(valid, `{"url":"https://s/x"}`, `"https://s/x"`, 1)),
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

func TestMatch(t *testing.T) {
	asked := []rail.Requirement{
		{Scheme: "exact", Network: "eip155:1", Amount: "1", Asset: "0xA", PayTo: "0xB", MaxTimeoutSeconds: 300,
			Extra: map[string]any{"name": "n"}},
		{Scheme: "exact", Network: "eip155:1", Amount: "2", Asset: "0xA", PayTo: "0xB", MaxTimeoutSeconds: 300,
			Extra: map[string]any{"name": "n"}},
		{Scheme: "exact", Network: "eip155:2", Amount: "1", Asset: "0xA", PayTo: "0xB", MaxTimeoutSeconds: 300},
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
		`{"scheme":"exact","network":"eip155:2","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300}`:                               2,
		`{"scheme":"exact","network":"eip155:2","amount":"1","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":300,"extra":null}`:                  2,
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
	declared := map[string]x402.Extension{"bazaar": ext(`{"a":1,"b":{"c":[1,2]}}`),
		"store-challenge":    ext(`{"nonce":"x"}`),
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
	for info, want := range map[string]bool{`{"id":"store-x","required":false}`: true,
		`{"id":"mine","required":false}`: true, `{"required":false}`: true, `{"id":"store-x","required":true}`: false} {
		if got := x402.EchoHolds(map[string]x402.Extension{"payment-identifier": ext(info)}, declared); got != want {
			t.Errorf("EchoHolds(%s) = %v, want %v", info, got, want)
		}
	}
	if !x402.EchoHolds(nil, declared) || !x402.EchoHolds(map[string]x402.Extension{"other": ext("1")}, declared) {
		t.Error("an echo of nothing does not hold")
	}
}

// FuzzDecode looks for a header that is neither read nor refused.
func FuzzDecode(f *testing.F) {
	f.Add(encode(valid))
	f.Add(encode(`{"x402Version":2,"payload":{},"accepted":{}}`))
	f.Add(encode(strings.Repeat("[", 100)))
	f.Add("=")
	nonces := pay.NewNonces([]byte("s"))
	f.Fuzz(func(t *testing.T, header string) {
		p, err := x402.Decode(header)
		if err != nil {
			if _, ok := errors.AsType[*rail.Refusal](err); !ok {
				t.Fatalf("Decode fails with %v, which is no refusal", err)
			}
			return
		}
		if !json.Valid(p.Payload) || len(p.Payload) == 0 || p.Payload[0] != '{' ||
			p.Digest != sha256.Sum256([]byte(header)) {
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
