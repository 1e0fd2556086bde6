package settle_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// asked is a ledger that notes what an Update reads and nobody said ahead: a server would be asked
// for each by itself.
type asked struct {
	ledger.DB
	alone []string
}

// Update implements [ledger.DB]. It runs the function once to see what it reads, as an engine may
// that finds a conflict.
func (d *asked) Update(ctx context.Context, f func(ledger.Tx) error) error {
	err := d.DB.View(ctx, func(tx ledger.Tx) error {
		return f(ledger.NewUpdate(&askedSnapshot{tx: tx, d: d, ahead: map[string]bool{}}))
	})
	if err != nil {
		return err
	}
	return d.DB.Update(ctx, f)
}

type askedSnapshot struct {
	tx    ledger.Tx
	d     *asked
	ahead map[string]bool
}

// Ahead is told what will be read.
func (s *askedSnapshot) Ahead(ranges []ledger.Range) {
	for _, r := range ranges {
		s.ahead[string(r.From)] = true
	}
}

func (s *askedSnapshot) note(key []byte) {
	if !s.ahead[string(key)] {
		s.d.alone = append(s.d.alone, ledger.KeyText(key))
	}
}

func (s *askedSnapshot) Get(key []byte) ([]byte, error) {
	s.note(key)
	return s.tx.Get(key)
}

func (s *askedSnapshot) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	s.note(from)
	return s.tx.Scan(from, to)
}

func (s *askedSnapshot) ScanDown(from, to []byte) iter.Seq2[ledger.Entry, error] {
	s.note(from)
	return s.tx.ScanDown(from, to)
}

func (s *askedSnapshot) Now() time.Time { return s.tx.Now() }

// accounted is several that says which account it has.
type accounted struct{ *several }

func (accounted) Info() rail.Info {
	return rail.Info{Network: "test:several", Accounts: []string{"one"}}
}

// A settlement is stored after one question to the ledger, which is for all that is read: a number
// is given out while it lasts, so that each question more is a wait for all who settle beside it.
func TestWhatStoringReadsIsAskedForAtOnce(t *testing.T) {
	n := accounted{&several{changed: make(chan struct{})}}
	db := &asked{DB: ledger.NewMem(ledger.MemOptions{})}
	rails := []rail.Rail{n}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: rails})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: rails, Gas: g})
	if err != nil {
		t.Fatal(err)
	}
	key := ledger.Key("purchase", "one")
	o := order("payer")
	o.Reads = []ledger.Range{ledger.At(key)}
	o.Arrow = func(tx ledger.Tx, _ *settle.Settlement) error {
		if _, err := tx.Get(key); !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		return tx.Set(key, nil)
	}
	if _, err := d.Begin(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(db.alone) > 0 {
		slices.Sort(db.alone)
		t.Errorf("asked for by themselves are %q", db.alone)
	}
}
