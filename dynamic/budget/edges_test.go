package budget

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/dynamic/ledger"
)

// A window is of whole seconds, one at least.
func TestWindowsAreOfSeconds(t *testing.T) {
	for window, ok := range map[time.Duration]bool{
		time.Second: true, time.Minute: true, 90 * time.Second: true,
		0: false, time.Second / 2: false, -time.Second: false, 1500 * time.Millisecond: false, time.Minute + 1: false,
	} {
		s, err := New(nil, []Limit{{Name: "b", Window: window, Process: 1}})
		if (err == nil) != ok {
			t.Errorf("a window of %v: %v", window, err)
		}
		if ok && (!s.Has("b") || s.Has("c")) {
			t.Error("the set has not what it was made of")
		}
	}
}

// Only counts that there are stand in a reading, each with what is left of it, down to nothing.
func TestAReadingHasTheCountsThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, l := range []Limit{{Client: 1}, {Process: 1}, {Shared: 1}, {Client: 2, Shared: 1},
			{Client: 1, Process: 1, Shared: 1}} {
			l.Name, l.Window = "b", time.Minute
			s := newSet(t, ledger.NewMem(ledger.MemOptions{}), l)
			rd, err := s.Spend(t.Context(), "b", "a")
			if err != nil {
				t.Fatal(err)
			}
			var want []Count
			for _, c := range []Count{{"b-client", l.Client, l.Client - 1}, {"b-process", l.Process, l.Process - 1},
				{"b", l.Shared, l.Shared - 1}} {
				if c.Quota > 0 {
					want = append(want, c)
				}
			}
			if diff := cmp.Diff(want, rd.Counts); diff != "" || !rd.Granted {
				t.Errorf("%+v (-want +got):\n%s", l, diff)
			}
			// The use too many leaves nothing, and is refused for the whole window.
			for l.Client > 1 {
				l.Client--
				if _, err := s.Spend(t.Context(), "b", "a"); err != nil {
					t.Fatal(err)
				}
			}
			if rd, err = s.Spend(t.Context(), "b", "a"); err != nil || rd.Granted {
				t.Errorf("%+v: granted %v, %v", l, rd.Granted, err)
			}
			for _, c := range rd.Counts {
				if c.Remaining != 0 && c.Name != "b-client" {
					t.Errorf("%+v: %+v is left", l, c)
				}
			}
		}
	})
}

// A use of a window that has ended is not given back to the next one, whose uses it is not.
func TestNothingIsGivenBackToTheNextWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, l := range []Limit{{Client: 1}, {Process: 1}, {Shared: 1}} {
			l.Name, l.Window = "b", time.Minute
			s := newSet(t, ledger.NewMem(ledger.MemOptions{}), l)
			old, err := s.Spend(t.Context(), "b", "a")
			if err != nil || !old.Granted {
				t.Fatalf("granted %v, %v", old.Granted, err)
			}
			time.Sleep(time.Minute)
			if !granted(t, s, "b", "a") {
				t.Fatal("the next window grants nothing")
			}
			if err := s.GiveBack(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			if granted(t, s, "b", "a") {
				t.Errorf("%+v: an old use was given back to a new window", l)
			}
		}
	})
}

// behind is a ledger whose clock is 40 seconds behind ours.
type behind struct{ ledger.DB }

func (b behind) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	return b.DB.Update(ctx, func(tx ledger.Tx) error { return fn(late{tx}) })
}

type late struct{ ledger.Tx }

func (l late) Now() time.Time { return l.Tx.Now().Add(-40 * time.Second) }

// Where the ledger's window ends later than ours, the answer says when that ends.
func TestTheResetIsTheLedgers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 50*time.Second)))
		s := newSet(t, behind{ledger.NewMem(ledger.MemOptions{})}, Limit{Name: "b", Window: time.Minute, Shared: 1})
		rd, err := s.Spend(t.Context(), "b", "a")
		if err != nil || rd.Reset != 50*time.Second {
			t.Errorf("reset in %v, %v", rd.Reset, err)
		}
	})
}

// The time to the end of a window is never cut, nor rounded up where it is whole.
func TestUntil(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{
		0: time.Minute, 1: time.Minute, time.Second: 59 * time.Second, 59 * time.Second: time.Second,
		time.Minute - 1: time.Second,
	} {
		if got := until(at.Add(after), time.Minute); got != want {
			t.Errorf("%v into a minute: %v, want %v", after, got, want)
		}
	}
}

// The three integers are those of the tightest count, the first of equals; without counts nothing
// is said.
func TestTheTightestCountIsSaid(t *testing.T) {
	h := http.Header{}
	Reading{}.WriteTo(h)
	if len(h) > 0 {
		t.Errorf("no counts say %v", h)
	}
	Reading{Counts: []Count{{"a", 9, 3}, {"b", 8, 2}, {"c", 7, 2}}}.WriteTo(h)
	if h.Get("RateLimit-Limit") != "8" || h.Get("RateLimit-Remaining") != "2" {
		t.Errorf("%v", h)
	}
}
