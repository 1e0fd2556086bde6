package onchaintest_test

import (
	"testing"
)

func TestHello(t *testing.T) {
	s := newShop(t, shopOptions{networks: []uint64{8453, 137, 42161, 43114}})
	before := s.net.Balance(s.net.PayTo)
	r, pay := s.buy("/api/buy/hello?agent_name=Ada", s.net.Buyers[0], nil)
	if r.Status != 200 {
		t.Fatalf("buy = %d %s", r.Status, r.Raw)
	}
	if got := s.net.Balance(s.net.PayTo) - before; got != 500_000 {
		t.Fatalf("payTo received %d, want 500000", got)
	}
	if r.Str("certificate", "name") != "Ada" || r.Body["patron_number"].(float64) != 1 {
		t.Errorf("certificate = %v", r.Body["certificate"])
	}
	again := s.do("GET", "/api/buy/hello?agent_name=Ada", map[string]string{"PAYMENT-SIGNATURE": pay})
	if again.Status != 200 || again.Body["idempotent_replay"] != true {
		t.Fatalf("repeat = %d %s", again.Status, again.Raw)
	}
	v := s.do("GET", "/api/verify/"+r.Str("cert_id"), nil)
	if v.Status != 200 || v.Body["valid"] != true {
		t.Fatalf("verify = %d %s", v.Status, v.Raw)
	}
	st := s.do("GET", "/api/purchase-status/"+r.Str("recovery", "purchase_id"),
		map[string]string{"Authorization": "bearer  " + r.Str("recovery", "status_token")})
	if st.Status != 200 || st.Str("state") != "delivered" || st.Str("billed") != "yes" {
		t.Fatalf("status = %d %s", st.Status, st.Raw)
	}
	t.Logf("%s", r.Raw)
	t.Logf("%s", v.Raw)
}
