package buyer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// HoldView is a payment that an escrow holds, or held. Info is what reclaim(PaymentInfo) is called
// with.
type HoldView struct {
	Purchase string           `json:"purchase"` // id
	Network  string           `json:"network"`
	Door     string           `json:"door"` // without the query
	Hash     string           `json:"hash"` // by which the escrow names it
	Escrow   string           `json:"escrow"`
	Amount   int64            `json:"amount"` // atomic units
	Reclaim  time.Time        `json:"reclaim_from"`
	Info     rail.PaymentInfo `json:"payment_info"`
	// State is what the chain says, empty where it was not asked: unpaid, held, captured, or back
	// (the payer has it again, or part of it was captured and given back).
	State string `json:"state,omitempty"`
	// Transaction is what was done just now.
	Transaction string `json:"transaction,omitempty"`
}

// The states of a HoldView.
const (
	HoldUnpaid   = "unpaid" // the authorization was not used
	HoldHeld     = "held"
	HoldCaptured = "captured" // the seller has it
	HoldBack     = "back"     // voided, reclaimed or refunded
)

func (p *purchase) held() *HoldView {
	v := &HoldView{Purchase: p.ID, Network: p.Network, Hash: p.Hold.Hash, Escrow: wallet.CaptureEscrow.String(),
		Amount: p.Amount, Info: p.Hold.Info, Reclaim: time.Unix(p.Hold.Info.AuthorizationExpiry, 0).UTC()}
	if u, err := parseURL(p.Request.URL); err == nil {
		v.Door = place(u)
	}
	return v
}

// stateOf is the state of a hold in a word.
func stateOf(s rail.HoldState) string {
	switch {
	case !s.Collected:
		return HoldUnpaid
	case s.Capturable > 0:
		return HoldHeld
	case s.Refundable > 0:
		return HoldCaptured
	}
	return HoldBack
}

// Holds are the payments of the journal that an escrow was to hold, oldest first, with what the
// chain says of those on networks of which a node is configured. One that cannot be read is named
// in the error and hides no other.
func (b *Buyer) Holds(ctx context.Context) (list []*HoldView, err error) {
	if b.cfg.Journal == nil {
		return nil, errNoJournal
	}
	all, err := b.cfg.Journal.bought(ctx)
	errs := []error{err}
	list = []*HoldView{}
	for _, p := range all {
		if p.Hold == nil || p.State == Intended {
			continue
		}
		v := p.held()
		if b.cfg.Nodes[p.Network] != "" {
			if v.State, err = b.readHold(ctx, p); err != nil {
				errs = append(errs, fmt.Errorf("hold of %s: %w", p.ID, err))
			}
		}
		list = append(list, v)
	}
	return list, errors.Join(errs...)
}

func (b *Buyer) readHold(ctx context.Context, p *purchase) (string, error) {
	n, err := b.node(ctx, p.Network)
	if err != nil {
		return "", err
	}
	defer n.Close()
	s, err := n.hold(ctx, bytes32(p.Hold.Hash))
	if err != nil {
		return "", err
	}
	return stateOf(s), nil
}

// Reclaim takes back what an escrow holds of a purchase, with a transaction of the wallet's own,
// from the deadline of its terms on; before it the error is ErrEarly, and ErrNothing where nothing
// is held.
func (b *Buyer) Reclaim(ctx context.Context, id string) (*HoldView, error) {
	if b.cfg.Journal == nil {
		return nil, errNoJournal
	}
	all, err := b.cfg.Journal.bought(ctx)
	var p *purchase
	for _, o := range all {
		if o.ID == id && o.Hold != nil {
			p = o
		}
	}
	if p == nil {
		return nil, errors.Join(fmt.Errorf("the journal has no hold of a purchase %s", printable(id, 80)), err)
	}
	v := p.held()
	if b.cfg.Wallet == nil || b.cfg.Wallet.Address().String() != p.Payer {
		return v, fmt.Errorf("the wallet that paid, %s, is needed", p.Payer)
	}
	n, err := b.node(ctx, p.Network)
	if err != nil {
		return v, err
	}
	defer n.Close()
	s, err := n.hold(ctx, bytes32(p.Hold.Hash))
	if err != nil {
		return v, err
	}
	now, err := n.now(ctx)
	if err != nil {
		return v, err
	}
	switch v.State = stateOf(s); {
	case v.State != HoldHeld:
		return v, fmt.Errorf("%w: the payment is %s", ErrNothing, v.State)
	case now.Before(v.Reclaim):
		return v, fmt.Errorf("%w: it can be reclaimed from %s on", ErrEarly, v.Reclaim.Format(time.RFC3339))
	}
	w, err := holdOf(p.Hold.Info)
	if err != nil {
		return v, err
	}
	data := calldata("reclaim("+holdTuple+")", w.Words()...)
	v.Transaction, err = n.send(ctx, b.cfg.Wallet, wallet.CaptureEscrow, data)
	if err != nil {
		return v, fmt.Errorf("reclaiming: %w", err)
	}
	v.State = HoldBack
	return v, nil
}

// holdTuple is the type of a payment's information in the escrow's methods.
const holdTuple = "(address,address,address,address,uint120,uint48,uint48,uint48,uint16,uint16,address,uint256)"
