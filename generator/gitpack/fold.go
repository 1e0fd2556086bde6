package gitpack

import (
	"context"
	"sync"
	"sync/atomic"
)

// fold runs make on several workers and take on the results in order, with at
// most a bounded number of results waiting.
func fold[T any](ctx context.Context, n, workers int, make func(i int) (T, error), take func(i int, v T) error) error {
	type result struct {
		v   T
		err error
	}
	slots := newSlots[result](n, workers*4)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range workers {
		wg.Go(func() {
			for {
				i, ok := slots.claim(ctx)
				if !ok {
					return
				}
				v, err := make(i)
				slots.put(i, result{v, err})
			}
		})
	}
	for i := range n {
		r, ok := slots.get(ctx, i)
		if !ok {
			return context.Cause(ctx)
		}
		if r.err != nil {
			return r.err
		}
		if err := take(i, r.v); err != nil {
			return err
		}
	}
	return nil
}

// slots hands numbers out in order and gives results back in order; at most
// size of them are between the two.
type slots[T any] struct {
	n    int
	next atomic.Int64
	free chan struct{}
	ring []chan T
}

func newSlots[T any](n, size int) *slots[T] {
	s := &slots[T]{n: n, free: make(chan struct{}, size), ring: make([]chan T, size)}
	for i := range s.ring {
		s.ring[i] = make(chan T, 1)
		s.free <- struct{}{}
	}
	return s
}

func (s *slots[T]) claim(ctx context.Context) (int, bool) {
	select {
	case <-s.free:
	case <-ctx.Done():
		return 0, false
	}
	i := int(s.next.Add(1)) - 1
	return i, i < s.n
}

func (s *slots[T]) put(i int, v T) { s.ring[i%len(s.ring)] <- v }

func (s *slots[T]) get(ctx context.Context, i int) (T, bool) {
	select {
	case v := <-s.ring[i%len(s.ring)]:
		s.free <- struct{}{}
		return v, true
	case <-ctx.Done():
		var zero T
		return zero, false
	}
}
