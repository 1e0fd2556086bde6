package visitors_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/visitors"
)

// writes are one body of each kind.
var writes = map[string]map[string]any{
	visitors.KindLetter:    {"letter": "Dear keeper, the rock is fine."},
	visitors.KindGuestbook: {"name": "Ada", "message": "Came for the rock."},
	visitors.KindTip:       {"tip": "Oil the hinge."},
	visitors.KindRequest:   {"description": "Paint the sign.", "offer_usdc": "5", "contact": "ada@example.com"},
}

func (s shop) write(who from, kind string) *http.Response {
	s.t.Helper()
	path, body := "/api/"+kind, ""
	if m := writes[kind]; m != nil {
		body = text(s.t, m)
	}
	return s.do(who, "POST", path, body)
}

// TestEachLimitAtItsEdge: as many as the table says are kept of a visitor, an address and
// everybody, the next is told when to come back, and the day after it is kept.
func TestEachLimitAtItsEdge(t *testing.T) {
	for _, l := range visitors.Limits {
		t.Run(l.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for name, c := range map[string]struct {
					limit visitors.Limit
					who   func(i int) from
					want  int
				}{
					"a visitor": {l, func(int) from { return ann }, l.Visitor},
					"an address": {visitors.Limit{Kind: l.Kind, Visitor: 2, Place: 5, Everyone: 100, What: l.What},
						func(i int) from { return from{address: ann.address, agent: fmt.Sprint(i)} }, 5},
					"a network of 64 bits": {visitors.Limit{Kind: l.Kind, Visitor: 2, Place: 5, Everyone: 100,
						What: l.What},
						func(i int) from {
							return from{address: fmt.Sprintf("2001:db8::%x", i+1),
								agent: fmt.Sprint(i)}
						}, 5},
					"everybody": {visitors.Limit{Kind: l.Kind, Visitor: 2, Place: 5, Everyone: 7, What: l.What},
						func(i int) from { return from{address: fmt.Sprintf("198.51.100.%d", i+1), agent: "x"} }, 7},
				} {
					s := open(t, ledger.NewMem(ledger.MemOptions{}), func(c2 *visitors.Config) {
						c2.Limits = []visitors.Limit{c.limit}
					})
					for i := range c.want {
						if res := s.write(c.who(i), l.Kind); res.StatusCode/100 != 2 {
							t.Fatalf("%s: no. %d: status %d", name, i+1, res.StatusCode)
						}
					}
					res := s.write(c.who(c.want), l.Kind)
					if res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
						t.Errorf("%s: no. %d: status %d, Retry-After %q", name, c.want+1, res.StatusCode,
							res.Header.Get("Retry-After"))
					}
					// A key makes another visitor: neither another address nor more for everybody.
					if asked := res.Header.Get("Accept-Signature") != ""; asked != (name == "a visitor") {
						t.Errorf("%s: asked for a signature: %v", name, asked)
					}
					time.Sleep(24 * time.Hour)
					if res := s.write(c.who(c.want), l.Kind); res.StatusCode/100 != 2 {
						t.Errorf("%s: a day later: status %d", name, res.StatusCode)
					}
				}
			})
		})
	}
}

// TestWhatVisitorsLeaveHasABound: the longest letters fill an address's bytes of a day before its
// number, everybody's bytes are counted, and the day after there is room again.
func TestWhatVisitorsLeaveHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem(t)
		long := text(t, map[string]any{"letter": strings.Repeat("\u2603", visitors.MaxLetter)})
		letter := func(who from) int { return s.do(who, "POST", "/api/letter", long).StatusCode }
		n := 0
		for letter(from{address: ann.address, agent: fmt.Sprint(n)})/100 == 2 {
			n++
		}
		kept := 0
		for k, v := range keys(t, s.db, "post") {
			kept += len(k) + len(v)
		}
		if n < 100 || n >= 1000 || kept > visitors.MaxBytesPlace || kept < visitors.MaxBytesPlace-20_000 {
			t.Fatalf("%d letters of %d bytes from one address", n, kept)
		}
		if status := letter(from{address: "198.51.100.7", agent: "x"}); status/100 != 2 {
			t.Errorf("another address: status %d", status)
		}
		everybody := ledger.VisitKey("once", time.Now().UTC().Format(time.DateOnly), "bytes")
		err := s.db.Update(t.Context(), func(tx ledger.Tx) error {
			return tx.Set(everybody, fmt.Append(nil, visitors.MaxBytes-100))
		})
		if status := letter(from{address: "198.51.100.8", agent: "x"}); err != nil || status != 429 {
			t.Errorf("beyond everybody's bytes: status %d, %v", status, err)
		}
		time.Sleep(24 * time.Hour)
		if status := letter(from{address: ann.address, agent: "x"}); status/100 != 2 {
			t.Errorf("a day later: status %d", status)
		}
	})
}

// TestWhoVisitsIsForgotten: the ledger holds neither address nor user agent; of two days there is
// one salt, and after the day is over none, nor any count of it.
func TestWhoVisitsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem(t)
		for kind := range writes {
			s.write(ann, kind)
		}
		day1 := keys(t, s.db, "salt")
		for k, v := range keys(t, s.db) {
			if strings.Contains(k+v, ann.address) || strings.Contains(k+v, ann.agent) {
				t.Errorf("%s holds who visited", k)
			}
		}
		if len(day1) != 1 || len(keys(t, s.db, "once")) != 3*len(writes)+2 {
			t.Fatalf("%d salts, %d counts", len(day1), len(keys(t, s.db, "once")))
		}
		time.Sleep(24 * time.Hour)
		s.write(ann, visitors.KindBell)
		day2 := keys(t, s.db, "salt")
		if len(day2) != 1 {
			t.Fatalf("%d salts on the second day", len(day2))
		}
		for k, v := range day2 {
			if day1[k] != "" {
				t.Error("the salt of the first day is still there")
			}
			for _, old := range day1 {
				if old == v {
					t.Error("the salt is the same on both days")
				}
			}
		}
		// Without a visitor a store forgets by itself.
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.desk.Run(ctx) }()
		time.Sleep(24*time.Hour + 10*time.Minute)
		synctest.Wait()
		if n := len(keys(t, s.db, "salt")) + len(keys(t, s.db, "once")); n != 0 {
			t.Errorf("%d entries are kept of the days before", n)
		}
		if n := len(keys(t, s.db, "post")); n != len(writes) {
			t.Errorf("%d posts are left of %d", n, len(writes))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestASpoofedAddressIsNotBelieved: who names another address in X-Forwarded-For is the same
// visitor; behind a trusted proxy it is the address before it that counts, and no other.
func TestASpoofedAddressIsNotBelieved(t *testing.T) {
	s := mem(t)
	for i, c := range []struct {
		who  from
		want int
	}{
		{from{address: "198.51.100.9", agent: "x"}, 201},
		{from{address: "198.51.100.9", agent: "x", forwarded: "203.0.113.1"}, 429},
		{from{address: "198.51.100.9", agent: "x", forwarded: "203.0.113.1, 10.0.0.2"}, 429},
		{from{address: "10.0.0.1", agent: "x", forwarded: "203.0.113.1"}, 201},
		{from{address: "10.0.0.1", agent: "x", forwarded: "203.0.113.99, 203.0.113.1"}, 429},
		{from{address: "10.0.0.1", agent: "x", forwarded: "203.0.113.99, 203.0.113.2"}, 201},
		{from{address: "10.0.0.1", agent: "x", forwarded: "198.51.100.9"}, 429},
		{from{address: "::ffff:198.51.100.9", agent: "x"}, 429},
	} {
		if res := s.write(c.who, visitors.KindLetter); res.StatusCode != c.want {
			t.Errorf("no. %d, %+v: status %d, want %d", i+1, c.who, res.StatusCode, c.want)
		}
	}
}

// TestACrowdIsCountedExactly: visitors ring and write at two stores over one ledger at once, each
// three times. Each is taken at his word once, no more and no less.
func TestACrowdIsCountedExactly(t *testing.T) {
	crowd := 100
	if os.Getenv("STORE_SOAK") != "" {
		crowd = 1000
	}
	address := ledgertest.Postgres(t)
	var stores [2]shop
	for i := range stores {
		db := must[*postgres.DB](t)(postgres.Open(t.Context(), address, postgres.Options{}))
		defer db.Close()
		stores[i] = open(t, db, nil)
	}
	var taken [2]atomic.Int64
	counts := make([]atomic.Int64, crowd+1) // of the bell, by what was said
	var wg sync.WaitGroup
	for i := range crowd {
		who := from{address: fmt.Sprintf("198.51.%d.%d", 100+i/250, i%250+1), agent: "crowd/1"}
		for n := range 3 {
			s := stores[(i+n)%2]
			wg.Go(func() {
				if res := s.write(who, visitors.KindLetter); res.StatusCode == 201 {
					taken[0].Add(1)
				} else if res.StatusCode != 429 {
					t.Errorf("a letter: status %d", res.StatusCode)
				}
			})
			wg.Go(func() {
				res := s.write(who, visitors.KindBell)
				if res.StatusCode == 429 {
					return
				}
				var rung visitors.Rung
				if err := readJSON(res, &rung); err != nil || res.StatusCode != 200 || rung.Count < 1 ||
					rung.Count > crowd {
					t.Errorf("the bell: status %d, %+v, %v", res.StatusCode, rung, err)
					return
				}
				taken[1].Add(1)
				counts[rung.Count].Add(1)
			})
		}
	}
	wg.Wait()
	if l, b := taken[0].Load(), taken[1].Load(); l != int64(crowd) || b != int64(crowd) {
		t.Errorf("%d letters and %d rings of %d visitors", l, b, crowd)
	}
	for n := 1; n <= crowd; n++ {
		if got := counts[n].Load(); got != 1 {
			t.Errorf("%d were told that theirs was ring no. %d", got, n)
		}
	}
	if n := len(keys(t, stores[0].db, "post")); n != crowd {
		t.Errorf("%d letters are kept", n)
	}
	piles := must[[]visitors.Pile](t)(stores[1].desk.Waiting(t.Context()))
	if piles[0].Count != crowd {
		t.Errorf("%d letters wait", piles[0].Count)
	}
}

// killed is a ledger of which an Update ends before it is stored, or after it with nobody told.
type killed struct {
	ledger.DB
	before, after atomic.Bool
}

var errKilled = errors.New("killed")

func (k *killed) Update(ctx context.Context, f func(ledger.Tx) error) error {
	err := k.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if k.before.Load() {
			return errKilled
		}
		return nil
	})
	if err == nil && k.after.Load() {
		return ledger.ErrUnknown
	}
	return err
}

// TestALimitIsTakenWithItsWrite: a store that is killed before it has stored a write has not
// counted it; one that is killed after has done both.
func TestALimitIsTakenWithItsWrite(t *testing.T) {
	for kind := range writes {
		db := &killed{DB: ledger.NewMem(ledger.MemOptions{})}
		s := open(t, db, func(c *visitors.Config) {
			c.Limits = []visitors.Limit{{Kind: kind, Visitor: 1, Place: 9, Everyone: 9, What: kind}}
		})
		db.before.Store(true)
		if res := s.write(ann, kind); res.StatusCode != 503 {
			t.Errorf("%s: killed before: status %d", kind, res.StatusCode)
		}
		if n := len(keys(t, db)); n != 0 {
			t.Errorf("%s: killed before: %d entries", kind, n)
		}
		db.before.Store(false)
		db.after.Store(true)
		if res := s.write(ann, kind); res.StatusCode != 503 {
			t.Errorf("%s: killed after: status %d", kind, res.StatusCode)
		}
		db.after.Store(false)
		if res := s.write(ann, kind); res.StatusCode != 429 || len(keys(t, db, "post")) != 1 {
			t.Errorf("%s: once more: status %d, %d posts", kind, res.StatusCode, len(keys(t, db, "post")))
		}
	}
}
