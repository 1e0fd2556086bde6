package solana

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	pageSignatures = 1000 // in one request, the most that nodes give
	// pieceSignatures is how many transactions one piece of Incoming has.
	pieceSignatures = 50
)

// entry is a transaction in the list of an account's.
type entry struct {
	Signature string         `json:"signature"`
	Slot      uint64         `json:"slot"`
	Err       jsontext.Value `json:"err"`
}

// Incoming implements rail.Rail: what changed the store's token account, the newest first, as nodes
// list it. One of ours is known by its form and its fee payer; any other transfer to the account is
// listed without a nonce.
//
// Anybody can write transactions that name the account, for the fee of a signature, so a piece has
// at most pieceSignatures of them and costs a request for each and two more. A piece of what is
// above the span, which is passed over, is a page of a thousand and costs one.
func (r *Rail) Incoming(ctx context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return func(yield func(rail.Piece, error) bool) {
		l, err := r.ledger(ctx, &s)
		if err != nil {
			yield(rail.Piece{}, fmt.Errorf("listing transfers: %w", err))
			return
		}
		for {
			p, err := l.piece(ctx, s)
			if !yield(p, err) || err != nil || p.Rest.Read() {
				return
			}
			s = p.Rest
		}
	}
}

// ledger is a span of the cluster's ledger as a node that has all of it lists it.
type ledger struct {
	*Rail
	commitment string
	below      bool // what is listed next is not above the span
}

// ledger sees that a node has a span. Its last block is that of the head where none is named. What
// is final is asked for as final, so that no fork takes away the place where a reading stopped.
func (r *Rail) ledger(ctx context.Context, s *rail.Span) (*ledger, error) {
	head, err := r.Head(ctx)
	if err == nil && head.Block < s.To {
		err = errBehind // what such a node knows nothing of is not empty
	}
	if err == nil && s.From > 0 {
		err = r.reaches(ctx, s.From)
	}
	if err != nil {
		return nil, err
	}
	l := &ledger{r, confirmed, false}
	if s.To == 0 {
		s.To = head.Block
		return l, nil
	}
	final, err := r.Final(ctx)
	if err == nil && s.To <= final.Block {
		l.commitment = finalized
	}
	return l, err
}

// piece reads what is listed next of a span.
func (l *ledger) piece(ctx context.Context, s rail.Span) (rail.Piece, error) {
	read := rail.Piece{Rest: rail.Span{From: s.To + 1, To: s.To}}
	page, err := l.page(ctx, s)
	if err != nil || len(page) == 0 {
		return read, err
	}
	p := rail.Piece{Rest: s}
	taken := 0
	for _, e := range page {
		switch {
		case e.Slot < s.From:
			p.Rest = read.Rest
			return p, nil
		case e.Slot > s.To:
			p.Rest.Before = e.Signature
			continue
		}
		if taken++; taken > pieceSignatures {
			break
		}
		l.below = true
		if len(e.Err) == 0 || e.Err.Kind() == 'n' {
			t, ok, err := l.transfer(ctx, e)
			if err != nil {
				return rail.Piece{}, fmt.Errorf("reading transfer %s: %w", rail.Printable(e.Signature, 90), err)
			}
			if ok {
				p.Transfers = append(p.Transfers, t)
			}
		}
		p.Rest.Before = e.Signature
	}
	return p, nil
}

// page asks for the transactions of the store's token account that are next in a span. It is empty
// where there is none: nodes give shorter pages than they are asked for, and an empty one also
// where they do not know what is to be before.
func (l *ledger) page(ctx context.Context, s rail.Span) (page []entry, err error) {
	o := map[string]any{"commitment": l.commitment, "limit": pageSignatures, "minContextSlot": s.To}
	if l.below {
		o["limit"] = pieceSignatures
	}
	if s.Before != "" {
		o["before"] = s.Before
	}
	if err := l.rpc.call(ctx, &page, "getSignaturesForAddress", l.account.String(), o); err != nil {
		return nil, fmt.Errorf("listing transfers: %w", err)
	}
	for i, e := range page {
		if e.Signature == s.Before || i > 0 && e.Slot > page[i-1].Slot {
			return nil, fmt.Errorf("listing transfers: %w", errBehind)
		}
	}
	if len(page) == 0 && s.Before != "" {
		_, list, err := l.statuses(ctx, true, s.Before)
		if err == nil && !list[0].sure() {
			err = fmt.Errorf("the node does not know transaction %s, before which it is asked for others",
				rail.Printable(s.Before, 90))
		}
		return nil, err
	}
	return page, nil
}

// transfer reads what a transaction brought; ok is false where it brought nothing.
func (r *Rail) transfer(ctx context.Context, e entry) (out rail.Transfer, ok bool, err error) {
	x, err := r.executed(ctx, e.Signature, confirmed)
	if said, is := errors.AsType[*rail.NodeError](err); is && said.Code == codeVersion {
		return r.unreadable(e)
	}
	if err != nil {
		return out, false, err
	}
	if x.Slot != e.Slot || x.Time == nil {
		return out, false, errBehind
	}
	wire, err := x.wire()
	if err != nil {
		return out, false, err
	}
	t, err := parseTransaction(wire)
	if err != nil {
		return r.unreadable(e)
	}
	moved, err := x.arrived(t, r.account, r.mint)
	if err != nil || moved <= 0 {
		return out, false, err
	}
	out = rail.Transfer{
		Network: r.cfg.Network, Tx: e.Signature, LogIndex: transferIndex,
		Block: x.Slot, Time: time.Unix(*x.Time, 0).UTC(),
		Payer: t.keys[0].String(), Amount: big.NewInt(moved),
	}
	o, ref := r.read(t, true)
	if ref == nil && t.keys[0] == r.feePayer && o.to == r.account && o.mint == r.mint && o.amount == uint64(moved) {
		out.Payer, out.Nonce, out.Method = o.name, t.hash(), method
	}
	return out, true, nil
}

// unreadable passes over a transaction of a form that is not known here. It is none of ours, and
// anybody can write one: what it brought must not hold up the reading of the others.
func (r *Rail) unreadable(e entry) (out rail.Transfer, ok bool, err error) {
	r.log.Warn("a transfer cannot be read", "network", r.cfg.Network, "tx", e.Signature)
	return out, false, nil
}
