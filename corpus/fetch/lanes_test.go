package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/exchange"
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

// TestOneRequestAtATimeToAnAddress asks two names of one address at once, and a third whose second
// address is free.
func TestOneRequestAtATimeToAnAddress(t *testing.T) {
	asked, answer := make(chan bool, 3), make(chan bool)
	c, _ := door(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		if r.Host == "first.example.com" {
			<-answer
		}
	}, func(_ *httptest.Server, cfg *Config) {
		cfg.OnePerAddress = true
		cfg.Resolver = &names{answer: func(host string, _ int) []netip.Addr {
			all := map[string][]netip.Addr{"third.example.com": {netip.MustParseAddr("8.8.8.8"),
				netip.MustParseAddr("8.8.4.4")}}
			if at, ok := all[host]; ok {
				return at
			}
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}
		}}
	})
	ask := func(host string) (exchange.Exchange, error) {
		return c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: "https://" + host + "/"}, Rule{})
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if x, err := ask("first.example.com"); err != nil || x.Response.Status != 200 {
			t.Errorf("the first: %v, %+v", err, x.Error)
		}
	})
	<-asked
	x, err := ask("second.example.com")
	if _, busy := errors.AsType[*Busy](err); !busy || x.RemoteAddr != "" || len(asked) != 0 {
		t.Errorf("a second name of the address: %v, %+v", err, x.Error)
	}
	if x, err := ask("third.example.com"); err != nil || x.RemoteAddr != "8.8.4.4:443" {
		t.Errorf("a name with another address beside it: %v, %+v", err, x)
	}
	close(answer)
	wg.Wait()
	if x, err := ask("second.example.com"); err != nil || x.Response.Status != 200 {
		t.Errorf("when the address is free: %v, %+v", err, x.Error)
	}
	if len(c.ways.taken) != 0 {
		t.Errorf("%v are held", c.ways.taken)
	}
}

// TestRequestsToAnAddressAreSpaced lets ten thousand names of one address knock, each again and
// again: one a spacing gets through, and what is free is forgotten.
func TestRequestsToAnAddressAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ways{alone: true, spacing: time.Second}
		shared := netip.MustParseAddr("8.8.8.8")
		began, in := time.Now(), 0
		for tries := 0; time.Since(began) < 25*time.Second; tries++ {
			if leave, free := w.enter(shared, strconv.Itoa(tries%10_000)); free {
				in++
				leave()
			}
			time.Sleep(time.Millisecond)
		}
		if in != 20 {
			t.Errorf("%d requests in 25 seconds", in)
		}
		// Whoever was let in goes on before the others.
		time.Sleep(time.Minute)
		for range 3 {
			leave, free := w.enter(shared, "walked")
			if !free {
				t.Fatal("a walk that has begun is held up")
			}
			leave()
			time.Sleep(time.Second)
			if _, free := w.enter(shared, "another"); free {
				t.Fatal("another came in between")
			}
		}
		for i := range 2000 {
			leave, free := w.enter(netip.AddrFrom4([4]byte{8, 8, byte(i >> 8), byte(i)}), "host")
			if !free {
				t.Fatalf("address %d is not free", i)
			}
			leave()
			time.Sleep(10 * time.Millisecond)
		}
		if len(w.taken) > 512 {
			t.Errorf("%d addresses are kept", len(w.taken))
		}
	})
}
