package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// A payment matches by each member of what it accepted: one that differs in a single one is of
// other terms.
func TestMatchIsByEveryMember(t *testing.T) {
	asked := rail.Requirement{Scheme: "exact", Network: "eip155:8453", Amount: "1", Asset: "0x1", PayTo: "0x2",
		MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "n"}}
	for name, change := range map[string]func(*rail.Requirement){
		"scheme":  func(r *rail.Requirement) { r.Scheme = "upto" },
		"network": func(r *rail.Requirement) { r.Network = "eip155:1" },
		"amount":  func(r *rail.Requirement) { r.Amount = "0" }, "asset": func(r *rail.Requirement) { r.Asset = "0x3" },
		"payTo":   func(r *rail.Requirement) { r.PayTo = "0x3" },
		"timeout": func(r *rail.Requirement) { r.MaxTimeoutSeconds = 301 },
		"extra":   func(r *rail.Requirement) { r.Extra = map[string]any{"name": "m"} },
		"nothing": func(*rail.Requirement) {},
	} {
		r := asked
		change(&r)
		accepted, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		p, err := x402.Decode(encode(`{"x402Version":2,"payload":{},"accepted":` + string(accepted) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		want := -1
		if name == "nothing" {
			want = 0
		}
		if got := x402.Match(p, []rail.Requirement{asked}); got != want {
			t.Errorf("another %s: Match = %d, want %d", name, got, want)
		}
	}
}

// long is a payment of so many bytes of JSON.
func long(n int) string {
	return strings.Replace(valid, `"0x00"`, `"`+strings.Repeat("0", n-len(valid)+len("0x00"))+`"`, 1)
}

// values are fields in which each name stands as often as it has values.
type values map[string][]string

func (v values) Values(name string) []string { return v[name] }

// A payment is read up to the longest that is read, from a header or from _meta, and once.
func TestTheLongestPayment(t *testing.T) {
	read := x402.Row.New(pay.Store{}).Read
	signature := http.CanonicalHeaderKey(x402.HeaderSignature)
	most := x402.MaxHeader / 4 * 3 // in base64
	for name, c := range map[string]struct {
		in values
		ok bool
	}{
		"the longest header":  {values{signature: {encode(long(most))}}, true},
		"a longer one":        {values{signature: {encode(long(most + 1))}}, false},
		"two headers":         {values{signature: {encode(valid), encode(valid)}}, false},
		"the same one twice":  {values{signature: {encode(valid), ""}}, false},
		"an empty header":     {values{signature: {""}}, false},
		"the longest in meta": {values{x402.MetaPayment: {long(x402.MaxHeader)}}, true},
		"a longer in meta":    {values{x402.MetaPayment: {long(x402.MaxHeader + 1)}}, false},
		"base64 in meta":      {values{x402.MetaPayment: {`"` + encode(valid) + `"`}}, true},
		"no base64 in meta":   {values{x402.MetaPayment: {`"` + encode(valid) + `!"`}}, false},
		"half a text in meta": {values{x402.MetaPayment: {`"` + encode(valid)}}, false},
		"two in meta":         {values{x402.MetaPayment: {valid, valid}}, false},
	} {
		p, err := read(c.in)
		if _, refused := errors.AsType[*rail.Refusal](err); (err == nil && p != nil) != c.ok || refused == c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same payment is the same one by either carrier, so that it may be repeated by the other.
	header, _ := read(values{signature: {encode(valid)}})
	if meta, err := read(values{x402.MetaPayment: {`"` + encode(valid) + `"`}}); err != nil ||
		meta.Digest != header.Digest {
		t.Errorf("the header's text in meta: %v, %v", meta, err)
	}
	if p, err := read(values{}); p != nil || err != nil {
		t.Errorf("no payment: %v, %v", p, err)
	}
}

// An id is the buyer's own, or none: what is there and cannot be one is not taken for none.
func TestPaymentIDs(t *testing.T) {
	for info, want := range map[string]struct {
		id string
		ok bool
	}{
		"":                          {"", true},
		`{}`:                        {"", true},
		`{"id":null}`:               {"", true},
		`{"id":"0123456789abcdef"}`: {"0123456789abcdef", true},
		`{"id":"0123456789abcde"}`:  {"", false},
		`{"id":"0123456789abcde!"}`: {"", false},
		`{"id":` + `"` + strings.Repeat("a", 128) + `"}`: {strings.Repeat("a", 128), true},
		`{"id":` + `"` + strings.Repeat("a", 129) + `"}`: {"", false},
		`{"id":7}`: {"", false},
		`[]`:       {"", false},
	} {
		p := &x402.Presented{}
		if info != "" {
			p.Extensions = map[string]x402.Extension{x402.ExtPaymentID: {Info: json.RawMessage(info)}}
		}
		if id, ok := x402.PaymentID(p); id != want.id || ok != want.ok {
			t.Errorf("%s: %q, %v", info, id, ok)
		}
	}
}

// What became of a payment goes out by the carriers that there are, the same in each.
func TestAnswersGoOutByTheirCarriers(t *testing.T) {
	for _, to := range []pay.Carrier{{Header: http.Header{}}, {Meta: pay.Meta{}},
		{Header: http.Header{}, Meta: pay.Meta{}}, {}} {
		err := x402.Row.New(pay.Store{}).Answer(to, nil, pay.Outcome{Success: true, Payer: "p", Transaction: "0x1",
			Network: "eip155:8453", Amount: 7, Receipt: "jws"})
		if err != nil {
			t.Fatal(err)
		}
		var said [][]byte
		if to.Header != nil {
			raw, err := base64.StdEncoding.DecodeString(to.Header.Get(x402.HeaderResponse))
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, raw)
		}
		if to.Meta != nil {
			said = append(said, to.Meta[x402.MetaResponse])
		}
		for _, raw := range said {
			var r x402.SettleResponse
			if err := json.Unmarshal(raw, &r); err != nil || !r.Success || r.Amount != "7" || r.Transaction != "0x1" ||
				!strings.Contains(string(raw), `"jws"`) {
				t.Errorf("%s: %v", raw, err)
			}
		}
	}
}
