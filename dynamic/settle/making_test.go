package settle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// slow is blocks whose drafts take a while.
type slow struct {
	*blocks
	takes time.Duration
}

func (n *slow) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	d, err := n.blocks.Draft(ctx, ps)
	time.Sleep(n.takes)
	return d, err
}

// While a transaction is being made those that come are gathered, where blocks come quickly too:
// until it was broadcast, or for 300 ms where nobody broadcasts it. One that is full waits for
// nothing.
func TestWhatIsBeingMadeIsWaitedFor(t *testing.T) {
	for _, posted := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			q := newQueue(t)
			n := &slow{blocks: q.n}
			q.use(n)
			q.know("payer", 100)
			q.busy()
			time.Sleep(time.Second) // the four are not sent by anybody, and not waited for any longer
			n.takes = 100 * time.Millisecond
			q.begin(t.Context(), orders("payer", 10)...)
			for range 3 { // a block every 10 ms
				time.Sleep(10 * time.Millisecond)
				q.n.seal()
				synctest.Wait()
			}
			q.drafts("at a block", 10)
			q.begin(t.Context(), orders("payer", 20)[10:]...)
			q.begin(t.Context(), orders("payer", 80)[30:]...)
			time.Sleep(10 * time.Millisecond)
			q.n.seal()
			synctest.Wait()
			q.drafts("while one is drafted", 50)
			q.begin(t.Context(), orders("payer", 30)[20:]...)
			time.Sleep(70 * time.Millisecond) // the first was signed
			synctest.Wait()
			if posted {
				time.Sleep(40 * time.Millisecond) // so was the second
				synctest.Wait()
				q.drafts("while one is not broadcast")
				// Of the fifty those that came first are in the second for certain.
				for _, first := range []string{"payer-0", "payer-10"} {
					q.wg.Go(func() { q.d.Drive(ctx, q.settlement(first), &heard{proofs: map[string]rail.Proof{}}) })
				}
				synctest.Wait()
				q.drafts("when all was broadcast", 20)
			}
			time.Sleep(300 * time.Millisecond)
			synctest.Wait()
			if !posted {
				q.drafts("after 300 ms", 20)
			}
			cancel()
			q.waited(410 * time.Millisecond)
		})
	}
}

// far is a ledger that takes a while to be read.
type far struct {
	ledger.DB
	takes time.Duration
}

func (l *far) View(ctx context.Context, read func(ledger.Tx) error) error {
	time.Sleep(l.takes)
	return l.DB.View(ctx, read)
}

// Whoever came first is in the first transaction, also where others have come since the ledger was
// asked about those who wait.
func TestWhoCameFirstGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.know("payer", 99)
		db := &far{DB: q.db}
		var err error
		if q.d, err = settle.New(settle.Config{DB: db, Rails: []rail.Rail{q.n}, Gas: q.gas}); err != nil {
			t.Fatal(err)
		}
		q.busy()
		db.takes = time.Millisecond
		q.begin(t.Context(), orders("payer", 48)...)
		time.Sleep(10 * time.Millisecond)
		q.begin(t.Context(), order("payer-48"))
		q.begin(t.Context(), orders("payer", 99)[49:]...)
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		q.drafts("when there are enough", 50)
		for _, o := range orders("payer", 49) {
			if id := o.Members[0].ID; q.settlement(id) == nil {
				t.Errorf("%s waits longer than others that came after it", id)
			}
		}
		q.waited(310 * time.Millisecond)
	})
}
