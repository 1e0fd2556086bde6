package counter

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// Terms that would take a header past what proxies take are left to the body, those of the last
// protocols first.
func TestTermsTooLongAreLeftToTheBody(t *testing.T) {
	c := &Counter{fields: [][]string{{"Payment-Required"}, {"Www-Authenticate"}}}
	for _, q := range []struct {
		first, second int
		want          bool // the second stays
	}{{5000, 900, true}, {7000, 900, true}, {maxTerms - 900 - 40, 900, true},
		{maxTerms - 900 - 39, 900, false}, {7200, 900, false}, {maxTerms + 1, 900, false}, {100, maxTerms, false}} {
		h := http.Header{"Payment-Required": {strings.Repeat("A", q.first)},
			"Www-Authenticate":        {strings.Repeat("B", q.second)},
			"Content-Security-Policy": {strings.Repeat("x", maxTerms)}}
		c.fits(h, 1)
		if _, is := h["Www-Authenticate"]; is != q.want || h["Payment-Required"] == nil ||
			h["Content-Security-Policy"] == nil {
			t.Errorf("%d and %d bytes: the second stands in the header: %v, want %v", q.first, q.second, is, q.want)
		}
	}
}

// What two protocols say together stands in the body even where the header has no room for one of
// them, and the body says so.
func TestTheBodyHasAllTerms(t *testing.T) {
	c := &Counter{nonces: pay.NewNonces([]byte("s")), rows: Protocols, fields: [][]string{{"Payment-Required"},
		{"Www-Authenticate"}}}
	for _, long := range []bool{false, true} {
		q := &pay.Quote{URL: "https://store.example/api/buy/hello", Method: "GET", Until: time.Now(),
			Accepts: []rail.Requirement{{Scheme: "exact", Network: "eip155:8453",
				Amount: "1", Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				PayTo: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", MaxTimeoutSeconds: 300}}}
		if long {
			q.Description = strings.Repeat("long ", 1200)
		}
		ch := &unpaid{cachedTerms: &cachedTerms{}, fill: pay.Fill{Nonce: c.nonces.New(), Key: "key", At: time.Now()}}
		words := ""
		for _, row := range Protocols {
			terms, err := row.New(pay.Store{Secret: []byte("s"), Realm: "store.example",
				SignOffer: func(rail.Requirement, string, time.Time) (string, error) { return "e.e.e", nil }}).Terms(q)
			if err != nil {
				t.Fatal(err)
			}
			ch.terms, words = append(ch.terms, terms), words+terms.Words().How
		}
		h := make(http.Header)
		if err := c.say(ch, request{to: pay.Carrier{Header: h}}, ""); err != nil {
			t.Fatal(err)
		}
		ch.body = append([]byte(`{"first":1`), ch.body...)
		var body struct {
			Required struct{ Challenges []json.RawMessage } `json:"org.paymentauth/payment-required"`
		}
		if json.Unmarshal(ch.whole(), &body) != nil || (len(body.Required.Challenges) == 1) != long ||
			!strings.Contains(words, "in WWW-Authenticate") {
			t.Errorf("long %v: the body is %s, the words are %s", long, ch.body, words)
		}
		if is := h.Get("WWW-Authenticate") != ""; is == long || h.Get("PAYMENT-REQUIRED") == "" {
			t.Errorf("long %v: the header has a challenge: %v", long, is)
		}
	}
}
