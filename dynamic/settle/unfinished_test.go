package settle_test

import (
	"context"
	"fmt"
	"iter"
	"math/big"
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// readings counts what is read of a ledger.
type readings struct {
	ledger.DB
	n int
}

func (r *readings) View(ctx context.Context, f func(ledger.Tx) error) error {
	return r.DB.View(ctx, func(tx ledger.Tx) error { return f(readTx{tx, r}) })
}

type readTx struct {
	ledger.Tx
	r *readings
}

func (tx readTx) Get(key []byte) ([]byte, error) {
	tx.r.n++
	return tx.Tx.Get(key)
}

func (tx readTx) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range tx.Tx.Scan(from, to) {
			if tx.r.n++; !yield(e, err) {
				return
			}
		}
	}
}

// Who begins finds what is unfinished without reading what is not.
func TestUnfinishedReadsWhatIsOpen(t *testing.T) {
	n := &several{changed: make(chan struct{})}
	db := &readings{DB: ledger.NewMem(ledger.MemOptions{})}
	rails := []rail.Rail{n}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: rails})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: rails, Gas: g})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for i := range 200 {
		prefix := []string{"fac_", "set_"}[i%2]
		m := settle.Member{ID: fmt.Sprint(prefix, i), Payment: rail.Payment{
			Network: "test:several", Payer: fmt.Sprint("payer-", i), Nonce: fmt.Sprint("nonce-", i),
			Amount: big.NewInt(1000)}}
		s, err := d.Begin(t.Context(), settle.Order{ID: fmt.Sprint(prefix, i), Members: []settle.Member{m},
			Arrow: func(ledger.Tx, *settle.Settlement) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if i >= 194 {
			want[s.ID] = prefix == "fac_"
		} else if err := d.Drive(t.Context(), s, &heard{proofs: map[string]rail.Proof{}}); err != nil {
			t.Fatal(err)
		}
	}
	db.n = 0
	list, err := d.Unfinished(t.Context(), "fac_")
	if err != nil || len(list) != 3 {
		t.Errorf("Unfinished = %d settlements, %v; want 3", len(list), err)
	}
	for _, s := range list {
		if !want[s.ID] || len(s.Sent) != 1 {
			t.Errorf("%s is unfinished, with %d transactions", s.ID, len(s.Sent))
		}
	}
	if db.n > 12 {
		t.Errorf("%d records were read to find three of 200", db.n)
	}
	if list, err := d.Unfinished(t.Context(), "", "test:other"); err != nil || len(list) != 0 {
		t.Errorf("of another network: %d, %v", len(list), err)
	}
}
