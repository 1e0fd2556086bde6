package ledger

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeaseOverAWeek lets three workers share one job by the hour, each dying
// now and then, and demands that the job is done each hour by one of them, and
// that no late writer gets through.
func TestLeaseOverAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := NewMem(MemOptions{})
		ctx, stop := context.WithTimeout(t.Context(), 7*24*time.Hour)
		defer stop()
		for w := range 3 {
			go func() {
				for n := 0; ctx.Err() == nil; n++ {
					hold(t, ctx, db, fmt.Sprint("worker", w), n%5 == 4)
				}
			}()
		}
		<-ctx.Done()
		synctest.Wait()
		var done, fence int64
		err := db.View(t.Context(), func(tx Tx) (err error) {
			if done, err = Last(tx, "done"); err != nil {
				return err
			}
			l, err := GetJSON[Lease](tx, LeaseKey("job"))
			fence = l.Fence
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// Each holder works each ten minutes; after a death an hour is lost.
		if done < 7*24*2 || done > 7*24*6 {
			t.Errorf("the job was done %d times in a week", done)
		}
		if fence < 10 {
			t.Errorf("the lease changed hands %d times only", fence)
		}
	})
}

// hold takes the lease if it can, works, and lets go; or, dying, works on much
// later, when it must be refused.
func hold(t *testing.T, ctx context.Context, db DB, owner string, die bool) {
	var l Lease
	err := db.Update(ctx, func(tx Tx) (err error) { l, err = Take(tx, "job", owner, time.Hour); return err })
	if err != nil {
		if !errors.Is(err, ErrLeaseHeld) && ctx.Err() == nil {
			t.Errorf("Take: %v", err)
		}
		wait(ctx, 7*time.Minute)
		return
	}
	work := func() error {
		return db.Update(ctx, func(tx Tx) error {
			if err := Check(tx, l); err != nil {
				return err
			}
			_, err := Next(tx, "done")
			return err
		})
	}
	for range 8 {
		if err := work(); err != nil && ctx.Err() == nil {
			t.Errorf("work: %v", err)
		}
		wait(ctx, 10*time.Minute)
		err := db.Update(ctx, func(tx Tx) (err error) { l, err = Renew(tx, l, time.Hour); return err })
		if err != nil && ctx.Err() == nil {
			t.Errorf("Renew: %v", err)
		}
	}
	if die {
		wait(ctx, 3*time.Hour)
		if err := work(); !errors.Is(err, ErrLeaseLost) && ctx.Err() == nil {
			t.Errorf("work after three hours asleep: %v, want ErrLeaseLost", err)
		}
		return
	}
	err = db.Update(ctx, func(tx Tx) error { return Release(tx, l) })
	if err != nil && ctx.Err() == nil {
		t.Errorf("Release: %v", err)
	}
	wait(ctx, time.Minute)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func TestTakeRefusesNonsense(t *testing.T) {
	db := NewMem(MemOptions{})
	err := db.Update(t.Context(), func(tx Tx) error {
		if _, err := Take(tx, "job", "", time.Hour); err == nil {
			t.Error("taken by nobody")
		}
		if _, err := Take(tx, "job", "me", 0); err == nil {
			t.Error("taken for no time")
		}
		if err := Check(tx, Lease{Job: "job"}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("Check of a lease never taken: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
