package dynamic

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// named stands for Callers: a request says in Signature-Input which key signed it.
type named struct{ addresses []string }

func (n *named) Verify(r *http.Request, address string) (string, *route.Agent, error) {
	n.addresses = append(n.addresses, address)
	if key := r.Header.Get("Signature-Input"); key != "bad" {
		return key, nil, nil
	}
	return "", nil, &problem.Error{Code: "signature_invalid", Extra: map[string]any{"reason": "forged"}}
}

// Ask asks whoever is at an address.
func (*named) Ask(address string) string { return "sign at " + address }

// TestLimitsAreKeptByKey: a signed request spends the budget of its key and not that of its
// address; one whose signature is refused reaches no handler, and a payment with it was not used.
func TestLimitsAreKeptByKey(t *testing.T) {
	keys := &named{}
	s := newServer(t, Config{Rows: testRows(), Callers: keys,
		Budgets: testBudgets(t, budget.Limit{Name: "test", Window: time.Hour, Client: 5})})
	post := func(fields ...string) *http.Response {
		r := httptest.NewRequest("POST", "/test/post", strings.NewReader(`{"say":"x"}`))
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		return rec.Result()
	}
	left := func(fields ...string) string {
		t.Helper()
		res := post(fields...)
		if res.StatusCode != 200 {
			t.Fatalf("status %d: %s", res.StatusCode, body(t, res))
		}
		return res.Header.Get("RateLimit-Remaining")
	}
	first := left("Signature-Input", "one")
	if again := left("Signature-Input", "one"); again >= first {
		t.Errorf("%s left, then %s", first, again)
	}
	if other := left("Signature-Input", "two"); other != first {
		t.Errorf("another key has %s left, want %s", other, first)
	}
	if unsigned := left(); unsigned != first {
		t.Errorf("the address has %s left, want %s", unsigned, first)
	}
	if len(keys.addresses) != 3 || keys.addresses[0] != "192.0.2.1" {
		t.Errorf("asked for %q", keys.addresses)
	}
	res := ask(t, s, "GET", "/test/paid", "Signature-Input", "bad", "PAYMENT-SIGNATURE", "e30=")
	text := body(t, res)
	for _, want := range []string{"/problems/signature_invalid", `"reason":"forged"`, `"billed":"no"`} {
		if res.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("status %d, %s is not in %s", res.StatusCode, want, text)
		}
	}
	// Who has used up what is the address's is asked to sign; who signed has nothing to gain by it.
	for _, want := range []string{"sign at 192.0.2.1", ""} {
		fields := []string{"Signature-Input", "one"}
		if want != "" {
			fields = nil
		}
		res := post(fields...)
		for res.StatusCode == 200 {
			res = post(fields...)
		}
		if got := res.Header.Get("Accept-Signature"); res.StatusCode != 429 || got != want {
			t.Errorf("signed %v: status %d, Accept-Signature %q, want %q", fields, res.StatusCode, got, want)
		}
	}
}
