package settle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
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
				for _, first := range []string{"payer-0", "payer-30"} {
					q.wg.Go(func() { q.d.Drive(ctx, q.under[first], &heard{proofs: map[string]rail.Proof{}}) })
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
