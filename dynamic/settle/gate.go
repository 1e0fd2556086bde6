package settle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	// maxWaiting is how many payments of one process may wait for room.
	maxWaiting = 64
	// openPause is the longest time between two looks for room; payments that end here are heard of
	// at once.
	openPause = time.Second
)

// Unread wraps the error of a network on which a payer's funds could not be read.
type Unread struct{ Err error }

// Error implements error.
func (e *Unread) Error() string { return fmt.Sprintf("reading the payer's funds: %v", e.Err) }

// Unwrap returns Err.
func (e *Unread) Unwrap() error { return e.Err }

// OpenGate has payments wait for room in one process. The zero Gate is ready.
type OpenGate struct {
	mu      sync.Mutex // guards what follows
	freed   chan struct{}
	waiting int
}

// Freed says that a payment ended in this process.
func (g *OpenGate) Freed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
}

// next is closed when the next payment ends in this process.
func (g *OpenGate) next() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.freed == nil {
		g.freed = make(chan struct{})
	}
	return g.freed
}

// enter takes one of the places of those who wait.
func (g *OpenGate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting >= maxWaiting {
		return false
	}
	g.waiting++
	return true
}

func (g *OpenGate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

// Admit runs update, which runs a transaction that calls a.Check, until there is room for the
// payment or wait is over: then the error is a *NoRoom. It is an *Unread where the payer's funds
// cannot be read, and otherwise update's own.
func (g *OpenGate) Admit(ctx context.Context, a *Admission, prover rail.Prover, wait time.Duration,
	update func(context.Context) error) error {
	over := time.After(wait)
	waiting := false
	defer func() {
		if waiting {
			g.leave()
		}
	}()
	var unread error // matters only if Check needs what was asked
	if a.wanted = a.Beside; len(a.wanted) > 0 {
		unread = a.ask(ctx, prover, wait)
	}
	for {
		freed := g.next()
		err := update(ctx)
		if errors.Is(err, errFunds) {
			if unread != nil {
				return &Unread{unread}
			}
			select {
			case <-over:
				return &NoRoom{Why: FundsMoving}
			default:
			}
			if err := a.ask(ctx, prover, wait); err != nil {
				return &Unread{err}
			}
			continue
		}
		full, ok := errors.AsType[*NoRoom](err)
		if !ok {
			return err
		}
		if !waiting {
			if !g.enter() {
				return full
			}
			waiting = true
		}
		a.asked, unread = nil, nil // by the time there is room it is another block
		select {
		case <-freed:
		case <-time.After(openPause):
		case <-over:
			return full
		case <-ctx.Done():
			return full
		}
	}
}

// ask reads the funds for the next try.
func (a *Admission) ask(ctx context.Context, prover rail.Prover, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	f, err := prover.Funds(ctx, a.Payer, a.wanted)
	if err != nil {
		return err
	}
	a.funds, a.asked = f, map[string]bool{}
	for _, n := range a.wanted {
		a.asked[n] = true
	}
	return nil
}
