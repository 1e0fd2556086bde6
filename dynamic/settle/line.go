package settle

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// line is where orders of one network wait for room among the transactions under way, first come
// first served, and for others to be settled together with (together.go). It decides nothing: the
// transaction that gives out a number does, for all processes. It keeps those that would find no
// room from drafting in vain.
type line struct {
	mu      sync.Mutex
	waiting []*waiter       // guarded by mu
	out     uint64          // turns that were given and not ended; guarded by mu
	serving bool            // a goroutine gives out turns; guarded by mu
	blocks  [2]time.Time    // when the newest were seen, the newest first; guarded by mu
	newest  <-chan struct{} // told of the newest; guarded by mu
	come    chan struct{}   // has one when somebody came, a turn ended, or all was broadcast
}

func newLine() *line { return &line{come: make(chan struct{}, 1)} }

// waiter is one order in a line.
type waiter struct {
	Order
	named  bool // its id is its owner's choice
	since  time.Time
	turn   chan turn // has room for one
	alone  bool      // it shares no transaction; guarded by line.mu
	gone   bool      // nobody waits for its turn; guarded by line.mu
	known  bool      // that proven was read; guarded by line.mu
	proven bool      // its payer settled before; guarded by line.mu
}

// turn is what a waiter waits for: its turn, or that it was settled together with others.
type turn struct {
	joined *Settlement // nil: it is its turn, which it ends
	err    error
}

// turn waits until there is room for one more transaction, the order was settled together with
// others, or ctx ends. A turn of its own ends when done is called.
func (d *Driver) turn(ctx context.Context, r rail.Rail, w *waiter) (joined *Settlement, done func(), err error) {
	l := d.lines[r.Info().Network]
	w.since, w.turn = time.Now(), make(chan turn, 1)
	l.mu.Lock()
	w.gone = false
	l.mu.Unlock()
	d.enter(r, l, w)
	w.Waits(true)
	defer w.Waits(false)
	select {
	case t := <-w.turn:
		return t.joined, l.end, t.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, w)
	if w.gone = true; i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // it came at the same time, or others wait with it for a transaction that is being made
		switch t := <-w.turn; {
		case t.joined != nil:
			return t.joined, l.end, nil
		case t.err == nil:
			l.end()
		}
	}
	return nil, nil, ctx.Err()
}

// end ends a turn, for which others may wait.
func (l *line) end() {
	l.mu.Lock()
	l.out--
	l.mu.Unlock()
	l.stir()
}

// stir has whoever gives out turns look again.
func (l *line) stir() {
	select {
	case l.come <- struct{}{}:
	default:
	}
}

// enter puts orders into a line, those that were in it before in front of the others.
func (d *Driver) enter(r rail.Rail, l *line, ws ...*waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, ws...)
	slices.SortStableFunc(l.waiting, func(a, b *waiter) int { return a.since.Compare(b.since) })
	if !l.serving {
		l.serving = true
		go d.serve(r, l)
	}
	l.stir()
}

// serve gives out turns until nobody waits, as many as there is room for, and looks again at each
// block, whenever somebody comes or a transaction was made, and when somebody has waited long
// enough for others.
func (d *Driver) serve(r rail.Rail, l *line) {
	for sealed := false; ; {
		changed := r.Changed()
		v, err := d.room(r, l)
		if err != nil {
			// Who drafts hears from the node itself.
			d.cfg.Log.Debug("room not known", "network", r.Info().Network, "err", err)
		}
		groups, wait, over := l.deal(v, err, r.Info().Together, pace{sealed, d.sending(r.Info().Network)}, time.Now())
		for _, g := range groups {
			go d.together(r, l, g)
		}
		if over {
			return
		}
		select {
		case <-changed:
		case <-l.come:
		case <-time.After(min(wait, d.cfg.Pause)):
		}
		select {
		case <-changed:
			sealed = true
			l.sealed(changed)
		default:
			sealed = false
		}
	}
}

// sealed notes that a block was seen, of which a channel of the rail's told. Whoever waits for the
// chain says so, each of the same.
func (l *line) sealed(changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest != changed {
		l.newest, l.blocks = changed, [2]time.Time{time.Now(), l.blocks[0]}
	}
}

// gathered is until when who came at a time waits for others; mu is held.
func (l *line) gathered(since, now time.Time) time.Time {
	wait := gathering
	due := l.blocks[0].Add(l.blocks[0].Sub(l.blocks[1]))
	if !l.blocks[1].IsZero() && due.Add(before).After(now) {
		wait = min(wait, max(moment, due.Add(-before).Sub(since)/2))
	}
	return since.Add(wait)
}

// pace is whether a block was seen just now, and whether transactions are on their way.
type pace struct {
	sealed  bool
	sending bool
}

// deal gives turns to those who go alone, as many as there is room for, and returns who is to be
// settled together. wait is how long the others are to wait at most; over says that there are none.
func (l *line) deal(v capacity, unknown error, most int, p pace, now time.Time) (groups [][]*waiter,
	wait time.Duration, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := v.free
	if unknown != nil {
		free = l.out + 1
	}
	deep := v.under+l.out+uint64(len(l.waiting)) > few
	var shared []*waiter
	dealt := make(map[*waiter]bool)
	alone := func(w *waiter) {
		if l.out < free {
			l.out++
			w.turn <- turn{}
			dealt[w] = true
		}
	}
	for _, w := range l.waiting {
		switch {
		case w.gone:
			w.turn <- turn{err: ErrNoRoom}
			dealt[w] = true
		case !deep || most < 2 || !w.shares(now):
			alone(w)
		case v.read && !w.known: // it has just come: the next round is at once
		default:
			shared = append(shared, w)
		}
	}
	wait = gathering
	making := p.sending || l.out > 0
	if len(shared) > 0 {
		wait = l.gathered(shared[0].since, now).Sub(now)
		if wait <= 0 && making {
			wait = shared[0].since.Add(gathering).Sub(now)
		}
	}
	ready := wait <= 0 || p.sealed && !making
	for _, g := range gather(shared, most) {
		switch {
		case !g.full(most) && !ready || l.out >= free:
		case len(g.all) == 1:
			alone(g.all[0])
		default:
			l.out++
			groups = append(groups, g.all)
			for _, w := range g.all {
				dealt[w] = true
			}
		}
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if !dealt[w] && w.Now && l.out >= free {
			w.turn <- turn{err: ErrNoRoom}
			return true
		}
		return dealt[w]
	})
	l.serving = len(l.waiting) > 0
	if wait <= 0 { // there is no room
		wait = gathering
	}
	return groups, wait, !l.serving
}

// capacity is for how many more transactions of a network there is room, and how many are under
// way.
type capacity struct {
	free, under uint64
	read        bool // and whose payer settled before
}

// room reads what there is room for, and which payers of those who wait have settled before.
func (d *Driver) room(r rail.Rail, l *line) (v capacity, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Pause)
	defer cancel()
	network := r.Info().Network
	accounts, err := r.Accounts(ctx)
	if err != nil || len(accounts) == 0 {
		return capacity{free: 1 << 62}, err // a third party numbers its own
	}
	l.mu.Lock()
	asked := slices.Clone(l.waiting)
	asked = slices.DeleteFunc(asked, func(w *waiter) bool { return w.known || w.alone || len(w.Members) != 1 })
	l.mu.Unlock()
	var proven []*waiter
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		v, proven = capacity{}, nil
		var ahead []ledger.Range
		for _, w := range asked {
			ahead = append(ahead, ProvenReads(network, w.Members[0].Payment.Payer))
		}
		for _, a := range accounts {
			ahead = append(ahead, numbered(network, a.Address)...)
		}
		ledger.Ahead(tx, ahead...)
		for _, a := range accounts {
			under, err := underWay(tx, network, a)
			if err != nil {
				return err
			}
			v.free += roomOf(under)
			v.under += under
		}
		for _, w := range asked {
			m := w.Members[0]
			yes, err := d.cfg.Gas.Proven(tx, network, m.Payment.Payer, m.Verified.Code)
			if err != nil {
				return err
			}
			if yes {
				proven = append(proven, w)
			}
		}
		return nil
	})
	if err != nil {
		return v, err
	}
	v.read = true
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range asked {
		w.known = true
	}
	for _, w := range proven {
		w.proven = true
	}
	return v, nil
}

// newWaiter is an order on its way.
func newWaiter(o Order) *waiter {
	if o.Waits == nil {
		o.Waits = func(bool) {}
	}
	w := &waiter{Order: o, named: o.ID != ""}
	w.ID = cmp.Or(o.ID, newID())
	return w
}
