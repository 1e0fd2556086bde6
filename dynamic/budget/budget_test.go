package budget

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
)

func newSet(t *testing.T, db ledger.DB, limits ...Limit) *Set {
	t.Helper()
	s, err := New(db, limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func granted(t *testing.T, s *Set, name, client string) bool {
	t.Helper()
	rd, err := s.Spend(t.Context(), name, client)
	if err != nil {
		t.Fatal(err)
	}
	return rd.Granted
}

func TestCountsPerClientAndProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, nil, Limit{Name: "b", Window: time.Minute, Client: 2, Process: 3})
		for i, c := range []struct {
			client    string
			want, own bool
		}{{"a", true, false}, {"a", true, false}, {"a", false, true}, {"b", true, false}, {"b", false, false},
			{"a", false, false}} {
			if got, err := s.Spend(t.Context(), "b", c.client); err != nil || got.Granted != c.want ||
				got.OfClient != c.own {
				t.Errorf("use %d by %s: %+v, %v, want granted %v, of the client %v", i, c.client, got, err, c.want,
					c.own)
			}
		}
		time.Sleep(time.Minute)
		if !granted(t, s, "b", "a") {
			t.Error("not granted in the next window")
		}
	})
}

// TestAUseIsGivenBack: to the client, the process and the ledger, in its own window alone, and
// never more than was taken.
func TestAUseIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		limit := Limit{Name: "b", Window: time.Minute, Client: 1, Process: 1, Shared: 1}
		one, other := newSet(t, db, limit), newSet(t, db, limit)
		spend := func(s *Set, want bool) Reading {
			t.Helper()
			rd, err := s.Spend(t.Context(), "b", "a")
			if err != nil || rd.Granted != want {
				t.Fatalf("granted %v, %v, want %v", rd.Granted, err, want)
			}
			return rd
		}
		back := func(s *Set, rd Reading) {
			t.Helper()
			if err := s.GiveBack(t.Context(), rd); err != nil {
				t.Fatal(err)
			}
		}
		held := spend(one, true)
		if got := held.More(3).Counts; cmp.Diff(got, []Count{{"b-client", 1, 1}, {"b-process", 1, 1},
			{"b", 1, 1}}) != "" || held.Counts[0].Remaining != 0 {
			t.Errorf("more is %v, of %v", got, held.Counts)
		}
		back(other, spend(other, false)) // it took nothing
		spend(other, false)
		back(one, held)
		held = spend(other, true)
		spend(one, false)
		back(other, held)
		held = spend(one, true)
		time.Sleep(time.Minute)
		spend(one, true)
		back(one, held) // of a window that is over
		spend(one, false)
		spend(other, false)
	})
}

// TestSharedIsExact: many processes at once are granted exactly the limit.
func TestSharedIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		limit := Limit{Name: "b", Window: time.Minute, Shared: 20}
		var got atomic.Int32
		var wg sync.WaitGroup
		for range 5 {
			s := newSet(t, db, limit)
			for range 10 {
				wg.Go(func() {
					if granted(t, s, "b", "") {
						got.Add(1)
					}
				})
			}
		}
		wg.Wait()
		if got.Load() != 20 {
			t.Errorf("%d uses granted, want 20", got.Load())
		}
		time.Sleep(time.Minute)
		if !granted(t, newSet(t, db, limit), "b", "") {
			t.Error("not granted in the next window")
		}
		if n := records(t, db); n != 1 {
			t.Errorf("%d records in the ledger, want the newest window alone", n)
		}
	})
}

// TestEachIsExact: over many processes at once every client is granted exactly its own count,
// beside everybody's where there is one, and a window leaves nothing behind.
func TestEachIsExact(t *testing.T) {
	for _, limit := range []Limit{
		{Name: "b", Window: time.Minute, Each: 3},
		{Name: "b", Window: time.Minute, Each: 3, Shared: 100, Fair: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := ledger.NewMem(ledger.MemOptions{})
			var got [4]atomic.Int32
			var wg sync.WaitGroup
			for range 3 {
				s := newSet(t, db, limit)
				for i := range 20 {
					wg.Go(func() {
						if granted(t, s, "b", strconv.Itoa(i%len(got))) {
							got[i%len(got)].Add(1)
						}
					})
				}
			}
			wg.Wait()
			for i := range got {
				if got[i].Load() != 3 {
					t.Errorf("client %d was granted %d uses, want 3", i, got[i].Load())
				}
			}
			s := newSet(t, db, limit)
			if rd, err := s.Spend(t.Context(), "b", "0"); err != nil || rd.Counts[0] != (Count{"b-client", 3, 0}) ||
				limit.Shared > 0 && rd.Counts[1] != (Count{"b", 100, 88}) {
				t.Errorf("refused: %+v, %v", rd, err)
			}
			time.Sleep(time.Minute)
			rd, err := s.Spend(t.Context(), "b", "0")
			if err != nil || !rd.Granted || records(t, db) > 3 {
				t.Errorf("in the next window %+v, %v, over %d records", rd, err, records(t, db))
			}
			for range 2 {
				if !granted(t, s, "b", "0") {
					t.Error("not granted in the next window")
				}
			}
			if err := s.GiveBack(t.Context(), rd); err != nil || !granted(t, s, "b", "0") || granted(t, s, "b", "0") {
				t.Errorf("one use given back is not one granted: %v", err)
			}
		})
	}
}

func records(t *testing.T, db ledger.DB) (n int) {
	t.Helper()
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		n = 0
		for _, err := range tx.Scan(nil, nil) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRoomIsOfBudgetsThatTheLedgerCounts: of any other nobody is told that there is some.
func TestRoomIsOfBudgetsThatTheLedgerCounts(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	s := newSet(t, db, Limit{Name: "b", Window: time.Minute, Client: 1})
	for _, name := range []string{"b", "none"} {
		if err := db.View(t.Context(), func(tx ledger.Tx) error {
			_, _, err := s.Room(tx, name, "x", 1)
			return err
		}); err == nil {
			t.Errorf("%s has room that was never counted", name)
		}
	}
}

// TestRefusedByTheSharedCountTakesNothing: the count of the process is given back.
// TestWhatIsKept: over many processes at once what is free gets all but what is kept, what was paid
// for gets the rest, and room is told as it is.
func TestWhatIsKept(t *testing.T) {
	limit := Limit{Name: "b", Window: time.Minute, Each: 10, Kept: 4}
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		room := func(n int) (room bool, next time.Time) {
			t.Helper()
			if err := db.View(t.Context(), func(tx ledger.Tx) (err error) {
				room, next, err = newSet(t, db, limit).Room(tx, "b", "x", n)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return room, next
		}
		var free, paid atomic.Int32
		both := func(uses int, spend func(*Set) (Reading, error), into *atomic.Int32) {
			var wg sync.WaitGroup
			for range 2 {
				s := newSet(t, db, limit)
				for range uses {
					wg.Go(func() {
						if rd, err := spend(s); err != nil {
							t.Error(err)
						} else if rd.Granted {
							into.Add(1)
						}
					})
				}
			}
			wg.Wait()
		}
		both(10, func(s *Set) (Reading, error) { return s.Spend(t.Context(), "b", "x") }, &free)
		if got, next := room(4); free.Load() != 6 || !got || !next.After(time.Now()) {
			t.Errorf("%d free uses of 6, room for 4 that are paid for: %v, until %v", free.Load(), got, next)
		}
		both(1, func(s *Set) (Reading, error) { return s.SpendKept(t.Context(), "b", "x") }, &paid)
		if two, _ := room(2); !two {
			t.Error("no room for 2 of 2")
		}
		if more, _ := room(9); more {
			t.Error("room for more than is left, and less than is kept")
		}
		both(10, func(s *Set) (Reading, error) { return s.SpendKept(t.Context(), "b", "x") }, &paid)
		if one, _ := room(1); paid.Load() != 4 || one {
			t.Errorf("%d paid uses of 4, and room for one more: %v", paid.Load(), one)
		}
		time.Sleep(time.Minute)
		if all, _ := room(100); !all {
			t.Error("no room in the next window")
		}
	})
}

func TestRefusedByTheSharedCountTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		limit := Limit{Name: "b", Window: time.Minute, Client: 9, Process: 9, Shared: 2}
		s, other := newSet(t, db, limit), newSet(t, db, limit)
		granted(t, other, "b", "x")
		granted(t, other, "b", "x")
		for range 20 {
			rd, err := s.Spend(t.Context(), "b", "x")
			if err != nil || rd.Granted || rd.Counts[1].Remaining != 8 {
				t.Fatalf("reading %+v, %v", rd, err)
			}
		}
	})
}

func TestLedgerFailure(t *testing.T) {
	broken := errors.New("disk full")
	db := ledger.NewMem(ledger.MemOptions{Fault: func(op string) (bool, error) {
		if op == "update" {
			return false, broken
		}
		return false, nil
	}})
	s := newSet(t, db, Limit{Name: "b", Window: time.Minute, Process: 1, Shared: 1})
	w := httptest.NewRecorder()
	for range 3 {
		err := s.Admit(w, httptest.NewRequest("GET", "/", nil), "b", "")
		if e, ok := errors.AsType[*problem.Error](err); !ok || e.Code != "ledger_unavailable" ||
			!errors.Is(err, broken) {
			t.Errorf("Admit = %v, want ledger_unavailable every time", err)
		}
	}
	if len(w.Header()) != 0 {
		t.Errorf("fields %v of a budget that was not read", w.Header())
	}
}

func TestFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The bubble's clock starts at midnight; go to the twentieth second of a minute.
		time.Sleep(20 * time.Second)
		s := newSet(t, ledger.NewMem(ledger.MemOptions{}), Limit{Name: "preflight", Window: time.Minute, Process: 3,
			Shared: 2})
		r := httptest.NewRequest("GET", "/", nil)
		w := httptest.NewRecorder()
		if err := s.Admit(w, r, "preflight", ""); err != nil {
			t.Fatal(err)
		}
		want := http.Header{
			"Ratelimit-Limit": {"2"}, "Ratelimit-Remaining": {"1"}, "Ratelimit-Reset": {"40"},
			"Ratelimit":        {`"preflight-process";r=2;t=40, "preflight";r=1;t=40`},
			"Ratelimit-Policy": {`"preflight-process";q=3;w=60, "preflight";q=2;w=60`},
		}
		if d := cmp.Diff(w.Header(), want); d != "" {
			t.Errorf("got - want +\n%s", d)
		}
		if err := s.Admit(httptest.NewRecorder(), r, "preflight", ""); err != nil {
			t.Fatal(err)
		}
		w = httptest.NewRecorder()
		e, ok := errors.AsType[*problem.Error](s.Admit(w, r, "preflight", ""))
		if !ok || e.Code != "budget_spent" || e.Retry != time.Minute || e.OfClient {
			t.Errorf("third use: %+v", e)
		}
		if got := w.Header().Get("RateLimit-Remaining"); got != "0" {
			t.Errorf("remaining %q", got)
		}
		Strip(w.Header())
		if len(w.Header()) != 0 {
			t.Errorf("fields left: %v", w.Header())
		}
	})
}

func TestManyClientsShareWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, nil, Limit{Name: "b", Window: time.Hour, Client: 1})
		for i := range maxClients {
			if _, _, ok := s.limits["b"].take(time.Now(), strconv.Itoa(i)); !ok {
				t.Fatalf("client %d refused", i)
			}
		}
		if n := len(s.limits["b"].clients); n > maxClients {
			t.Errorf("%d clients remembered", n)
		}
		granted(t, s, "b", "late one")
		if granted(t, s, "b", "late two") {
			t.Error("clients beyond the memory do not share a count")
		}
	})
}

func TestBadTables(t *testing.T) {
	good := Limit{Name: "b", Window: time.Minute, Process: 1}
	for name, limits := range map[string][]Limit{
		"no name":        {{Window: time.Minute, Process: 1}},
		"twice":          {good, good},
		"window":         {{Name: "b", Window: time.Millisecond, Process: 1}},
		"nothing":        {{Name: "b", Window: time.Minute}},
		"negative":       {{Name: "b", Window: time.Minute, Process: -1, Client: 2}},
		"without ledger": {{Name: "b", Window: time.Minute, Shared: 1}},
	} {
		if _, err := New(nil, limits); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := newSet(t, nil, good).Spend(context.Background(), "other", ""); err == nil {
		t.Error("an unknown budget was spent")
	}
}
