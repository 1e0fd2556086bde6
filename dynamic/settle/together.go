package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Orders are settled together where there is a queue (package till, M11). As long as few are under
// way each goes by itself at once. Beyond that they are gathered until the chain has a new block,
// as many have come as one transaction settles, or gathering has passed: Nagle's algorithm (RFC
// 896), with blocks in the place of acknowledgements. While a transaction of this process is being
// made, until it is broadcast, those that come wait for it, however soon a block may be: what takes
// up the processors takes longer the more of it is made at once. Otherwise nobody is to be gathered
// past the block that it would be in by itself, and when that is made is known about as well as a
// node is quick to tell of one: so each waits for half of the time that seems to be left, and the
// nearer the block the more often some go. What keeps an order from sharing sends it alone, and
// never one of the others: a draft or a ledger that refuses one member names it, and it is told why
// when its own turn comes.

const (
	// few is how many transactions of a network may be under way before orders are gathered.
	few = 4
	// gathering is how long an order waits for others at most.
	gathering = 300 * time.Millisecond
	// before is how long before a block seems due the time for it ends: what a draft takes to be in
	// it, and how late the last was seen. So long after it was due too it may be made any moment.
	before = 100 * time.Millisecond
	// moment is how long an order waits for others at least.
	moment = 5 * time.Millisecond
	// strangers is how many payers that never settled before one transaction has at most.
	strangers = 10
	// lastsTogether is for how long a payment that shares a transaction has to be valid still.
	lastsTogether = 60 * time.Second
	// drafting is how long a draft for several may take, after which each goes alone.
	drafting = 5 * time.Second
)

// shares reports whether an order may share a transaction with others of its method: one payment,
// of a payer without code.
func (w *waiter) shares(now time.Time) bool {
	if w.alone || len(w.Members) != 1 {
		return false
	}
	m := &w.Members[0]
	return m.Verified.Code == "" && !m.Verified.Local && m.Payment.ValidBefore >= now.Add(lastsTogether).Unix()
}

// group is orders that may be settled in one transaction.
type group struct {
	all       []*waiter
	payers    map[string]bool
	strangers int
}

// full reports whether a group waits for nobody.
func (g *group) full(most int) bool { return len(g.all) == most || g.strangers == strangers }

// takes adds an order if it fits.
func (g *group) takes(w *waiter, most int) bool {
	payer, method := w.Members[0].Payment.Payer, w.Members[0].Payment.Method
	if len(g.all) > 0 && g.all[0].Members[0].Payment.Method != method {
		return false // it takes another gas
	}
	if len(g.all) >= most || g.payers[payer] || !w.proven && g.strangers == strangers {
		return false
	}
	g.all, g.payers[payer] = append(g.all, w), true
	if !w.proven {
		g.strangers++
	}
	return true
}

// gather puts orders into as few groups as come of it when each goes into the first that takes it.
func gather(ws []*waiter, most int) (groups []*group) {
next:
	for _, w := range ws {
		for _, g := range groups {
			if g.takes(w, most) {
				continue next
			}
		}
		g := &group{payers: make(map[string]bool)}
		g.takes(w, most)
		groups = append(groups, g)
	}
	return groups
}

// together settles orders in one transaction, and gives each its turn: settled, or back in line,
// alone where it cannot share.
func (d *Driver) together(r rail.Rail, l *line, ws []*waiter) {
	s, drafted, err := d.beginTogether(r, ws)
	l.end()
	if err != nil {
		d.cfg.Log.Debug("not settled together", "network", r.Info().Network, "orders", len(ws), "err", err)
	}
	if err == nil || errors.Is(err, ErrNoRoom) || drafted && !errors.Is(err, rail.ErrTogether) {
		for _, w := range ws { // what the ledger says is said to all
			w.turn <- turn{joined: s, err: err}
		}
		return
	}
	apart, named := errors.AsType[*rail.Apart](err)
	l.mu.Lock()
	for i, w := range ws {
		w.alone = !named || slices.Contains(apart.Which, i)
	}
	l.mu.Unlock()
	d.enter(r, l, ws...)
}

// beginTogether drafts, signs and stores one settlement of several orders. drafted says that the
// rail had no objection.
func (d *Driver) beginTogether(r rail.Rail, ws []*waiter) (s *Settlement, drafted bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), drafting)
	defer cancel()
	s = &Settlement{ID: newID(), Network: r.Info().Network}
	for _, w := range ws {
		s.Members = append(s.Members, w.Members...)
	}
	draft, err := r.Draft(ctx, s.payments(nil))
	if err != nil {
		return nil, false, err
	}
	var reads []ledger.Range
	for _, w := range ws {
		reads = append(reads, w.Reads...)
		if w.named {
			reads = append(reads, ledger.At(ledger.SettlementKey(w.ID)))
		}
	}
	for _, a := range r.Info().Accounts {
		reads = append(reads, numbered(s.Network, a)...)
	}
	err = d.store(ctx, s, reads, func(tx ledger.Tx, s *Settlement, places *places) error {
		for i, w := range ws {
			if err := w.join(tx, s); err != nil {
				return &rail.Apart{Which: []int{i}, Err: err}
			}
		}
		return d.sign(tx, s, draft, nil, places)
	})
	if err != nil {
		return nil, true, err
	}
	return s, true, nil
}

// join notes with an order that it is settled by s: whoever knows the order's id finds s by it.
func (w *waiter) join(tx ledger.Tx, s *Settlement) error {
	if !w.named {
		return w.Arrow(tx, s)
	}
	if err := errors.Join(vacant(tx, w.ID), w.Arrow(tx, s)); err != nil {
		return err
	}
	return ledger.SetJSON(tx, ledger.SettlementKey(w.ID), Settlement{ID: w.ID, Network: s.Network, In: s.ID})
}
