package mpp

import (
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/pay"
)

// Accept-Payment filters and orders what is offered. What cannot be read, or speaks of nothing that
// is offered, changes nothing; "-" is a header without challenges.
func TestAcceptPayment(t *testing.T) {
	q := quote()
	polygon, _ := networks.USDC("eip155:137")
	q.Accepts[0].Asset = polygon.Address
	const usual = "evm/8453 usdc/137"
	for value, want := range map[string]string{
		"":                                    usual,
		"evm/charge":                          "evm/8453",
		"evm/charge, tempo/*;q=0.5":           "evm/8453",
		"tempo/*":                             usual,
		"*/*":                                 "evm/8453 usdc/137",
		"*/*;q=0":                             "-",
		"evm/charge;q=0":                      "-",
		"evm/charge;q=0.000, */*":             "usdc/137",
		"*/*;q=0, evm/charge;q=0.1":           "evm/8453",
		"evm/*;q=0, evm/charge ;\tQ=0.001":    "evm/8453",
		"evm/session;q=0":                     usual,
		"usdc/charge":                         "usdc/137",
		"evm/charge;q=0.5, usdc/*;q=0.501":    "usdc/137 evm/8453",
		"*/charge;q=0.2, usdc/charge;q=0.1,,": "evm/8453 usdc/137",
		"evm/charge;q=0, broken":              usual,
		"evm/charge;q=2":                      usual,
		"evm/charge;q=1.001":                  usual,
		"evm/charge;q=1e0":                    usual,
		"evm/charge;q=NaN":                    usual,
		"evm/charge;v=0":                      usual,
		"evm/charge;q=0;x":                    usual,
		"EVM/charge;q=0":                      usual,
		"evm/charge;q=0, x/" + strings.Repeat("a", maxAccept): usual,
		strings.Repeat("evm/charge;q=0,", maxRanges):          "-",
		strings.Repeat("evm/charge;q=0,", maxRanges+1):        usual,
	} {
		f := fill(q)
		f.Asks = header{headerAccept: {value}}
		if got := strings.Join(fieldsOf(t, q, f), " "); got != strings.Trim(want, "-") {
			t.Errorf("Accept-Payment: %.60s: %s, want %s", value, got, want)
		}
	}
	f := fill(q)
	f.Asks = header{headerAccept: {"*/*", "evm/charge;q=0"}} // two fields are one
	if got := fieldsOf(t, q, f); len(got) != 1 || got[0] != "usdc/137" {
		t.Errorf("two fields: %s", got)
	}
	// Who names the method has all of its networks and amounts in the body; others have its first.
	for value, want := range map[string]int{"usdc/*": 3, "*/*": 3, "usdc/charge, evm/charge": 5, "evm/charge": 2} {
		f.Asks = header{headerAccept: {value}}
		if _, body := ask(t, q, f, "reason"); len(body.Challenges) != want {
			t.Errorf("%s: %d challenges, want %d", value, len(body.Challenges), want)
		}
	}
}

// fieldsOf are the challenges of the header: method and chain of each.
func fieldsOf(t testing.TB, q *pay.Quote, f pay.Fill) (said []string) {
	t.Helper()
	terms, err := New(shop).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	h := make(http.Header)
	if _, err := terms.Say(pay.Carrier{Header: h}, f, "", nil); err != nil {
		t.Fatal(err)
	}
	for _, field := range h.Values(headerChallenge) {
		_, v := params(field)
		r, err := readCharge([]byte(`"` + v["request"] + `"`))
		if err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(r.way(v["method"]).network(r.MethodDetails), ":")
		said = append(said, v["method"]+"/"+id)
	}
	return said
}
