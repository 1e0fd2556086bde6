package onchain_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// blind is a rail that cannot read what a payer has.
type blind struct {
	rail.Rail
	asked atomic.Int64
}

func (b *blind) Funds(context.Context, string, []string) (rail.Funds, error) {
	b.asked.Add(1)
	return rail.Funds{}, errors.New("no node answers")
}

// Who has another payment open where nobody can read what he has is told that nothing was billed,
// and to come back with the same payment.
func TestFundsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := new(blind)
	s := newShop(t, shopOptions{buyers: 1, rail: func(r rail.Rail) rail.Rail { b.Rail = r; return b }})
	pay := s.sign(s.challenge("/api/buy/hello"), 0, s.net.Buyers[0], nil)
	other := settle.OpenPayment{ID: "other", Network: "eip155:8453", Payer: s.net.Buyers[0].Address.Hex(), Nonce: "0x1",
		Amount: 1}
	update := func(f func(ledger.Tx) error) {
		t.Helper()
		if err := s.db.Update(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx ledger.Tx) error { return settle.ReserveOpen(tx, other, time.Hour) })
	r := s.present("/api/buy/hello", pay)
	s.want("beside another payment", r, http.StatusServiceUnavailable, "settlement_unavailable")
	if b.asked.Load() == 0 || r.Str("billed") != "no" || r.Str("retry") != "same_payment" ||
		r.Header.Get("Retry-After") != "5" {
		t.Errorf("asked %d times: %s, to be tried again after %q s", b.asked.Load(), r.Raw, r.Header.Get("Retry-After"))
	}
	update(func(tx ledger.Tx) error { return settle.LeaveOpen(tx, other) })
	s.want("by itself", s.present("/api/buy/hello", pay), http.StatusOK, "")
}
