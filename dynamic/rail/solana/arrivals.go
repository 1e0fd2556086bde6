package solana

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	// maxArrived is how many transactions one count reads, of all addresses together. Anybody can
	// write one that names an advertised address, for the fee of a signature: what is more than can
	// be read is left out, and the addresses that were written to most are left out first, so that
	// whoever floods some takes nothing from the others.
	maxArrived = 20_000
	// maxListed is how many pages of its transactions are listed of one address.
	maxListed = 50
)

// Observer reads what arrived at addresses on one cluster, in final blocks. It holds no key and
// sends nothing. Its methods may be called by several goroutines at once.
type Observer struct{ r *Rail }

// NewObserver returns an observer of a cluster. Of cfg it takes Network, RPC, Asset, AnyGenesis,
// Log and Poll, which is what it waits after an answer that is none, doubled each time.
func NewObserver(cfg Config) (*Observer, error) {
	if cfg.Poll <= 0 {
		cfg.Poll = time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &Rail{cfg: cfg, log: cfg.Log}
	var err error
	if r.mint, err = parseKey(cfg.Asset); err == nil {
		r.rpc, err = newClient(cfg.RPC, cfg.Asked)
	}
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", cfg.Network, err)
	}
	return &Observer{r}, nil
}

// Close lets go of idle connections.
func (o *Observer) Close() { o.r.Close() }

// Arrivals counts what transactions in blocks whose time is in [from, to) brought to the associated
// token accounts of addresses; a transaction counts once for each account that has more after it.
// Addresses that are none are passed over, and so are transactions of a form that is not known
// here. A cluster that is not final up to to, or whose node's ledger begins after from, has not
// been seen whole, which is an error, unless it is a local one (Config.AnyGenesis).
//
// An address that has more transactions than can be read is left out of all figures, and counted in
// LeftOut. A count asks at most for maxListed pages of each address and maxArrived transactions,
// each of them several times where there is no answer.
func (o *Observer) Arrivals(ctx context.Context, addresses []string, from, to time.Time) (rail.Arrivals, error) {
	c := &count{Observer: o, from: from, to: to, total: new(big.Int)}
	var err error
	c.head, err = rail.Insist(ctx, o.r.cfg.Poll, func() (uint64, error) { return c.reaches(ctx) })
	if err != nil {
		return rail.Arrivals{}, err
	}
	for _, owner := range distinct(addresses) {
		if err := c.list(ctx, associated(owner, o.r.mint)); err != nil {
			return rail.Arrivals{}, err
		}
	}
	for _, h := range c.histories {
		if err := c.add(ctx, h); err != nil {
			return rail.Arrivals{}, err
		}
	}
	return rail.Arrivals{Transfers: c.transfers, Addresses: c.received, LeftOut: c.leftOut, Total: c.total}, nil
}

// distinct are the addresses among texts, in order.
func distinct(texts []string) []key {
	var out []key
	for _, s := range texts {
		if k, err := parseKey(s); err == nil && k != (key{}) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b key) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(out)
}

// count is a count under way.
type count struct {
	*Observer
	from, to            time.Time
	head                uint64 // a final slot, of which every answer must know
	histories           []history
	listed              int // transactions in them
	transfers, received int64
	leftOut             int64 // addresses
	total               *big.Int
}

// history is what an account has to be read of.
type history struct {
	account key
	list    []listed // newest first
}

// reaches is a final slot, of which every answer must know. A node that is of another cluster, or
// does not know the whole span, is an error.
func (c *count) reaches(ctx context.Context) (uint64, error) {
	slot, list, err := c.r.accounts(ctx, finalized, sysvarClock)
	if err != nil {
		return slot, err
	}
	head, err := readClock(slot, list[0])
	if err != nil || c.r.cfg.AnyGenesis {
		return slot, err
	}
	if err := c.r.rpc.of(ctx, c.r.cfg.Network); err != nil {
		return slot, err
	}
	if head.Before(c.to) {
		return slot, fmt.Errorf("its newest final block is of %s, before the end of the span",
			head.Format(time.RFC3339))
	}
	var first uint64
	if err := c.r.rpc.call(ctx, &first, "getFirstAvailableBlock"); err != nil || first == 0 {
		return slot, err
	}
	_, begin, err := c.r.block(ctx, first, finalized)
	if err == nil && begin.After(c.from) {
		err = fmt.Errorf("its ledger begins at %s, after the beginning of the span", begin.Format(time.RFC3339))
	}
	return slot, err
}

// listed is a transaction in the list of an account's.
type listed struct {
	entry
	Time   *int64 `json:"blockTime"` // Unix seconds
	Status string `json:"confirmationStatus"`
}

func (e listed) failed() bool { return len(e.Err) > 0 && e.Err.Kind() != 'n' }

func (e listed) when() time.Time { return time.Unix(*e.Time, 0) } // page gives none without

// list lists what is to be read of one token account: newest first, until before the span or until
// a page is empty, since nodes give shorter pages than they are asked for. Where that is more than
// one count reads, the account with most is left out.
func (c *count) list(ctx context.Context, account key) error {
	h, seen, before, last := history{account: account}, map[string]bool{}, "", ^uint64(0)
	for pages := 0; ; pages++ {
		if pages == maxListed {
			c.leftOut++
			return nil
		}
		page, err := rail.Insist(ctx, c.r.cfg.Poll, func() ([]listed, error) { return c.page(ctx, account, before) })
		if err != nil {
			return err
		}
		for _, e := range page {
			if seen[e.Signature] || e.Slot > last {
				return errors.New("a node lists transactions twice, or out of their order")
			}
			seen[e.Signature], last = true, e.Slot
			if !e.when().Before(c.to) {
				continue
			}
			h.list = append(h.list, e)
			if e.when().Before(c.from) {
				c.keep(h)
				return nil
			}
		}
		if len(page) == 0 {
			c.keep(h)
			return nil
		}
		before = page[len(page)-1].Signature
	}
}

// keep takes an account among those that are read. Where they are too much, the longest could not
// be read after all shorter ones, and is let go.
func (c *count) keep(h history) {
	c.histories, c.listed = append(c.histories, h), c.listed+len(h.list)
	for c.listed > maxArrived {
		most := 0
		for i, h := range c.histories {
			if len(h.list) > len(c.histories[most].list) {
				most = i
			}
		}
		c.listed -= len(c.histories[most].list)
		c.histories = slices.Delete(c.histories, most, most+1)
		c.leftOut++
	}
}

// add counts what arrived at one token account.
func (c *count) add(ctx context.Context, h history) error {
	came := false
	for _, e := range h.list {
		brought, err := rail.Insist(ctx, c.r.cfg.Poll, func() (int64, error) { return c.brought(ctx, h.account, e) })
		if err != nil {
			return fmt.Errorf("reading transaction %s: %w", rail.Printable(e.Signature, 90), err)
		}
		// One from before the span is read too: a list is believed where the transaction says the
		// same.
		if brought > 0 && !e.when().Before(c.from) {
			c.transfers++
			c.total.Add(c.total, big.NewInt(brought))
			came = true
		}
	}
	if came {
		c.received++
	}
	return nil
}

// page asks for the transactions of an account before one of them.
func (c *count) page(ctx context.Context, account key, before string) (page []listed, err error) {
	options := map[string]any{"commitment": finalized, "limit": pageSignatures, "minContextSlot": c.head}
	if before != "" {
		options["before"] = before
	}
	err = c.r.rpc.call(ctx, &page, "getSignaturesForAddress", account.String(), options)
	switch {
	case err != nil:
		return nil, fmt.Errorf("listing transactions: %w", err)
	case len(page) > pageSignatures:
		return nil, errors.New("a node lists more transactions than it was asked for")
	}
	for i, e := range page {
		switch {
		case e.Time == nil || e.Status != finalized:
			return nil, errors.New("a node lists a transaction without its time, or one that is not final")
		case i > 0 && e.Slot > page[i-1].Slot:
			return nil, errors.New("a node lists transactions out of their order")
		}
	}
	return page, nil
}

// brought reads a transaction and compares it with what was listed. One that has another form than
// is known here brought nothing: anybody can write one, which must not end the count.
func (c *count) brought(ctx context.Context, account key, e listed) (int64, error) {
	x, err := c.r.executed(ctx, e.Signature, finalized)
	if said, is := errors.AsType[*rail.NodeError](err); is && said.Code == codeVersion {
		c.r.log.Warn("a transfer cannot be read", "network", c.r.cfg.Network, "tx", e.Signature)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if x.Slot != e.Slot || x.Time == nil || *x.Time != *e.Time || x.failed() != e.failed() {
		return 0, errBehind
	}
	wire, err := x.wire()
	if err != nil || x.failed() {
		return 0, err
	}
	t, err := parseTransaction(wire)
	if err != nil {
		c.r.log.Warn("a transfer cannot be read", "network", c.r.cfg.Network, "tx", e.Signature)
		return 0, nil
	}
	moved, err := x.arrived(t, account, c.r.mint)
	return max(moved, 0), err
}
