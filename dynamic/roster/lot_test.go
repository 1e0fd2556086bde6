package roster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// homemade tells of blocks that are made at home: another one each time it is asked.
type homemade struct {
	at    time.Time
	asked *atomic.Int64
}

func (h homemade) Tip(context.Context) (int64, error) { return 900_000, nil }

func (h homemade) Header(context.Context, int64) (out ots.Header, err error) {
	binary.LittleEndian.PutUint32(out[40:], uint32(h.asked.Add(1)))
	binary.LittleEndian.PutUint32(out[68:], uint32(h.at.Unix()))
	binary.LittleEndian.PutUint32(out[72:], 0x207fffff)
	for n := uint32(0); ; n++ {
		if binary.LittleEndian.PutUint32(out[76:], n); out.Work(1e-12) == nil {
			return out, nil
		}
	}
}

// publish puts closings on the feed and from there on the record, as a store does.
func (w *world) publish(ctx context.Context, c record.ClosedRoster) (at time.Time, err error) {
	err = w.db.Update(ctx, func(tx ledger.Tx) (err error) {
		at, err = feed.Close(tx, c)
		return err
	})
	w.export.Lock()
	defer w.export.Unlock()
	rec, rerr := w.record()
	if err = errors.Join(err, rerr); err != nil {
		return at, err
	}
	have := rec.Log.Head().Size
	for _, r := range rec.Rounds() {
		have -= r.Rows + 2
	}
	var fresh []record.Observation
	err = w.db.View(ctx, func(tx ledger.Tx) (err error) {
		fresh, err = feed.Since(tx, have+1, 100)
		return err
	})
	if err == nil && len(fresh) > 0 {
		_, err = w.writer.Observe(ctx, fresh...)
	}
	return at, err
}

// dies is a store whose process dies once, before the order is dealt: after the lot is drawn, or
// before it is.
type dies struct {
	*roster.Store
	before bool
	dead   *atomic.Bool
}

var errDead = errors.New("the process died")

func (d dies) Draw(ctx context.Context, l census.Lease, lot record.Lot) (record.Lot, error) {
	if d.before && d.dead.CompareAndSwap(false, true) {
		return lot, errors.Join(errDead, d.Store.Release(ctx, l))
	}
	lot, err := d.Store.Draw(ctx, l, lot)
	if err == nil && d.dead.CompareAndSwap(false, true) {
		err = errors.Join(errDead, d.Store.Release(ctx, l))
	}
	return lot, err
}

// TestOneLotForAll lets a process die while the lot is drawn, and three go on at once, by a source
// that names another block each time: one roster is closed, one lot stands, the cap follows from
// it, and a stranger draws the same.
func TestOneLotForAll(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("before the draw ", before), func(t *testing.T) {
			w := newWorld(t)
			lines := w.doors()[:12]
			dead := new(atomic.Bool)
			cfg := func() census.Config {
				c := w.config(lists(lines...)...)
				c.Cap = 5
				return c
			}
			first := cfg()
			first.Store = dies{w.store, before, dead}
			if _, err := census.Run(t.Context(), first); !errors.Is(err, errDead) {
				t.Fatalf("the first: %v", err)
			}
			week := record.ISOWeek(w.now)
			held, err := w.store.Week(t.Context(), week)
			if err != nil || held.Phase != census.PhaseListed || (held.Lot == nil) != before {
				t.Fatalf("%+v, %v", held, err)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if _, err := census.Run(t.Context(), cfg()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			round := w.round(1)
			if round.Lot == nil || round.Lot.IsOwn() || round.Lot.RosterDigest != held.Closed.Digest ||
				round.Lot.Height != 900_002 {
				t.Fatalf("lot %+v of %+v", round.Lot, held.Closed)
			}
			if held.Lot != nil && !slices.Equal(held.Lot.Header, round.Lot.Header) {
				t.Error("the lot was drawn again")
			}
			var due []string
			for host := range w.rows(1) {
				due = append(due, host)
			}
			seed := round.Lot.Seed()
			slices.SortFunc(due, func(a, b string) int {
				x, y := record.Turn(seed, a), record.Turn(seed, b)
				return bytes.Compare(x[:], y[:])
			})
			rows := w.rows(1)
			for i, host := range due {
				if out := rows[host].Reason == census.ReasonBeyondCap; out != (i >= 5) {
					t.Errorf("turn %d, %s: beyond the cap %v", i, host, out)
				}
			}
			report, err := verify.Record(t.Context(), os.DirFS(w.writer.Dir), w.writer.Ring,
				verify.RecordOptions{Judge: rejudge.Batteries{}})
			if err != nil || len(report.Problems) > 0 || report.Lots.Block != 1 || report.Observations != 1 {
				t.Errorf("%+v, %d observations, %v, %v", report.Lots, report.Observations, report.Problems, err)
			}
		})
	}
}

// TestARosterIsClosedOnce: whoever would close a week's roster again, with the names that please
// him, is refused.
func TestARosterIsClosedOnce(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	c := record.ClosedRoster{Week: "2026-W47", Hosts: 3, Own: attest.Digest{1}}
	shut := func(c record.ClosedRoster) (at time.Time, err error) {
		err = db.Update(t.Context(), func(tx ledger.Tx) (err error) {
			at, err = feed.Close(tx, c)
			return err
		})
		return at, err
	}
	first, err := shut(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := shut(c); err != nil || !again.Equal(first) {
		t.Errorf("the same again: %s, %v, want %s", again, err, first)
	}
	c.Own[0]++
	if _, err := shut(c); !errors.Is(err, feed.ErrClosed) {
		t.Errorf("another: %v", err)
	}
	var n int64
	if err := db.View(t.Context(), func(tx ledger.Tx) (err error) {
		n, err = ledger.Last(tx, feed.Counter)
		return err
	}); err != nil || n != 1 {
		t.Errorf("%d observations, %v", n, err)
	}
}
