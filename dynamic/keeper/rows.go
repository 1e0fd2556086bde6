package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// Rows is every kind of what waits.
var Rows = []Row{
	{Name: "orders", Title: "Orders", Read: orders,
		Actions: []Action{{"store keeper answer ORDER -text-file FILE", "order/"}}},
	{Name: "notes", Title: "Notes due", Read: notes,
		Actions: []Action{{"store keeper note MONTH -text-file FILE", "note/"}}},
	{Name: "debts", Title: "Debts", Read: debts,
		Actions: []Action{{Verb: "store keeper pay DEBT"}}},
	{Name: "accounts", Title: "Owed by accounts", Read: owing,
		Actions: []Action{{Verb: "store keeper received ACCOUNT -usd AMOUNT -name TEXT"}}},
	{Name: "unknown", Title: "Outcome not known", Read: unknown,
		Actions: []Action{{"store keeper find PURCHASE", "find?q="}}},
	{Name: "stock", Title: "Stock running low", Read: stock},
	{Name: "gas", Title: "Gas", Read: gas},
	{Name: "closed", Title: "Closed networks", Read: closed,
		Actions: []Action{{Verb: "store keeper reopen"}}},
	{Name: "findings", Title: "Findings", Read: findings,
		Actions: []Action{{Verb: "store keeper reconcile MONTH"}}},
}

// Low is the stock below which the keeper is told: a week of a busy good.
const Low = 10

// lost is how long a purchase may be unknown before it is late: longer than its authorization is
// valid, and final.
const lost = 15 * time.Minute

func (d *Inbox) now(ctx context.Context) (at time.Time, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		at = tx.Now().UTC().Truncate(time.Second)
		return nil
	})
	return at, err
}

func orders(ctx context.Context, d *Inbox) (list []Entry, err error) {
	all, err := d.cfg.Till.HumanOrders(ctx, false)
	for _, o := range all {
		at := o.Purchase.Created
		if o.Purchase.Proof != nil {
			at = o.Purchase.Proof.BlockTime
		}
		list = append(list, Entry{ID: o.ID, Says: o.Name + ": " + Short(screen.Text(o.Purchase.Inputs["detail"])),
			Since: at.UTC(), Due: o.Work.DueAt, Late: o.Late() > 0, USDC: content.FormatUSDC(o.Purchase.Amount),
			Network: o.Purchase.Payment.Network})
	}
	return list, err
}

// Short is the beginning of a text, in one line.
func Short(s string) string { return screen.Clip(s, 120) }

// notes: the note of a month is due from its first day on, while anybody has a pass that is
// current.
func notes(ctx context.Context, d *Inbox) (list []Entry, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		list = nil
		now := tx.Now().UTC()
		month := now.Format("2006-01")
		if _, err := tx.Get(ledger.NoteKey(month)); !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		passes, err := currentPasses(tx, now)
		if err != nil || passes == 0 {
			return err
		}
		first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		end := first.AddDate(0, 1, 0)
		list = []Entry{{ID: month, Since: first, Due: end, Times: passes,
			Says: "The note of " + month + " is to be written, for " + screen.Count(passes, "current pass period") +
				"."}}
		return nil
	})
	return list, err
}

// currentPasses counts the paid periods of passes that are current.
func currentPasses(tx ledger.Tx, now time.Time) (n int, err error) {
	at := now.Format(time.RFC3339)
	for a, err := range ledger.Values[till.SignedArtifact](tx.Scan(ledger.ArtifactsOf("pass_"))) {
		if err != nil {
			return 0, err
		}
		var p attest.Pass
		if err := attest.ParseCanonical([]byte(a.Proof.SignedPayload), &p); err != nil {
			return 0, fmt.Errorf("%s: %w", a.ID, err)
		}
		if p.Starts <= at && at < p.Ends {
			n++
		}
	}
	return n, nil
}

func debts(ctx context.Context, d *Inbox) (list []Entry, err error) {
	all, err := d.cfg.Till.Debts(ctx, false)
	for _, o := range all {
		says := o.Status + ": " + screen.Text(o.Reason)
		if o.Trouble != "" {
			says += "; its payout would fail: " + screen.Text(o.Trouble)
		}
		list = append(list, Entry{ID: o.ID, Says: says, Since: o.Since.UTC(), Late: o.Status != till.DebtSigned,
			USDC: content.FormatUSDC(o.Purchase.Amount), Network: o.Purchase.Payment.Network})
	}
	return list, err
}

func unknown(ctx context.Context, d *Inbox) (list []Entry, err error) {
	all, n, err := d.cfg.Till.Unknown(ctx, shown)
	if err != nil {
		return nil, err
	}
	now, err := d.now(ctx)
	for _, p := range all {
		list = append(list, Entry{ID: p.ID, Says: p.Item + ": " + string(p.State), Since: p.Created.UTC(),
			USDC: content.FormatUSDC(p.Amount), Network: p.Payment.Network, Late: now.Sub(p.Created) > lost})
	}
	if more := n - len(all); more > 0 {
		list = append(list, Entry{Says: screen.Count(more, "further purchase"), Times: more})
	}
	return list, err
}

// stock: weekly inventory is meant to be sold, and opens again by itself. A good that the store
// cannot make at all is not short of stock.
func stock(ctx context.Context, d *Inbox) (list []Entry, err error) {
	_, all, err := d.cfg.Till.Stock(ctx)
	for _, c := range all {
		if c.Out == nil && c.Good.WeeklyInventory == 0 && c.Left < Low {
			list = append(list, Entry{ID: c.Good.ID, Says: c.Name + ": " + strconv.Itoa(c.Left) + " left.",
				Late: c.Left == 0, Times: c.Left})
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Compare(a.Times, b.Times) })
	return list, err
}

func gas(ctx context.Context, d *Inbox) (list []Entry, err error) {
	for _, r := range d.cfg.Rails {
		info := r.Info()
		amount, low, e := r.Fuel(ctx)
		switch {
		case e != nil:
			err = errors.Join(err, fmt.Errorf("reading what the relayer of %s has: %w", info.Name, e))
		case low:
			list = append(list, Entry{ID: info.Network, Network: info.Network, Late: amount.Cmp(big.NewInt(0)) == 0,
				Says: fmt.Sprintf("The relayer on %s has %s %s, which is below its alarm. Fund %v.", info.Name, amount,
					info.Unit, info.Accounts)})
		}
	}
	return list, err
}

// closed are the networks of a restored store that nobody has opened yet.
func closed(ctx context.Context, d *Inbox) (list []Entry, err error) {
	all, since, err := d.cfg.Till.Closed(ctx)
	for _, n := range all {
		list = append(list, Entry{ID: n, Network: n, Since: since, Late: true,
			Says: "The ledger was restored, and sells nothing here until it is opened again."})
	}
	return list, err
}

// findings are what nobody has to do anything about at once, and what may mean something.
func findings(ctx context.Context, d *Inbox) (list []Entry, err error) {
	owed, err := till.ListOwed(ctx, d.cfg.DB)
	for _, o := range owed {
		if o.Day != "" {
			list = append(list, Entry{ID: "small:" + o.Network + ":" + o.Day, Network: o.Network, USDC: o.USDC,
				Times: o.Transfers, Says: "Too little for anything, on " + o.Day + ": " +
					screen.Count(o.Transfers, "transfer") + "."})
			continue
		}
		at, _ := time.Parse(time.RFC3339, o.Time) // zero is left out
		list = append(list, Entry{ID: o.PurchaseID, Network: o.Network, USDC: o.USDC, Since: at,
			Says: string(o.State) + ": paid by " + o.Payer + ", and no purchase credits it. It is among the debts."})
	}
	return slices.Concat(list, d.differences(), d.cfg.Refusals.entries()), err
}

// differences are the months in which ledger and chains differed when this process last compared
// them.
func (d *Inbox) differences() (list []Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, month := range slices.Sorted(maps.Keys(d.found)) {
		b := d.found[month]
		list = append(list, Entry{ID: "differences:" + month, Since: b.At, Times: b.Differences,
			Says: screen.Count(b.Differences, "difference") + " between ledger and chains in " + month +
				", when they were last compared."})
	}
	return list
}

// entries are the refusals, the most frequent first.
func (r *Refusals) entries() (list []Entry) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for reason, n := range r.count {
		list = append(list, Entry{ID: "refused:" + screen.Text(reason), Since: r.since, Times: n,
			Says: screen.Text(reason) + ": " + screen.Count(n, "payment") + " refused since this process began."})
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.ID, b.ID))
	})
	return list
}
