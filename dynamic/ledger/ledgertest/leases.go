package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
)

func checkClock(ctx context.Context, open func() ledger.DB) error {
	db := open()
	var last time.Time
	for range 5 {
		for _, call := range []func(context.Context, func(ledger.Tx) error) error{db.View, db.Update} {
			err := call(ctx, func(tx ledger.Tx) error {
				now := tx.Now()
				if now.Location() != time.UTC {
					return fmt.Errorf("Now is in %v, want UTC", now.Location())
				}
				if d := time.Since(now); d < -time.Minute || d > time.Minute {
					return fmt.Errorf("Now is %v off", d)
				}
				if now.Before(last) {
					return fmt.Errorf("Now went from %v to %v", last, now)
				}
				last = now
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// until waits until the ledger's clock has reached t.
func until(ctx context.Context, db ledger.DB, t time.Time) error {
	for {
		early := false
		err := db.View(ctx, func(tx ledger.Tx) error {
			early = tx.Now().Before(t)
			return nil
		})
		if err != nil || !early {
			return err
		}
	}
}

func take(ctx context.Context, db ledger.DB, owner string, ttl time.Duration) (l ledger.Lease, err error) {
	err = db.Update(ctx, func(tx ledger.Tx) (err error) { l, err = ledger.Take(tx, "census", owner, ttl); return err })
	return l, err
}

// work writes under a lease.
func work(ctx context.Context, db ledger.DB, l ledger.Lease) error {
	return db.Update(ctx, func(tx ledger.Tx) error {
		if err := ledger.Check(tx, l); err != nil {
			return err
		}
		return tx.Set([]byte("work"), []byte(l.Owner))
	})
}

// lost demands that nothing can be done with a lease any more.
func lost(ctx context.Context, db ledger.DB, l ledger.Lease) error {
	for what, err := range map[string]error{
		"Check":   work(ctx, db, l),
		"Renew":   db.Update(ctx, func(tx ledger.Tx) error { _, err := ledger.Renew(tx, l, time.Hour); return err }),
		"Release": db.Update(ctx, func(tx ledger.Tx) error { return ledger.Release(tx, l) }),
	} {
		if !errors.Is(err, ledger.ErrLeaseLost) {
			return fmt.Errorf("%s of a lost lease: %v, want ErrLeaseLost", what, err)
		}
	}
	return nil
}

func checkLease(ctx context.Context, open func() ledger.DB) error {
	db := open()
	a, err := take(ctx, db, "a", time.Hour)
	if err != nil {
		return err
	}
	for _, owner := range []string{"a", "b"} {
		if _, err := take(ctx, db, owner, time.Hour); !errors.Is(err, ledger.ErrLeaseHeld) {
			return fmt.Errorf("Take of a held lease by %s: %v, want ErrLeaseHeld", owner, err)
		}
	}
	if err := work(ctx, db, a); err != nil {
		return err
	}
	err = db.Update(ctx, func(tx ledger.Tx) error {
		longer, err := ledger.Renew(tx, a, 2*time.Hour)
		if err == nil && (!longer.Expires.After(a.Expires) || longer.Fence != a.Fence) {
			err = fmt.Errorf("Renew made %+v of %+v", longer, a)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := db.Update(ctx, func(tx ledger.Tx) error { return ledger.Release(tx, a) }); err != nil {
		return err
	}
	if err := lost(ctx, db, a); err != nil {
		return fmt.Errorf("after its release: %w", err)
	}

	// One that expires: nobody holds it, then another does.
	b, err := take(ctx, db, "b", 20*time.Millisecond)
	if err != nil {
		return err
	}
	if err := until(ctx, db, b.Expires); err != nil {
		return err
	}
	if err := lost(ctx, db, b); err != nil {
		return fmt.Errorf("after its end: %w", err)
	}
	c, err := take(ctx, db, "c", time.Hour)
	if err != nil {
		return err
	}
	if err := lost(ctx, db, b); err != nil {
		return fmt.Errorf("after it was taken over: %w", err)
	}
	if err := work(ctx, db, c); err != nil {
		return err
	}
	if !(0 < a.Fence && a.Fence < b.Fence && b.Fence < c.Fence) {
		return fmt.Errorf("fencing numbers %d, %d, %d do not grow", a.Fence, b.Fence, c.Fence)
	}
	return expect(ctx, db, "work", "c")
}

func checkLeaseRace(ctx context.Context, open func() ledger.DB) error {
	db := open()
	for round := range 3 {
		var winners atomic.Int32
		g, ctx2 := errgroup.WithContext(ctx)
		for racer := range 8 {
			g.Go(func() error {
				err := db.Update(ctx2, func(tx ledger.Tx) error {
					_, err := ledger.Take(tx, fmt.Sprint("job", round), fmt.Sprint(racer), time.Hour)
					return err
				})
				if err == nil {
					winners.Add(1)
				} else if errors.Is(err, ledger.ErrLeaseHeld) {
					err = nil
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if winners.Load() != 1 {
			return fmt.Errorf("%d of 8 took one lease", winners.Load())
		}
	}
	return nil
}

// backupWhileWritten backs a ledger up while two counters in it grow, which are always equal.
func backupWhileWritten(ctx context.Context, db ledger.DB) ([]byte, error) {
	ctx2, stop := context.WithCancel(ctx)
	defer stop()
	writer := make(chan error, 1)
	begun := make(chan struct{}, 1)
	go func() {
		for {
			err := db.Update(ctx2, func(tx ledger.Tx) error {
				return errors.Join(increment(tx, "a"), increment(tx, "z"))
			})
			if err != nil {
				if ctx2.Err() != nil {
					err = nil
				}
				writer <- err
				return
			}
			select {
			case begun <- struct{}{}:
			default:
			}
		}
	}()
	select {
	case <-begun:
	case err := <-writer:
		return nil, err
	}
	var backup bytes.Buffer
	err := ledger.Backup(ctx, db, &backup)
	stop()
	return backup.Bytes(), errors.Join(err, <-writer)
}

// checkBackup backs a ledger up while it is written to, and restores it.
func checkBackup(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := fill(ctx, db); err != nil {
		return err
	}
	backup, err := backupWhileWritten(ctx, db)
	if err != nil {
		return err
	}
	n, err := ledger.Verify(bytes.NewReader(backup))
	if err != nil || n != 202 {
		return fmt.Errorf("Verify = %d, %v, want 202 entries", n, err)
	}
	if err := ledger.Restore(ctx, db, bytes.NewReader(backup)); !errors.Is(err, ledger.ErrNotEmpty) {
		return fmt.Errorf("Restore into a full ledger: %v, want ErrNotEmpty", err)
	}
	if err := expect(ctx, db, "fill/000", fmt.Sprintf("%0100d", 0)); err != nil {
		return fmt.Errorf("after a refused restore: %w", err)
	}
	restored := open()
	damaged := bytes.Clone(backup)
	damaged[len(damaged)/2] ^= 1
	if err := ledger.Restore(ctx, restored, bytes.NewReader(damaged)); err == nil {
		return errors.New("a damaged backup was restored")
	}
	if err := ledger.Restore(ctx, restored, bytes.NewReader(backup)); err != nil {
		return err
	}
	var again bytes.Buffer
	if err := ledger.Backup(ctx, restored, &again); err != nil {
		return err
	}
	if !bytes.Equal(again.Bytes(), backup) {
		return errors.New("the backup of a restored ledger differs from the one restored")
	}
	return restored.View(ctx, func(tx ledger.Tx) error {
		a, err := tx.Get([]byte("a"))
		if err != nil {
			return err
		}
		return expectTx(tx, "z", string(a))
	})
}

func checkClosed(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := set(ctx, db, "a", "1"); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	for _, call := range []func(context.Context, func(ledger.Tx) error) error{db.View, db.Update} {
		if err := call(ctx, func(ledger.Tx) error { return nil }); !errors.Is(err, ledger.ErrClosed) {
			return fmt.Errorf("a call after Close: %v, want ErrClosed", err)
		}
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("closing twice: %w", err)
	}
	return nil
}
