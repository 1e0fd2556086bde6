package fetch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneAtATimeAndSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lanes{spacing: 100 * time.Millisecond}
		var inside atomic.Int32
		var wg sync.WaitGroup
		began := time.Now()
		for range 5 {
			for _, host := range []string{"a.com", "b.com"} {
				wg.Go(func() {
					leave, err := l.enter(t.Context(), host)
					if err != nil {
						t.Error(err)
						return
					}
					if host == "a.com" {
						if inside.Add(1) != 1 {
							t.Error("two at once at one host")
						}
						defer inside.Add(-1)
					}
					time.Sleep(time.Second)
					leave()
				})
			}
		}
		wg.Wait()
		if d := time.Since(began); d != 5*time.Second+4*100*time.Millisecond {
			t.Errorf("took %s", d)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lanes{spacing: time.Minute}
		leave, err := l.enter(t.Context(), "a.com")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // while the host is used, and while it rests
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := l.enter(ctx, "a.com"); err == nil {
				t.Error("entered")
			}
			cancel()
			leave()
			leave = func() {}
		}
		time.Sleep(time.Minute)
		if _, err := l.enter(t.Context(), "a.com"); err != nil {
			t.Error(err)
		}
	})
}

func TestIdleHostsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, spacing := range []time.Duration{0, time.Second} {
			l := lanes{spacing: spacing}
			for i := range 10_000 {
				leave, err := l.enter(t.Context(), fmt.Sprint(i))
				if err != nil {
					t.Fatal(err)
				}
				leave()
				time.Sleep(10 * time.Millisecond)
			}
			if len(l.lanes) > 512 {
				t.Errorf("%d hosts are kept", len(l.lanes))
			}
		}
	})
}
