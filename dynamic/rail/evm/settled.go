package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/dynamic/rail"
)

// Settled implements rail.Settlements. A plain transfer is no settlement: the Transfer must stand
// directly behind the event of the authorization that it uses, as for payments to the store (M3);
// on a token that knows none, by itself.
func (r *Rail) Settled(ctx context.Context, s rail.Settlement) (rail.Settled, error) {
	if !isHash(s.Tx) || !common.IsHexAddress(s.Payer) || !common.IsHexAddress(s.PayTo) {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	final, err := r.Final(ctx)
	if err != nil {
		return rail.Settled{}, fmt.Errorf("reading the final block: %w", err)
	}
	var rec receipt
	ask := &call{method: "eth_getTransactionReceipt", params: []any{s.Tx}, out: &rec}
	if err := r.rpc.batch(ctx, ask); err != nil {
		return rail.Settled{}, err
	}
	switch {
	case errors.Is(ask.err, rail.ErrNodeNull):
		return rail.Settled{}, rail.ErrNotFinal
	case ask.err != nil:
		return rail.Settled{}, fmt.Errorf("reading the receipt: %w", ask.err)
	case rec.Tx != common.HexToHash(s.Tx):
		return rail.Settled{}, errors.New("the node answers for another transaction")
	case uint64(rec.Block) > final.Block:
		return rail.Settled{}, rail.ErrNotFinal
	}
	// The receipt may be of a block that was reorganised away.
	var b block
	read := blockCall(uint64(rec.Block), &b)
	if err := errors.Join(r.rpc.batch(ctx, read), read.err); err != nil {
		return rail.Settled{}, fmt.Errorf("reading block %d: %w", uint64(rec.Block), err)
	}
	if b.Hash != rec.BlockHash {
		return rail.Settled{}, rail.ErrNotFinal
	}
	if rec.Status != 1 {
		return rail.Settled{}, rail.ErrReverted
	}
	if !r.settles(rec, common.HexToAddress(s.Payer), common.HexToAddress(s.PayTo), s.Amount) {
		return rail.Settled{}, rail.ErrOtherPayment
	}
	return rail.Settled{Tx: rec.Tx.Hex(), Block: b.Number, Time: b.Time.UTC()}, nil
}

// settles reports whether a transaction moved exactly an amount by an authorization of the payer's.
func (r *Rail) settles(rec receipt, payer, payTo common.Address, amount *big.Int) bool {
	if r.cfg.Transfer == methodPermit2 {
		for _, l := range r.unannounced(rec.Logs) {
			u := transferOf(l)
			if common.BytesToAddress(l.Topics[1][:]) == payer && u.to == payTo && u.value.Cmp(amount) == 0 {
				return true
			}
		}
		return false
	}
	for a, u := range uses(r.asset, rec.Logs) {
		if a.payer == payer && u.value != nil && u.to == payTo && u.value.Cmp(amount) == 0 {
			return true
		}
	}
	return false
}
