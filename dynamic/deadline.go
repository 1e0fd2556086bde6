package dynamic

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errTooSlow is the cause with which the time of a handler ends.
var errTooSlow = errors.New("the handler's time is up")

// deadline is a context that ends at a time, as context.WithDeadlineCause makes it, but which has a
// timer only once somebody waits for its end: most answers are made without.
type deadline struct {
	context.Context // the request's
	at              time.Time
	waits           func() // called when somebody waits for the first time

	mu      sync.Mutex
	timed   context.Context // nil until somebody waits
	cancel  context.CancelFunc
	handled bool
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.wait().Done() }

// Err implements context.Context.
func (d *deadline) Err() error { return d.now().Err() }

// Value implements context.Context. Package context asks it for who cancels, and why.
func (d *deadline) Value(key any) any { return d.now().Value(key) }

// now is what tells whether the time is up: the request's context for as long as nobody waited, nor
// could have waited for long enough.
func (d *deadline) now() context.Context {
	d.mu.Lock()
	unasked := d.timed == nil && !d.handled
	d.mu.Unlock()
	if unasked && time.Now().Before(d.at) {
		return d.Context
	}
	return d.wait()
}

// wait is the context with a timer.
func (d *deadline) wait() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadlineCause(d.Context, d.at, errTooSlow)
		if d.handled {
			d.cancel()
		} else {
			d.waits()
		}
	}
	return d.timed
}

// end ends it, once the request was handled.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handled = true
	if d.cancel != nil {
		d.cancel()
	}
}
