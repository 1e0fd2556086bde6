package solana

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// Settled implements rail.Settlements. What is taken is a payment of the form that stock buyers
// sign and any facilitator settles (x402 3.3): its payer is who signed it, not who paid its fee.
func (r *Rail) Settled(ctx context.Context, s rail.Settlement) (rail.Settled, error) {
	payer, err := parseKey(s.Payer)
	if err != nil {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	payTo, err := parseKey(s.PayTo)
	if err != nil {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	if raw, err := wallet.DecodeBase58(s.Tx); err != nil || len(raw) != 64 {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	e, err := r.executed(ctx, s.Tx, finalized)
	said, is := errors.AsType[*rail.NodeError](err)
	switch {
	case errors.Is(err, rail.ErrNodeNull):
		return rail.Settled{}, rail.ErrNotFinal
	case is && said.Code == codeVersion: // no form that payments have
		return rail.Settled{}, rail.ErrOtherPayment
	case err != nil:
		return rail.Settled{}, fmt.Errorf("reading the transaction: %w", err)
	case e.failed():
		return rail.Settled{}, rail.ErrReverted
	case e.Time == nil:
		return rail.Settled{}, errBehind
	}
	wire, err := e.wire()
	if err != nil {
		return rail.Settled{}, err
	}
	t, err := parseTransaction(wire)
	if err != nil {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	o, ref := r.read(t, true)
	to := associated(payTo, r.mint)
	if ref != nil || o.payer != payer || o.mint != r.mint || o.to != to || !s.Amount.IsUint64() ||
		o.amount != s.Amount.Uint64() {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	// The balances that it moved agree with what its message asks for.
	moved, err := e.arrived(t, to, r.mint)
	if err != nil {
		return rail.Settled{}, err
	}
	if moved != s.Amount.Int64() {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	return rail.Settled{Tx: s.Tx, Block: e.Slot, Time: time.Unix(*e.Time, 0).UTC()}, nil
}
