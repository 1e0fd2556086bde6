package probe_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// TestReaddressedAlike: addresses are put into parsed terms as they would be put into their text,
// and the length of that text is known, which decides whether Node takes the head.
func TestReaddressedAlike(t *testing.T) {
	changed := 0
	check := func(x exchange.Exchange) {
		t.Helper()
		r, err := x.Redact()
		if err != nil {
			return
		}
		n, err := probe.ReaddressedAlike(r)
		if err != nil {
			t.Fatal(err)
		}
		changed += n
	}
	for i := range uint64(1000) {
		m := corpustest.NewMutant(i)
		p, err := probe.NewPreflight(probe.V2, m.URL, m.Declared)
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := m.Recording(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range recorded {
			check(x)
		}
	}
	if changed < 500 {
		t.Errorf("%d mutants have addresses", changed)
	}
	const usdc, payTo = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	for _, terms := range []string{
		`{"accepts":[{"network":"eip155:8453","asset":"` + usdc + `","payTo":"` + usdc + `"}]}`,
		`{"accepts":[{"payTo":"` + payTo + `","a":["` + payTo + `",{"` + payTo + `":"x` + payTo + `\"\u001f"}]}]}`,
		`{"accepts":[{"payTo":7},{"payTo":""},{"payTo":"a.eth"},{"x":{"form":"evm","digest":"no"}}]}`,
		`{"accepts":[{"x":{"form":"evm"},"y":{"digest":1,"form":"evm"},"z":{"form":"evm","b":{"form":"empty"}}}]}`,
		`{"accepts":[{"payTo":"` + payTo + `"}],"` + payTo + `":1,"[pay-to 0123456789abcdef]":2}`,
	} {
		changed = 0
		check(exchange.Exchange{Request: exchange.Request{Method: "GET", URL: "https://door.example/"},
			Response: exchange.Response{Status: 402, Body: []byte(terms), Header: http.Header{
				"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(terms))}}}})
		if changed == 0 {
			t.Errorf("%s is as it was", terms)
		}
	}
}
