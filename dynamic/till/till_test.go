package till_test

import (
	"testing"
)

func TestHello(t *testing.T) {
	s := newShop(t, shopOptions{networks: []uint64{8453, 137, 42161, 43114}})
	before := s.net.Balance(s.net.PayTo)
	r, pay := s.buy("/api/buy/hello?agent_name=Ada", s.net.Buyers[0], nil)
	if r.status != 200 {
		t.Fatalf("buy = %d %s", r.status, r.raw)
	}
	if got := s.net.Balance(s.net.PayTo) - before; got != 500_000 {
		t.Fatalf("payTo received %d, want 500000", got)
	}
	if r.str("certificate", "name") != "Ada" || r.body["patron_number"].(float64) != 1 {
		t.Errorf("certificate = %v", r.body["certificate"])
	}
	again := s.do("GET", "/api/buy/hello?agent_name=Ada", map[string]string{"PAYMENT-SIGNATURE": pay})
	if again.status != 200 || again.body["idempotent_replay"] != true {
		t.Fatalf("repeat = %d %s", again.status, again.raw)
	}
	v := s.do("GET", "/api/verify/"+r.str("cert_id"), nil)
	if v.status != 200 || v.body["valid"] != true {
		t.Fatalf("verify = %d %s", v.status, v.raw)
	}
	st := s.do("GET", "/api/purchase-status/"+r.str("recovery", "purchase_id"),
		map[string]string{"Authorization": "bearer  " + r.str("recovery", "status_token")})
	if st.status != 200 || st.str("state") != "delivered" || st.str("billed") != "yes" {
		t.Fatalf("status = %d %s", st.status, st.raw)
	}
	t.Logf("%s", r.raw)
	t.Logf("%s", v.raw)
}
