package probe_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/stockclient"

	"github.com/google/go-cmp/cmp"
)

// TestPublishedIsPlainX402 gives what is published of an answer to each client as a door's own
// answer: it does there what it did at the door.
func TestPublishedIsPlainX402(t *testing.T) {
	type does struct {
		Outcome, Stage, About, Network, Amount string
		Index, Dropped                         int
	}
	at := func(x exchange.Exchange) (all []does) {
		for _, m := range stockclient.Models() {
			a, err := m.Judge(stockclient.Read(x))
			if err != nil {
				t.Fatal(err)
			}
			d := does{Outcome: a.Outcome, Stage: a.Stage, About: a.About, Dropped: len(a.Dropped)}
			if c := a.Chosen; c != nil {
				d.Index, d.Network, d.Amount = c.Index, c.Network, c.AmountAtomic
			}
			all = append(all, d)
		}
		return all
	}
	signed := 0
	check := func(x exchange.Exchange) {
		t.Helper()
		r, err := x.Redact()
		if err != nil {
			t.Fatal(err)
		}
		published := x
		published.Response.Header = x.Response.Header.Clone()
		var terms []string
		for _, c := range r.Challenges {
			switch encoded := base64.StdEncoding.EncodeToString(c.Value); {
			case c.From == exchange.FromBody:
				published.Response.Body = c.Value
			case c.From != exchange.FromHeader:
			case c.Value == nil || c.Encoding != "base64":
				terms = x.Response.Header["Payment-Required"]
			default:
				terms = append(terms, encoded)
			}
		}
		if terms != nil {
			published.Response.Header["Payment-Required"] = terms
		}
		before, after := at(x), at(published)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s\nand what is published of it (-door +published):\n%s", x.Response.Header["Payment-Required"],
				diff)
		}
		if before[0].Outcome == stockclient.WouldSign {
			signed++
		}
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
	const usdc, payTo = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	for _, address := range []string{`"` + usdc + `"`, `"` + payTo + `"`, `["` + payTo + `"]`, `{"a":"` + payTo + `"}`, `7`,
		`null`, `""`, `"a.eth"`, `"0x73756273746974757465abcdef00000000000001"`} {
		terms := `{"x402Version":2,"accepts":[{"scheme":"exact","network":"eip155:8453","asset":"` + usdc +
			`","amount":"1","payTo":` + address + `,"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`
		check(exchange.Exchange{Request: exchange.Request{Method: "GET", URL: "https://door.example/"},
			Response: exchange.Response{Status: 402, Body: []byte(terms), Header: http.Header{
				"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(terms))}}}})
	}
	if signed < 200 {
		t.Errorf("a client signs at %d", signed)
	}
}
