package rail

import (
	"context"
	"errors"
	"time"
)

// maxTries is how often in a row nodes are asked what they have no answer to, or one that
// contradicts another.
const maxTries = 6

// Tries are those of one question. Between two of them is a wait, doubled each time.
type Tries struct {
	Wait time.Duration
	n    int
}

// Again waits for the next one. It returns err where there were enough of them, or ctx ends.
func (t *Tries) Again(ctx context.Context, err error) error {
	if t.n++; t.n == maxTries {
		return err
	}
	timer := time.NewTimer(t.Wait)
	defer timer.Stop()
	t.Wait *= 2
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), err)
	}
}

// Insist asks until there is an answer, at most maxTries times, with wait after the first.
func Insist[T any](ctx context.Context, wait time.Duration, ask func() (T, error)) (T, error) {
	for tries := (Tries{Wait: wait}); ; {
		answer, err := ask()
		if err == nil {
			return answer, nil
		}
		if err := tries.Again(ctx, err); err != nil {
			return answer, err
		}
	}
}
