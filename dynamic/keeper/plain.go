package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// What a desk tells, as a person reads it at a command line: sentences and tables, in their order.

// Past is something that is done again and again, and when it was last.
type Past struct {
	What string    `json:"what"` // such as backup
	At   time.Time `json:"at"`
}

// Busy are the kinds of which something waits, or which could not be read.
func (t Today) Busy() []Waiting {
	return slices.DeleteFunc(slices.Clone(t.Waiting), func(w Waiting) bool { return w.Count == 0 && w.Error == "" })
}

// Quiet is what is said where nothing waits.
func (t Today) Quiet() string {
	var says strings.Builder
	says.WriteString("All quiet")
	for i, p := range t.Last {
		if i == 0 {
			says.WriteString(". Last")
		} else {
			says.WriteString(",")
		}
		says.WriteString(" " + p.What + " " + p.At.UTC().Format("2006-01-02 15:04"))
	}
	return says.String() + "."
}

// Plain is what waits, and nothing else.
func (t Today) Plain() (parts []any) {
	for _, w := range t.Busy() {
		head := w.Title
		if w.Count > 0 {
			head += fmt.Sprintf(": %d", w.Count)
		}
		if w.Late > 0 {
			head += fmt.Sprintf(" (%d past their time)", w.Late)
		}
		if parts = append(parts, head); w.Error != "" {
			parts = append(parts, "could not be read: "+w.Error)
		}
		if len(w.Entries) > 0 {
			parts = append(parts, w.Entries)
		}
		for _, a := range w.Actions {
			parts = append(parts, "→ "+a.Verb)
		}
		parts = append(parts, "")
	}
	if len(parts) == 0 {
		return []any{t.Quiet()}
	}
	return parts[:len(parts)-1]
}

// Plain is what was found.
func (f Found) Plain() []any {
	switch {
	case len(f.Purchases) == 0:
		return []any{"Nothing was found."}
	case f.More:
		return []any{f.Purchases, "There are older ones."}
	}
	return []any{f.Purchases}
}

// Plain are the weeks that have sales, and what was sold in all of them.
func (s Sales) Plain() []any {
	parts := []any{fmt.Sprintf("%s brought %s USDC in %d weeks; terms were asked for %d times.",
		screen.Count(s.Total.Purchases, "purchase"), s.Total.USDC, len(s.Weeks), s.Total.Quoted)}
	var weeks []Sold
	for _, w := range s.Weeks {
		if w.Purchases > 0 {
			weeks = append(weeks, w.Sold)
		}
	}
	for _, t := range []struct {
		title string
		list  []Sold
	}{{"By week", weeks}, {"By good", s.Goods}, {"By network", s.Networks}, {"By protocol", s.Protocols}} {
		if len(t.list) > 0 {
			parts = append(parts, "\n"+t.title, t.list)
		}
	}
	return parts
}

// Says is what the comparison came to, in a sentence.
func (b Books) Says() string {
	switch unread := slices.ContainsFunc(b.Networks, func(n NetworkBooks) bool { return n.Error != "" }); {
	case b.Differences > 0:
		return screen.Count(b.Differences, "difference") + " between ledger and chains in " + b.Month + "."
	case unread:
		return "No difference was found in " + b.Month + ", and not every chain could be read."
	}
	return "No difference between ledger and chains in " + b.Month + ", to the atomic unit."
}

// Plain are the sums of each network, and every line that differs.
func (b Books) Plain() []any {
	parts := []any{b.Says()}
	for _, n := range b.Networks {
		if parts = append(parts, "\n"+n.Network); n.Error != "" {
			parts = append(parts, "The chain cannot be read: "+n.Error)
			continue
		}
		if parts = append(parts, append(slices.Clone(n.Sums), n.Total)); n.Channels != nil {
			parts = append(parts, "\nChannels on "+n.Network, []ChannelBooks{*n.Channels})
			for _, s := range n.Channels.Says {
				parts = append(parts, s)
			}
		}
	}
	if odd := slices.DeleteFunc(slices.Clone(b.Lines), func(l Line) bool { return len(l.Kinds) == 0 }); len(odd) > 0 {
		parts = append(parts, "\nDifferences", odd)
	}
	if len(b.Accounts) > 0 {
		parts = append(parts, "\nAccounts", b.Accounts)
	}
	return append(parts, "\nAmounts are in atomic units. -csv writes every line for a spreadsheet, -json all of it.")
}

// past reads when what recurs was last done, as far as that is known at no cost. What cannot be
// read is left out: it hides nothing that waits.
func (d *Inbox) past(ctx context.Context) (list []Past) {
	_ = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		list = nil
		at, err := lastSale(tx)
		if err != nil {
			return err
		}
		list = append(list, Past{"sale", at})
		at, err = ledger.GetJSON[time.Time](tx, ledger.BackupKey())
		list = append(list, Past{"backup", at})
		return err
	})
	if d.cfg.Past != nil {
		list = append(list, d.cfg.Past()...)
	}
	return slices.DeleteFunc(list, func(p Past) bool { return p.At.IsZero() })
}

// lastSale is when the purchase with the highest patron number was settled, zero for none.
func lastSale(tx ledger.Tx) (time.Time, error) {
	for e, err := range tx.ScanDown(ledger.PatronKey(0), ledger.PatronKey(math.MaxInt64)) {
		if err != nil {
			return time.Time{}, err
		}
		ids, _, err := pointedAt(tx, ledger.CertKey(string(e.Value)))
		if err != nil || len(ids) == 0 {
			return time.Time{}, err
		}
		p, err := ledger.GetJSON[till.Purchase](tx, ledger.PurchaseKey(ids[0]))
		if errors.Is(err, ledger.ErrNotFound) {
			return time.Time{}, nil
		}
		return p.SettledAt().UTC(), err
	}
	return time.Time{}, nil
}
