package buyer

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/wallet"
)

func TestSignatureIsTheVectors(t *testing.T) {
	raw, err := os.ReadFile("../../corpus/wallet/testdata/x402.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Key     string `json:"privateKey"`
		EIP3009 struct {
			Domain    struct{ Name, Version, VerifyingContract string }
			Message   wireAuthorization
			Separator string `json:"domainSeparator"`
			Signature string
		}
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	m := v.EIP3009.Message
	key, err := wallet.ParseKey(v.Key)
	if err != nil {
		t.Fatal(err)
	}
	e := readEntry([]byte(`{"scheme":"exact","network":"eip155:8453","amount":"` + m.Value + `","asset":"` +
		v.EIP3009.Domain.VerifyingContract +
		`","payTo":"` + m.To + `","maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}}`))
	if e.Refused != "" {
		t.Fatal(e.Refused)
	}
	d, err := e.asset.domain()
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Separator(); "0x"+hex.EncodeToString(s[:]) != v.EIP3009.Separator {
		t.Errorf("domain separator %x, want %s", s, v.EIP3009.Separator)
	}
	b := &Buyer{cfg: Config{Wallet: key}}
	payload, err := evmSign(b, &purchase{PayTo: e.payTo, Amount: e.Atomic, ValidBefore: 2_000_000_000,
		Nonce: m.Nonce}, e)
	if err != nil {
		t.Fatal(err)
	}
	if got := payload.(wirePayload); got.Authorization != m || got.Signature != v.EIP3009.Signature {
		t.Errorf("sign = %+v, want %+v %s", got, m, v.EIP3009.Signature)
	}
}

func TestAssetsAreWellFormed(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range assets {
		f, ok := familyOf(a.Network)
		if _, err := f.address(a.Address); !ok || err != nil {
			t.Errorf("%s: %v", a.Chain, err)
		}
		if _, err := a.domain(); (err == nil) != (f.namespace == wallet.NamespaceEVM) {
			t.Errorf("%s: %v", a.Chain, err)
		}
		if k := a.Network + a.Address; seen[k] || a.Symbol == "" || a.Chain == "" {
			t.Errorf("%s: row %+v", a.Chain, a)
		} else {
			seen[k] = true
		}
	}
}

func TestEntriesThatAreNotPaid(t *testing.T) {
	tests := []struct {
		name    string
		replace obj
		want    string // part of the reason; empty: paid
	}{
		{"plain", nil, ""},
		{"asset in lower case", obj{"asset": strings.ToLower(baseUSD)}, ""},
		{"exactly the ceiling", obj{"amount": "1000000"}, ""},
		{"one above the ceiling", obj{"amount": "1000001"}, "above the ceiling of 1 USDC"},
		{"huge", obj{"amount": "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
			"whole number"},
		{"wraps to one in 64 bits", obj{"amount": "18446744073709551617"}, "whole number"},
		{"exponent", obj{"amount": "1e6"}, "whole number"},
		{"leading space", obj{"amount": " 1"}, "whole number"},
		{"trailing newline", obj{"amount": "1\n"}, "whole number"},
		{"hexadecimal", obj{"amount": "0x10"}, "whole number"},
		{"leading zero", obj{"amount": "010"}, "whole number"},
		{"negative", obj{"amount": "-5"}, "whole number"},
		{"fraction", obj{"amount": "0.5"}, "whole number"},
		{"other digits", obj{"amount": "١"}, "whole number"},
		{"empty", obj{"amount": ""}, "whole number"},
		{"zero", obj{"amount": "0"}, "zero"},
		{"a JSON number", obj{"amount": 1000}, "cannot be read"},
		{"another chain's USDC", obj{"asset": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"},
			"not a known dollar token"},
		{"another token", obj{"asset": payTo}, "not a known dollar token"},
		{"World Chain", obj{"network": "eip155:480", "asset": "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1",
			"extra": obj{"name": "USDC", "version": "2"}}, ""},
		{"unknown network", obj{"network": "eip155:10"}, "network"},
		{"Solana", obj{"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}, "not a known dollar token of Solana"},
		{"other scheme", obj{"scheme": "upto"}, "scheme"},
		{"wrong token name", obj{"extra": obj{"name": "USDC", "version": "2"}}, "void"},
		{"no token name", obj{"extra": obj{}}, "void"},
		{"no extra", obj{"extra": nil}, "void"},
		{"extra is a list", obj{"extra": []int{}}, "extra"},
		{"permit2", obj{"extra": obj{"name": "USD Coin", "version": "2", "assetTransferMethod": "permit2"}}, "eip3009"},
		{"escrow", obj{"extra": obj{"name": "USD Coin", "version": "2", "paymentFlow": "escrow"}}, "flow"},
		{"up front", obj{"extra": obj{"name": "USD Coin", "version": "2", "paymentFlow": "upfront"}}, ""},
		{"zero address", obj{"payTo": "0x0000000000000000000000000000000000000000"}, "zero address"},
		{"wrong checksum", obj{"payTo": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293Bc"}, "right spelling"},
		{"not an address", obj{"payTo": "shop"}, "right spelling"},
		{"no time", obj{"maxTimeoutSeconds": 5}, "too short"},
		{"fractional time", obj{"maxTimeoutSeconds": 300.5}, "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &door{unpaid: func(int) *http.Response { return challenge(required(entry(tt.replace))) },
				paid: func(int, *http.Request) (*http.Response, error) { return delivered(), nil }}
			b := newBuyer(t, d, nil)
			terms, err := b.Terms(t.Context(), doorURL, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := terms.Entries[0].Refused; (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("refused %q, want %q", got, tt.want)
			}
			_, err = b.Buy(t.Context(), doorURL, Options{})
			if tt.want == "" {
				if err != nil || len(d.payment) != 1 {
					t.Errorf("Buy = %v with %d payments", err, len(d.payment))
				}
				return
			}
			want := ErrNotPayable
			if strings.Contains(tt.want, "ceiling") {
				want = ErrCeiling
			}
			if !errors.Is(err, want) || len(d.payment) != 0 || len(files(t, b)) != 0 {
				t.Errorf("Buy = %v with %d payments, want %v and none", err, len(d.payment), want)
			}
		})
	}
}

func TestWhichEntryIsPaid(t *testing.T) {
	polygon := obj{"network": "eip155:137", "asset": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"}
	upfront := obj{"extra": obj{"name": "USD Coin", "version": "2", "paymentFlow": "upfront"}}
	dear := obj{"amount": "2000000"}
	tests := []struct {
		name     string
		accepts  []obj
		choice   Choice
		networks []string
		want     int
		err      error
	}{
		{"the first", []obj{entry(nil), entry(polygon)}, Choice{}, nil, 0, nil},
		{"order, not price", []obj{entry(nil), entry(obj{"amount": "1"})}, Choice{}, nil, 0, nil},
		{"the first that can be paid", []obj{entry(dear), entry(obj{"network": "solana:x"}), entry(polygon)}, Choice{},
			nil, 2, nil},
		{"not up front where it can be after", []obj{entry(upfront), entry(nil)}, Choice{}, nil, 1, nil},
		{"a network", []obj{entry(nil), entry(polygon)}, Choice{Network: "eip155:137"}, nil, 1, nil},
		{"an amount", []obj{entry(nil), entry(obj{"amount": "600000"})}, Choice{Amount: 600000}, nil, 1, nil},
		{"an amount not asked", []obj{entry(nil)}, Choice{Amount: 1}, nil, -1, ErrNotPayable},
		{"a chosen amount above the ceiling", []obj{entry(nil), entry(dear)}, Choice{Amount: 2000000}, nil, -1,
			ErrCeiling},
		{"an allowed network", []obj{entry(nil), entry(polygon)}, Choice{}, []string{"eip155:137"}, 1, nil},
		{"no allowed network", []obj{entry(nil)}, Choice{}, []string{"eip155:137"}, -1, ErrNotPayable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &door{unpaid: func(int) *http.Response { return challenge(required(tt.accepts...)) }}
			b := newBuyer(t, d, func(c *Config) { c.Networks = tt.networks })
			terms, err := b.Terms(t.Context(), doorURL, Options{Choice: tt.choice})
			if err != nil {
				t.Fatal(err)
			}
			if terms.Chosen != tt.want || !errors.Is(terms.err, tt.err) {
				t.Errorf("chosen %d, %v; want %d, %v", terms.Chosen, terms.err, tt.want, tt.err)
			}
		})
	}
}

func TestTermsThatCannotBeRead(t *testing.T) {
	good, _ := json.Marshal(required(entry(nil)))
	header := func(b string) http.Header {
		return http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(b))}}
	}
	replaced := func(old, new string) http.Header {
		s := strings.Replace(string(good), old, new, 1)
		if s == string(good) {
			t.Fatalf("%s is not in the terms", old)
		}
		return header(s)
	}
	tests := []struct {
		name   string
		header http.Header
		want   string
	}{
		{"none", http.Header{}, "without an x402 version 2"},
		{"twice", http.Header{"Payment-Required": {b64(required(entry(nil))), b64(required(entry(nil)))}},
			"2 Payment-Required headers"},
		{"a duplicate member", replaced(`"x402Version":2`, `"x402Version":2,"x402Version":2`), "twice"},
		{"a duplicate amount", replaced(`"amount":"500000"`, `"amount":"5","amount":"500000"`), "twice"},
		{"a duplicate where nobody looks", replaced(`"later":[1]`, `"later":{"a":1,"a":2}`), "twice"},
		{"version 1", replaced(`"x402Version":2`, `"x402Version":1`), "not 2"},
		{"version 1 behind a byte order mark", header("\ufeff" + `{"x402Version":1}`), "not 2"},
		{"version in words", replaced(`"x402Version":2`, `"x402Version":"2"`), "not 2"},
		{"no accepts", replaced(`"accepts":[`, `"other":[`), "accepts has 0"},
		{"resource is text", replaced(`"resource":{`, `"resource":"x","r":{`), "resource"},
		{"bad UTF-8", replaced("a greeting", "\xff"), "JSON"},
		{"after the end", header(string(good) + "{}"), "JSON"},
		{"a list", header("[]"), "no JSON object"},
		{"not base64", http.Header{"Payment-Required": {"{}"}}, "base64"},
		{"other base64", http.Header{"Payment-Required": {base64.URLEncoding.EncodeToString([]byte(`{"a":"` +
			strings.Repeat("\u07ff", 40) + `"}`))}}, "base64"},
		{"too long", header(string(good) + strings.Repeat(" ", 33<<10)), "longer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &door{unpaid: func(int) *http.Response {
				r := response(402, nil, "{}")
				r.Header = tt.header
				return r
			}}
			_, err := newBuyer(t, d, nil).Terms(t.Context(), doorURL, Options{})
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tt.want)) {
				t.Errorf("Terms = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestURLsThatAreNotAsked(t *testing.T) {
	b := newBuyer(t, &door{unpaid: func(int) *http.Response { panic("asked") }}, nil)
	for _, u := range []string{"http://shop.example/x", "http://10.0.0.1/x", "ftp://shop.example/x",
		"https://a:b@shop.example/", "https:///x", "/x", "", "http://127.0.0.1.shop.example/"} {
		if _, err := b.Terms(t.Context(), u, Options{}); err == nil {
			t.Errorf("Terms(%q) was asked", u)
		}
	}
	for _, o := range []Options{{Method: "HEAD"}, {Header: http.Header{"payment-signature": {"x"}}},
		{Body: make([]byte, maxRequestBody+1)}} {
		if _, err := b.Terms(t.Context(), doorURL, o); err == nil {
			t.Errorf("Terms with %.60v was asked", o)
		}
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		name   string
		change func(obj)
		want   string
	}{
		{"another address", func(r obj) { r["resource"] = obj{"url": "https://evil.example/api/buy/hello"} },
			"another address"},
		{"another path", func(r obj) { r["resource"] = obj{"url": "https://shop.example/api/buy/other"} },
			"another address"},
		{"no resource", func(r obj) { delete(r, "resource") }, "do not say which"},
		{"long validity", func(r obj) { r["accepts"] = []obj{entry(obj{"maxTimeoutSeconds": 1 << 30})} },
			"valid for 600 s"},
		{"to itself", func(r obj) {
			r["accepts"] = []obj{entry(
				obj{"payTo": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"})}
		}, "wallet itself"},
		{"to the token", func(r obj) { r["accepts"] = []obj{entry(obj{"payTo": baseUSD})} }, "stuck"},
		{"test network", func(r obj) {
			r["accepts"] = []obj{entry(obj{"network": "eip155:84532",
				"asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "extra": obj{"name": "USDC", "version": "2"}})}
		}, "test network"},
		{"a second entry to nobody", func(r obj) {
			r["accepts"] = []obj{entry(nil), entry(obj{"payTo": "0x0000000000000000000000000000000000000000"})}
		}, "zero address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := required(entry(nil))
			tt.change(r)
			terms, err := newBuyer(t, &door{unpaid: func(int) *http.Response { return challenge(r) }},
				nil).Terms(t.Context(), doorURL, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(terms.Warnings, "\n"); !strings.Contains(all, tt.want) ||
				!strings.Contains(terms.Text(), tt.want) {
				t.Errorf("warnings %q, want %q", all, tt.want)
			}
		})
	}
	terms, err := newBuyer(t, simpleDoor(nil), nil).Terms(t.Context(), doorURL, Options{})
	if err != nil || len(terms.Warnings) != 0 {
		t.Errorf("plain terms: %v, warnings %q", err, terms.Warnings)
	}
}

func TestTextIsHarmlessToTerminals(t *testing.T) {
	r := required(entry(nil), entry(obj{"network": "eip155:1\x1b[2J", "asset": "\u202egnp.exe\n"}))
	r["resource"] = obj{"url": "https://shop.example/api/buy/hello",
		"description": "a\x1b]0;owned\x07\r\nPrice       nothing", "serviceName": "sh\u202eop"}
	terms, err := newBuyer(t, &door{unpaid: func(int) *http.Response { return challenge(r) }}, nil).Terms(t.Context(),
		doorURL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := terms.Text()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Contains(text, "\nPrice       nothing") {
		t.Errorf("text %q", text)
	}
	for _, want := range []string{"0.5 USDC (500000 atomic units)", "Base (eip155:8453)", payTo, "300 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
}
