package onchaintest_test

import (
	"testing"

	"store.example/agentstore/dynamic/till"
)

// A patron's number finds the certificate that it stands on, and a number that nobody has finds
// none.
func TestPatronsAreFound(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	r, _ := s.buy("/api/buy/small_blessing", s.net.Buyers[0], nil)
	if r.Status != 200 {
		t.Fatalf("buying: %d %s", r.Status, r.Raw)
	}
	p := s.state(r.Purchase(), till.Delivered)
	rec, ok, err := s.till.Patron(t.Context(), p.Number)
	if err != nil || !ok || rec.Purchase != p.ID {
		t.Errorf("patron %d: %+v, %v, %v", p.Number, rec, ok, err)
	}
	if rec, ok, err := s.till.Patron(t.Context(), p.Number+1); err != nil || ok || rec.Purchase != "" {
		t.Errorf("nobody: %+v, %v, %v", rec, ok, err)
	}
}
