package shop

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Serve serves on ln, and metrics on debug where that is given, until ctx ends; then it finishes
// what is under way.
func (s *Shop) Serve(ctx context.Context, ln, debug net.Listener) error {
	// The background work outlives the listener: purchases under way need the chain's watchers to
	// the end.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	for _, run := range s.runs {
		wg.Go(func() {
			if err := run(background); err != nil && background.Err() == nil {
				s.Log.Error("background work ended", "err", err)
			}
		})
	}
	if debug != nil {
		wg.Go(func() {
			if err := s.Server.ServeDebug(background, debug); err != nil && background.Err() == nil {
				s.Log.Error("debug listener ended", "err", err)
			}
		})
	}
	serving, end := context.WithCancelCause(ctx)
	defer end(nil)
	if l, ok := s.DB.(stopping); ok {
		go func() {
			select {
			case <-l.Stopped():
				end(errLedgerStopped)
			case <-serving.Done():
			}
		}()
	}
	err := s.Server.Serve(serving, ln)
	stop()
	wg.Wait()
	if cause := context.Cause(serving); errors.Is(cause, errLedgerStopped) {
		err = errors.Join(cause, err)
	}
	return err
}

// stopping is a ledger that says when it has stopped for good.
type stopping interface{ Stopped() <-chan struct{} }

// errLedgerStopped ends a store whose ledger has stopped: started again it reads what the disk
// really has. One that stayed would hand out terms that nobody can pay.
var errLedgerStopped = errors.New("the ledger has stopped, as it does when its disk is full or fails: " +
	"see to the disk, and start the store again")
