package settle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
)

func stranger() bool { return false }

// refuse has a payment refused, after d.
func refuse(c *Checks, client string, d time.Duration, known func() bool) error {
	return c.Verify(context.Background(), client, known, func() error {
		time.Sleep(d)
		return &rail.Refusal{Reason: "no"}
	})
}

func busy(err error) bool {
	_, ok := errors.AsType[*ChecksBusy](err)
	return ok
}

// Thirty refused payments of one client a minute cost it the right to more than four at a time, and
// nobody else anything; who settled here goes on, and so does what is not refused.
func TestOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Checks{}
		for i := range DefaultClientChecks {
			if err := refuse(c, "a", 0, stranger); busy(err) {
				t.Fatalf("refusal %d is not looked at", i)
			}
		}
		var mu sync.Mutex
		at, most, checked, turned := 0, 0, 0, 0
		var wg sync.WaitGroup
		began := time.Now()
		for range 50 {
			wg.Go(func() {
				err := c.Verify(t.Context(), "a", stranger, func() error {
					mu.Lock()
					at, checked = at+1, checked+1
					most = max(most, at)
					mu.Unlock()
					time.Sleep(2 * time.Second)
					mu.Lock()
					at--
					mu.Unlock()
					return &rail.Refusal{Reason: "no"}
				})
				if busy(err) {
					mu.Lock()
					turned++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		for who, known := range map[string]bool{"b": false, "a": true} {
			if err := refuse(c, who, 0, func() bool { return known }); busy(err) {
				t.Errorf("%s, known %v, is turned away", who, known)
			}
		}
		wg.Wait()
		if most != 4 || checked != 12 || turned != 38 { // three times four within five seconds
			t.Errorf("%d at a time, %d in all, %d turned away after %v", most, checked, turned, time.Since(began))
		}
		time.Sleep(time.Minute)
		for i := range 60 {
			if err := c.Verify(t.Context(), "a", stranger, func() error { return nil }); err != nil {
				t.Fatalf("payment %d that is taken: %v", i, err)
			}
		}
		if len(c.busy) != 0 {
			t.Errorf("%d clients are remembered for nothing", len(c.busy))
		}
	})
}

// Many clients together reach the count of the process; each has its places then.
func TestManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Checks{Process: 100}
		for i := range 100 {
			refuse(c, fmt.Sprint(i), 0, stranger)
		}
		asked := false
		if err := refuse(c, "another", 0, func() bool { asked = true; return false }); busy(err) || !asked {
			t.Errorf("%v, asked %v: want a place after a question", err, asked)
		}
	})
}
