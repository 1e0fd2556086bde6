package settle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// node takes a while for each round trip and notes what came.
type node struct {
	rail.Rail
	mu    sync.Mutex
	came  []uint64
	trips int
}

func (n *node) Send(_ context.Context, all ...rail.Signed) error {
	time.Sleep(50 * time.Millisecond)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trips++
	for _, s := range all {
		n.came = append(n.came, s.Sequence)
	}
	return nil
}

// Whatever order they are signed and posted in, transactions reach the node by their numbers, many
// in one round trip. A number whose transaction was not stored holds up nobody, and one whose
// signer died does so for a pause.
func TestOutboxPostsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(func() {})
		n := new(node)
		const count, failed, died = 60, 20, 40
		held := make([]*letter, count)
		for i := range held {
			held[i] = b.hold(uint64(i), time.Second)
		}
		began := time.Now()
		var wg sync.WaitGroup
		for _, i := range rand.Perm(count) {
			wg.Go(func() {
				time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
				switch i {
				case failed:
					b.drop(held[i])
				case died:
				default:
					if err := b.post(t.Context(), n, rail.Signed{ID: fmt.Sprint(i), Sequence: uint64(i)},
						time.Second); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if !slices.IsSorted(n.came) || len(n.came) != count-2 {
			t.Errorf("came in the order %v", n.came)
		}
		if n.trips > count/2 {
			t.Errorf("%d round trips for %d transactions", n.trips, count)
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("it took %s: who died holds up others for a second", took)
		}
		if err := b.post(t.Context(), n, rail.Signed{ID: "7", Sequence: 7}, time.Second); err != nil { // again
			t.Error(err)
		}
		synctest.Wait()
		if len(b.letters) != 0 || b.posting {
			t.Errorf("%d letters are left, posting %v", len(b.letters), b.posting)
		}
	})
}

func TestRoom(t *testing.T) {
	for _, c := range []struct{ next, mined, want uint64 }{
		{0, 0, 48}, {47, 0, 1}, {48, 0, 0}, {1000, 0, 0}, {1000, 960, 8}, {3, 9, 48}, // the last is a restored counter
	} {
		if got := roomOf(unmined(nil, c.next, c.mined)); got != c.want {
			t.Errorf("roomOf(%d, %d) = %d, want %d", c.next, c.mined, got, c.want)
		}
	}
}
