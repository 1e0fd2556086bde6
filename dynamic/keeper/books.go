package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// Books compare the ledger with the chains for a month, to the atomic unit. Each transfer to the
// store, each purchase, and each debt that was paid back is a line, and of every line
//
//	chain = ledger + explained + difference
//
// holds. What is explained is what the ledger is not meant to hold: a gift, what arrived before the
// store was open, what is not final yet. What was sold by voucher is revenue when it is delivered,
// and receivable: it is explained away until the escrow moves it to payTo, which is explained in
// turn. A difference has a kind, which says what it means. What
// blocks are final is the chain's word; the month is that of the block's time, UTC.
type Books struct {
	Month       string         `json:"month"`
	At          time.Time      `json:"at"`
	Networks    []NetworkBooks `json:"networks"`
	Differences int            `json:"differences"`
	Lines       []Line         `json:"lines"`
	Accounts    []AccountBooks `json:"accounts"` // as they stand now
}

// NetworkBooks are the sums of a network.
type NetworkBooks struct {
	Network string `json:"network"`
	Final   uint64 `json:"final_block"`
	// Sums are by category; Total is of all.
	Sums  []Sum `json:"sums"`
	Total Sum   `json:"total"`
	// Channels is what was sold by voucher, as it stands now; nil where none are taken.
	Channels *ChannelBooks `json:"channels,omitzero"`
	// Error says why the chain could not be read; then there are no lines of the network.
	Error string `json:"error,omitzero"`
}

// Sum is a sum of lines, in atomic units.
type Sum struct {
	Name       string `json:"name" doc:"What of."`
	Lines      int    `json:"lines" doc:"Transfers and purchases."`
	Chain      int64  `json:"chain_atomic" doc:"What the chain has."`
	Ledger     int64  `json:"ledger_atomic" doc:"What the ledger has."`
	Explained  int64  `json:"explained_atomic" doc:"What the ledger is not meant to hold."`
	Difference int64  `json:"difference_atomic" doc:"What is left."`
}

// Line is one transfer, purchase, or both.
type Line struct {
	Network    string    `json:"network" doc:"The network."`
	Time       time.Time `json:"time" doc:"When, UTC."`
	Block      uint64    `json:"block,omitzero"`
	Tx         string    `json:"tx,omitzero" doc:"The transaction."`
	LogIndex   uint64    `json:"log_index,omitzero"`
	PurchaseID string    `json:"purchase_id,omitzero" doc:"The purchase."`
	Item       string    `json:"item_id,omitzero"`
	State      string    `json:"state,omitzero"`
	Category   Category  `json:"category"`
	Chain      int64     `json:"chain_atomic" doc:"What the chain has."`
	Ledger     int64     `json:"ledger_atomic" doc:"What the ledger has."`
	Explained  int64     `json:"explained_atomic"`
	Difference int64     `json:"difference_atomic" doc:"What is left."`
	Kinds      []Kind    `json:"kinds,omitzero"` // of its differences
	Says       []string  `json:"says,omitzero" wide:"true" doc:"What that means."`
}

// Category is what a line is of.
type Category string

// The categories of lines.
const (
	Sale    Category = "sale"
	Owed    Category = "owed"    // it is among the debts
	Pending Category = "waiting" // its purchase has not come to its end, or its block is not final
	Tiny    Category = "small"   // less than the cheapest good
	Gift    Category = "gift"    // a transfer without an authorization
	Before  Category = "before"  // from before there were terms
	Voucher Category = "voucher" // a sale out of a channel
	Moved   Category = "moved"   // what was claimed of channels, moved by the escrow
	Nothing Category = "nothing" // a difference alone
)

// Kind is a kind of difference. Its name is permanent.
type Kind string

// Kinds is what each kind of difference means.
var Kinds = map[Kind]string{
	"not_on_chain":        "The ledger has a payment that is on no final block of the chain.",
	"moved":               "The payment is on the chain at another place than the ledger has.",
	"credited_twice":      "The ledger has two purchases for one transfer.",
	"amount":              "The ledger has another amount than the chain.",
	"payer":               "The ledger has another payer than the chain.",
	"authorization":       "The ledger has another authorization at this place than the chain.",
	"time":                "The ledger has another time of the block than the chain.",
	"block":               "The ledger has another block than the chain.",
	"given_up":            "The money arrived, and the ledger says that the purchase was given up.",
	"reversed":            "The money is on the chain, and the ledger says that it was taken back.",
	"not_owed":            "Money arrived that no purchase credits, and it is not among the debts.",
	"credit_missing":      "The transfer is not marked as used: another purchase could be paid with it.",
	"credit_other":        "The transfer is marked as used by another purchase.",
	"credit_of_nothing":   "The transfer is marked as used by a purchase that does not exist.",
	"claim_missing":       "The authorization is not claimed: it could be presented again.",
	"claim_other":         "The authorization is claimed by another purchase.",
	"no_proof":            "Something was delivered, and the ledger does not say by which transfer it was paid.",
	"certificate_missing": "The purchase has a certificate that the ledger does not have.",
	"certificate_differs": "The certificate says something else than the ledger.",
	"number_differs":      "The patron number leads to another certificate.",
	"debt_missing":        "What the purchase brought is owed, and it is not among the debts.",
	"debt_of_nothing":     "The list of debts names a purchase that owes nothing.",
	"small_differs":       "The total of a day's small transfers is not what the chain has.",
	"tip":                 "The tip is more than what was paid.",
	"payout_not_on_chain": "What is owed is noted as paid by a transfer that is on no final block of the chain.",
	"payout_not_noted":    "A payout was redeemed, and the ledger does not have it: store keeper debts looks again.",
	"payout_moved":        "The payout was redeemed by another transfer than the ledger has.",
	"payout_twice":        "Two debts are noted as paid by one transfer.",
	"payout_of_nothing":   "It was paid back, and the chain had taken back what it was owed for.",
	"paid_twice":          "The debt is noted as paid by hand, and its payout was redeemed as well.",
	"account_differs":     "What an account owes is not the sum of its lines and of what is under way.",
	"channel_differs":     "What was spent out of a channel is not what was sold out of it and what is believed.",
	"channel_lost":        "A channel holds less than was sold out of it: what is missing is lost.",
	"claimed_unknown":     "More was claimed of channels than the ledger knows of: a purchase may be missing.",
	"not_configured":      "The purchase was paid on a network that is not configured: nobody can look.",
}

// ErrMonth says that a text is no month.
var ErrMonth = errors.New("name a month, such as 2026-11")

// Books compares a month. What it finds waits for the keeper until it is gone when he compares the
// month again.
func (d *Inbox) Books(ctx context.Context, month string) (Books, error) {
	b, err := d.books(ctx, month)
	if err != nil {
		return b, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	whole := !slices.ContainsFunc(b.Networks, func(n NetworkBooks) bool { return n.Error != "" })
	switch {
	case b.Differences > 0:
		d.found[month] = Books{Month: month, At: b.At, Differences: b.Differences}
	case whole: // what could not be read may still be there
		delete(d.found, month)
	}
	return b, nil
}

// books compares. What cannot be read of one network hides no other.
func (d *Inbox) books(ctx context.Context, month string) (Books, error) {
	from, err := time.Parse("2006-01", month)
	if err != nil || from.Format("2006-01") != month {
		return Books{}, ErrMonth
	}
	b := Books{Month: month, Lines: []Line{}}
	if b.At, err = d.now(ctx); err != nil {
		return b, err
	}
	known := map[string]bool{}
	for _, r := range d.cfg.Rails {
		info := r.Info()
		known[info.Network] = true
		n := NetworkBooks{Network: info.Network}
		lines, final, err := d.compare(ctx, r, from, from.AddDate(0, 1, 0))
		if err != nil {
			n.Error = err.Error()
		}
		n.Final = final
		if err == nil {
			paid, err := d.payouts(ctx, r, from, from.AddDate(0, 1, 0))
			if err != nil {
				n.Error = err.Error()
			}
			lines = append(lines, paid...)
		}
		if n.Channels, err = d.channels(ctx, r); err != nil {
			n.Error = err.Error()
		}
		if n.Channels != nil {
			b.Differences += len(n.Channels.Kinds)
		}
		n.sum(lines)
		b.Networks, b.Lines = append(b.Networks, n), append(b.Lines, lines...)
	}
	strays, err := d.strays(ctx, known, from, from.AddDate(0, 1, 0))
	b.Lines = append(b.Lines, strays...)
	for _, l := range b.Lines {
		b.Differences += len(l.Kinds)
	}
	var unread error
	b.Accounts, unread = d.accounts(ctx)
	for _, a := range b.Accounts {
		b.Differences += len(a.Kinds)
	}
	return b, errors.Join(err, unread)
}

// sum adds lines up.
func (n *NetworkBooks) sum(lines []Line) {
	n.Total.Name = "all"
	by := map[Category]*Sum{}
	for _, l := range lines {
		if by[l.Category] == nil {
			by[l.Category] = &Sum{Name: string(l.Category)}
		}
		for _, s := range []*Sum{by[l.Category], &n.Total} {
			s.Lines++
			s.Chain += l.Chain
			s.Ledger += l.Ledger
			s.Explained += l.Explained
			s.Difference += l.Difference
		}
	}
	n.Sums = []Sum{}
	for _, s := range by {
		n.Sums = append(n.Sums, *s)
	}
	slices.SortFunc(n.Sums, func(a, b Sum) int { return cmp.Compare(a.Name, b.Name) })
}

// finds adds a difference to a line.
func (l *Line) finds(k Kind, format string, args ...any) {
	says := Kinds[k]
	if format != "" {
		says += " " + fmt.Sprintf(format, args...)
	}
	l.Kinds, l.Says = append(l.Kinds, k), append(l.Says, says)
}

// close makes the sum of a line true: what neither ledger nor an explanation accounts for is a
// difference.
func (l Line) close() Line {
	l.Difference = l.Chain - l.Ledger - l.Explained
	return l
}

func usdc(atomic int64) string { return content.FormatUSDC(atomic) + " USDC" }

// brought reports whether the ledger holds a purchase for money that arrived, and as what.
func brought(p *till.Purchase) (Category, bool) {
	switch {
	case p.Spent != nil:
		return Voucher, charged(p)
	case sold(p):
		return Sale, true
	case p.Owed():
		return Owed, true
	case p.Open():
		return Pending, true
	}
	return Nothing, false
}

// dated is a rail that knows the first block of a time.
type dated interface {
	FirstAt(ctx context.Context, t time.Time) (uint64, error)
}

// period is the time between two moments.
type period struct {
	from time.Time
	to   time.Time
}

// arrivals are the transfers of a span of time in final blocks.
func arrivals(ctx context.Context, r rail.Rail, first uint64, final rail.Head, p period) (list []rail.Transfer,
	err error) {
	last := final.Block
	if dr, ok := r.(dated); ok {
		for _, b := range []struct {
			at   time.Time
			into *uint64
			by   uint64
		}{{p.from, &first, 0}, {p.to, &last, 1}} {
			if b.at.After(final.Time) {
				continue
			}
			n, err := dr.FirstAt(ctx, b.at)
			if err != nil {
				return nil, err
			}
			*b.into = n - min(n, b.by)
		}
	}
	if first > last {
		return nil, nil
	}
	for tr, err := range rail.Transfers(r.Incoming(ctx, rail.Span{From: first, To: last})) {
		if err != nil {
			return nil, err
		}
		if !tr.Time.Before(p.from) && tr.Time.Before(p.to) {
			list = append(list, tr)
		}
	}
	return list, nil
}
