package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// hanging is a node that takes its first call and never answers it.
type hanging struct {
	node
	once sync.Once
	hung time.Duration // how long the call was left to it; guarded by mu
}

func (n *hanging) Send(ctx context.Context, all ...rail.Signed) error {
	var first bool
	n.once.Do(func() { first = true })
	if !first {
		return n.node.Send(ctx, all...)
	}
	began := time.Now()
	<-ctx.Done()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hung = time.Since(began)
	return ctx.Err()
}

// A call that a node never answers holds up those behind it for a moment, and is left as long as
// another node may take; who waits for it is told that it is not known, and sends again.
func TestOutboxDoesNotWaitForAHangingCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(func() {})
		n := new(hanging)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			time.Sleep(time.Millisecond)
			wg.Go(func() {
				err := b.post(t.Context(), n, rail.Signed{ID: fmt.Sprint(i), Sequence: uint64(i)}, time.Second)
				if slow := errors.Is(err, errSlow); slow != (i == 0) || !slow && err != nil {
					t.Errorf("transaction %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("those behind waited for %s", took)
		}
		if err := b.post(t.Context(), n, rail.Signed{ID: "0", Sequence: 0}, time.Second); err != nil {
			t.Error(err)
		}
		if !slices.Equal(n.came, []uint64{1, 2, 0}) {
			t.Errorf("came in the order %v", n.came)
		}
		time.Sleep(time.Minute)
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.hung != patience {
			t.Errorf("the hanging call was left %s", n.hung)
		}
	})
}
