package onchaintest_test

import (
	"strings"
	"sync"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// quoted files a request under an id with a quote, and returns the way to its door.
func (s *shop) quoted(id string, q goods.Quote) string {
	s.t.Helper()
	if err := s.db.Update(s.t.Context(), func(tx ledger.Tx) error { return q.Set(tx, id) }); err != nil {
		s.t.Fatal(err)
	}
	return "/api/commission/" + id
}

// TestACommissionIsBought: unknown, not quoted, declined; then at the quoted price by the same
// till, once for all, and the keeper delivers.
func TestACommissionIsBought(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 2})
	const id = "req_abcdefghij2345672345"
	door := "/api/commission/" + id
	s.want("nobody filed it", s.do("GET", door, nil), 404, "not_found")
	s.quoted(id, goods.Quote{})
	s.want("filed", s.do("GET", door, nil), 409, "not_quoted")
	s.want("declined", s.do("GET", s.quoted("req_aaaaaaaaaaaaaaaaaaaa", goods.Quote{Declined: true}), nil), 410, "gone")
	s.want("by the other door", s.do("GET", "/api/buy/commission", nil), 404, "not_found")

	s.quoted(id, goods.Quote{Amount: 12_340_000})
	ch := s.challenge(door)
	if got := ch["accepts"].([]any)[0].(map[string]any)["amount"]; got != "12340000" {
		t.Fatalf("it asks %v", got)
	}
	if got := ch["resource"].(map[string]any)["url"]; got != s.url+door {
		t.Errorf("the resource is %v", got)
	}
	// Terms that were not offered are not taken.
	cheap := s.challenge("/api/buy/hello")
	s.want("another's terms", s.present(door, s.sign(cheap, 0, s.net.Buyers[0], nil)), 402, "payment_invalid")
	p := s.sign(ch, 0, s.net.Buyers[0], nil)
	r := s.present(door, p)
	s.want("bought", r, 200, "")
	order := s.besides(r, attest.ClassOrder, "order_")
	if r.Str("item_id") != "commission/"+id || r.Str("paid_usdc") != "12.34" {
		t.Errorf("bought: %s", r.Raw)
	}
	s.state(r.Purchase(), till.Promised)
	if again := s.present(door, p); again.Str("recovery", "purchase_id") != r.Purchase() {
		t.Errorf("the repeat: %s", again.Raw)
	}
	none := s.do("GET", "/api/commission/req_zzzzzzzzzz2345672345", nil)
	s.want("one that nobody filed", none, 404, "not_found")
	if !strings.Contains(none.Str("detail"), "No request has this id.") {
		t.Errorf("one that nobody filed: %s", none.Raw)
	}
	s.want("to others", s.do("GET", door, nil), 409, "sold_out")
	s.want("another buyer", s.present(door, s.sign(ch, 0, s.net.Buyers[1], nil)), 409, "sold_out")
	s.final(r.Purchase())
	if _, err := s.till.AnswerOrder(t.Context(), order, till.Answer{Text: "The sign is painted."}, false); err != nil {
		t.Fatal(err)
	}
	s.unpolled(order)
	if got := s.do("GET", "/api/order/"+order, nil); got.Str("deliverable", "text") != "The sign is painted." ||
		got.Body["window_hours"] != 168.0 {
		t.Errorf("delivered: %s", got.Raw)
	}
	done := s.present(door, p)
	if done.Body["patron_number"] != 1.0 || done.Str("certificate", "item") != "commission/"+id {
		t.Errorf("completed: %s", done.Raw)
	}
	if v := s.do("GET", "/api/verify/"+done.Str("certificate", "cert_id"), nil); v.Body["valid"] != true {
		t.Errorf("its certificate: %s", v.Raw)
	}
	s.audit()
}

// TestOneBuyerGetsACommission: of many who pay for a request at once one does, and the others are
// told that nothing was billed.
func TestOneBuyerGetsACommission(t *testing.T) {
	t.Parallel()
	const crowd = 6
	s := newShop(t, shopOptions{buyers: crowd + 1})
	door := s.quoted("req_abcdefghij2345672345", goods.Quote{Amount: 10_000})
	ch := s.challenge(door)
	replies := make([]tilltest.Reply, crowd)
	var wg sync.WaitGroup
	for i := range crowd {
		p := s.sign(ch, 0, s.net.Buyers[i], nil)
		wg.Go(func() { replies[i] = s.present(door, p) })
	}
	wg.Wait()
	won := 0
	for i, r := range replies {
		if r.Status == 200 {
			won++
			continue
		}
		if r.Status != 409 || r.Code() != "sold_out" || r.Body["billed"] != "no" {
			t.Errorf("buyer %d: %d %s", i, r.Status, r.Raw)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d got it", won, crowd)
	}
	s.rest()
	if n := s.audit(); n != 1 {
		t.Errorf("%d payments were taken", n)
	}
}
