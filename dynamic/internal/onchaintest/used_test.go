package onchaintest_test

import (
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// used demands the 409 for a used authorization and what it says of the money.
func (s *shop) used(what string, r tilltest.Reply, billed string) {
	s.t.Helper()
	s.want(what, r, 409, "payment_already_used")
	if r.Str("billed") != billed || r.Body["charged_now"] != false || r.Body["delivered"] != false ||
		r.Str("retry") != "never" {
		s.t.Errorf("%s says billed %s, charged_now %v, delivered %v, retry %s: want billed %s", what, r.Str("billed"),
			r.Body["charged_now"],
			r.Body["delivered"], r.Str("retry"), billed)
	}
}

// bare is a payment without extensions: a repeat of it proves nothing of who sends it.
func bare(p payment) payment {
	q := payment{p.Payment, maps.Clone(p.wire)}
	delete(q.wire, "extensions")
	return q
}

// withdraw cancels an authorization on chain.
func (s *shop) withdraw(by chaintest.Key, p payment) {
	s.t.Helper()
	sig := s.net.SignDigest(by, token.CancelDigest(p.From, p.Nonce, s.net.DomainSeparator()))
	s.net.MustSealTxs(s.net.Transaction(s.net.Minter, s.net.Asset, token.CancelCall(p.From, p.Nonce, sig)))
	for range chain.DefaultFinalDepth {
		s.net.MustSealTxs()
	}
}

// What a 409 says of a used authorization is what its chain shows to everybody, before a restore
// and after.
func TestWhatAUsedAuthorizationSays(t *testing.T) {
	t.Parallel()
	db := ledger.NewMem(ledger.MemOptions{})
	s := newShop(t, shopOptions{db: db})
	const path = "/api/buy/small_blessing"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)

	paid := bare(s.sign(ch, 0, buyer, nil))
	first := s.present(path, paid)
	s.want("a purchase without extensions", first, 200, "")
	s.used("its identical repeat", s.present(path, paid), "yes")

	key := s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key", "order-0123456789")
	s.want("a purchase with a key", key, 200, "")
	other := bare(s.sign(ch, 0, buyer, nil))
	s.sameAnswer("another authorization for it", key, s.present(path, other, "Idempotency-Key", "order-0123456789"))
	s.used("that authorization again", s.present(path, other), "no")
	// Somebody who has such a one sends it after all: then it has paid, for nothing that we know.
	other = bare(s.sign(ch, 0, buyer, nil))
	s.sameAnswer("one more authorization for it", key, s.present(path, other, "Idempotency-Key", "order-0123456789"))
	s.land(other)
	s.used("that authorization, landed", s.present(path, other), "yes")

	outside := s.sign(ch, 0, buyer, nil)
	s.land(outside)
	s.used("a payment that was sent past the store", s.present(path, outside), "yes")
	withdrawn := s.sign(ch, 0, buyer, nil)
	s.withdraw(buyer, withdrawn)
	s.used("a cancelled authorization", s.present(path, withdrawn), "no")

	// A ledger from before all this knows none of it. The chain does.
	older := newShop(t, shopOptions{net: s.net})
	late := wired(older.challenge(path), older.challenge(path)["accepts"].([]any)[0].(map[string]any), paid.Payment)
	older.used("the repeat at a restored store", older.present(path, late), "yes")
	older.used("the same without extensions", older.present(path, bare(late)), "yes")
	if err := older.db.Update(t.Context(), ledger.Shut); err != nil {
		t.Fatal(err)
	}
	older.used("at a restored store that is closed", older.present(path, bare(late)), "yes")
	if n := len(tilltest.Purchases(t, older.db)); n != 0 {
		t.Errorf("%d purchases came of it", n)
	}
}

// An authorization that is expired and paid, of which a restored ledger knows nothing, is not
// refused as merely expired.
func TestAnExpiredAuthorizationThatPaid(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	soon := func(a *token.Authorization) { a.ValidBefore = uint64(time.Now().Unix()) + 20 } // within the margin
	paid, unpaid := s.sign(s.challenge(path), 0, s.net.Buyers[0], soon), s.sign(s.challenge(path), 0, s.net.Buyers[1],
		soon)
	s.land(paid)
	s.used("one that paid", s.present(path, paid), "yes")
	s.used("without extensions", s.present(path, bare(paid)), "yes")
	s.want("one that did not", s.present(path, unpaid), 402, "payment_invalid")
	forged := s.signAs(s.challenge(path), 0, s.net.Buyers[1], paid.From, soon)
	s.want("a forged one", s.present(path, forged), 402, "payment_invalid")
}

// Where the chain cannot be asked, nothing is called unpaid.
func TestAUsedAuthorizationWithoutItsChain(t *testing.T) {
	t.Parallel()
	s, px := newProxied(t, shopOptions{manual: true, config: func(c *till.Config) {
		c.SettleWait,
			c.RepeatWait = 200*time.Millisecond, 100*time.Millisecond
	}})
	const path = "/api/buy/small_blessing"
	p := bare(s.sign(s.challenge(path), 0, s.net.Buyers[0], nil))
	s.want("a purchase on its way", s.present(path, p), 503, "payment_unknown")
	s.used("its repeat", s.present(path, p), "unknown")
	px[0].always(drop)
	s.used("its repeat while no node answers", s.present(path, p), "unknown")
	px[0].always(pass)
}

// Repeats of what anybody can read from the chain cost our node one look each, and all together a
// budget.
func TestUsedAuthorizationsAskTheChainWithinABudget(t *testing.T) {
	t.Parallel()
	s, px := newProxied(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	buyer := s.net.Buyers[0]
	first := s.present(path, s.sign(s.challenge(path), 0, buyer, nil), "Idempotency-Key", "order-0123456789")
	s.want("a purchase", first, 200, "")
	answered := bare(s.sign(s.challenge(path), 0, buyer, nil))
	s.sameAnswer("another authorization", first, s.present(path, answered, "Idempotency-Key", "order-0123456789"))
	var asked atomic.Int32
	px[0].set(func(methods []string) fault {
		for _, m := range methods {
			if m == "eth_call" { // authorizationState; the watcher asks for blocks and logs alone
				asked.Add(1)
			}
		}
		return pass
	})
	for range 50 {
		s.used("the same again", s.present(path, answered), "no")
	}
	if n := asked.Load(); n > 3 {
		t.Errorf("50 repeats of one authorization asked the chain %d times", n)
	}
	asked.Store(0)
	// The same authorization under other amounts is not believed to be another one for ever.
	for i := range 200 {
		q := payment{answered.Payment, maps.Clone(answered.wire)}
		pl := maps.Clone(answered.wire["payload"].(map[string]any))
		auth := maps.Clone(pl["authorization"].(map[string]any))
		auth["value"] = string(rune('1'+i%9)) + "000" + string(rune('0'+i/9%10)) + string(rune('0'+i/90))
		pl["authorization"] = auth
		q.wire["payload"] = pl
		s.used("another amount", s.present(path, q), "no")
	}
	if n := asked.Load(); n > 240 { // two windows at the most
		t.Errorf("200 false repeats asked the chain %d times", n)
	}
}
