// Checks bounds what payments cost that are checked and then refused: each asks a node
// several questions, and nobody pays for it (package till, M15). It counts them by client and by
// process, in memory, and keeps nobody out who settled here before.
//
//	err := c.Verify(ctx, client, known, func() error { seen, err = r.Verify(ctx, p, want, now); return err })
//	if busy, ok := errors.AsType[*ChecksBusy](err); ok { … } // 429: the same payment, later

package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// Limits, of a process.
const (
	DefaultClientChecks = 30  // refused payments of one client a minute
	DefaultProcess      = 600 // of all together
	// Places is how many payments of one client are checked at a time once a count is reached, and
	// waiting how many wait for a place, for as long as patience.
	Places         = 4
	waiting        = 16
	checksPatience = 5 * time.Second
	// maxClients bounds the memory of a minute; clients beyond it share one count.
	maxClients = 100_000
)

// ChecksBusy says that too many payments of a client were refused, and that no place became free.
type ChecksBusy struct{ Retry time.Duration }

// Error implements error.
func (b *ChecksBusy) Error() string {
	return fmt.Sprintf("too many payments were refused here; try again in %s", b.Retry.Round(time.Second))
}

// Checks counts. The zero value is ready; its methods may be called by many goroutines at once.
type Checks struct {
	// Client and Process are the bounds a minute; 0 is the default.
	Client, Process int

	mu     sync.Mutex // guards what follows
	minute time.Time
	all    int
	of     map[string]int    // refused, by client
	busy   map[string]*queue // by client; those of whom a payment waits or is checked
}

// queue is the payments of one client for which there are few places.
type queue struct {
	free chan struct{} // holds one for each place that is taken
	n    int           // that wait or are checked
}

// Verify has a payment checked. Where a count is reached, it is so at once if known says that its
// payer settled here and signed it, and otherwise when its client has a place; the error is a *Busy
// where none became free. A *rail.Refusal of check counts.
func (c *Checks) Verify(ctx context.Context, client string, known func() bool, check func() error) error {
	if c.spent(client) && !known() {
		leave, err := c.enter(ctx, client)
		if err != nil {
			return err
		}
		defer leave()
	}
	err := check()
	if _, ok := errors.AsType[*rail.Refusal](err); ok {
		c.count(client)
	}
	return err
}

// turn begins a minute. It is called with mu held.
func (c *Checks) turn() {
	if now := time.Now().Truncate(time.Minute); c.of == nil || !now.Equal(c.minute) {
		c.minute, c.all, c.of = now, 0, make(map[string]int)
	}
}

func (c *Checks) spent(client string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn()
	return c.all >= cmp.Or(c.Process, DefaultProcess) || c.of[c.name(client)] >= cmp.Or(c.Client, DefaultClientChecks)
}

// Refused counts a payment that was refused for what it is, though its rail had nothing against it.
func (c *Checks) Refused(client string) { c.count(client) }

func (c *Checks) count(client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn()
	c.all++
	c.of[c.name(client)]++
}

// name is what a client is counted under.
func (c *Checks) name(client string) string {
	if _, ok := c.of[client]; !ok && len(c.of) >= maxClients {
		return ""
	}
	return client
}

// enter waits for a place of a client.
func (c *Checks) enter(ctx context.Context, client string) (leave func(), err error) {
	busy := &ChecksBusy{Retry: max(time.Second, time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))}
	c.mu.Lock()
	q := c.busy[client]
	if q == nil {
		if c.busy == nil {
			c.busy = make(map[string]*queue)
		}
		q = &queue{free: make(chan struct{}, Places)}
		c.busy[client] = q
	}
	full := q.n >= Places+waiting
	if !full {
		q.n++
	}
	c.mu.Unlock()
	if full {
		return nil, busy
	}
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if q.n--; q.n == 0 {
			delete(c.busy, client)
		}
	}
	select {
	case q.free <- struct{}{}:
		return func() { <-q.free; gone() }, nil
	case <-time.After(checksPatience):
	case <-ctx.Done():
	}
	gone()
	return nil, busy
}
