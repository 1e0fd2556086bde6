package drift

import (
	"cmp"
	"math/big"
	"net/http"
	"strings"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// A term is a way of paying, as a door asks for it or a declaration states it. What is not said is
// empty.
type term struct {
	protocol string // MPP, else X402
	network  said   // CAIP-2; of MPP, the payment method
	chain    string // CAIP-2
	asset    string
	price    said     // as it is written
	amount   *big.Int // atomic units, nil where the price is in dollars or none
	least    *big.Rat // dollars, nil where the price is in atomic units or none
	most     *big.Rat
	payTo    said
	problem  string // of a price that cannot be read
}

func (t term) says() bool { return t.network.text+t.price.text+t.payTo.text != "" }

// termsOf reads the terms of an entry: its accepts, or what stands beside its address.
func termsOf(entry node) []term {
	var out []term
	for _, item := range entry.accepts() {
		out = append(out, termOf(item, X402))
	}
	if t := termOf(entry, X402); len(out) == 0 && t.says() {
		out = append(out, t)
	}
	return out
}

// accepts are the entries of accepts that are judged, as many as of a door's challenge.
func (n node) accepts() []node {
	all := n.get("accepts").items()
	return all[:min(len(all), probe.MaxEntries)]
}

// termOf reads one way of paying in a protocol, by the names of both versions of x402 and of MPP.
func termOf(n node, protocol string) term {
	t := term{protocol: protocol, network: n.first("network"), payTo: n.first("payTo", "recipient"),
		asset: n.first("asset", "currency").text}
	if chain, ok := networks.FindV1(t.network.text); ok {
		t.network.text = chain.ID
	}
	t.chain = t.network.text
	if t.price = n.first("amount", "maxAmountRequired"); t.price.text != "" &&
		(protocol == MPP || !strings.EqualFold(t.asset, "USD")) {
		if t.amount = atomic(t.price.text); t.amount == nil {
			t.problem = "its amount is no whole number of atomic units"
		}
		return t
	}
	if price := n.get("price"); t.price.text == "" && price.there() {
		t.dollars(price)
	} else if t.price.text != "" {
		t.asset = ""
		t.dollars(node{t.price.text, t.price.at})
	}
	return t
}

// dollars reads a price: "$0.01", 0.01, or an object with amount, or min and max.
func (t *term) dollars(n node) {
	t.price = n.said()
	low, high := t.price.text, t.price.text
	if n.object() != nil {
		t.price = n.first("amount", "min", "max")
		low, high = cmp.Or(n.first("amount", "min").text, "0"), n.first("amount", "max").text
		if c := n.first("currency").text; c != "" && !strings.EqualFold(c, "USD") && !strings.EqualFold(c, "USDC") {
			t.problem = "its price is not in dollars"
			return
		}
		if t.price.text == "" { // a price that is told by the door alone
			return
		}
	}
	t.least, t.most = dollar(low), dollar(high)
	if t.least == nil || t.most == nil && high != "" {
		t.least, t.most = nil, nil
		t.price.at = cmp.Or(t.price.at, n.at)
		t.problem = "its price is no number of dollars"
	}
}

// maxDigits bounds the digits of an amount.
const maxDigits = 78

func atomic(s string) *big.Int {
	if s == "" || len(s) > maxDigits || strings.Trim(s, "0123456789") != "" {
		return nil
	}
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

func dollar(s string) *big.Rat {
	s = strings.TrimPrefix(strings.TrimSpace(s), "$")
	for _, unit := range []string{"USDC", "USD"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, unit))
	}
	if s == "" || len(s) > maxDigits || strings.Trim(s, "0123456789.") != "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

// worth is what a live amount is in dollars, nil where the token is none that is known for it.
func (t term) worth() *big.Rat {
	token, ok := networks.FindToken(t.chain, t.asset)
	if !ok || token.Symbol != "USDC" || t.amount == nil {
		return nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(token.Decimals)), nil)
	return new(big.Rat).SetFrac(t.amount, unit)
}

// methodOf finds the HTTP method in the places where sellers put it.
func methodOf(n node) said {
	places := [][]string{{"method"}, {"input", "method"}, {"extensions", "bazaar", "info", "input", "method"},
		{"outputSchema", "input", "method"}, {"metadata", "input", "method"}}
	for _, place := range places {
		if s := asMethod(n.get(place...).said()); s.text != "" {
			return s
		}
	}
	for _, entry := range n.accepts() {
		if s := asMethod(entry.get("outputSchema", "input", "method").said()); s.text != "" {
			return s
		}
	}
	return said{}
}

// asMethod keeps what is a method of HTTP: MPP writes its payment method under the same name.
func asMethod(s said) said {
	switch s.text = strings.ToUpper(s.text); s.text {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return s
	}
	return said{}
}
