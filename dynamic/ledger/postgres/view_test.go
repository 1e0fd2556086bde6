package postgres

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// Views that begin while the transaction of another opens have one together, and wait for no more
// than a moment where that one hangs.
func TestViewsJoinWhileOneOpens(t *testing.T) {
	db := open(t, ledgertest.Postgres(t))
	look := func(key string) error {
		return db.View(t.Context(), func(tx ledger.Tx) error {
			if _, err := tx.Get([]byte(key)); !errors.Is(err, ledger.ErrNotFound) {
				return err
			}
			return nil
		})
	}
	for range 100 { // none of those who open forget to say that they have
		if err := look("alone"); err != nil {
			t.Fatal(err)
		}
	}
	// On a machine that stands still for a moment those that wait may go before another comes: it
	// is tried until another came, for a minute at most.
	joined := false
	for began := time.Now(); !joined && time.Since(began) < time.Minute; {
		db.opens <- struct{}{} // one opens
		next := db.join()
		state := func() (asking, begun bool, users int) {
			next.mu.Lock()
			defer next.mu.Unlock()
			return next.asking, next.begun, next.users
		}
		var views errgroup.Group
		views.Go(func() error { return look("first") })
		asked := time.Now()
		for waits := false; !waits || time.Since(asked) < openingTime/5; runtime.Gosched() {
			asking, begun, _ := state()
			waits = asking || begun
		}
		views.Go(func() error { return look("second") })
		for begun := false; !begun && !joined; {
			var users int
			_, begun, users = state()
			joined = !begun && users == 3 // with the test
			runtime.Gosched()
		}
		<-db.opens
		if err := views.Wait(); err != nil {
			t.Error(err)
		}
		next.leave()
	}
	if !joined {
		t.Error("no View joins those that wait to open")
	}
	db.opens <- struct{}{} // one hangs
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := db.View(ctx, func(tx ledger.Tx) error {
		_, err := tx.Get([]byte("behind"))
		return err
	})
	if !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a View behind one that hangs: %v", err)
	}
	if len(db.opens) != 1 {
		t.Error("a View said for another that it has opened")
	}
}

// A pool keeps some connections open, no more than it may have, and as many as its string says.
func TestConnectionsKept(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	and := "&"
	if !strings.Contains(dsn, "://") {
		and = " "
	}
	for settings, want := range map[string]int32{"": keptConns, and + "pool_max_conns=2": 2,
		and + "pool_max_conns=8" + and + "pool_min_conns=1": 1} {
		if got := open(t, dsn+settings).pool.Config().MinConns; got != want {
			t.Errorf("%q keeps %d connections, want %d", settings, got, want)
		}
	}
}
