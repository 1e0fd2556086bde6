package channels

import (
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Defaults of Limits, in atomic units.
const (
	DefaultChannel = 5_000_000
	DefaultDay     = 50_000_000
	DefaultGas     = 1_000_000
)

// Most is what one purchase out of a channel may cost.
func (l Limits) Most() int64 { return l.with().Channel }

// with are the limits with their defaults.
func (l Limits) with() Limits {
	for _, d := range []struct {
		of  *int64
		def int64
	}{{&l.Channel, DefaultChannel}, {&l.Day, DefaultDay}, {&l.Gas, DefaultGas}} {
		if *d.of == 0 {
			*d.of = d.def
		}
	}
	return l
}

// Open is the record of a channel that has something to be claimed.
type Open struct {
	Since time.Time `json:"since"` // when the first of it was charged
	Sum   int64     `json:"sum"`   // charged and not claimed
}

// Watch is up to where a network was looked at.
type Watch struct {
	Block uint64    `json:"block"` // the newest whose withdrawals are in the rows
	Time  time.Time `json:"time"`  // of that block
	// Restored is when the ledger was restored last: payers may be ahead of rows that were agreed
	// on before.
	Restored time.Time `json:"restored,omitzero"`
}

// Read is a channel's row. The error is ledger.ErrNotFound for one that is not known.
func Read(tx ledger.Tx, network, id string) (*Row, error) {
	r, err := ledger.GetJSON[Row](tx, ledger.ChannelKey(network, id))
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Reads is what a transaction reads of a channel, for [ledger.Ahead].
func Reads(network, id string, now time.Time) []ledger.Range {
	return []ledger.Range{ledger.At(ledger.ChannelKey(network, id)), ledger.At(ledger.OpenChannelKey(network, id)),
		ledger.At(ledger.ChannelWatchKey(network)), ledger.At(dayKey(nameRisk, network, now))}
}

// ReadWatch is up to where a network was looked at; zero where nobody looked.
func ReadWatch(tx ledger.Tx, network string) (Watch, error) {
	w, _, err := ledger.FindJSON[Watch](tx, ledger.ChannelWatchKey(network))
	return w, err
}

// save writes a row as its next version, and keeps it among the open ones while there is something
// to be claimed.
func save(tx ledger.Tx, network string, r *Row) error {
	r.Version++
	r.Updated = tx.Now()
	if err := ledger.SetJSON(tx, ledger.ChannelKey(network, r.Channel.ID), r); err != nil {
		return err
	}
	key := ledger.OpenChannelKey(network, r.Channel.ID)
	old, err := ledger.GetJSON[Open](tx, key)
	known := err == nil
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	sum := r.Unclaimed()
	switch {
	case sum == 0 && known:
		return tx.Delete(key)
	case sum == 0 || known && old.Sum == sum:
		return nil
	case !known:
		old.Since = tx.Now()
	}
	old.Sum = sum
	return ledger.SetJSON(tx, key, old)
}

// Unclaimed is what was charged and no block that was looked at has claimed. It can be claimed with
// the newest voucher that was taken.
func (r *Row) Unclaimed() int64 {
	if r.Last == nil {
		return 0
	}
	return max(0, r.Charged-r.Seen.Claimed)
}

// AtRisk is what was delivered and is not claimed: what the store can lose.
func (r *Row) AtRisk() int64 { return max(0, r.Charged-max(r.Seen.Claimed, r.Floor)) }

// Lost is what can be claimed no more, because the channel holds less than was charged.
func (r *Row) Lost() int64 {
	if r.Unclaimed() == 0 {
		return 0
	}
	return max(0, r.Charged-r.Seen.Balance)
}

// Left is what a refund would give back.
func (r *Row) Left() int64 { return max(0, r.Seen.Balance-r.Charged) }

// leaving is what a refund that was signed takes out of the channel whenever somebody hands it in.
func (r *Row) leaving() int64 {
	if r.Signed == nil || r.Seen.RefundNonce > r.Signed.Nonce {
		return 0
	}
	return r.Signed.Amount
}

// Public reports whether anybody may know a voucher for a sum in all: a transaction of ours has
// shown as much, or the chain has it claimed. Such a voucher says nothing of who presents it.
func (r *Row) Public(max int64) bool { return max <= r.Shown || max <= r.Seen.Claimed }

// Told is the row as who presents a voucher for a sum may be told of it: the newest voucher gives
// whoever has it what it bought, so that only who knows what nobody else does learns it.
func (r *Row) Told(max int64) *Row {
	if r == nil || r.Last == nil || !r.Public(max) || r.Public(r.Last.Max) {
		return r
	}
	told := *r
	told.Last = nil
	return &told
}

// Brought is what was sold out of the channel here.
func (r *Row) Brought() int64 { return r.Charged - r.Believed }

// Claim is the row of a claim for all that was charged and is there, of a channel where something
// is unclaimed.
func (r *Row) Claim() rail.VoucherClaim {
	return rail.VoucherClaim{Channel: r.Channel, Voucher: r.Last.Voucher,
		Total: min(r.Charged, r.Last.Max, r.Seen.Balance)}
}

// Denials is how many claims of it reverted since one landed.
func (r *Row) Denials() int {
	if r.Denied == nil || r.Denied.Claimed != r.Seen.Claimed {
		return 0
	}
	return r.Denied.Times
}

// doublings is how often the pause behind a claim that reverted doubles, up to an eighth of the
// delay.
const doublings = 6

// ClaimFrom is from when on it is claimed again; zero where none reverted.
func (r *Row) ClaimFrom() time.Time {
	n := r.Denials()
	if n == 0 {
		return time.Time{}
	}
	longest := time.Duration(r.Channel.Delay) * time.Second / blindness
	return r.Denied.At.Add(longest >> max(0, doublings-n))
}

// Opened is a channel that has something to be claimed, by its record of that.
type Opened struct {
	ID string
	Open
}

// Opens lists a network's channels that have something to be claimed.
func Opens(tx ledger.Tx, network string) (all []Opened, err error) {
	for e, err := range tx.Scan(ledger.OpenChannels(network)) {
		if err != nil {
			return nil, err
		}
		o, err := ledger.DecodeJSON[Open](e)
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, Opened{parts[len(parts)-1], o})
	}
	return all, nil
}

// Names of the budgets of a day.
const (
	nameRisk = "channels-risk"
	nameGas  = "channels-gas"
)

func dayKey(name, network string, at time.Time) []byte {
	return ledger.BudgetKey(name, network, at.UTC().Format(time.DateOnly))
}

// spend takes from a budget of the day, or gives back to it what is below 0.
func spend(tx ledger.Tx, key []byte, n, most int64) (bool, error) {
	used, err := ledger.Count(tx, key)
	if err != nil || n == 0 {
		return true, err
	}
	if n > most-used {
		return false, nil
	}
	return true, ledger.SetCount(tx, key, max(0, used+n))
}
