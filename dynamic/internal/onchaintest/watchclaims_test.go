package onchaintest_test

import (
	"testing"
	"time"

	"store.example/agentstore/dynamic/services"
)

// Who proves the wallet finds a term that it bought among its watches, with how it stands, and not
// among the orders that somebody works on; and with the window of its answer and its artifact, from
// its date to when it is due.
func TestAWatchIsClaimed(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 1, services: services.Config{Readings: &reader{}}})
	const path = "/api/buy/conformance_watch?url=https://a.example/"
	r := s.present(path, s.sign(s.challenge(path), 0, s.net.Buyers[0], nil))
	s.want("a watch", r, 200, "")
	got := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	s.want("its claim", got, 200, "")
	watches, _ := got.Body["watches"].([]any)
	orders, _ := got.Body["orders"].([]any)
	if len(watches) != 1 || len(orders) != 0 {
		t.Fatalf("claimed %s", got.Raw)
	}
	w := watches[0].(map[string]any)
	term, _ := w["term"].(map[string]any)
	if r.Body["patron_number"] == nil || w["order_id"] != r.Str("order_id") ||
		w["status"] != "queued" || term["readings"] != 7.0 ||
		term["next_due_at"] == nil {
		t.Errorf("the watch: %v", w)
	}
	signed := r.Body["artifact"].(map[string]any)["record"].(map[string]any)
	ordered, err := time.Parse(time.RFC3339, signed["date"].(string))
	due, err2 := time.Parse(time.RFC3339, signed["due_at"].(string))
	hours := due.Sub(ordered).Hours()
	if err != nil || err2 != nil || signed["window_hours"] != hours || r.Body["window_hours"] != hours ||
		w["window_hours"] != hours || w["due_at"] != signed["due_at"] {
		t.Errorf("%v hours: signed %v, answered %v, claimed %v", hours, signed, r.Body["window_hours"], w)
	}
}
