package onchaintest_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// echoed signs a challenge's first offer and echoes all its extensions, as stock clients do.
func (s *shop) echoed(ch map[string]any, from chaintest.Key) payment {
	s.t.Helper()
	p := s.sign(ch, 0, from, nil)
	p.wire["extensions"] = ch["extensions"]
	return p
}

// again calls a door as an application does that heard no answer: new terms, a new signature, no
// key.
func (s *shop) again(path string, from chaintest.Key, headers ...string) tilltest.Reply {
	s.t.Helper()
	return s.present(path, s.echoed(s.challenge(path), from), headers...)
}

// suggested is the key that a challenge suggests.
func suggested(ch map[string]any) string {
	extension := ch["extensions"].(map[string]any)["payment-identifier"].(map[string]any)
	id, _ := extension["info"].(map[string]any)["id"].(string)
	return id
}

// newShifted is a shop whose clocks can be put forward, and start at the second half of a minute.
func newShifted(t *testing.T, o shopOptions) (*shop, *shifted) {
	db := &shifted{DB: ledger.NewMem(ledger.MemOptions{}),
		at: time.Now().UTC().Truncate(time.Minute).Add(30 * time.Second)}
	config := o.config
	o.db, o.config = db, func(c *till.Config) {
		c.Now = db.now
		if config != nil {
			config(c)
		}
	}
	return newShop(t, o), db
}

// bought demands an answer that is of a new purchase.
func (s *shop) new(what string, r tilltest.Reply) tilltest.Reply {
	s.t.Helper()
	s.want(what, r, 200, "")
	if r.Body["idempotent_replay"] != false {
		s.t.Errorf("%s was answered as a repeat: %s", what, r.Raw)
	}
	return r
}

var suggestedForm = regexp.MustCompile(`^store-[a-z2-7]{26}-[0-9]{12}$`)

func TestTheSuggestedKeyFollowsFromTheOrder(t *testing.T) {
	t.Parallel()
	s, db := newShifted(t, shopOptions{})
	key := func(path string) string {
		t.Helper()
		r := s.do("GET", path, nil)
		ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
		k := suggested(ch)
		if r.Status != 402 || !suggestedForm.MatchString(k) || k != r.Str("idempotency", "suggested_key") ||
			k != suggested(r.Body) || r.Str("idempotency", "note") == "" {
			t.Errorf("%s suggests %q in the header, %q and %q in the body, %q", path, k,
				r.Str("idempotency", "suggested_key"), suggested(r.Body), r.Str("idempotency", "note"))
		}
		return k
	}
	ada := key("/api/buy/hello?agent_name=Ada")
	for what, path := range map[string]string{"other inputs": "/api/buy/hello?agent_name=Eve",
		"no inputs": "/api/buy/hello", "another good": "/api/buy/small_blessing?agent_name=Ada"} {
		if got := key(path); got == ada {
			t.Errorf("%s have the key of the first order", what)
		}
	}
	if got := key("/api/buy/hello?agent_name=Ada&source=elsewhere"); got != ada {
		t.Errorf("another source has key %s, want %s", got, ada)
	}
	db.put(time.Minute)
	if got := key("/api/buy/hello?agent_name=Ada"); got[:33] != ada[:33] || got == ada {
		t.Errorf("a minute later the key is %s, after %s", got, ada)
	}
}

// A buyer who calls again without a key of their own is charged once, for five minutes after the
// answer that was lost.
func TestEqualOrdersOfAStockClientAreOne(t *testing.T) {
	t.Parallel()
	s, db := newShifted(t, shopOptions{})
	const path = "/api/buy/hello?agent_name=Ada"
	buyer := s.net.Buyers[0]
	early := s.challenge(path)
	first := s.new("the first call", s.again(path, buyer))
	for _, d := range []time.Duration{0, 35 * time.Second, 70 * time.Second, 4 * time.Minute,
		5*time.Minute - time.Second} {
		db.put(d)
		p := s.echoed(s.challenge(path), buyer)
		s.sameAnswer(fmt.Sprintf("the same order after %v", d), first, s.present(path, p))
		if s.net.Used(p.From, p.Nonce) {
			t.Errorf("after %v the second payment was taken", d)
		}
		s.sameAnswer("the second payment by itself", first, s.present(path, p))
	}
	s.new("the same order of another wallet", s.again(path, s.net.Buyers[1]))
	db.put(5*time.Minute + time.Second)
	// The challenge of the first minute names that minute's slot for a day.
	s.sameAnswer("the first minute's challenge, later", first, s.present(path, s.echoed(early, buyer)))
	s.new("the same order after five minutes", s.again(path, buyer))
	if n := s.relayed(); n != 3 {
		t.Errorf("%d settlements on chain, want 3", n)
	}
	s.audit()
}

// The minute before and after count as the same, whoever was first.
func TestAMinuteCrossedBetweenChallengeAndPayment(t *testing.T) {
	t.Parallel()
	s, db := newShifted(t, shopOptions{})
	const path = "/api/buy/hello?agent_name=Ada"
	buyer := s.net.Buyers[0]
	var chs []map[string]any // of minutes 0 to 4
	for i := range 5 {
		db.put(time.Duration(i) * time.Minute)
		chs = append(chs, s.challenge(path))
	}
	first := s.new("paid in the minute after its challenge", s.present(path, s.echoed(chs[2], buyer)))
	db.put(20 * time.Minute) // beyond what an equal order alone matches
	for _, i := range []int{1, 2, 3} {
		s.sameAnswer(fmt.Sprintf("the challenge of minute %d", i), first, s.present(path, s.echoed(chs[i], buyer)))
	}
	s.new("the challenge of two minutes before", s.present(path, s.echoed(chs[0], buyer)))
	s.audit()
}

// What must not be broken by the suggestion: other inputs at once, keys of one's own beside it,
// another order's echo.
func TestTheSuggestionBreaksNothingHonest(t *testing.T) {
	t.Parallel()
	s, _ := newShifted(t, shopOptions{})
	const ada, eve = "/api/buy/the_confession?detail=I%20read%20the%20manual.",
		"/api/buy/the_confession?detail=I%20did%20not."
	buyer := s.net.Buyers[0]
	first := s.new("an order with an input", s.again(ada, buyer))
	other := s.new("another input in the same minute", s.again(eve, buyer))
	s.sameAnswer("the first again", first, s.again(ada, buyer))
	s.sameAnswer("the other again", other, s.again(eve, buyer))

	own := s.new("a header of one's own beside the suggested id",
		s.again(ada, buyer, "Idempotency-Key", "order-0123456789"))
	s.sameAnswer("that header again", own, s.again(ada, buyer, "Idempotency-Key", "order-0123456789"))
	s.sameAnswer("that header in quotes", own, s.again(ada, buyer, "Idempotency-Key", `"order-0123456789"`))
	id := s.new("an id of one's own",
		s.present(ada, withID(t, s.echoed(s.challenge(ada), buyer), "pay_0123456789abcdef")))
	s.sameAnswer("that id again", id,
		s.present(ada, withID(t, s.echoed(s.challenge(ada), buyer), "pay_0123456789abcdef")))
	ch := s.challenge(ada)
	s.sameAnswer("an id of one's own beside the suggested key as header", id,
		s.present(ada, withID(t, s.echoed(ch, buyer), "pay_0123456789abcdef"), "Idempotency-Key", suggested(ch)))
	s.want("two keys of one's own", s.present(ada, withID(t, s.echoed(ch, buyer), "pay_0123456789abcdef"),
		"Idempotency-Key", "order-0123456789"), 400, "idempotency_keys_disagree")

	// The suggested key as a header, of this or of another minute, beside the echoed one.
	s.sameAnswer("the suggested key as header", first, s.again(ada, buyer, "Idempotency-Key", suggested(ch)))
	s.sameAnswer("that of another minute", id, s.again(ada, buyer, "Idempotency-Key", suggested(ch)[:33]+
		"202001010000"))
	// An id that was suggested for another order is no key of another order's.
	const new = "/api/buy/the_confession?detail=New."
	fresh := s.new("another order's echo", s.present(new, s.echoed(s.challenge(ada), buyer)))
	s.sameAnswer("the right echo after it", fresh, s.again(new, buyer))
	s.sameAnswer("another order's key as header", fresh, s.again(new, buyer, "Idempotency-Key", suggested(ch)))
	s.audit()
}

// Keys are printable ASCII of 16 to 128 characters, with or without one pair of double quotes.
func TestIdempotencyKeySpellings(t *testing.T) {
	t.Parallel()
	s, _ := newShifted(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	buyer := s.net.Buyers[0]
	long := ""
	for len(long) < 128 {
		long += "0123456789abcdef"
	}
	for _, key := range []string{"8e03978e-40d5-43dd-bc93-6894a57f9324", "order:2026/11/22.17",
		"a key with spaces in it", `it "quotes" within`, `\"0123456789abc\"`, long} {
		first := s.new("key "+key, s.again(path, buyer, "Idempotency-Key", key))
		s.sameAnswer("key "+key+" in quotes", first, s.again(path, buyer, "Idempotency-Key", `"`+key+`"`))
	}
	for _, key := range []string{`"`, `""`, `"0123456789abcd`, `"0123456789abcde"`, long + "x", `"` + long + `x"`} {
		s.want("key "+key, s.again(path, buyer, "Idempotency-Key", key), 400, "idempotency_key_invalid")
	}
	s.audit()
}

// Twenty calls of one wallet at once, each with a payment of its own, are one order.
func TestEqualOrdersAtOnceAreOne(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	var pays []string
	for range 20 {
		pays = append(pays, s.echoed(s.challenge(path), s.net.Buyers[0]).header(t))
	}
	rs := s.atOnce(len(pays), func(int) string { return path },
		func(i int) map[string]string { return map[string]string{"PAYMENT-SIGNATURE": pays[i]} })
	firsts := 0
	for _, r := range rs {
		s.want("one of twenty", r, 200, "")
		if r.Body["idempotent_replay"] == false {
			firsts++
		}
	}
	if firsts != 1 || s.relayed() != 1 {
		t.Errorf("%d first answers and %d settlements, want one of each", firsts, s.relayed())
	}
	s.audit()
}

// An order that is on its way answers its retry however long it takes, and one that came to nothing
// answers nobody.
func TestUnresolvedOrdersMatchForAsLongAsTheyAre(t *testing.T) {
	t.Parallel()
	db := &shifted{DB: ledger.NewMem(ledger.MemOptions{})}
	s := newShop(t, shopOptions{db: db, manual: true, config: func(c *till.Config) {
		c.Now = db.now
		c.SettleWait, c.RepeatWait = 300*time.Millisecond, 100*time.Millisecond
	}})
	const path = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	pending := s.again(path, buyer)
	s.want("an order that the chain does not answer", pending, 503, "payment_unknown")
	db.put(20 * time.Minute)
	retry := s.echoed(s.challenge(path), buyer)
	r := s.present(path, retry)
	s.want("its retry", r, 409, "idempotency_in_flight")
	if r.Str("billed") != "no" || r.Body["charged_now"] != false {
		t.Errorf("the retry says %s", r.Raw)
	}
	s.net.SetAutomine(true)
	s.state(pending.Purchase(), till.Delivered)
	done := s.present(path, retry)
	s.want("the retry when it is done", done, 200, "")
	if done.Purchase() != pending.Purchase() || done.Body["charged_now"] != false {
		t.Errorf("the retry is answered with %s", done.Raw)
	}
	if n := s.relayed(); n != 1 {
		t.Errorf("%d settlements on chain, want 1", n)
	}
	all := tilltest.Purchases(t, s.db)
	if len(all) != 1 || slices.ContainsFunc(all, func(p till.Purchase) bool { return p.State != till.Delivered }) {
		t.Errorf("the journal holds %v", all)
	}
}

// However often a wallet gives the same order, no more than 16 are remembered, and those that
// ended long ago make room for the others.
func TestEqualOrdersThatAreRememberedAreFew(t *testing.T) {
	t.Parallel()
	s, db := newShifted(t, shopOptions{})
	const path = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	for i := range 18 {
		key := fmt.Sprintf("an-order-of-its-own-%d", i)
		s.new("an order with a key of its own", s.again(path, buyer, "Idempotency-Key", key))
	}
	if n := remembered(t, s.db); n != 16 {
		t.Errorf("%d orders are remembered, want 16", n)
	}
	db.put(6 * time.Minute)
	last := s.new("an order later", s.again(path, buyer))
	if n := remembered(t, s.db); n != 1 {
		t.Errorf("%d orders are remembered, want 1: the others ended long ago", n)
	}
	s.sameAnswer("the same order", last, s.again(path, buyer))
}

// remembered counts the orders of one wallet that answer an equal one.
func remembered(t *testing.T, db ledger.DB) (n int) {
	t.Helper()
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix([]byte("slot"))) {
			if err != nil {
				return err
			}
			var ids []string
			if json.Unmarshal(e.Value, &ids) == nil {
				n = len(ids)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
