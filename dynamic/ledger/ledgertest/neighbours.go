package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"store.example/agentstore/dynamic/ledger"
)

// How an Update of checkNeighbours ends.
const (
	succeeds = iota
	fails
	panics
	exits
	leaves // its context ends inside its function
	waits  // its context has ended while it waited
	ways
)

// neighbours are Updates that are made at once, of which only some come to a
// good end.
type neighbours struct {
	db     ledger.DB
	mine   error // of those that fail
	mu     sync.Mutex
	stored map[int64]int // number → which Update was told that it has it; guarded by mu
	wrong  []error       // guarded by mu
}

// checkNeighbours lets many Updates queue up behind one that takes its time, and
// demands that each is served as if it had been alone, whatever became of the
// others.
func checkNeighbours(ctx context.Context, open func() ledger.DB) error {
	const rounds, many = 3, 8 * ways
	n := &neighbours{db: open(), mine: errors.New("mine"), stored: map[int64]int{}}
	for round := range rounds {
		entered, leave := make(chan struct{}), make(chan struct{})
		var once sync.Once
		first := make(chan error, 1)
		go func() {
			first <- n.db.Update(ctx, func(ledger.Tx) error {
				once.Do(func() { close(entered) })
				<-leave
				return nil
			})
		}()
		select {
		case <-entered:
		case err := <-first:
			return fmt.Errorf("the first of round %d ended before its function ran: %v", round, err)
		}
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() { n.update(ctx, round*many+i) })
		}
		for range 10 * many {
			runtime.Gosched() // so that they queue up
		}
		close(leave)
		wg.Wait()
		if err := <-first; err != nil {
			return fmt.Errorf("the first: %w", err)
		}
	}
	if len(n.wrong) > 0 {
		return n.wrong[0]
	}
	return n.check(ctx, rounds*many)
}

// update makes one Update, which takes a number and leaves its mark if it
// succeeds, and notes what is wrong about its outcome.
func (n *neighbours) update(ctx context.Context, i int) {
	way := i % ways
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if way == waits {
		go cancel()
	}
	var number int64
	var err error
	returned := false
	defer func() {
		caught := recover()
		n.mu.Lock()
		defer n.mu.Unlock()
		ended := errors.Is(err, context.Canceled)
		switch {
		case way == panics && caught == i, way == exits && !returned && caught == nil, returned && way == fails &&
			err == n.mine:
		case returned && err == nil && (way == succeeds || way == waits || way == leaves):
			n.stored[number] = i
		case returned && ended && (way == waits || way == leaves):
		default:
			n.wrong = append(n.wrong, fmt.Errorf("an Update of kind %d: returned %v: %v, panic %v", way, returned, err,
				caught))
		}
	}()
	err = n.db.Update(ctx, func(tx ledger.Tx) (err error) {
		if err := tx.Set(fmt.Appendf(nil, "by/%d", i), nil); err != nil {
			return err
		}
		if number, err = ledger.Next(tx, "n"); err != nil {
			return err
		}
		switch way {
		case fails:
			return n.mine
		case panics:
			panic(i)
		case exits:
			runtime.Goexit()
		case leaves:
			cancel()
			_, err := ledger.Last(tx, "another")
			return err
		}
		return nil
	})
	returned = true
}

// check demands what those that succeeded wrote, and nothing else.
func (n *neighbours) check(ctx context.Context, many int) error {
	return n.db.View(ctx, func(tx ledger.Tx) error {
		last, err := ledger.Last(tx, "n")
		if err != nil {
			return err
		}
		if int(last) != len(n.stored) {
			return fmt.Errorf("the counter is at %d after %d Updates that succeeded", last, len(n.stored))
		}
		by := map[int]bool{}
		for _, i := range n.stored {
			by[i] = true
		}
		for i := range many {
			if err := expectTx(tx, fmt.Sprintf("by/%d", i), map[bool]string{true: "", false: "-"}[by[i]]); err != nil {
				return err
			}
		}
		return nil
	})
}
