package onchaintest_test

import (
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// sealed buys on a chain that does not seal by itself.
func (s *shop) sealed(path string, p payment) tilltest.Reply {
	s.t.Helper()
	answers := s.pending(path, p)
	s.net.MustSeal()
	r := answers()[0]
	s.want("a purchase", r, 200, "")
	return r
}

// finalize buries the head beyond reorganisation.
func (s *shop) finalize() {
	s.t.Helper()
	for range chain.DefaultFinalDepth + 1 {
		s.net.MustSealTxs()
	}
}

// pooled waits until the node counts n transactions of the relayer's.
func (s *shop) pooled(what string, n uint64) {
	s.t.Helper()
	until(s.t, what, func() bool {
		got, err := s.net.RPC.PendingNonceAt(s.t.Context(), s.net.Relayer.Address)
		return err == nil && got == n
	})
}

func (s *shop) settlement(r tilltest.Reply) *types.Transaction {
	s.t.Helper()
	tx, _, err := s.net.RPC.TransactionByHash(s.t.Context(), common.HexToHash(r.Str("certificate", "settlement_tx")))
	if err != nil {
		s.t.Fatal(err)
	}
	return tx
}

func TestReorganisedAndSentAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	r := s.sealed(path, p)
	if err := s.net.Reorg(s.net.Head().Number.Uint64() - 1); err != nil {
		t.Fatal(err)
	}
	s.net.Drop()
	if s.net.Balance(s.net.PayTo) != 0 {
		t.Fatal("the reorganisation did not take the payment away")
	}
	s.sameAnswer("the repeat while the payment is gone", r, s.present(path, p))
	s.pooled("the settlement to be sent again", 1)
	s.net.MustSeal()
	s.finalize()
	until(t, "the purchase to be final", func() bool { return tilltest.Purchases(t, s.db)[0].Final })
	if got := tilltest.Purchases(t, s.db)[0]; got.State != till.Delivered ||
		got.Proof.BlockHash != s.net.Receipt(common.HexToHash(got.Proof.Tx)).BlockHash.Hex() {
		t.Errorf("after the reorganisation the purchase is %s with proof %+v", got.State, got.Proof)
	}
	s.sameAnswer("the repeat afterwards", r, s.present(path, p))
	s.sells()
	s.audit()
}

// In the new chain the same transaction stands behind another, so that its log has another index,
// where in the old one another payment's was.
func TestReorganisedToAnotherPlace(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	one, two := s.sign(ch, 0, s.net.Buyers[0], nil), s.sign(ch, 0, s.net.Buyers[1], nil)
	r := s.sealed(path, one)
	head := s.net.Head().Number.Uint64()
	ahead := s.foreign(s.net.Minter, s.net.Asset, 0, s.sign(ch, 0, s.net.Buyers[2], nil).Call())
	if err := s.net.Reorg(head-1, ahead, s.settlement(r)); err != nil {
		t.Fatal(err)
	}
	until(t, "the new place to be noted", func() bool { return tilltest.Purchases(t, s.db)[0].Proof.LogIndex == 3 })
	r2 := s.sealed(path, two)
	s.finalize()
	until(t, "both to be final", func() bool {
		ps := tilltest.Purchases(t, s.db)
		return ps[0].Final && ps[1].Final
	})
	if r2.Body["patron_number"] != 2.0 {
		t.Errorf("the second patron has number %v", r2.Body["patron_number"])
	}
	if v := s.do("GET", "/api/verify/"+r.Str("cert_id"), nil); v.Body["valid"] != true || v.Str("status") != "active" {
		t.Errorf("verify = %s", v.Raw)
	}
}

func TestReorganisedAway(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path, key = "/api/buy/hello", "order-0123456789"
	buyer := s.net.Buyers[0]
	p := s.sign(s.challenge(path), 0, buyer, nil)
	r := s.sealed(path, p)
	if err := s.net.Reorg(s.net.Head().Number.Uint64()-1,
		s.foreign(s.net.Minter, s.net.Asset, 0, s.cancel(buyer, p))); err != nil {
		t.Fatal(err)
	}
	s.net.Drop()
	s.sameAnswer("the repeat before that is final", r, s.present(path, p))
	s.pooled("the relayer's open number to be filled", 1)
	s.net.MustSeal()
	s.finalize()
	s.state(r.Purchase(), till.Reversed)
	v := s.do("GET", "/api/verify/"+r.Str("cert_id"), nil)
	if v.Status != 200 || v.Str("status") != "reversed" || v.Str("reversed_on") == "" {
		t.Errorf("verify of a reversed certificate = %s", v.Raw)
	}
	again := s.present(path, p)
	s.want("the payment that the chain took back", again, 409, "payment_reversed")
	if again.Body["delivered"] != true || again.Str("billed") != "no" {
		t.Errorf("the payment that the chain took back is answered %s", again.Raw)
	}
	st := s.do("GET", "/api/purchase-status/"+r.Purchase(),
		map[string]string{"Authorization": "Bearer " + r.Str("recovery", "status_token")})
	if st.Str("state") != "reversed" || st.Str("billed") != "no" {
		t.Errorf("status = %s", st.Raw)
	}
	next := s.sells()
	if next.Body["patron_number"] != 2.0 {
		t.Errorf("the next patron has number %v, want 2: 1 is never used again", next.Body["patron_number"])
	}
	if n := s.audit(); n != 2 {
		t.Errorf("%d numbers given, want 2", n)
	}
}

// What is owed back is watched like what was delivered: money that the chain took away again is
// owed no more, and nobody may pay it out before that is certain (M9).
func TestWhatIsOwedAndReorganisedAwayIsOwedNoMore(t *testing.T) {
	t.Parallel()
	s, refuses := newMoodyShop(t, shopOptions{site: tilltest.Scarce(t, map[string]int{"drawer": 1})})
	const path = "/api/buy/the_drawer"
	buyer := s.net.Buyers[0]
	p := s.sign(s.challenge(path), 0, buyer, nil)
	r := s.giveUp(path, p, refuses)
	sold, _ := s.buy(path, s.net.Buyers[1], nil)
	s.want("the sale of what was given back", sold, 200, "")
	before := s.net.Head().Number.Uint64()
	cancelled := s.foreign(s.net.Minter, s.net.Asset, 0, s.cancel(buyer, p)) // has the number of what lands
	s.land(p)
	if owed := s.state(r.Purchase(), till.RefundOwed); owed.Final {
		t.Fatal("what is owed is final at once")
	}
	if err := s.net.Reorg(before, cancelled); err != nil {
		t.Fatal(err)
	}
	s.finalize()
	s.state(r.Purchase(), till.Reversed)
	again := s.present(path, p)
	s.want("the payment that the chain took back", again, 409, "payment_reversed")
	if again.Body["delivered"] != false || again.Str("billed") != "no" {
		t.Errorf("the payment that the chain took back is answered %s", again.Raw)
	}
	s.audit()
}
