package onchaintest_test

import (
	"context"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// TestWindowShowsWhatIsLeft looks in the window before and after a counted good is bought, and when
// the last is gone. It says what the door says.
func TestWindowShowsWhatIsLeft(t *testing.T) {
	s := newShop(t, shopOptions{})
	look := func() map[string]map[string]any {
		t.Helper()
		r := s.do("GET", "/api/window/v1", nil)
		if r.Status != 200 || r.Body["as_of"] == "" {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		out := map[string]map[string]any{}
		for _, each := range r.Body["stock"].([]any) {
			d := each.(map[string]any)
			out[d["item_id"].(string)] = d
		}
		return out
	}
	first := look()
	counted := 0
	// This shop reads nothing and has neither calendar nor wallet: what it cannot make says so.
	away := []string{"a2a_repair_kit", "bitcoin_anchor", "conformance_watch", "good_buyer", "launch_check",
		"onpage_audit", "passport_refresh", "phantom_check", "provenance_check", "service_audit",
		"signature_agent_card", "spot_check", "standing_watch"}
	for _, id := range away {
		says, _ := first[id]["says"].(string)
		door := s.do("GET", "/api/buy/"+id, nil)
		if first[id]["state"] != "not_to_be_had" || says == "" || door.Status != 503 || door.Str("detail") != says {
			t.Errorf("%s: the window says %v, the door %d %s", id, first[id], door.Status, door.Raw)
		}
		delete(first, id)
	}
	for _, g := range s.site.Goods {
		counts := g.Stock || g.WeeklyInventory > 0
		if counts {
			counted++
		}
		if d := first[g.ID]; counts && (d == nil || d["state"] != "on_the_shelf" || d["left"].(float64) < 1) ||
			!counts && d != nil {
			t.Errorf("%s: %v", g.ID, d)
		}
	}
	if counted < 3 || len(first) != counted {
		t.Fatalf("%d of %d counted goods are on display", len(first), counted)
	}
	if r, _ := s.buy("/api/buy/a_secret", s.net.Buyers[0], nil); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Raw)
	}
	if was, is := first["a_secret"]["left"].(float64), look()["a_secret"]["left"].(float64); is != was-1 {
		t.Errorf("of %v secrets %v are left after one was sold", was, is)
	}
	g, _ := s.site.Good("a_secret")
	err := s.db.Update(context.Background(), func(tx ledger.Tx) error {
		for _, d := range s.site.Pools[g.Pool].Digests() {
			if err := goods.MarkTaken(tx, g.Pool, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d := look()["a_secret"]
	says, _ := d["says"].(string)
	door := s.do("GET", "/api/buy/a_secret", nil)
	if d["state"] != "not_to_be_had" || d["left"].(float64) != 0 || says == "" || door.Status != 409 ||
		door.Str("detail") != says {
		t.Errorf("the window says %v, the door %d %s", d, door.Status, door.Raw)
	}
	if strings.Contains(string(s.do("GET", "/api/window/v1", nil).Raw), "sha256") {
		t.Error("the window names what is in stock")
	}
}
