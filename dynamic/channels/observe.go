package channels

import (
	"errors"
	"iter"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// see takes over what the chain says, unless something newer is known.
func (r *Row) see(s rail.ChannelState) {
	if s.ID != "" && s.Block >= r.Seen.Block {
		r.Seen = s
	}
}

// Observe notes what the chain says of a channel, as a final block has it or the newest. It is no
// error if the channel is not known.
func Observe(tx ledger.Tx, network string, s rail.ChannelState, final bool) error {
	r, err := Read(tx, network, s.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	was := *r
	if final && s.Block >= r.Final.Block {
		r.Final = s
	} else if !final {
		r.see(s)
	}
	r.rise(r.Seen.Claimed)
	if same(r.Final, was.Final) && same(r.Seen, was.Seen) && r.Charged == was.Charged {
		return nil // a quiet channel writes nothing
	}
	return save(tx, network, r)
}

// same reports two states that differ in their blocks alone.
func same(a, b rail.ChannelState) bool {
	a.Block, a.Time = b.Block, b.Time
	return a == b
}

// Looked notes up to where the chain was looked at: every withdrawal up to that block is in the
// rows. A look at an older time changes nothing.
func Looked(tx ledger.Tx, network string, block uint64, at time.Time) error {
	w, err := ReadWatch(tx, network)
	if err != nil || at.Before(w.Time) {
		return err
	}
	w.Block, w.Time = block, at
	return ledger.SetJSON(tx, ledger.ChannelWatchKey(network), w)
}

// Claimed notes the transaction by which a channel was claimed up to a sum, once it is final.
func Claimed(tx ledger.Tx, network, id string, sum int64, in string) error {
	return tx.Set(ledger.ChannelClaimKey(network, id, sum), []byte(in))
}

// ClaimOf is the transaction by which a voucher for a sum was claimed, "" while there is none: the
// first that claimed so much or more.
func ClaimOf(tx ledger.Tx, network, id string, sum int64) (string, error) {
	for e, err := range tx.Scan(ledger.ChannelClaims(network, id, sum)) {
		return string(e.Value), err
	}
	return "", nil
}

// Raise takes over, after a restore, a voucher that was taken and that the restored ledger does not
// know: it can be claimed, and buys nothing again. c is its channel, nil where that may be known.
func Raise(tx ledger.Tx, network, id string, c *rail.Channel, v rail.Voucher) error {
	r, err := Read(tx, network, id)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && c != nil && c.ID == id:
		r = &Row{Channel: *c, Consented: true} // nothing is sold out of another
	case errors.Is(err, ledger.ErrNotFound):
		return nil
	case err != nil:
		return err
	case r.Last != nil && r.Last.Max >= v.Max:
		return nil
	}
	if v.Max > r.Charged {
		r.Believed += v.Max - r.Charged
		r.Charged = v.Max
	}
	r.Last, r.Shown = &Taken{Voucher: v, At: tx.Now(), State: r.Seen}, max(r.Shown, v.Max)
	return save(tx, network, r)
}

// Adopt takes over, after a restore, a channel of which the chain alone tells.
func Adopt(tx ledger.Tx, network string, c rail.Channel) error {
	_, err := Read(tx, network, c.ID)
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return save(tx, network, &Row{Channel: c})
}

// Doubt says that the ledger was restored: what payers sign for may be more than is known here, and
// every channel has to be looked at again.
func Doubt(tx ledger.Tx, network string) error {
	w, err := ReadWatch(tx, network)
	if err != nil {
		return err
	}
	w.Restored, w.Block = tx.Now(), 0
	return ledger.SetJSON(tx, ledger.ChannelWatchKey(network), w)
}

// Show notes that a transaction with a channel's voucher is signed, in the transaction that signs
// it: from now on everybody may know it.
func Show(tx ledger.Tx, network, id string, voucher int64) error {
	r, err := Read(tx, network, id)
	if err != nil || voucher <= r.Shown {
		return err
	}
	r.Shown = voucher
	return save(tx, network, r)
}

// Sign notes that a refund is signed, in the transaction that signs it. Of several by one nonce one
// can land.
func Sign(tx ledger.Tx, network, id string, s Signed) error {
	r, err := Read(tx, network, id)
	if err != nil {
		return err
	}
	if r.Signed != nil && r.Signed.Nonce == s.Nonce {
		s.Amount = max(s.Amount, r.Signed.Amount)
	}
	r.Signed = &s
	return save(tx, network, r)
}

// Proves reports whether a voucher shows that its signer presents it: whether nobody else can know
// it. The error is ErrUnknown where the chain has to say what was claimed.
func Proves(tx ledger.Tx, b Bid) (bool, error) {
	w, err := ReadWatch(tx, b.Network)
	if err != nil {
		return false, err
	}
	r, err := Read(tx, b.Network, b.Channel.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		r, err = new(Row), nil
	}
	if err != nil {
		return false, err
	}
	if !r.Agreed.After(w.Restored) && b.Seen.ID == "" {
		return false, ErrUnknown
	}
	return !r.Public(b.Voucher.Max) && b.Voucher.Max > b.Seen.Claimed, nil
}

// Deny notes that a transaction which claimed a channel reverted. One that claimed others too may
// have failed by them: then nothing is known but that it goes alone from now on.
func Deny(tx ledger.Tx, network, id string, alone bool) error {
	r, err := Read(tx, network, id)
	if err != nil {
		return err
	}
	d := &Denied{Times: r.Denials(), At: tx.Now(), Claimed: r.Seen.Claimed}
	if alone || d.Times == 0 {
		d.Times++
	}
	r.Denied = d
	return save(tx, network, r)
}

// refundEvery is how often a channel is refunded at most.
const refundEvery = 24 * time.Hour

// BeginRefund sets aside what a payer wants to have back, all that is left where it names no sum.
// Its voucher is for what was charged so far, by the channel's signer; least is what a refund
// costs. Nothing is sold out of the channel until EndRefund.
func BeginRefund(tx ledger.Tx, network string, c *rail.ChannelPayment, least int64) (*Row, error) {
	id, amount := c.Channel.ID, c.Refund
	r, err := Read(tx, network, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	switch left := r.Left(); {
	case r.Held != nil:
		return nil, &Busy{r.Held.Purchase}
	case r.Refund != nil:
		return nil, &Busy{}
	case c.Voucher.Max != r.Charged:
		return nil, &Mismatch{r}
	case tx.Now().Before(r.Refunded.Add(refundEvery)):
		return nil, &Over{Limit: "refund", Until: r.Refunded.Add(refundEvery)}
	case amount == 0 || amount > left:
		amount = left
	}
	if amount < max(least, 1) {
		return nil, ErrNothing
	}
	r.Refund, r.Refunded = &Refund{Amount: amount, At: tx.Now()}, tx.Now()
	return r, errors.Join(tx.Set(ledger.RefundKey(network, id), nil), save(tx, network, r))
}

// EndRefund opens a channel again whose refund landed, in a transaction, or never can, and then in
// is "". state is the channel as the chain has it since. It is no error where none is under way.
func EndRefund(tx ledger.Tx, network string, state rail.ChannelState, in string) error {
	r, err := Read(tx, network, state.ID)
	if err != nil {
		return err
	}
	if r.Refund == nil {
		return nil
	}
	if r.Returned = nil; in != "" {
		r.Returned = &Returned{Amount: r.Refund.Amount, Tx: in}
	}
	r.Refund = nil
	r.see(state)
	return errors.Join(tx.Delete(ledger.RefundKey(network, state.ID)), save(tx, network, r))
}

// Refunding lists the channels of a network whose refund is under way.
func Refunding(tx ledger.Tx, network string) (all []*Row, err error) {
	ids, err := idsIn(tx.Scan(ledger.Refunds(network)))
	for _, id := range ids {
		r, err := Read(tx, network, id)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, err
}

// IDs lists all channels of a network that are known.
func IDs(tx ledger.Tx, network string) ([]string, error) {
	return idsIn(tx.Scan(ledger.ChannelRows(network)))
}

// idsIn are the ids with which the keys of a range end.
func idsIn(entries iter.Seq2[ledger.Entry, error]) (ids []string, err error) {
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, parts[len(parts)-1])
	}
	return ids, nil
}
