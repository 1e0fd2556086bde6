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

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
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
			client string
			want   bool
		}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"c", false}} {
			if got := granted(t, s, "b", c.client); got != c.want {
				t.Errorf("use %d by %s: granted %v, want %v", i, c.client, got, c.want)
			}
		}
		time.Sleep(time.Minute)
		if !granted(t, s, "b", "a") {
			t.Error("not granted in the next window")
		}
	})
}

// TestAUseIsGivenBack: to the client, the process and the ledger, in its own window alone, and never more than was taken.
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
		if got := held.More(3).Counts; cmp.Diff(got, []Count{{"b-client", 1, 1}, {"b-process", 1, 1}, {"b", 1, 1}}) != "" || held.Counts[0].Remaining != 0 {
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
		var records int
		err := db.View(t.Context(), func(tx ledger.Tx) error {
			records = 0
			for _, err := range tx.Scan(nil, nil) {
				if err != nil {
					return err
				}
				records++
			}
			return nil
		})
		if err != nil || records != 1 {
			t.Errorf("%d records in the ledger (%v), want the newest window alone", records, err)
		}
	})
}

// TestRefusedByTheSharedCountTakesNothing: the count of the process is given back.
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
		if e, ok := errors.AsType[*problem.Error](err); !ok || e.Code != "ledger_unavailable" || !errors.Is(err, broken) {
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
		s := newSet(t, ledger.NewMem(ledger.MemOptions{}), Limit{Name: "preflight", Window: time.Minute, Process: 3, Shared: 2})
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
		if !ok || e.Code != "budget_spent" || e.Retry != time.Minute {
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
