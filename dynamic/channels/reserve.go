package channels

import (
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// blindness is the part of a channel's delay for which nobody may have looked at the chain.
const blindness = 8

// IsBlind reports that the chain was not looked at for too long, at a time, for channels of a
// delay.
func IsBlind(looked, now time.Time, delay time.Duration) bool {
	return now.Sub(looked) > delay/blindness
}

// Reserve holds a channel for a purchase, in the transaction that claims. What it returns is the
// row as it stands then. Its errors are those of this package, in the order in which they are
// asked for; everything else is the ledger's.
func (l Limits) Reserve(tx ledger.Tx, b Bid) (*Row, error) {
	l = l.with()
	w, err := ReadWatch(tx, b.Network)
	if err != nil {
		return nil, err
	}
	r, err := Read(tx, b.Network, b.Channel.ID)
	known := err == nil
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return nil, err
	}
	doubted := !known || !r.Agreed.After(w.Restored)
	if known {
		if doubted && r.Last != nil && b.Seen.ID == "" {
			return nil, ErrUnknown // whether a claim that is forgotten showed its vouchers
		}
		r.see(b.Seen)
		if err := r.busy(b.Voucher, b.Print); err != nil {
			return nil, err
		}
	} else {
		r = &Row{Channel: b.Channel}
	}
	if IsBlind(w.Time, tx.Now(), b.delay()) {
		return nil, &Blind{w.Time}
	}
	if (doubted || IsBlind(r.Seen.Time, tx.Now(), b.delay())) && b.Seen.ID == "" {
		return nil, ErrUnknown
	}
	r.see(b.Seen)
	if r.Consented = r.Consented || b.consents(); !r.Consented {
		return nil, ErrConsent
	}
	r.rise(r.Seen.Claimed)
	base := b.Voucher.Max - b.Amount
	if doubted && base > r.Charged {
		r.rise(base)
	}
	if base != r.Charged {
		if !known {
			return nil, &Mismatch{}
		}
		return nil, &Mismatch{r}
	}
	if r.Seen.Withdrawing > 0 {
		return nil, ErrWithdrawing
	}
	h := &Held{Voucher: b.Voucher, Amount: b.Amount, Purchase: b.Purchase, Print: b.Print, At: tx.Now()}
	if b.Deposit != nil {
		h.Deposit = rail.Atomic(b.Deposit.Amount)
	}
	if b.Voucher.Max > r.Seen.Balance+h.Deposit {
		if known && r.Last != nil {
			return nil, &Mismatch{r} // a client that reads the chain again tops up
		}
		return nil, ErrExceeds
	}
	if b.Voucher.Max > r.Seen.Balance+h.Deposit-r.leaving() {
		return nil, ErrLeaving
	}
	if r.AtRisk()+b.Amount > l.Channel {
		return nil, &Over{Limit: "channel"}
	}
	if h.Risk = b.Coded || b.Voucher.Max > r.Final.Balance; h.Risk {
		if ok, err := spend(tx, dayKey(nameRisk, b.Network, h.At), b.Amount, l.Day); err != nil || !ok {
			return nil, errors.Join(err, over(!ok, "day", tx))
		}
	}
	r.Held = h
	return r, save(tx, b.Network, r)
}

// busy is why a voucher cannot be judged now, or that it bought already.
func (r *Row) busy(v rail.Voucher, print string) error {
	switch {
	case r.Held != nil && r.Held.Equal(v):
		return &Repeat{r.Held.Purchase, r.Held.Print == print}
	case r.Held != nil:
		return &Busy{r.Held.Purchase}
	case r.Refund != nil:
		return &Busy{}
	case r.Last != nil && r.Last.Equal(v) && r.Last.Print == print:
		return &Repeat{r.Last.Purchase, !r.Public(v.Max)}
	}
	return nil
}

// rise takes over a sum that was spent and of which no purchase is known.
func (r *Row) rise(to int64) {
	if to > r.Charged {
		r.Believed += to - r.Charged
		r.Charged, r.Floor = to, to
	}
}

// Take charges a channel for the purchase that holds it, in the transaction that delivers. mined is
// the block of the deposit that came with it, 0 for none.
func Take(tx ledger.Tx, network, id, purchase string, mined uint64) (*Row, error) {
	r, err := held(tx, network, id, purchase)
	if err != nil {
		return nil, err
	}
	h := r.Held
	r.land(mined)
	r.Held = nil
	r.Believed -= max(0, min(h.Amount, r.Charged-(h.Max-h.Amount))) // known now, of what was taken over
	if h.Max >= r.Charged {
		r.Charged, r.Agreed = h.Max, tx.Now()
	}
	taken := &Taken{Voucher: h.Voucher, Amount: h.Amount, Purchase: purchase, Print: h.Print, At: tx.Now(),
		State: r.Seen}
	if r.Last == nil || h.Max >= r.Last.Max {
		r.Last = taken
	}
	return r, save(tx, network, r)
}

// Release lets go of a channel whose purchase takes nothing, and keeps no row of one that was never
// funded. mined is the block of a deposit that landed nevertheless, 0 for none. It is no error
// where the purchase does not hold the channel.
func Release(tx ledger.Tx, network, id, purchase string, mined uint64) error {
	r, err := held(tx, network, id, purchase)
	if errors.Is(err, ErrNotHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	h := r.Held
	r.land(mined)
	r.Held = nil
	if h.Risk {
		if _, err := spend(tx, dayKey(nameRisk, network, h.At), -h.Amount, 0); err != nil {
			return err
		}
	}
	if r.Last == nil && r.Seen.Balance == 0 {
		return tx.Delete(ledger.ChannelKey(network, id))
	}
	return save(tx, network, r)
}

// land counts the deposit of the purchase that holds the channel, unless the block that was looked
// at has it already.
func (r *Row) land(mined uint64) {
	if r.Held.Deposit > 0 && mined > r.Seen.Block {
		r.Seen.Balance += r.Held.Deposit
		r.Seen.Block = mined
	}
}

// held is a row that a purchase holds.
func held(tx ledger.Tx, network, id, purchase string) (*Row, error) {
	r, err := Read(tx, network, id)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (r.Held == nil || r.Held.Purchase != purchase) {
		return nil, ErrNotHeld
	}
	return r, err
}

// Spend takes from the day's budget what a deposit or a refund costs beyond what its channel
// brought, in the transaction that signs for it. A channel that is not known brought nothing.
func (l Limits) Spend(tx ledger.Tx, network, id string, cost int64) error {
	r, err := Read(tx, network, id)
	known := err == nil
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if !known {
		r = new(Row)
	}
	r.Gas += cost
	if beyond := min(cost, r.Gas-r.Brought()); beyond > 0 {
		if ok, err := spend(tx, dayKey(nameGas, network, tx.Now()), beyond, l.with().Gas); err != nil || !ok {
			return errors.Join(err, over(!ok, "gas", tx))
		}
	}
	if !known {
		return nil
	}
	return save(tx, network, r)
}

// over is that a limit of the day is reached, where it is.
func over(is bool, limit string, tx ledger.Tx) error {
	if !is {
		return nil
	}
	return &Over{Limit: limit, Until: ledger.Tomorrow(tx.Now())}
}
