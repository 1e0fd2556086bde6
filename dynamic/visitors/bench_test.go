package visitors_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/visitors"
)

// TestSoakWrites sets letters and guestbook entries, sent by 128 at once to the handler, against
// the ledger that writes the same entries by itself: what the handler adds (HTTP, JSON, limits, a
// signature) halves the rate at most.
func TestSoakWrites(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the store does
	t.Run("bolt", func(t *testing.T) {
		db := must[*bolt.DB](t)(bolt.Open(t.Context(), filepath.Join(t.TempDir(), "ledger")))
		defer db.Close()
		compareWrites(t, db)
	})
	t.Run("postgres", func(t *testing.T) {
		db := must[*postgres.DB](t)(postgres.Open(t.Context(), ledgertest.Postgres(t), postgres.Options{}))
		defer db.Close()
		compareWrites(t, db)
	})
}

func compareWrites(t *testing.T, db ledger.DB) {
	const least = 0.5
	noted := &noting{DB: db}
	s := unlimited(t, noted)
	bodies := map[string]string{
		visitors.KindLetter:    text(t, map[string]any{"letter": strings.Repeat("Dear keeper. ", 50)}),
		visitors.KindGuestbook: text(t, map[string]any{"name": "Ada", "message": strings.Repeat("Came by. ", 30)}),
	}
	var n atomic.Int64
	for kind, body := range bodies {
		leave := func() error {
			who := from{address: "198.51.100.1", agent: fmt.Sprint(n.Add(1))}
			if res := s.do(who, "POST", "/api/"+kind, body); res.StatusCode != 201 {
				return fmt.Errorf("status %d", res.StatusCode)
			}
			return nil
		}
		entries := noted.entries(t, leave)
		bare := func() error {
			return db.Update(context.Background(), func(tx ledger.Tx) error {
				for _, e := range entries {
					if err := tx.Set(e.fresh(), e.value); err != nil {
						return err
					}
				}
				return nil
			})
		}
		var ratios []float64
		for range 5 {
			ours, peer := rate(t, leave), rate(t, bare)
			t.Logf("%s: %.0f/s, the ledger alone %.0f/s with the same %d entries: %.2fx", kind, ours, peer,
				len(entries), ours/peer)
			ratios = append(ratios, ours/peer)
		}
		slices.Sort(ratios)
		if ratios[2] < least {
			t.Errorf("%s: %.2fx of the ledger's own rate, want %.2f", kind, ratios[2], least)
		}
	}
}

// rate is how often a second f is done by 128 at once.
func rate(t *testing.T, f func() error) float64 {
	var done atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range 128 {
		wg.Go(func() {
			for time.Since(began) < 3*time.Second {
				if err := f(); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}

// noting is a ledger that notes what the last Update wrote.
type noting struct {
	ledger.DB
	on   bool
	last map[string][]byte
}

func (d *noting) Update(ctx context.Context, f func(ledger.Tx) error) error {
	if !d.on {
		return d.DB.Update(ctx, f)
	}
	return d.DB.Update(ctx, func(tx ledger.Tx) error {
		d.last = map[string][]byte{}
		return f(noted{tx, d})
	})
}

type noted struct {
	ledger.Tx
	db *noting
}

func (tx noted) Set(key, value []byte) error {
	tx.db.last[string(key)] = bytes.Clone(value)
	return tx.Tx.Set(key, value)
}

// entry is one that a write stores: always at one key, or each time at another.
type entry struct {
	key, value []byte
	same       bool
}

// fresh is the entry's key; of one that is another each time with sixteen random bytes at its end.
func (e entry) fresh() []byte {
	if e.same {
		return e.key
	}
	key := bytes.Clone(e.key)
	rand.Read(key[len(key)-16:])
	return key
}

// entries are those that a write stores, found by doing it three times: the first may store more.
func (d *noting) entries(t *testing.T, write func() error) (all []entry) {
	d.on = true
	defer func() { d.on = false }()
	var before map[string][]byte
	for range 3 {
		before = d.last
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range d.last {
		_, same := before[key]
		all = append(all, entry{[]byte(key), value, same})
	}
	if len(all) < 4 || len(all) != len(before) {
		t.Fatalf("%d entries were noted, and %d before", len(all), len(before))
	}
	return all
}
