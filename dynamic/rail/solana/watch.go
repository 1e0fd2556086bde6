package solana

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/rail"
)

const (
	// maxStatuses is how many signatures one request for statuses takes.
	maxStatuses = 256
	// maxAsked bounds the signatures that are followed, and forgotten is for how long after the
	// last question.
	maxAsked  = 1 << 14
	forgotten = 2 * time.Minute
)

// asked is a signature that somebody waits for.
type asked struct {
	first time.Time // when it was asked after first
	at    time.Time // and last
	sent  time.Time // when a node was last given it, as far as this process knows
	read  time.Time // when its status was read last
	status
	found bool
}

// patience is how long after its last answer the watcher still counts as following the chain.
func (r *Rail) patience() time.Duration { return 3*r.cfg.Poll + 2*time.Second }

// live is what the watcher saw last, and whether it follows the chain.
func (r *Rail) live() (view, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now, time.Since(r.now.read) < r.patience() && r.now.height > 0
}

// Run implements rail.Rail: every Poll it reads the head and a blockhash, and twice as often what
// became of everything that somebody waits for. It returns nil when ctx ends.
func (r *Rail) Run(ctx context.Context) error {
	defer r.Close()
	var both sync.WaitGroup
	both.Go(func() { r.every(ctx, r.cfg.Poll, "network", r.poll) })
	both.Go(func() { r.every(ctx, r.cfg.Poll/2, "transactions", r.ask) })
	both.Wait()
	return nil
}

// every reads something at each interval until ctx ends, and says when that begins or ceases to
// fail.
func (r *Rail) every(ctx context.Context, d time.Duration, what string, read func(context.Context) error) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for failing := false; ; {
		err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			r.log.Warn(what+" not readable", "network", r.cfg.Network, "err", err)
		case err == nil && failing:
			r.log.Info(what+" readable again", "network", r.cfg.Network)
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll reads the head once, and wakes who waits where there is something new. Its questions are
// asked at the same time: each may wait behind those of many purchases.
func (r *Rail) poll(ctx context.Context) error {
	var v view
	var h Hint
	var final epoch
	g, asking := errgroup.WithContext(ctx)
	g.Go(func() (err error) { v, err = r.readView(asking); return err })
	g.Go(func() (err error) { h, err = r.readHint(asking); return err })
	g.Go(func() (err error) { final, err = r.epoch(asking, finalized); return err })
	if err := g.Wait(); err != nil {
		return err
	}
	v.height, v.final = h.LastValid-lasts, final.Slot
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.slot != r.now.slot || v.final != r.now.final || r.now.height == 0 {
		r.wake()
	}
	r.now = v
	return nil
}

// ask reads once what became of everything that somebody waits for, and wakes who waits where there
// is something new.
func (r *Rail) ask(ctx context.Context) error {
	g, asking := errgroup.WithContext(ctx)
	for batch := range slices.Chunk(r.following(), maxStatuses) {
		g.Go(func() error {
			began := time.Now()
			_, list, err := r.statuses(asking, false, batch...)
			if err == nil {
				r.noteStatuses(batch, began, list)
			}
			return err
		})
	}
	return g.Wait()
}

// wake tells who waits that there is something new; mu is held.
func (r *Rail) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// following are the signatures that somebody waits for.
func (r *Rail) following() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for s, a := range r.asked {
		if time.Since(a.at) > forgotten {
			delete(r.asked, s)
			continue
		}
		list = append(list, s)
	}
	return list
}

// noteStatuses keeps what was read of some signatures at a time, and wakes who waits where anything
// of it is new.
func (r *Rail) noteStatuses(signatures []string, at time.Time, list []*status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := false
	for i, s := range signatures {
		a := r.asked[s]
		if a == nil {
			continue
		}
		old := *a
		a.read, a.found = at, list[i] != nil
		if a.found {
			a.status = *list[i]
		}
		news = news || old.read.IsZero() || old.found != a.found || old.Status != a.Status
	}
	if news {
		r.wake()
	}
}

// noteSent has Run ask what became of transactions that were just sent.
func (r *Rail) noteSent(all []rail.Signed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range all {
		if a := r.follow(s.ID); a != nil {
			a.sent = a.at
		}
	}
}

// follow is what is known of a signature, of which Run asks from now on; nil where it follows as
// many as it can. mu is held.
func (r *Rail) follow(signature string) *asked {
	a := r.asked[signature]
	if a == nil && len(r.asked) < maxAsked {
		a = &asked{first: time.Now()}
		r.asked[signature] = a
	}
	if a != nil {
		a.at = time.Now()
	}
	return a
}

// lately is what the watcher saw of a signature, nil for nothing, and whether that is fresh; where
// it is not, whether the watcher will soon have read it, which this asks.
func (r *Rail) lately(signature string) (seen *status, fresh, soon bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.follow(signature)
	switch {
	case a == nil:
		return nil, false, false
	case time.Since(a.read) > r.patience():
		return nil, false, time.Since(a.first) < again
	case !a.found:
		return nil, true, false
	}
	s := a.status
	return &s, true, false
}

// waiting advises on a settlement that was not seen and can still land: how long it was signed for
// says nothing while a slow node was not yet given it.
func (r *Rail) waiting(s rail.Signed, now time.Time) rail.Finding {
	since := s.At
	r.mu.Lock()
	if a := r.asked[s.ID]; a != nil && a.sent.After(since) {
		since = a.sent
	}
	r.mu.Unlock()
	f := rail.Finding{State: rail.Waiting, Advice: rail.Wait}
	if now.Sub(since) > again {
		f.Advice = rail.Resend
	}
	return f
}
