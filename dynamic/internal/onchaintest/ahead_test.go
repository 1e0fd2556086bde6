package onchaintest_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// together is a ledger that counts what a server would be asked of each kind of key in an Update,
// one after another, because nobody said ahead that it would be read.
type together struct {
	ledger.DB
	mu   sync.Mutex
	most map[string]int // by the first word of the key, in one Update
	read map[string]int // keys that were read, said ahead or not
}

// Update implements [ledger.DB].
func (d *together) Update(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.Update(ctx, func(tx ledger.Tx) error {
		s := &togetherSnapshot{tx: tx, ahead: map[string]bool{}, alone: map[string]int{}, read: map[string]int{}}
		o := ledger.NewUpdate(s)
		if err := f(o); err != nil {
			return err
		}
		o.End()
		d.mu.Lock()
		defer d.mu.Unlock()
		for word, n := range s.alone {
			d.most[word] = max(d.most[word], n)
		}
		for word, n := range s.read {
			d.read[word] = max(d.read[word], n)
		}
		for _, w := range o.Writes() {
			var err error
			if w.Delete {
				err = tx.Delete(w.Key)
			} else {
				err = tx.Set(w.Key, w.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type togetherSnapshot struct {
	tx    ledger.Tx
	ahead map[string]bool
	alone map[string]int
	read  map[string]int
}

// Ahead is told what will be read.
func (s *togetherSnapshot) Ahead(ranges []ledger.Range) {
	for _, r := range ranges {
		s.ahead[string(r.From)] = true
	}
}

func (s *togetherSnapshot) Get(key []byte) ([]byte, error) {
	word, _, _ := strings.Cut(string(key), "\x00")
	if s.read[word]++; !s.ahead[string(key)] {
		s.alone[word]++
	}
	s.ahead[string(key)] = true // an engine keeps the answer
	return s.tx.Get(key)
}

func (s *togetherSnapshot) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return s.tx.Scan(from, to)
}

func (s *togetherSnapshot) ScanDown(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return s.tx.ScanDown(from, to)
}

func (s *togetherSnapshot) Now() time.Time { return s.tx.Now() }

// What arrived is judged by a few questions, however much it is: three stores that sell on a ledger
// of PostgreSQL stood still while one asked for two hundred credits and purchases one by one.
func TestWhatArrivedIsAskedForTogether(t *testing.T) {
	t.Parallel()
	db := &together{DB: ledger.NewMem(ledger.MemOptions{}), most: map[string]int{}, read: map[string]int{}}
	s := newShop(t, shopOptions{db: db, config: func(c *till.Config) { c.Sweep = time.Hour }})
	const path, n = "/api/buy/hello", 20
	for i := range n {
		key := "order-" + strings.Repeat("x", i+16)
		bought, _ := s.buy(path, s.net.Buyers[i%len(s.net.Buyers)], map[string]string{"Idempotency-Key": key})
		s.want("a purchase", bought, 200, "")
	}
	for range 5 { // until all are final
		s.net.MustSeal()
	}
	err := db.DB.Update(t.Context(), func(tx ledger.Tx) error {
		return schedule.Put(tx, "arrivals", "eip155:8453", tx.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a reading of all credits", func() bool {
		db.mu.Lock()
		defer db.mu.Unlock()
		return db.read["credit"] >= n
	})
	db.mu.Lock()
	defer db.mu.Unlock()
	for word, few := range map[string]int{"credit": 2, "purchase": 2, "auth": 2, "task": 2} {
		if db.most[word] > few {
			t.Errorf("%d keys %s were asked for one by one, want %d at most", db.most[word], word, few)
		}
	}
}
