package budget

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// spent is how many of n uses a client is granted.
func spent(t *testing.T, s *Set, client string, n int) (granted int) {
	t.Helper()
	for range n {
		rd, err := s.Spend(t.Context(), "b", client)
		if err != nil {
			t.Fatal(err)
		}
		if rd.Granted {
			granted++
		}
	}
	return granted
}

func TestNobodySpendsEverybodysBudget(t *testing.T) {
	for _, row := range []struct {
		name  string
		limit Limit
		want  []int // granted to clients of different networks, one after the other, 200 uses each
	}{
		{"process", Limit{Process: 30}, []int{20, 6, 2, 1, 1, 0}},
		{"shared", Limit{Shared: 60}, []int{40, 13, 4, 2, 1, 0}},
		{"both", Limit{Process: 30, Shared: 60}, []int{20, 6, 2, 1, 1, 0}},
		{"one use", Limit{Shared: 1}, []int{1, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row.limit.Name, row.limit.Window, row.limit.Fair = "b", time.Minute, true
				s := newSet(t, ledger.NewMem(ledger.MemOptions{}), row.limit)
				for range 2 {
					for i, want := range row.want {
						if got := spent(t, s, fmt.Sprintf("198.51.%d.1", i), 200); got != want {
							t.Errorf("client %d got %d, want %d", i, got, want)
						}
					}
					time.Sleep(time.Minute) // and everything is there again
				}
			})
		})
	}
}

// TestAShareIsGivenBack: to the client and to its network.
func TestAShareIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, nil, Limit{Name: "b", Window: time.Minute, Process: 30, Fair: true})
		var held []Reading
		for range 20 {
			rd, err := s.Spend(t.Context(), "b", "198.51.100.1")
			if err != nil || !rd.Granted {
				t.Fatal(rd.Granted, err)
			}
			held = append(held, rd)
		}
		for _, rd := range held {
			if err := s.GiveBack(t.Context(), rd); err != nil {
				t.Fatal(err)
			}
		}
		if got := spent(t, s, "198.51.100.2", 200); got != 20 {
			t.Errorf("a neighbour got %d after 20 were given back, want 20", got)
		}
	})
}

// TestManyAddressesOfANetworkAreOne: a /24, and a /48 of IPv6, get no more than one address does.
func TestManyAddressesOfANetworkAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, form := range []string{"203.0.113.%d", "2001:db8:7:%x::/64"} {
			s := newSet(t, ledger.NewMem(ledger.MemOptions{}), Limit{Name: "b", Window: time.Minute, Process: 30,
				Shared: 60, Fair: true})
			got := 0
			for n := range 250 {
				got += spent(t, s, fmt.Sprintf(form, n), 3)
			}
			if got != 20 {
				t.Errorf("%s: 250 addresses got %d, want 20", form, got)
			}
			if n := spent(t, s, "198.51.100.1", 5); n != 5 {
				t.Errorf("%s: somebody else got %d of 5", form, n)
			}
		}
	})
}

// TestTheShareIsExactOverProcesses asks in four processes at once, and gives back.
func TestTheShareIsExactOverProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		limit := Limit{Name: "b", Window: time.Minute, Shared: 60, Fair: true}
		var all sync.WaitGroup
		var granted atomic.Int64
		for range 4 {
			s := newSet(t, db, limit)
			all.Go(func() {
				for range 50 {
					rd, err := s.Spend(t.Context(), "b", "192.0.2.1")
					if err != nil {
						t.Error(err)
					}
					if rd.Granted {
						granted.Add(1)
					}
				}
			})
		}
		all.Wait()
		if granted.Load() != 40 {
			t.Errorf("%d granted over four processes, want 40", granted.Load())
		}
		s := newSet(t, db, limit)
		rd, err := s.Spend(t.Context(), "b", "192.0.2.2")
		if err != nil || rd.Granted || !rd.OfClient {
			t.Fatal("its network has had its share", rd.OfClient, err)
		}
		if said := rd.Counts[len(rd.Counts)-1]; said.Name != "b-share" || said.Remaining != 0 || said.Quota != 0 {
			t.Errorf("the share is said as %+v", said)
		}
		other, err := s.Spend(t.Context(), "b", "198.51.100.1")
		if err != nil || !other.Granted {
			t.Fatal("somebody else is refused", err)
		}
		if said := other.Counts[len(other.Counts)-1]; said.Quota != 13 || said.Remaining != 12 {
			t.Errorf("the share is said as %+v, want 12 of 13", said)
		}
		if err := s.GiveBack(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if got := spent(t, s, "198.51.100.1", 100); got != 13 {
			t.Errorf("after one was given back %d, want 13", got)
		}
	})
}

// TestTheSharesOfOldWindowsAreForgotten keeps the ledger from growing with clients.
func TestTheSharesOfOldWindowsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		s := newSet(t, db, Limit{Name: "b", Window: time.Minute, Shared: 60, Fair: true})
		for range 3 {
			for i := range 20 {
				spent(t, s, fmt.Sprintf("198.51.%d.1", i), 1)
			}
			time.Sleep(time.Minute)
		}
		spent(t, s, "192.0.2.1", 1)
		var left []string
		err := db.View(t.Context(), func(tx ledger.Tx) error {
			from, to := ledger.Prefix(ledger.BudgetKey("b"))
			for e, err := range tx.Scan(from, to) {
				if err != nil {
					return err
				}
				left = append(left, string(e.Key))
			}
			return nil
		})
		if err != nil || len(left) != 3 {
			t.Errorf("%d counts are left, want the newest window's three: %v\n%s", len(left), err,
				strings.Join(left, "\n"))
		}
	})
}
