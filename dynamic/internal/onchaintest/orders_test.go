package onchaintest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// ordered buys an hour of the keeper's and returns the answer, its order's id and the way to it.
func (s *shop) ordered(item, detail string) (r tilltest.Reply, id string, again func() tilltest.Reply) {
	s.t.Helper()
	path := "/api/buy/" + item + "?detail=" + url.QueryEscape(detail)
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	again = func() tilltest.Reply { return s.present(path, p) }
	r = again()
	s.want(item, r, 200, "")
	id = s.besides(r, attest.ClassOrder, "order_")
	if r.Str("order_id") != id || r.Str("order_url") != s.url+"/api/order/"+id || r.Str("status") != "queued" ||
		r.Body["window_hours"] != 168.0 || r.Body["next_check_after"] == nil || r.Body["certificate"] != nil ||
		r.Body["patron_number"] == nil {
		s.t.Errorf("ordered %s: %s", item, r.Raw)
	}
	s.state(r.Purchase(), till.Promised)
	return r, id, again
}

// final waits until the keeper may see a purchase.
func (s *shop) final(id string) {
	s.t.Helper()
	s.finalize()
	until(s.t, "the payment to be final", func() bool { return s.purchase(id).Final })
}

// unpolled forgets when an order was read last.
func (s *shop) unpolled(id string) {
	s.t.Helper()
	if err := s.db.Update(s.t.Context(), func(tx ledger.Tx) error {
		return tx.Delete(ledger.BudgetKey("order_poll", id))
	}); err != nil {
		s.t.Fatal(err)
	}
}

// An order is queued, answered once, and read by who has its id; what was asked is in nothing but
// what the keeper reads.
func TestTheKeeperAnswersAnOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 1})
	const asked = "Shall I rewrite it in something? </script> 𐍈 ignore the above"
	r, id, again := s.ordered("quick_judgment", asked)
	read := func() tilltest.Reply { return s.do("GET", "/api/order/"+id, nil) }
	got := read()
	if got.Status != 200 || got.Str("status") != "queued" || got.Body["deliverable"] != nil ||
		got.Str("next_check_after") == "" || got.Body["window_breached"] != nil || got.Str("cert_id") != "" ||
		strings.Contains(string(got.Raw), "rewrite") || strings.Contains(string(got.Raw), r.Purchase()) {
		t.Errorf("queued: %d %s", got.Status, got.Raw)
	}
	ordered, err := time.Parse(time.RFC3339, got.Str("ordered_at"))
	due, err2 := time.Parse(time.RFC3339, got.Str("due_at"))
	if err != nil || err2 != nil || due.Sub(ordered) != 168*time.Hour {
		t.Errorf("ordered at %s, due at %s", got.Str("ordered_at"), got.Str("due_at"))
	}
	soon := read()
	if s.want("read again at once", soon, 429, "poll_too_soon"); soon.Header.Get("Retry-After") == "" {
		t.Errorf("without Retry-After: %v", soon.Header)
	}
	s.want("no order", s.do("GET", "/api/order/order_aaaaaaaaaaaaaaaaaaaa", nil), 404, "not_found")
	s.want("no file yet", s.do("GET", "/api/order/"+id+"/file", nil), 404, "not_found")

	file := &till.AnswerFile{Name: "verdict.html", Data: []byte("<script>alert(1)</script>")}
	answer := till.Answer{Text: "No.\nYou will regret the second month.", Link: "https://a.example/why?x=1", File: file}
	waiting := func() any {
		for _, d := range s.do("GET", "/api/window/v1", nil).Body["stock"].([]any) {
			if d := d.(map[string]any); d["item_id"] == "quick_judgment" {
				return d["waiting"]
			}
		}
		return nil
	}
	if n := waiting(); n != 1.0 {
		t.Errorf("in the window %v orders wait", n)
	}
	if list, err := s.till.HumanOrders(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("the keeper sees what may still be taken back: %+v, %v", list, err)
	}
	if _, err := s.till.AnswerOrder(t.Context(), id, answer, false); err == nil {
		t.Error("what may still be taken back was answered")
	}
	s.final(r.Purchase())
	list, err := s.till.HumanOrders(t.Context(), false)
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Purchase.Inputs["detail"] != asked {
		t.Fatalf("the keeper's queue: %+v, %v", list, err)
	}
	for _, bad := range []till.Answer{{}, {Text: "a\u202eb"}, {Text: "a\x1b[2J"},
		{Text: strings.Repeat("x", till.MaxAnswer+1)},
		{Link: "http://a.example/"}, {Link: "javascript:alert(1)"}, {Link: "https://u:p@a.example/"},
		{Link: "https://a.example/ b"}, {File: &till.AnswerFile{Name: "../x", Data: []byte("x")}},
		{File: &till.AnswerFile{Name: "x\"y", Data: []byte("x")}}, {File: &till.AnswerFile{Name: "x"}},
		{File: &till.AnswerFile{Name: "x", Data: make([]byte, till.MaxAnswerFile+1)}}} {
		if _, err := s.till.AnswerOrder(t.Context(), id, bad, false); err == nil {
			t.Errorf("delivered %.60v", bad)
		}
	}
	if o, err := s.till.AnswerOrder(t.Context(), id, answer, true); err != nil || o.Status() != till.OrderCompleted ||
		s.purchase(r.Purchase()).State != till.Promised {
		t.Errorf("a dry answer: %+v, %v", o, err)
	}
	if o, err := s.till.AnswerOrder(t.Context(), id, answer, false); err != nil || o.Status() != till.OrderCompleted {
		t.Fatalf("answered: %+v, %v", o, err)
	}
	if n := waiting(); n != 0.0 {
		t.Errorf("in the window %v orders wait when all are answered", n)
	}
	if _, err := s.till.AnswerOrder(t.Context(), id, till.Answer{Text: "Yes."}, false); err == nil {
		t.Error("it was answered twice")
	}

	// The status has changed, so it is read without waiting.
	got = read()
	if got.Status != 200 || got.Str("status") != "completed" || got.Str("deliverable", "text") != answer.Text ||
		got.Str("deliverable", "link") != answer.Link || got.Body["window_breached"] != nil ||
		got.Str("cert_id") == "" {
		t.Errorf("completed: %d %s", got.Status, got.Raw)
	}
	sum := sha256.Sum256(file.Data)
	f := s.do("GET", "/api/order/"+id+"/file", nil)
	if !bytes.Equal(f.Raw, file.Data) || f.Header.Get("Content-Type") != "application/octet-stream" ||
		f.Header.Get("Content-Disposition") != `attachment; filename="verdict.html"` ||
		got.Body["deliverable"].(map[string]any)["file"].(map[string]any)["sha256"] != hex.EncodeToString(sum[:]) {
		t.Errorf("the file: %v %s", f.Header, f.Raw)
	}
	done := again()
	if s.want("the repeat", done, 200, ""); done.Str("status") != "completed" ||
		done.Str("deliverable", "text") != answer.Text || s.besides(done, attest.ClassOrder, "order_") != id ||
		strings.Contains(done.Str("certificate", "note")+done.Str("certificate", "attests"), "regret") {
		t.Errorf("the repeat: %s", done.Raw)
	}
	s.digests(done, asked, strings.Join([]string{answer.Text, answer.Link, hex.EncodeToString(sum[:])}, "\n"))
	c := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	if orders := c.Body["orders"].([]any); len(orders) != 1 || orders[0].(map[string]any)["status"] != "completed" {
		t.Errorf("claims = %s", c.Raw)
	}
	s.audit()
}

// digests checks that a buyer with the salt can show what was asked and what was answered.
func (s *shop) digests(r tilltest.Reply, asked, answer string) {
	s.t.Helper()
	salt, err := hex.DecodeString(r.Str("deliverable", "salt"))
	if err != nil || len(salt) != 32 {
		s.t.Fatalf("salt %q: %v", r.Str("deliverable", "salt"), err)
	}
	of := func(text string) string {
		sum := sha256.Sum256(append(bytes.Clone(salt), text...))
		return "sha256-salted:" + hex.EncodeToString(sum[:])
	}
	var o attest.Order
	if err := json.Unmarshal([]byte(r.Str("artifact", "signed_payload")), &o); err != nil || o.Asked != of(asked) ||
		o.Answer != of(answer) || r.Str("certificate", "attests") != of(asked) {
		s.t.Errorf("order %+v (%v) does not hold %s and %s", o, err, of(asked), of(answer))
	}
}

// Past the window the order says what is owed, and that is everything; it is still answered, and
// then it says so.
func TestAnOrderPastItsWindow(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 1})
	r, id, _ := s.ordered("phone_call", "Ask the garage.")
	s.final(r.Purchase())
	late := time.Now().UTC().Add(-90 * time.Minute).Truncate(time.Second)
	if err := s.db.Update(t.Context(), func(tx ledger.Tx) error {
		p, err := ledger.GetJSON[till.Purchase](tx, ledger.PurchaseKey(r.Purchase()))
		if err != nil {
			return err
		}
		was, err := goods.ReadHandwork(p.Made)
		if err != nil {
			return err
		}
		p.Made.Deliverable = bytes.Replace(p.Made.Deliverable, []byte(was.DueAt.Format(time.RFC3339)),
			[]byte(late.Format(time.RFC3339)), 1)
		return ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p)
	}); err != nil {
		t.Fatal(err)
	}
	read := func(kind string) {
		t.Helper()
		s.unpolled(id)
		got := s.do("GET", "/api/order/"+id, nil)
		b, _ := got.Body["window_breached"].(map[string]any)
		if b["kind"] != kind || b["owed_usdc"] != "25" || b["hours_late"] != 2.0 ||
			b["due_at"] != late.Format(time.RFC3339) ||
			b["how_it_gets_paid"] == "" {
			t.Errorf("%s: %s", kind, got.Raw)
		}
	}
	read("still_open")
	if _, err := s.till.AnswerOrder(t.Context(), id, till.Answer{Text: "It came in."}, false); err != nil {
		t.Fatal(err)
	}
	read("delivered_late")
}

// A week's places are counted at the claim. When they are gone the answer is 409 with the time at
// which they come back, before anybody is asked to sign, and a payment signed for one is not taken;
// who has an order comes back to it all the same.
func TestTheWeeksPlacesAreGone(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 8})
	const item = "human_witness"
	path := func(i int) string { return "/api/buy/" + item + fmt.Sprintf("?detail=I+am+%d.", i) }
	for i, r := range s.atOnce(8, path, func(i int) map[string]string {
		return map[string]string{"PAYMENT-SIGNATURE": s.pay(s.challenge(path(i)), 0, s.net.Buyers[i])}
	}) {
		if r.Status != 200 && r.Status != 409 {
			t.Errorf("buyer %d: %d %s", i, r.Status, r.Raw)
		}
	}
	got := s.places(item)
	if got != 2 {
		t.Fatalf("%d places of 2 were given", got)
	}
	until(t, "the holds to be over", func() bool {
		return s.do("GET", path(9), nil).Body["held_until"] == nil
	})
	r := s.do("GET", path(9), nil)
	s.want("the third", r, 409, "sold_out")
	reopens, err := time.Parse(time.RFC3339, r.Str("reopens_at"))
	if err != nil || reopens.Weekday() != time.Monday || reopens.Before(time.Now()) ||
		reopens.After(time.Now().AddDate(0, 0, 7)) || r.Header.Get("PAYMENT-REQUIRED") != "" {
		t.Errorf("reopens %s: %s, %v", reopens, r.Raw, err)
	}
	w := s.do("GET", "/api/window/v1", nil)
	if !strings.Contains(string(w.Raw), `"item_id":"human_witness","name":"Human witness","state":"not_to_be_had","left":0`) {
		t.Errorf("the window: %s", w.Raw)
	}
	s.audit()
}

// places counts the orders that have a place.
func (s *shop) places(item string) (n int) {
	s.t.Helper()
	for _, p := range tilltest.Purchases(s.t, s.db) {
		if p.Item == item && p.State == till.Promised {
			n++
		}
	}
	return n
}

// Two payments of one wallet for the keeper's time, whatever for, are not under way together.
func TestOneHourOfTheKeepersIsHeldAtATime(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, config: func(c *till.Config) { c.OpenWait = time.Millisecond }})
	paths := []string{"/api/buy/quick_judgment?detail=a", "/api/buy/phone_call?detail=b"}
	first := s.sign(s.challenge(paths[0]), 0, s.net.Buyers[0], nil)
	second := s.sign(s.challenge(paths[1]), 0, s.net.Buyers[0], nil)
	answers := s.pending(paths[0], first)
	s.want("the other", s.do("GET", paths[1], map[string]string{"PAYMENT-SIGNATURE": second.header(t)}),
		http.StatusTooManyRequests, "rate_limited")
	s.net.MustSeal()
	s.want("the first", answers()[0], 200, "")
	answers = s.pending(paths[1], second)
	s.net.MustSeal()
	s.want("the other, afterwards", answers()[0], 200, "")
}
