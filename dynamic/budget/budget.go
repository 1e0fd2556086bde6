// Package budget limits how often something may be done in a window of time, and says so in the
// RateLimit fields of the answer. A budget has up to four counts, each optional: per client and per
// process in memory, and one for all and one for each client that are exact over all processes that
// share the ledger.
//
// It is not a queue and not a circuit breaker: what does not fit is refused with 429 at once.
// Windows are fixed spans of the clock (minute 12:34, not the last sixty seconds), so that all
// processes agree on them.
//
//	limits := []budget.Limit{{Name: "preflight", Window: time.Minute, Process: 30, Shared: 60}}
//	set, err := budget.New(db, limits)
//	…
//	if err := set.Admit(w, r, "preflight", client); err != nil {
//		return err
//	}
package budget

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
)

// Limit is one named budget. A count of 0 means that there is no such count.
type Limit struct {
	Name    string        // named by the routes that spend it; permanent
	Window  time.Duration // whole seconds; windows start at multiples of it since 1970
	Client  int           // uses per client and window in each process
	Process int           // uses per window in each process
	Shared  int           // uses per window over all processes, exact
	Each    int           // uses per client and window over all processes, exact; not beside Client
	// Kept are those of Each that SpendKept alone may take: what was paid for has room where what
	// is free has used up the rest.
	Kept int
	// Fair keeps one client from spending what is everybody's: see fair. It holds for Process in
	// memory and for Shared exactly.
	Fair bool
	Doc  string // what it protects
}

// kept reports whether the ledger counts anything of it.
func (l Limit) kept() bool { return l.Shared > 0 || l.Each > 0 }

// maxClients bounds the memory of one budget: clients beyond it share one count until the window
// ends.
const maxClients = 100_000

// Set holds all budgets of a process. Its methods may be called by many goroutines at once.
type Set struct {
	db     ledger.DB
	limits map[string]*counted
}

// counted is a limit with what is used of it in this process.
type counted struct {
	Limit

	mu      sync.Mutex // guards the rest
	window  time.Time
	process int
	clients map[string]int // and networks, of a fair limit
}

// New returns the budgets of a table. db may be nil if no limit is shared.
func New(db ledger.DB, limits []Limit) (*Set, error) {
	s := &Set{db: db, limits: make(map[string]*counted, len(limits))}
	for _, l := range limits {
		switch {
		case l.Name == "" || s.limits[l.Name] != nil:
			return nil, fmt.Errorf("budget %q: the name is empty or used twice", l.Name)
		case l.Window < time.Second || l.Window%time.Second != 0:
			return nil, fmt.Errorf("budget %s: the window %v is not a number of seconds", l.Name, l.Window)
		case min(l.Client, l.Process, l.Shared, l.Each) < 0 || l.Client+l.Process+l.Shared+l.Each == 0:
			return nil, fmt.Errorf("budget %s: it limits nothing", l.Name)
		case l.Kept < 0 || l.Kept > 0 && l.Kept >= l.Each:
			return nil, fmt.Errorf("budget %s: it keeps %d of %d for a client", l.Name, l.Kept, l.Each)
		case l.Client > 0 && l.Each > 0:
			return nil, fmt.Errorf("budget %s: its clients are counted twice", l.Name)
		case l.kept() && db == nil:
			return nil, fmt.Errorf("budget %s: a shared count needs a ledger", l.Name)
		}
		s.limits[l.Name] = &counted{Limit: l}
	}
	return s, nil
}

// Has reports whether there is a budget of this name.
func (s *Set) Has(name string) bool { return s.limits[name] != nil }

// Spend takes one use of the named budget for a client (any text that identifies it; never logged).
// The reading says whether it was granted and what is left. An error means that the ledger could
// not be asked; then nothing was taken.
func (s *Set) Spend(ctx context.Context, name, client string) (Reading, error) {
	return s.spend(ctx, name, client, false)
}

// SpendKept is Spend for what was paid for: it may also take what Limit.Kept keeps.
func (s *Set) SpendKept(ctx context.Context, name, client string) (Reading, error) {
	return s.spend(ctx, name, client, true)
}

// Room reports whether SpendKept would be granted n times for a client in this window, or as often
// as is kept where that is less, and when the next window begins. It takes nothing.
func (s *Set) Room(tx ledger.Tx, name, client string, n int) (room bool, next time.Time, err error) {
	l := s.limits[name]
	if l == nil || l.Each == 0 {
		return false, time.Time{}, fmt.Errorf("budget %q counts no clients in the ledger", name)
	}
	now := tx.Now()
	used, err := ledger.Count(tx, l.windowKey(now, client))
	return l.Each-int(used) >= min(n, max(l.Kept, 1)), now.Add(until(now, l.Window)), err
}

func (s *Set) spend(ctx context.Context, name, client string, kept bool) (Reading, error) {
	l := s.limits[name]
	if l == nil {
		return Reading{}, fmt.Errorf("budget %q is not in the table", name)
	}
	now := time.Now()
	rd := Reading{Window: l.Window, Reset: until(now, l.Window)}
	key, used, granted := l.take(now, client)
	rd.use = use{name: name, client: key, at: now}
	if l.Client > 0 {
		rd.Counts = append(rd.Counts, Count{l.Name + "-client", l.Client, max(0, l.Client-used.client)})
	}
	if l.Process > 0 {
		rd.Counts = append(rd.Counts, Count{l.Name + "-process", l.Process, max(0, l.Process-used.process)})
	}
	if !granted || !l.kept() {
		rd.Granted, rd.OfClient = granted, !granted && (l.Process == 0 || used.process < l.Process)
		if l.Fair && l.Process > 0 {
			rd.Counts = append(rd.Counts, share(l.Name, l.Process, used))
		}
		return rd, nil
	}
	each := l.Each
	if !kept {
		each -= l.Kept
	}
	shared, granted, at, err := s.takeShared(ctx, l, client, each)
	if err != nil {
		l.giveBack(now, key)
		return Reading{}, err
	}
	rd.use.shared, rd.use.of = at, client
	rd.Granted, rd.OfClient = granted, !granted && (l.Shared == 0 || shared.process < l.Shared)
	rd.Reset = max(rd.Reset, until(at, l.Window))
	if l.Each > 0 {
		rd.Counts = append(rd.Counts, Count{l.Name + "-client", each, max(0, each-shared.client)})
	}
	if l.Shared > 0 {
		rd.Counts = append(rd.Counts, Count{l.Name, l.Shared, max(0, l.Shared-shared.process)})
	}
	if l.Fair && l.Shared > 0 {
		least := share(l.Name, l.Shared, shared)
		if l.Process > 0 {
			if here := share(l.Name, l.Process, used); here.Remaining < least.Remaining {
				least = here
			}
		}
		rd.Counts = append(rd.Counts, least)
	}
	if !rd.Granted {
		l.giveBack(now, key)
	}
	return rd, nil
}

// use is one use that was taken: whose, and when by the clocks of this process and of the ledger.
type use struct {
	name, client string
	at, shared   time.Time
	of           string // whose use the ledger counted
}

// GiveBack undoes a Spend that was granted, once: what it was for was refused and never begun.
// After the end of its window there is nothing to undo.
func (s *Set) GiveBack(ctx context.Context, rd Reading) error {
	l := s.limits[rd.use.name]
	if l == nil || !rd.Granted {
		return nil
	}
	l.giveBack(rd.use.at, rd.use.client)
	if !l.kept() {
		return nil
	}
	err := s.db.Update(ctx, func(tx ledger.Tx) error {
		for _, key := range l.keptKeys(rd.use.shared, rd.use.of) {
			if key == nil {
				continue
			}
			used, err := ledger.Count(tx, key)
			if err == nil && used > 0 {
				err = ledger.SetCount(tx, key, used-1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("giving back a use of budget %s: %w", l.Name, err)
	}
	return nil
}

// take counts a use in memory if all counts allow it.
func (l *counted) take(now time.Time, client string) (key string, used uses, granted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := now.Truncate(l.Window); !w.Equal(l.window) {
		l.window, l.process, l.clients = w, 0, nil
	}
	if l.Client > 0 || l.Fair {
		if l.clients == nil {
			l.clients = make(map[string]int)
		}
		if _, known := l.clients[client]; !known && len(l.clients) >= maxClients {
			client = ""
		}
	}
	network := networkOf(client)
	used = uses{l.clients[client], l.clients[network], l.process}
	if l.Client > 0 && used.client >= l.Client || l.Process > 0 && used.process >= l.Process ||
		l.Fair && l.Process > 0 && !fair(l.Process, used) {
		return client, used, false
	}
	used = used.add()
	l.process = used.process
	if l.Client > 0 || l.Fair {
		l.clients[client] = used.client
	}
	if l.Fair {
		l.clients[network] = used.network
	}
	return client, used, true
}

// giveBack undoes a take of the same window.
func (l *counted) giveBack(now time.Time, client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Truncate(l.Window).Equal(l.window) {
		return
	}
	l.process--
	if l.Client > 0 || l.Fair {
		l.clients[client]--
	}
	if l.Fair {
		l.clients[networkOf(client)]--
	}
}

// windowKey is before all that the ledger counts of the window that a time is in, and after what it
// counts of those before.
func (l *counted) windowKey(at time.Time, rest ...string) []byte {
	window := ledger.Number(uint64(at.Truncate(l.Window).Unix()))
	return ledger.BudgetKey(l.Name, append([]string{window}, rest...)...)
}

// keptKeys are the counts of the ledger that one use is in: everybody's, the client's, and for a
// fair limit its network's. What is not counted has no key.
func (l *counted) keptKeys(at time.Time, client string) (keys [3][]byte) {
	if l.Shared > 0 {
		keys[0] = l.windowKey(at)
	}
	if l.Each > 0 || l.Fair {
		keys[1] = l.windowKey(at, client)
	}
	if l.Fair {
		keys[2] = l.windowKey(at, networkOf(client))
	}
	return keys
}

// takeShared counts a use in the ledger if the counts allow it, and returns them with this use, and
// the ledger's time; each is how many the client may have. A refused use is not counted.
func (s *Set) takeShared(ctx context.Context, l *counted, client string, each int) (used uses, granted bool,
	at time.Time, err error) {
	err = s.db.Update(ctx, func(tx ledger.Tx) error {
		at = tx.Now()
		keys := l.keptKeys(at, client)
		var counts [3]int
		first := true // of its window, as far as this use can tell
		for i, key := range keys {
			if key == nil {
				continue
			}
			n, err := ledger.Count(tx, key)
			if err != nil {
				return err
			}
			if first && n == 0 {
				from, _ := ledger.Prefix(ledger.BudgetKey(l.Name))
				if _, err := ledger.Forget(tx, from, l.windowKey(at), 0); err != nil {
					return err
				}
			}
			counts[i], first = int(n), false
		}
		used = uses{client: counts[1], network: counts[2], process: counts[0]}
		full := l.Shared > 0 && used.process >= l.Shared || l.Each > 0 && used.client >= each
		granted = !full && (!l.Fair || l.Shared == 0 || fair(l.Shared, used))
		if !granted {
			return nil
		}
		used = used.add()
		for i, n := range []int{used.process, used.client, used.network} {
			if keys[i] == nil {
				continue
			}
			if err := ledger.SetCount(tx, keys[i], int64(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return uses{}, false, time.Time{}, fmt.Errorf("counting budget %s: %w", l.Name, err)
	}
	return used, granted, at, nil
}

// until is the time from now to the end of its window, at least a second and in whole seconds.
func until(now time.Time, window time.Duration) time.Duration {
	d := now.Truncate(window).Add(window).Sub(now)
	return max(time.Second, (d + time.Second - 1).Truncate(time.Second))
}

// Admit spends one use and writes the RateLimit fields to the answer. It returns nil if the use was
// granted, and otherwise a *problem.Error: budget_spent with Retry-After of a whole window, or
// ledger_unavailable.
func (s *Set) Admit(w http.ResponseWriter, r *http.Request, name, client string) error {
	_, err := s.Take(w, r, name, client)
	return err
}

// Take is Admit for a handler that repeats the reading in its answer.
func (s *Set) Take(w http.ResponseWriter, r *http.Request, name, client string) (Reading, error) {
	rd, err := s.Spend(r.Context(), name, client)
	if err != nil {
		return Reading{}, &problem.Error{Code: "ledger_unavailable", Retry: 5 * time.Second, Err: err,
			Detail: "The budget of this route could not be read. Nothing was done. Try again shortly."}
	}
	rd.WriteTo(w.Header())
	if rd.Granted {
		return rd, nil
	}
	return rd, &problem.Error{Code: "budget_spent", Retry: rd.Window, OfClient: rd.OfClient,
		Detail: "This route's budget is spent for the moment. Nothing was done, and this says nothing about what was " +
			"asked. Try again after the time in Retry-After."}
}
