package till

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/settle/gas"
)

// workers is how many lying purchases are driven at once; batch is how many are read from the queue at a time.
const (
	workers = 16
	batch   = 256
)

// leaseTTL is how long a worker may be silent before another replica takes over (M12).
const leaseTTL = 15 * time.Second

// headPatience is how long a network may take to name its head.
const headPatience = 2 * time.Second

const jobRecover = "till"

// Run recovers: it drives every purchase that lies longer than its time, watches ended ones to finality, and notes
// each network's head for a restore. It returns when ctx ends. Any number of replicas may run it; one works at a time.
func (t *Till) Run(ctx context.Context) error {
	if t.cfg.Exclusive {
		if err := t.resume(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	var guard sync.WaitGroup
	guard.Go(func() { _ = t.cfg.Gas.Run(ctx) }) // it ends with ctx and has no other error
	defer guard.Wait()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var lease ledger.Lease
	for {
		err := t.noteShut(ctx)
		if err == nil {
			lease, err = t.hold(ctx, lease)
		}
		if err == nil {
			err = t.work(ctx, lease)
		}
		if err != nil && !errors.Is(err, ledger.ErrLeaseHeld) && ctx.Err() == nil {
			t.cfg.Log.Error("recovery round", "err", err)
		}
		select {
		case <-ctx.Done():
			t.letGo(lease)
			return nil
		case <-tick.C:
		}
	}
}

// noteShut remembers which networks are closed after a restore.
func (t *Till) noteShut(ctx context.Context) error {
	shut := map[string]bool{}
	err := t.view(ctx, func(tx ledger.Tx) error {
		clear(shut)
		for n := range t.byNet {
			is, err := isClosed(tx, n)
			if err != nil {
				return err
			}
			if is {
				shut[n] = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.shut.Store(&shut)
	return nil
}

// shutOn reports whether a network is closed after a restore.
func (t *Till) shutOn(network string) bool {
	shut := t.shut.Load()
	return shut != nil && (*shut)[network]
}

// anyShut reports whether some network is closed.
func (t *Till) anyShut() bool {
	shut := t.shut.Load()
	return shut != nil && len(*shut) > 0
}

// allShut reports whether every network is closed.
func (t *Till) allShut() bool {
	shut := t.shut.Load()
	return shut != nil && len(*shut) == len(t.byNet)
}

// mayMove keeps purchases on closed networks where they are: counters and pools may lie behind what was given (M13).
func (t *Till) mayMove(p *Purchase) bool { return !t.shutOn(p.Payment.Network) }

// resume drives at once what a process of ours left behind, and ends the lease that it died with: nobody else uses
// this ledger.
func (t *Till) resume(ctx context.Context) error {
	err := t.update(ctx, func(tx ledger.Tx) error {
		held, err := ledger.GetJSON[ledger.Lease](tx, ledger.LeaseKey(jobRecover))
		if err == nil {
			err = ledger.Release(tx, held)
		}
		if errors.Is(err, errNotFound) || errors.Is(err, ledger.ErrLeaseLost) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ending the lease that was left behind: %w", err)
	}
	ids, err := t.due(ctx, time.Unix(1<<40, 0), func(p *Purchase) bool { return p.Open() && t.mayMove(p) })
	if err != nil {
		return fmt.Errorf("reading what was left behind: %w", err)
	}
	if len(ids) > 0 {
		t.cfg.Log.Info("taking up purchases left on their way", "count", len(ids))
	}
	for _, id := range ids {
		t.fly(id)
	}
	return nil
}

// hold takes or renews the lease of the recovery job.
func (t *Till) hold(ctx context.Context, l ledger.Lease) (ledger.Lease, error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	var got ledger.Lease
	err := t.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		if l.Owner != "" {
			if got, err = ledger.Renew(tx, l, leaseTTL); !errors.Is(err, ledger.ErrLeaseLost) {
				return err
			}
		}
		got, err = ledger.Take(tx, jobRecover, t.owner, leaseTTL)
		return err
	})
	if err != nil {
		return ledger.Lease{}, err
	}
	return got, nil
}

func (t *Till) letGo(l ledger.Lease) {
	if l.Owner == "" {
		return
	}
	ctx, cancel := ledgerContext(context.Background())
	defer cancel()
	err := t.cfg.DB.Update(ctx, func(tx ledger.Tx) error { return ledger.Release(tx, l) })
	if err != nil && !errors.Is(err, ledger.ErrLeaseLost) {
		t.cfg.Log.Warn("recovery lease not released", "err", err)
	}
}

// work drives everything that is due, several at once, and waits for them, renewing nothing: each drive has its own
// deadline, and every step names the state it starts from, so a worker that lost its lease changes nothing twice.
func (t *Till) work(ctx context.Context, l ledger.Lease) error {
	if t.allShut() {
		return nil
	}
	if err := t.noteHeads(ctx, l); err != nil {
		return err
	}
	var keep func(*Purchase) bool
	if t.anyShut() {
		keep = t.mayMove
	}
	ids, err := t.due(ctx, time.Time{}, keep)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() { t.sweep(ctx, l) })
	slots := make(chan struct{}, workers)
	for _, id := range ids {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			wg.Wait()
			return ctx.Err()
		}
		if t.flying(id) {
			<-slots
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			dctx, cancel := context.WithTimeout(ctx, leaseTTL/2)
			defer cancel()
			err := t.drive(dctx, id)
			if err == nil || errors.Is(err, errMoved) || errors.Is(err, errFlies) || ctx.Err() != nil {
				return
			}
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, gas.ErrUnchecked) { // of that the guard tells
				t.cfg.Log.Error("purchase not moved", "purchase", id, "err", err)
			}
			// Whatever waits in vain goes to the end of the queue, or many of its kind would starve the rest.
			t.postpone(ctx, id)
		})
	}
	wg.Wait()
	return nil
}

// postpone keeps a purchase whose step fails from being tried in every round.
func (t *Till) postpone(ctx context.Context, id string) {
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	err := t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		p, err := read(tx, id)
		if err != nil {
			return err
		}
		return t.save(tx, p)
	})
	if err != nil {
		t.cfg.Log.Error("purchase not postponed", "purchase", id, "err", err)
	}
}

func (t *Till) flying(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flights[id] != nil
}

// due lists purchases whose time has come by the ledger's clock (or by now, where it is given), oldest first.
func (t *Till) due(ctx context.Context, now time.Time, keep func(*Purchase) bool) ([]string, error) {
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	var ids []string
	err := t.cfg.DB.View(lctx, func(tx ledger.Tx) error {
		ids = nil
		at := now
		if at.IsZero() {
			at = tx.Now()
		}
		for e, err := range tx.Scan(ledger.Due(jobPurchase, at)) {
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			id := parts[3]
			if keep != nil {
				p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
				if err != nil {
					return err
				}
				if !keep(&p) {
					continue
				}
			} else if len(ids) == batch {
				break
			}
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// noteHeads remembers how far each network was read, so that a restored ledger knows from where to read again (M13).
func (t *Till) noteHeads(ctx context.Context, l ledger.Lease) error {
	// A network that does not answer is left out and holds up neither the others nor the lease.
	hctx, stop := context.WithTimeout(ctx, headPatience)
	defer stop()
	var mu sync.Mutex
	heads := make(map[string]uint64)
	var wg sync.WaitGroup
	for n, r := range t.byNet {
		if t.shutOn(n) {
			continue // its noted head says from where to read again (M13)
		}
		wg.Go(func() {
			if t.cfg.Gas.Ready(hctx, n) != nil {
				return
			}
			h, err := r.Head(hctx)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			heads[n] = h.Block
		})
	}
	wg.Wait()
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		if err := ledger.Check(tx, l); err != nil {
			return err
		}
		for n, b := range heads {
			v, err := tx.Get(headKey(n))
			if err != nil && !errors.Is(err, errNotFound) {
				return err
			}
			if string(v) == ledger.Number(b) {
				continue
			}
			if err := tx.Set(headKey(n), []byte(ledger.Number(b))); err != nil {
				return err
			}
		}
		return nil
	})
}

func headKey(network string) []byte { return ledger.MetaKey("head:" + network) }
