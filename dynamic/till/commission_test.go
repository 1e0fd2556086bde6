package till_test

import (
	"strings"
	"sync"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
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
	if r.str("item_id") != "commission/"+id || r.str("paid_usdc") != "12.34" {
		t.Errorf("bought: %s", r.raw)
	}
	s.state(r.purchase(), till.Promised)
	if again := s.present(door, p); again.str("recovery", "purchase_id") != r.purchase() {
		t.Errorf("the repeat: %s", again.raw)
	}
	none := s.do("GET", "/api/commission/req_zzzzzzzzzz2345672345", nil)
	s.want("one that nobody filed", none, 404, "not_found")
	if !strings.Contains(none.str("detail"), "No request has this id.") {
		t.Errorf("one that nobody filed: %s", none.raw)
	}
	s.want("to others", s.do("GET", door, nil), 409, "sold_out")
	s.want("another buyer", s.present(door, s.sign(ch, 0, s.net.Buyers[1], nil)), 409, "sold_out")
	s.final(r.purchase())
	if _, err := s.till.AnswerOrder(t.Context(), order, till.Answer{Text: "The sign is painted."}, false); err != nil {
		t.Fatal(err)
	}
	s.unpolled(order)
	if got := s.do("GET", "/api/order/"+order, nil); got.str("deliverable", "text") != "The sign is painted." ||
		got.body["window_hours"] != 168.0 {
		t.Errorf("delivered: %s", got.raw)
	}
	done := s.present(door, p)
	if done.body["patron_number"] != 1.0 || done.str("certificate", "item") != "commission/"+id {
		t.Errorf("completed: %s", done.raw)
	}
	if v := s.do("GET", "/api/verify/"+done.str("certificate", "cert_id"), nil); v.body["valid"] != true {
		t.Errorf("its certificate: %s", v.raw)
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
	replies := make([]reply, crowd)
	var wg sync.WaitGroup
	for i := range crowd {
		p := s.sign(ch, 0, s.net.Buyers[i], nil)
		wg.Go(func() { replies[i] = s.present(door, p) })
	}
	wg.Wait()
	won := 0
	for i, r := range replies {
		if r.status == 200 {
			won++
			continue
		}
		if r.status != 409 || r.code() != "sold_out" || r.body["billed"] != "no" {
			t.Errorf("buyer %d: %d %s", i, r.status, r.raw)
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

// TestStrangersIDsOfCommissionsAreNotKept: who asks for ids that he made up costs no memory.
func TestStrangersIDsOfCommissionsAreNotKept(t *testing.T) {
	for id, want := range map[string]bool{"commission/req_abcdefghij2345672345": true, "commission/req_abc": false,
		"commission/req_ABCDEFGHIJ2345672345": false, "commission/": false, "commission": false,
		"commission/order_cdefghij2345672345": false} {
		o := till.Commissions(nil, id)
		if (o != nil) != want {
			t.Errorf("%s is sold: %v", id, o != nil)
		}
		if o != nil && (o.Ask == nil || o.Tiers != nil) {
			t.Error("its price is not the ledger's, so that the till would remember it")
		}
	}
}
