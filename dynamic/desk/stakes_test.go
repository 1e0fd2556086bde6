package desk_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestStakesAreTold: who asks before a payment hears what a client that has the scheme would sign
// of vouchers and holds and what that puts at risk, in the answer for that client, in the reading
// of the door and on the page of /try; the verdict is that of exact.
func TestStakesAreTold(t *testing.T) {
	entry := func(scheme, extra string) string {
		return `{"scheme":"` + scheme + `","network":"eip155:8453","amount":"1000","asset":` +
			`"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8",` +
			`"maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"` + extra + `}}`
	}
	vouchers := entry("batch-settlement", `,"minDeposit":"1000000","withdrawDelay":1209600,`+
		`"receiverAuthorizer":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"`)
	hold := entry("auth-capture", `,"captureAuthorizer":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",`+
		`"paymentFlow":"escrow",`+
		`"captureDeadline":4102444800,"refundDeadline":4102444800,"minFeeBps":0,"maxFeeBps":0,`+
		`"feeRecipient":"0x0000000000000000000000000000000000000000"`)
	doors := map[string]string{"/vouchers": vouchers + "," + entry("exact", ""), "/hold": hold}
	h := openTest(t, street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		terms := `{"x402Version":2,"resource":{"url":"https://a.example.com` + r.URL.Path + `"},"accepts":[` +
			doors[r.URL.Path] + `]}`
		w.Header()["Payment-Required"] = []string{base64.StdEncoding.EncodeToString([]byte(terms))}
		w.WriteHeader(http.StatusPaymentRequired)
	})))
	for _, c := range []struct {
		path, client, verdict, reason, mine, atomic string
		says                                        []string
	}{
		{"/vouchers", "x402-js-batch/2.27.0", "ready", "<nil>", "would_sign", "1000000",
			[]string{"a deposit of 1 USDC", "14 days", "scheme.refund"}},
		{"/hold", "x402-js-capture/2.27.0", "not_probed", "not_judged", "would_throw", "1000",
			[]string{"a transfer of 0.001 USDC", "2100-01-01 00:00 UTC", "reclaim", "captureAuthorizer"}},
	} {
		_, _, doc := post(t, h, "/api/before-you-pay/v1", map[string]any{"url": "https://a.example.com" + c.path,
			"clients": []string{c.client}})
		door := doc["the_door"].(map[string]any)
		if door["verdict"] != c.verdict || fmt.Sprint(door["reason"]) != c.reason ||
			doc["will_your_client_pay"] != c.mine {
			t.Errorf("%s is %v %v, and a stock client %v", c.path, door["verdict"], door["reason"],
				doc["will_your_client_pay"])
		}
		other := doc["other_clients"].([]any)[0].(map[string]any)
		chosen := other["chosen"].(map[string]any)
		stakes, _ := door["stakes"].([]any)
		if other["outcome"] != "would_sign" || chosen["index"] != 0.0 || len(stakes) != 1 {
			t.Fatalf("%s: %v; stakes %v", c.path, other, stakes)
		}
		for _, stake := range []any{chosen["stake"], stakes[0]} {
			stake, _ := stake.(map[string]any)
			if stake["at_risk_atomic"] != c.atomic {
				t.Errorf("%s: %v", c.path, stake)
			}
			for _, want := range c.says {
				if !strings.Contains(fmt.Sprint(stake), want) {
					t.Errorf("%s: %v does not say %q", c.path, stake, want)
				}
			}
		}
		if !slices.ContainsFunc(door["clients"].([]any), func(row any) bool {
			r := row.(map[string]any)
			return r["outcome"] == "would_sign" && r["index"] == 0.0 && r["scheme"] == chosen["scheme"]
		}) {
			t.Errorf("%s: no row says that a client signs it: %v", c.path, door["clients"])
		}
		for _, as := range []string{"text/html", "text/markdown"} {
			if page := tried(t, h, "https://a.example.com"+c.path, as); !strings.Contains(page, c.says[0]) {
				t.Errorf("%s in %s says nothing of %s", c.path, as, c.says[0])
			}
		}
	}
}

// tried is the page that the form of /try gives of a door.
func tried(t *testing.T, h http.Handler, door, as string) string {
	t.Helper()
	r := httptest.NewRequest("POST", base+"/try", strings.NewReader(url.Values{"url": {door}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", as)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}
