package desk

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// maxShared bounds how many finished answers are remembered.
const maxShared = 512

// sharing lets those who ask for the same thing at about the same time share one making of it. The
// zero value works; keep is how long a finished answer is given to others.
type sharing[T any] struct {
	keep time.Duration

	mu      sync.Mutex // guards what follows
	entries map[string]*shared[T]
	running sync.WaitGroup
}

// shared is one making. value and err are written before done is closed and not changed afterwards.
type shared[T any] struct {
	done  chan struct{}
	ends  time.Time // when it is forgotten; zero while it is under way
	value T
	err   error
}

// do returns what work makes for a key, made now or within the last few seconds for somebody else.
// work runs in a context that does not end with ctx, because others may wait for it; the wait ends
// with ctx. A failed making is not remembered.
func (s *sharing[T]) do(ctx context.Context, key string, work func(context.Context) (T, error)) (value T, again bool,
	err error) {
	s.mu.Lock()
	e, found := s.entries[key]
	if found && (e.ends.IsZero() || time.Now().Before(e.ends)) {
		s.mu.Unlock()
	} else {
		found = false
		e = s.begin(ctx, key, work)
	}
	select {
	case <-e.done:
		return e.value, found, e.err
	case <-ctx.Done():
		return value, found, context.Cause(ctx)
	}
}

// begin starts a making and gives up mu.
func (s *sharing[T]) begin(ctx context.Context, key string, work func(context.Context) (T, error)) *shared[T] {
	s.tidy()
	e := &shared[T]{done: make(chan struct{})}
	s.entries[key] = e
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer func() {
			if p := recover(); p != nil {
				e.err = fmt.Errorf("panic: %v", p)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if e.ends = time.Now().Add(s.keep); e.err != nil && s.entries[key] == e {
				delete(s.entries, key)
			}
			close(e.done)
		}()
		e.value, e.err = work(context.WithoutCancel(ctx))
	}()
	return e
}

// tidy forgets what is over, and more than that when there is too much; mu is held. What is under
// way stays: callers bound it.
func (s *sharing[T]) tidy() {
	if s.entries == nil {
		s.entries = map[string]*shared[T]{}
	}
	now := time.Now()
	for key, e := range s.entries {
		if !e.ends.IsZero() && (!now.Before(e.ends) || len(s.entries) >= maxShared) {
			delete(s.entries, key)
		}
	}
}

// wait returns when nothing is under way any more, or with the cause of ctx.
func (s *sharing[T]) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
