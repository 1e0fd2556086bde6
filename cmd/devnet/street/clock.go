package street

import (
	"sync"
	"time"
)

// Clock is the time on a street with a play. It stands until it is moved, so that the same walk
// happens at the same moments in every run. It may be used by several goroutines at once.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// NewClock returns a clock that stands at a moment.
func NewClock(t time.Time) *Clock { return &Clock{now: t.UTC()} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set moves the clock to a moment.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t.UTC()
}
