package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// half is the ledger's half of a comparison.
type half struct {
	rows    []*entry // of the span
	byID    map[string]*entry
	byAuth  map[string]*entry
	onChain map[till.Spot]bool
	escrow  string // that keeps channels' money; "" where no vouchers are taken
	credits map[till.Spot]string
	till.Uncollected
}

// entry is a purchase of the ledger, and what is wrong with it by itself.
type entry struct {
	till.Purchase
	line Line
	seen bool // its transfer was found
}

func (e *entry) spot() till.Spot { return till.Spot{Tx: e.Proof.Tx, Log: e.Proof.LogIndex} }

// compare makes the lines of a network. The chain is read first: what arrives between the two
// readings is then at most a purchase whose block is not among those that were final.
func (d *Inbox) compare(ctx context.Context, r rail.Rail, from, to time.Time) (lines []Line, final uint64, err error) {
	info := r.Info()
	head, err := r.Final(ctx)
	if err != nil {
		return nil, 0, err
	}
	var swept till.Uncollected
	if err := d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		swept, err = till.UncollectedOf(tx, info)
		return err
	}); err != nil {
		return nil, head.Block, err
	}
	transfers, err := arrivals(ctx, r, swept.Swept.First, head, period{from, to})
	if err != nil {
		return nil, head.Block, err
	}
	h, err := d.half(ctx, info, from, to)
	if err != nil {
		return nil, head.Block, err
	}
	if _, terms, ok := takesVouchers(r); ok {
		h.escrow = terms.Escrow
	}
	small := map[string]till.Small{}
	h.onChain = map[till.Spot]bool{}
	for _, tr := range transfers {
		h.onChain[till.Spot{Tx: tr.Tx, Log: tr.LogIndex}] = true
	}
	for _, tr := range transfers {
		lines = append(lines, h.transfer(info, tr, d.cfg.Till.Cheapest(), small))
	}
	for _, e := range h.rows {
		if !e.seen {
			lines = append(lines, h.unseen(e, head.Block))
		}
	}
	lines = append(lines, h.smallTotals(info, small, from, to)...)
	slices.SortStableFunc(lines, func(a, b Line) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Block, b.Block), cmp.Compare(a.LogIndex, b.LogIndex))
	})
	return lines, head.Block, nil
}

// half reads what the ledger has of a span of time.
func (d *Inbox) half(ctx context.Context, info rail.Info, from, to time.Time) (h *half, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		h = &half{byID: map[string]*entry{}, byAuth: map[string]*entry{}, credits: map[till.Spot]string{}}
		if h.Uncollected, err = till.UncollectedOf(tx, info); err != nil {
			return err
		}
		for e, err := range tx.Scan(ledger.CreditsOf(info.Network)) {
			if err != nil {
				return err
			}
			spot, id, err := creditAt(tx, e)
			if err != nil {
				return err
			}
			h.credits[spot] = id
		}
		for p, err := range ledger.Values[till.Purchase](tx.Scan(ledger.Purchases())) {
			if err != nil {
				return err
			}
			if p.Payment.Network != info.Network {
				continue
			}
			if err := d.enter(tx, h, &entry{Purchase: p}, from, to); err != nil {
				return err
			}
		}
		return nil
	})
	return h, err
}

// creditAt reads an entry of what a transfer paid for.
func creditAt(tx ledger.Tx, e ledger.Entry) (till.Spot, string, error) {
	parts, err := ledger.Parts(e.Key)
	if err != nil {
		return till.Spot{}, "", err
	}
	log, err := ledger.ParseNumber(parts[3])
	if err != nil {
		return till.Spot{}, "", err
	}
	ids, _, err := pointedAt(tx, e.Key)
	if err != nil {
		return till.Spot{}, "", err
	}
	return till.Spot{Tx: parts[2], Log: log}, ids[0], nil
}

// enter takes a purchase in, and judges it by itself where its money is of the span.
func (d *Inbox) enter(tx ledger.Tx, h *half, e *entry, from, to time.Time) error {
	h.byID[e.ID], h.byAuth[e.Payment.ClaimKey()] = e, e
	_, in := brought(&e.Purchase)
	at := countedAt(&e.Purchase)
	if e.Proof == nil && !sold(&e.Purchase) && !charged(&e.Purchase) || !in && e.State != till.Reversed ||
		at.Before(from) || !at.Before(to) {
		return nil
	}
	h.rows = append(h.rows, e)
	e.line = lineOf(&e.Purchase)
	e.line.Time = at.UTC()
	if !in {
		return nil
	}
	return errors.Join(e.claimed(tx), e.certified(tx), e.indebted(tx, d.cfg.Till), e.credited(h))
}

// countedAt is when the books count a purchase: by the block of its transfer, and one by voucher
// when it was delivered.
func countedAt(p *till.Purchase) time.Time {
	switch {
	case p.Spent != nil:
		return p.DeliveredAt
	case p.Proof != nil:
		return p.Proof.BlockTime
	}
	return p.Created
}

func lineOf(p *till.Purchase) Line {
	l := Line{Network: p.Payment.Network, PurchaseID: p.ID, Item: p.Item, State: string(p.State)}
	l.Category, _ = brought(p)
	if p.Proof != nil {
		l.Block, l.Tx, l.LogIndex = p.Proof.Block, p.Proof.Tx, p.Proof.LogIndex
	}
	if p.Tip < 0 || p.Tip > p.Amount {
		l.finds("tip", "")
	}
	return l
}

// claimed judges the claim of the authorization.
func (e *entry) claimed(tx ledger.Tx) error {
	c, err := ledger.GetJSON[till.Claim](tx, till.AuthKey(&e.Payment))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		e.line.finds("claim_missing", "")
		return nil
	case err == nil && c.Purchase != e.ID && !e.Owed(): // money of a known authorization may be owed under another
		e.line.finds("claim_other", "It is %s.", c.Purchase)
	}
	return err
}

// certified judges the certificate.
func (e *entry) certified(tx ledger.Tx) error {
	if e.CertID == "" || e.State != till.Delivered && e.State != till.Promised {
		return nil
	}
	rec, err := ledger.GetJSON[till.CertRecord](tx, ledger.CertKey(e.CertID))
	if errors.Is(err, ledger.ErrNotFound) {
		if e.State == till.Delivered { // that of an order is made when it is completed
			e.line.finds("certificate_missing", "")
		}
		return nil
	}
	if err != nil {
		return err
	}
	c, paidIn := rec.Certificate, ""
	if e.Proof != nil && e.Spent == nil { // a deposit pays for nothing yet
		paidIn = e.Proof.Tx
	}
	if rec.Purchase != e.ID || c.PaidUSDC != content.FormatUSDC(e.Amount) || c.Payer != e.Payment.Payer ||
		e.Proof == nil && e.Spent == nil || c.SettlementTx != paidIn || c.PatronNumber != e.Number {
		e.line.finds("certificate_differs", "")
	}
	id, err := tx.Get(ledger.PatronKey(e.Number))
	if errors.Is(err, ledger.ErrNotFound) || err == nil && string(id) != e.CertID {
		e.line.finds("number_differs", "It is %d.", e.Number)
		return nil
	}
	return err
}

// indebted judges whether what is owed is listed.
func (e *entry) indebted(tx ledger.Tx, t *till.Till) error {
	if !e.Owed() || !e.Final || e.Proof == nil {
		return nil
	}
	kept, err := t.Kept(tx, &e.Purchase)
	if err == nil && !kept {
		e.line.finds("debt_missing", "")
	}
	return err
}

// credited judges whether its transfer is marked as used: of a purchase by voucher that of the
// deposit, which never comes to payTo.
func (e *entry) credited(h *half) error {
	if e.Proof == nil && e.Spent != nil && e.Spent.Deposit == nil {
		return nil
	}
	if e.Proof == nil {
		e.line.finds("no_proof", "")
		return nil
	}
	switch id, ok := h.credits[e.spot()]; {
	case !ok:
		e.line.finds("credit_missing", "")
	case id != e.ID:
		e.line.finds("credit_other", "It is %s.", id)
	}
	return nil
}

// transfer makes the line of a transfer that is on the chain.
func (h *half) transfer(info rail.Info, tr rail.Transfer, cheapest int64, small map[string]till.Small) Line {
	l := Line{Network: info.Network, Time: tr.Time.UTC(), Block: tr.Block, Tx: tr.Tx, LogIndex: tr.LogIndex,
		Chain: math.MaxInt64}
	if tr.Amount.IsInt64() {
		l.Chain = tr.Amount.Int64()
	}
	spot := till.Spot{Tx: tr.Tx, Log: tr.LogIndex}
	pay := rail.Payment{Network: info.Network, Asset: info.Asset, Method: tr.Method, Payer: tr.Payer, Nonce: tr.Nonce}
	id, credited := h.credits[spot]
	if e := h.byID[id]; credited && e != nil {
		return h.matched(l, e, tr)
	}
	if credited {
		l.Category = Nothing
		l.finds("credit_of_nothing", "It is %s.", id)
		return l.close()
	}
	if e := h.byAuth[pay.ClaimKey()]; tr.Nonce != "" && e != nil && e.line.PurchaseID != "" && !e.seen &&
		(e.Proof == nil || e.spot() == spot || !h.onChain[e.spot()]) {
		return h.matched(l, e, tr)
	}
	return h.uncollected(l, tr, pay, spot, dust{cheapest, small})
}

// matched makes the line of a transfer that a purchase credits.
func (h *half) matched(l Line, e *entry, tr rail.Transfer) Line {
	if e.line.PurchaseID == "" {
		e.line = lineOf(&e.Purchase)
	}
	e.seen = true
	own := e.line
	l.PurchaseID, l.Item, l.State, l.Category = own.PurchaseID, own.Item, own.State, own.Category
	l.Kinds, l.Says = own.Kinds, own.Says
	_, in := brought(&e.Purchase)
	switch {
	case in:
		l.Ledger = e.Amount
	case e.State == till.Reversed:
		l.finds("reversed", "")
	default:
		l.finds("given_up", "It is %s.", e.State)
	}
	if in && l.Chain != l.Ledger {
		l.finds("amount", "It has %s, and the chain %s.", usdc(l.Ledger), usdc(l.Chain))
	}
	if tr.Payer != e.Payment.Payer && e.Held == nil { // what was held comes out of the escrow
		l.finds("payer", "")
	}
	if tr.Nonce != "" && tr.Nonce != e.Payment.Nonce {
		l.finds("authorization", "")
	}
	switch p := e.Proof; {
	case p == nil:
	case p.Tx != tr.Tx || p.LogIndex != tr.LogIndex:
		l.finds("moved", "It has %s, log %d.", p.Tx, p.LogIndex)
	case p.Block != tr.Block:
		l.finds("block", "It has %d.", p.Block)
	case !p.BlockTime.Equal(tr.Time):
		l.finds("time", "It has %s.", p.BlockTime.UTC().Format(time.RFC3339))
	}
	return l.close()
}

// dust is what is too small for a debt: below the cheapest price, as totals of days.
type dust struct {
	cheapest int64
	small    map[string]till.Small
}

// uncollected makes the line of a transfer that no purchase credits.
func (h *half) uncollected(l Line, tr rail.Transfer, pay rail.Payment, spot till.Spot, d dust) Line {
	e := h.byAuth[pay.ClaimKey()]
	_, owed := h.Owed[spot]
	switch {
	case h.Swept.Earlier(tr):
		l.Category, l.Explained = Before, l.Chain
	case h.escrow != "" && tr.Payer == h.escrow:
		l.Category, l.Explained = Moved, l.Chain
	case tr.Nonce == "" || l.Chain == 0:
		l.Category, l.Explained = Gift, l.Chain
	case h.Unsure[spot] || tr.Block > h.Swept.Block || e != nil && (e.Open() || !e.Final) && e.Proof == nil:
		l.Category, l.Explained = Pending, l.Chain
	case owed:
		l.Category = Nothing
		l.finds("debt_of_nothing", "It is %s.", h.Owed[spot])
	case l.Chain < d.cheapest:
		l.Category, l.Ledger = Tiny, l.Chain
		day := tr.Time.UTC().Format(time.DateOnly)
		s := d.small[day]
		d.small[day] = till.Small{Transfers: s.Transfers + 1, Amount: s.Amount + l.Chain}
	case e != nil && !e.Owed() && e.Proof == nil:
		l.Category, l.PurchaseID, l.State = Nothing, e.ID, string(e.State)
		l.finds("given_up", "It is %s.", e.State)
	default:
		l.Category = Nothing
		l.finds("not_owed", "")
	}
	return l.close()
}

// unseen makes the line of a purchase whose transfer was not found among those of the span.
func (h *half) unseen(e *entry, final uint64) Line {
	l := e.line
	cat, in := brought(&e.Purchase)
	if !in {
		return l // taken back, and gone from the chain
	}
	l.Category, l.Ledger = cat, e.Amount
	switch {
	case e.Spent != nil:
		l.Explained = -e.Amount // receivable
	case e.Proof == nil:
	case e.Proof.Block > final && !e.Final:
		l.Category, l.Explained = Pending, -e.Amount
	case h.credits[e.spot()] != e.ID && h.byID[h.credits[e.spot()]] != nil:
		l.finds("credited_twice", "The other is %s.", h.credits[e.spot()])
	default:
		l.finds("not_on_chain", "")
	}
	return l.close()
}

// smallTotals holds the totals of days against the chain's.
func (h *half) smallTotals(info rail.Info, chain map[string]till.Small, from, to time.Time) (lines []Line) {
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		if has, want := h.Small[name], chain[name]; has != want {
			l := Line{Network: info.Network, Time: day, Category: Tiny, Ledger: has.Amount - want.Amount}
			l.finds("small_differs", "It has %d transfers of %s together, and the chain %d of %s.", has.Transfers,
				usdc(has.Amount), want.Transfers, usdc(want.Amount))
			lines = append(lines, l.close())
		}
	}
	return lines
}

// strays are the purchases of a span on networks that nobody can look at.
func (d *Inbox) strays(ctx context.Context, known map[string]bool, from, to time.Time) (lines []Line, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		lines = nil
		for p, err := range ledger.Values[till.Purchase](tx.Scan(ledger.Purchases())) {
			if err != nil {
				return err
			}
			at := countedAt(&p)
			if _, in := brought(&p); !in || known[p.Payment.Network] || p.Proof == nil && p.Spent == nil ||
				at.Before(from) || !at.Before(to) {
				continue
			}
			l := lineOf(&p)
			l.Time, l.Ledger = at.UTC(), p.Amount
			l.finds("not_configured", "")
			lines = append(lines, l.close())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading purchases of other networks: %w", err)
	}
	return lines, nil
}
