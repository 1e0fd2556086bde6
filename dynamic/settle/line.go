package settle

import (
	"context"
	"slices"
	"sync"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// line is where settlements of one network wait for room among the transactions under way, first
// come first served. It decides nothing: the transaction that gives out a number does, for all
// processes. It keeps those that would find no room from drafting in vain.
type line struct {
	mu      sync.Mutex
	waiting []waiter // guarded by mu
	out     uint64   // turns that were given and not ended; guarded by mu
	serving bool     // a goroutine gives out turns; guarded by mu
}

// waiter is one in a line.
type waiter struct {
	turn chan bool // says whether it is its turn; has room for one answer
	now  bool      // it does not wait
}

// turn waits until there is room for one more transaction, or ctx ends. The turn ends when done is
// called.
func (d *Driver) turn(ctx context.Context, r rail.Rail, o Order) (done func(), err error) {
	l := d.lines[r.Info().Network]
	mine := waiter{make(chan bool, 1), o.Now}
	done = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.out--
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, mine)
	if !l.serving {
		l.serving = true
		go d.serve(r, l)
	}
	l.mu.Unlock()
	o.Waits(true)
	defer o.Waits(false)
	select {
	case yes := <-mine.turn:
		if !yes {
			return nil, ErrNoRoom
		}
		return done, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, mine)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 && <-mine.turn {
		done() // it came at the same time
	}
	return nil, ctx.Err()
}

// serve gives out turns until nobody waits, as many as there is room for, and looks again at each
// block.
func (d *Driver) serve(r rail.Rail, l *line) {
	for {
		changed := r.Changed()
		free, err := d.free(r)
		l.mu.Lock()
		if err != nil {
			// Who drafts hears from the node itself.
			d.cfg.Log.Debug("room not known", "network", r.Info().Network, "err", err)
			free = l.out + 1
		}
		for len(l.waiting) > 0 && l.out < free {
			l.out++
			l.waiting[0].turn <- true
			l.waiting = l.waiting[1:]
		}
		l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
			if w.now {
				w.turn <- false
			}
			return w.now
		})
		l.serving = len(l.waiting) > 0
		over := !l.serving
		l.mu.Unlock()
		if over {
			return
		}
		_ = d.pause(context.Background(), changed) // which does not end
	}
}

// free is for how many more transactions there is room.
func (d *Driver) free(r rail.Rail) (free uint64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Pause)
	defer cancel()
	accounts, err := r.Accounts(ctx)
	if err != nil || len(accounts) == 0 {
		return 1 << 62, err // a third party numbers its own
	}
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		free = 0
		for _, a := range accounts {
			n, known, err := next(tx, r.Info().Network, a.Address)
			if err != nil {
				return err
			}
			if !known {
				n = a.Mined
			}
			free += room(n, a.Mined)
		}
		return nil
	})
	return free, err
}
