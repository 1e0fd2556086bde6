// Package budget limits how often something may be done in a window of time, and says so in the RateLimit fields of
// the answer. A budget has up to three counts, each optional: per client and per process in memory, and one that is
// exact over all processes that share the ledger.
//
// It is not a queue and not a circuit breaker: what does not fit is refused with 429 at once. Windows are fixed
// spans of the clock (minute 12:34, not the last sixty seconds), so that all processes agree on them.
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
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
)

// Limit is one named budget. A count of 0 means that there is no such count.
type Limit struct {
	Name    string        // named by the routes that spend it; permanent
	Window  time.Duration // whole seconds; windows start at multiples of it since 1970
	Client  int           // uses per client and window in each process
	Process int           // uses per window in each process
	Shared  int           // uses per window over all processes, exact
	Doc     string        // what it protects
}

// maxClients bounds the memory of one budget: clients beyond it share one count until the window ends.
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
	clients map[string]int
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
		case l.Client < 0 || l.Process < 0 || l.Shared < 0 || l.Client+l.Process+l.Shared == 0:
			return nil, fmt.Errorf("budget %s: it limits nothing", l.Name)
		case l.Shared > 0 && db == nil:
			return nil, fmt.Errorf("budget %s: a shared count needs a ledger", l.Name)
		}
		s.limits[l.Name] = &counted{Limit: l}
	}
	return s, nil
}

// Has reports whether there is a budget of this name.
func (s *Set) Has(name string) bool { return s.limits[name] != nil }

// Spend takes one use of the named budget for a client (any text that identifies it; never logged). The reading says
// whether it was granted and what is left. An error means that the ledger could not be asked; then nothing was taken.
func (s *Set) Spend(ctx context.Context, name, client string) (Reading, error) {
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
	if !granted || l.Shared == 0 {
		rd.Granted = granted
		return rd, nil
	}
	shared, at, err := s.takeShared(ctx, l)
	if err != nil {
		l.giveBack(now, key)
		return Reading{}, err
	}
	rd.use.shared = at
	rd.Granted = shared <= l.Shared
	rd.Reset = max(rd.Reset, until(at, l.Window))
	rd.Counts = append(rd.Counts, Count{l.Name, l.Shared, max(0, l.Shared-shared)})
	if !rd.Granted {
		l.giveBack(now, key)
	}
	return rd, nil
}

// use is one use that was taken: whose, and when by the clocks of this process and of the ledger.
type use struct {
	name, client string
	at, shared   time.Time
}

// GiveBack undoes a Spend that was granted, once: what it was for was refused and never begun. After the end of its window
// there is nothing to undo.
func (s *Set) GiveBack(ctx context.Context, rd Reading) error {
	l := s.limits[rd.use.name]
	if l == nil || !rd.Granted {
		return nil
	}
	l.giveBack(rd.use.at, rd.use.client)
	if l.Shared == 0 {
		return nil
	}
	key := l.sharedKey(rd.use.shared)
	err := s.db.Update(ctx, func(tx ledger.Tx) error {
		held, err := tx.Get(key)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		used, err := strconv.Atoi(string(held))
		if err != nil {
			return fmt.Errorf("reading budget %s: %w", l.Name, err)
		}
		return tx.Set(key, strconv.AppendInt(nil, int64(max(0, used-1)), 10))
	})
	if err != nil {
		return fmt.Errorf("giving back a use of budget %s: %w", l.Name, err)
	}
	return nil
}

// sharedKey is where the ledger counts the uses of the window that a time is in.
func (l *counted) sharedKey(at time.Time) []byte {
	return ledger.BudgetKey(l.Name, ledger.Number(uint64(at.Truncate(l.Window).Unix())))
}

// uses are the counts of this process after a take.
type uses struct{ client, process int }

// take counts a use in memory if both counts allow it.
func (l *counted) take(now time.Time, client string) (key string, used uses, granted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := now.Truncate(l.Window); !w.Equal(l.window) {
		l.window, l.process, l.clients = w, 0, nil
	}
	if l.Client > 0 {
		if l.clients == nil {
			l.clients = make(map[string]int)
		}
		if _, known := l.clients[client]; !known && len(l.clients) >= maxClients {
			client = ""
		}
	}
	used = uses{l.clients[client], l.process}
	if l.Client > 0 && used.client >= l.Client || l.Process > 0 && used.process >= l.Process {
		return client, used, false
	}
	used.client++
	used.process++
	l.process = used.process
	if l.Client > 0 {
		l.clients[client] = used.client
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
	if l.Client > 0 {
		l.clients[client]--
	}
}

// takeShared counts a use in the ledger if the count allows it, and returns the count with this use and the ledger's
// time. A refused use is not counted: the number returned is then above the limit.
func (s *Set) takeShared(ctx context.Context, l *counted) (used int, at time.Time, err error) {
	err = s.db.Update(ctx, func(tx ledger.Tx) error {
		at = tx.Now()
		key := l.sharedKey(at)
		held, err := tx.Get(key)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
			used = 0
			if err := forget(tx, l.Name, key); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			if used, err = strconv.Atoi(string(held)); err != nil {
				return fmt.Errorf("reading budget %s: %w", l.Name, err)
			}
		}
		used++
		if used > l.Shared {
			return nil
		}
		return tx.Set(key, strconv.AppendInt(nil, int64(used), 10))
	})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("counting budget %s: %w", l.Name, err)
	}
	return used, at, nil
}

// forget deletes the counts of windows before key.
func forget(tx ledger.Tx, name string, key []byte) error {
	from, _ := ledger.Prefix(ledger.BudgetKey(name))
	var old [][]byte
	for e, err := range tx.Scan(from, key) {
		if err != nil {
			return err
		}
		old = append(old, e.Key)
	}
	for _, k := range old {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// until is the time from now to the end of its window, at least a second and in whole seconds.
func until(now time.Time, window time.Duration) time.Duration {
	d := now.Truncate(window).Add(window).Sub(now)
	return max(time.Second, (d + time.Second - 1).Truncate(time.Second))
}

// Admit spends one use and writes the RateLimit fields to the answer. It returns nil if the use was granted, and
// otherwise a *problem.Error: budget_spent with Retry-After of a whole window, or ledger_unavailable.
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
	return rd, &problem.Error{Code: "budget_spent", Retry: rd.Window,
		Detail: "This route's budget is spent for the moment. Nothing was done, and this says nothing about what was asked. Try again after the time in Retry-After."}
}
