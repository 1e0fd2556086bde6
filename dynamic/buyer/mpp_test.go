package buyer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestPaymentChallenges(t *testing.T) {
	for field, want := range map[string]string{
		`Bearer realm="x", pAYMENT id="a", Payment id="b"`: "[map[id:a] map[id:b]] <nil>",
		`Payment id="a", Id="b"`:                           `[] a challenge has the parameter "id" twice`,
		`Payment id="a`:                                    "[] the Www-Authenticate header cannot be read",
	} {
		got, err := paymentChallenges([]string{field})
		if said := fmt.Sprint(got, err); said != want {
			t.Errorf("%s: %s, want %s", field, said, want)
		}
	}
}

// asking is a door that asks for a charge.
func asking(t *testing.T, change func(params map[string]string, request obj)) (string, *[]http.Header) {
	t.Helper()
	var came []http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Payment-Authorization") != "" {
			came = append(came, r.Header.Clone())
			w.Header().Set("Payment-Receipt",
				base64.RawURLEncoding.EncodeToString(
					[]byte(`{"status":"success","method":"evm","reference":"0xabc","timestamp":"2026-11-22T12:00:00Z"}`)))
			w.Write([]byte("the good"))
			return
		}
		params := map[string]string{"id": "an-id", "realm": "127.0.0.1", "method": "evm", "intent": "charge",
			"expires": time.Now().UTC().Add(5 * time.Minute).Format(time.RFC3339), "opaque": "e30"}
		request := obj{"amount": "10000", "currency": baseUSD, "recipient": payTo,
			"methodDetails": obj{"chainId": 8453, "credentialTypes": []string{"authorization"}}}
		change(params, request)
		b, _ := json.Marshal(request)
		var v strings.Builder
		v.WriteString(`Payment request="` + base64.RawURLEncoding.EncodeToString(b) + `"`)
		for name, value := range params {
			fmt.Fprintf(&v, ", %s=%q", name, value)
		}
		w.Header().Set("WWW-Authenticate", v.String())
		w.WriteHeader(402)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, &came
}

// What is asked by MPP is judged like what is asked by x402, and nothing is signed for what cannot
// be paid.
func TestChallengesAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(params map[string]string, request obj)
		why    string
		err    error
	}{
		"a charge": {change: func(map[string]string, obj) {}},
		"another method": {change: func(p map[string]string, _ obj) { p["method"] = "tempo" }, why: "another method",
			err: ErrNotPayable},
		"another intent": {change: func(p map[string]string, _ obj) { p["intent"] = "session" },
			why: "another method or intent", err: ErrNotPayable},
		"no end": {change: func(p map[string]string, _ obj) { p["expires"] = "soon" }, why: "too short",
			err: ErrNotPayable},
		"ended": {change: func(p map[string]string, _ obj) { p["expires"] = "2020-01-01T00:00:00Z" },
			why: "too short", err: ErrNotPayable},
		"no id": {change: func(p map[string]string, _ obj) { p["id"] = "" }, why: "no id", err: ErrNotPayable},

		"the other header": {change: func(p map[string]string, _ obj) { p["header"] = "Payment-Authorization" }},
		"the usual header named": {change: func(p map[string]string, _ obj) { p["header"] = "Authorization" },
			why: `wants its credential in the header "Authorization"`, err: ErrNotPayable},
		"another header": {change: func(p map[string]string, _ obj) { p["header"] = "X-Payment-Authorization" },
			why: `wants its credential in the header "X-Payment-Authorization"`, err: ErrNotPayable},
		"in lower case": {change: func(p map[string]string, _ obj) { p["header"] = "payment-authorization" },
			why: `wants its credential in the header`, err: ErrNotPayable},
		"no header": {change: func(p map[string]string, _ obj) { p["header"] = "" },
			why: `wants its credential in the header ""`, err: ErrNotPayable},
		"usdc": {change: asUSDC(obj{"chainId": 8453})},
		"usdc for another credential": {change: asUSDC(obj{"chainId": 8453, "credentialTypes": []string{"hash"}}),
			why: "no credential of the type", err: ErrNotPayable},
		"usdc in another token": {change: func(p map[string]string, r obj) {
			asUSDC(obj{"chainId": 36900})(p, r)
			r["currency"] = "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2" // USDC.e
		}, why: "another token than Circle's USDC", err: ErrNotPayable},
		"usdc on Solana": {change: func(p map[string]string, r obj) {
			asUSDC(obj{"chainId": 8453})(p, r)
			r["methodDetails"].(obj)["type"] = "solana"
		}, why: "of another kind", err: ErrNotPayable},
		"usdc as evm": {change: func(p map[string]string, r obj) {
			asUSDC(obj{"chainId": 8453})(p, r)
			p["method"] = "evm"
		}, why: "not known", err: ErrNotPayable},
		"another credential": {change: func(_ map[string]string, r obj) {
			r["methodDetails"] = obj{"chainId": 8453, "credentialTypes": []string{"hash"}}
		}, why: "no credential of the type", err: ErrNotPayable},
		"splits": {change: func(_ map[string]string, r obj) {
			r["methodDetails"] = obj{"chainId": 8453, "credentialTypes": []string{"authorization"}, "splits": []obj{{}}}
		}, why: "splits", err: ErrNotPayable},
		"another token": {change: func(_ map[string]string, r obj) { r["currency"] = payTo },
			why: "not a known dollar token", err: ErrNotPayable},
		"another chain": {change: func(_ map[string]string, r obj) {
			r["methodDetails"] = obj{"chainId": 99, "credentialTypes": []string{"authorization"}}
		}, why: "not known", err: ErrNotPayable},
		"an odd amount": {change: func(_ map[string]string, r obj) { r["amount"] = "0.01" },
			why: "not a plain whole number", err: ErrNotPayable},
		"above the ceiling": {change: func(_ map[string]string, r obj) { r["amount"] = "1000001" },
			why: "above the ceiling", err: ErrCeiling},
	} {
		t.Run(name, func(t *testing.T) {
			url, came := asking(t, c.change)
			b, err := New(Config{Wallet: testKey(t), Journal: Folder(t.TempDir())})
			if err != nil {
				t.Fatal(err)
			}
			res, err := b.Buy(t.Context(), url+"/x?a=b", Options{Choice: Choice{Protocol: ByMPP}})
			if c.err != nil {
				if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.why) || len(*came) != 0 {
					t.Errorf("%v, want %v: %s; %d payments", err, c.err, c.why, len(*came))
				}
				terms, _ := b.Terms(t.Context(), url, Options{Choice: Choice{Protocol: ByMPP}})
				if name == "another header" && terms.Entries[0].CredentialHeader != "X-Payment-Authorization" {
					t.Errorf("terms %+v", terms)
				}
				return
			}
			if err != nil || string(res.Body) != "the good" || res.Billed != "yes" || res.Transaction != "0xabc" ||
				len(*came) != 1 {
				t.Fatalf("%+v, %v, %d payments", res, err, len(*came))
			}
			field, source := "Authorization", "did:pkh:eip155:8453:"
			if name == "the other header" {
				field = "Payment-Authorization"
			}
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix((*came)[0].Get(field), "Payment "))
			var got credential
			if err := errors.Join(err, json.Unmarshal(raw, &got)); err != nil {
				t.Fatal(err)
			}
			if name == "usdc" {
				source = "eip155:8453:"
			}
			end, err := time.Parse(time.RFC3339, got.Challenge["expires"])
			if p := got.Payload; err != nil || p.Type != "authorization" ||
				p.Nonce != nonceText(challengeNonce(got.Challenge)) || p.Value != "10000" ||
				p.ValidBefore > fmt.Sprint(end.Unix()) || !strings.EqualFold(got.Source, source+p.From) ||
				(*came)[0].Get("Accept-Payment") != "evm/charge, usdc/charge;q=0.9" ||
				got.Challenge["opaque"] != "e30" || (*came)[0].Get(headerKey) == "" {
				t.Errorf("%s", raw)
			}
		})
	}
	// There is no third protocol, and payments are the buyer's to send.
	b, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Header: http.Header{"Authorization": {"payment x"}}, Choice: Choice{Protocol: ByMPP}},
		{Header: http.Header{"Payment-Authorization": {"x"}}}, {Choice: Choice{Protocol: "l402"}}} {
		if _, err := b.Terms(t.Context(), "http://127.0.0.1:1/", o); err == nil ||
			!strings.Contains(err.Error(), "making the request") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// asUSDC makes a challenge one of method usdc on an EVM network.
func asUSDC(details obj) func(map[string]string, obj) {
	return func(p map[string]string, r obj) {
		p["method"], r["methodDetails"] = "usdc", obj{"type": "evm", "evm": details}
	}
}

// The caller's own Authorization keeps its place: a challenge that names the other field is paid
// beside it, any other is not. What the door answers with, a redirect to another host too, is where
// the payment ends.
func TestPaymentAuthorization(t *testing.T) {
	elsewhere := 0
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer evil.Close()
	for _, c := range []struct {
		field string
		paid  bool
	}{{"Payment-Authorization", true}, {"", false}} {
		var came []http.Header
		_, header := inBody("an-id", "300000")
		if c.field != "" {
			header += `, header="` + c.field + `"`
		}
		b := newBuyer(t, roundTripper(func(r *http.Request) *http.Response {
			if r.Header.Get(headerKey) != "" {
				came = append(came, r.Header.Clone())
				return response(307, map[string]string{"Location": evil.URL}, "")
			}
			return response(402, map[string]string{"WWW-Authenticate": header}, "")
		}), nil)
		_, err := b.Buy(t.Context(), doorURL, Options{Choice: Choice{Protocol: ByMPP},
			Header: http.Header{"Authorization": {"Bearer st_x"}}})
		if !c.paid {
			if !errors.Is(err, ErrNotPayable) || !strings.Contains(err.Error(), "own Authorization") || len(came) != 0 {
				t.Errorf("the usual field: %v, %d payments", err, len(came))
			}
			continue
		}
		if len(came) != 1 || came[0].Get("Authorization") != "Bearer st_x" || elsewhere != 0 {
			t.Fatalf("%v, presented %v, %d elsewhere", err, came, elsewhere)
		}
		raw, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(came[0].Get(c.field), "Payment "))
		var got credential
		if err := json.Unmarshal(raw, &got); err != nil || got.Challenge["header"] != c.field {
			t.Errorf("%s, %v", raw, err)
		}
	}
}

// The nonce of method usdc is that of the vector that the draft's text was worked out with.
func TestUSDCNonce(t *testing.T) {
	request := `{"amount":"1000","currency":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","externalId":"order-1",` +
		`"methodDetails":{"evm":{"chainId":8453,"credentialTypes":["authorization"],"decimals":6},"type":"evm"},` +
		`"recipient":"0xAd29D7a8aD3639F97798c768202F27C1dE81DC55"}`
	got := nonceText(challengeNonce(map[string]string{"id": "x7Tg2pLqR9mKvNwY3hBcZa", "intent": "charge",
		"method": "usdc", "realm": "api.example.com",
		"request": base64.RawURLEncoding.EncodeToString([]byte(request))}))
	if want := "0x7392ff4efdd4fc8ee0b77e0e37265b2145a15faaaa8b57d928d96976808fbfe8"; got != want {
		t.Errorf("nonce %s, want %s", got, want)
	}
}

// inBody is a challenge as the body of a 402 has it, and one as a header has the same.
func inBody(id, amount string) (body obj, header string) {
	request := obj{"amount": amount, "currency": baseUSD, "recipient": payTo,
		"methodDetails": obj{"chainId": 8453, "credentialTypes": []string{"authorization"}}}
	end := time.Now().UTC().Add(5 * time.Minute).Format(time.RFC3339)
	canonical, _ := json.Marshal(request) // its members are sorted
	return obj{"id": id, "realm": "shop.example", "method": "evm", "intent": "charge", "expires": end,
			"request": request},
		fmt.Sprintf(`Payment id=%q, realm="shop.example", method="evm", intent="charge", expires=%q, request=%q`, id, end,
			base64.RawURLEncoding.EncodeToString(canonical))
}

// A door with several amounts has a challenge for each in the body, and the least, or none, in the
// header. What stands in both is one.
func TestChallengesOfTheBody(t *testing.T) {
	least, header := inBody("least", "300000")
	more, _ := inBody("more", "600000")
	forged, _ := inBody("least", "900000") // the header speaks for its id
	odd, _ := inBody("odd", "500000")
	odd["realm"] = 7
	for _, c := range []struct {
		name   string
		header string
		body   []obj
		amount int64
		pays   string // amount; empty: nothing
		asks   int
	}{
		{"the least by itself", header, []obj{least, more}, 0, "300000", 2},
		{"another amount", header, []obj{least, more}, 600_000, "600000", 2},
		{"no room in the header", "", []obj{least, more}, 600_000, "600000", 2},
		{"one that is not asked", header, []obj{least, more}, 900_000, "", 2},
		{"a body that contradicts the header", header, []obj{forged}, 0, "300000", 1},
		{"nothing in the body", header, nil, 0, "300000", 1},
		{"a body that cannot be read", header, []obj{odd}, 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := json.Marshal(obj{memberRequired: obj{"httpStatus": 402, "challenges": c.body}})
			if err != nil {
				t.Fatal(err)
			}
			var came string
			b := newBuyer(t, roundTripper(func(r *http.Request) *http.Response {
				if came = r.Header.Get("Authorization"); came != "" {
					return response(200, nil, "the good")
				}
				h := map[string]string{}
				if c.header != "" {
					h["WWW-Authenticate"] = c.header
				}
				return response(402, h, string(body))
			}), nil)
			o := Options{Choice: Choice{Protocol: ByMPP, Amount: c.amount}}
			terms, err := b.Terms(t.Context(), doorURL, o)
			if c.asks == 0 {
				if err == nil {
					t.Errorf("terms %+v", terms)
				}
				return
			}
			if err != nil || len(terms.Entries) != c.asks {
				t.Fatalf("terms %+v, %v", terms, err)
			}
			_, err = b.Buy(t.Context(), doorURL, o)
			if (err == nil) != (c.pays != "") || (came == "") != (c.pays == "") {
				t.Fatalf("Buy = %v, presented %.40q", err, came)
			}
			if came == "" {
				return
			}
			raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(came, "Payment "))
			var got credential
			if err := errors.Join(err, json.Unmarshal(raw, &got)); err != nil {
				t.Fatal(err)
			}
			_, want := inBody(got.Challenge["id"], c.pays)
			if got.Payload.Value != c.pays || !strings.Contains(want, `"`+got.Challenge["request"]+`"`) {
				t.Errorf("paid %s for %+v", got.Payload.Value, got.Challenge)
			}
		})
	}
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
