package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
)

var errTaken = errors.New("taken")

func checkCounter(ctx context.Context, open func() ledger.DB) error {
	db := open()
	giveUp := errors.New("given up")
	for i := range 20 {
		for _, want := range []error{giveUp, nil} {
			err := db.Update(ctx, func(tx ledger.Tx) error {
				n, err := ledger.Next(tx, "n")
				if err == nil && n != int64(i)+1 {
					err = fmt.Errorf("Next = %d after %d", n, i)
				}
				return errors.Join(err, want)
			})
			if !errors.Is(err, want) {
				return err
			}
		}
	}
	return db.Update(ctx, func(tx ledger.Tx) error {
		if err := errors.Join(ledger.Raise(tx, "n", 10), ledger.Raise(tx, "n", 30)); err != nil {
			return err
		}
		n, err := ledger.Next(tx, "n")
		if err != nil || n != 31 {
			return fmt.Errorf("Next = %d, %v after Raise to 30", n, err)
		}
		return nil
	})
}

// increment adds one to a decimal number by reading and writing.
func increment(tx ledger.Tx, key string) error {
	value, err := tx.Get([]byte(key))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	n := 0
	if err == nil {
		if n, err = strconv.Atoi(string(value)); err != nil {
			return err
		}
	}
	return tx.Set([]byte(key), strconv.AppendInt(nil, int64(n)+1, 10))
}

func checkIncrements(ctx context.Context, open func() ledger.DB) error {
	const workers, times = 8, 25
	db := open()
	g, ctx2 := errgroup.WithContext(ctx)
	for w := range workers {
		g.Go(func() error {
			for range times {
				err := db.Update(ctx2, func(tx ledger.Tx) error {
					return errors.Join(increment(tx, "all"), increment(tx, fmt.Sprint("worker", w)))
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for w := range workers {
		if err := expect(ctx, db, fmt.Sprint("worker", w), fmt.Sprint(times)); err != nil {
			return err
		}
	}
	return expect(ctx, db, "all", fmt.Sprint(workers*times))
}

func checkOneWinner(ctx context.Context, open func() ledger.DB) error {
	db := open()
	for round := range 5 {
		key := fmt.Sprint("auth", round)
		var winners atomic.Int32
		var winner atomic.Value
		g, ctx2 := errgroup.WithContext(ctx)
		for racer := range 16 {
			g.Go(func() error {
				name := fmt.Sprint("racer", racer)
				err := db.Update(ctx2, func(tx ledger.Tx) error {
					_, err := tx.Get([]byte(key))
					if err == nil {
						return errTaken
					}
					if !errors.Is(err, ledger.ErrNotFound) {
						return err
					}
					return tx.Set([]byte(key), []byte(name))
				})
				if err == nil {
					winners.Add(1)
					winner.Store(name)
				} else if errors.Is(err, errTaken) {
					// Whoever lost must be able to see who won.
					err = db.View(ctx2, func(tx ledger.Tx) error {
						_, err := tx.Get([]byte(key))
						return err
					})
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if winners.Load() != 1 {
			return fmt.Errorf("%d of 16 racers took one key", winners.Load())
		}
		if err := expect(ctx, db, key, winner.Load().(string)); err != nil {
			return err
		}
	}
	return nil
}

// checkWriteSkew lets two at a time each give up a duty if the other still has
// it. Snapshot isolation would let both.
func checkWriteSkew(ctx context.Context, open func() ledger.DB) error {
	db := open()
	for round := range 20 {
		err := db.Update(ctx, func(tx ledger.Tx) error {
			return errors.Join(tx.Set([]byte("duty/0"), []byte("on")), tx.Set([]byte("duty/1"), []byte("on")))
		})
		if err != nil {
			return err
		}
		g, ctx2 := errgroup.WithContext(ctx)
		for me := range 2 {
			g.Go(func() error {
				return db.Update(ctx2, func(tx ledger.Tx) error {
					mine, other := fmt.Sprint("duty/", me), fmt.Sprint("duty/", 1-me)
					if expectTx(tx, other, "on") != nil {
						return nil
					}
					return tx.Set([]byte(mine), []byte("off"))
				})
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if expect(ctx, db, "duty/0", "on") != nil && expect(ctx, db, "duty/1", "on") != nil {
			return fmt.Errorf("round %d: write skew: both gave up because of the other", round)
		}
	}
	return nil
}

// checkPhantoms lets several take the last place, which they find by counting.
func checkPhantoms(ctx context.Context, open func() ledger.DB) error {
	const places, takers = 3, 6
	db := open()
	for round := range 6 {
		from, to := ledger.Prefix(ledger.Key("place", fmt.Sprint(round)))
		count := func(tx ledger.Tx) (n int, err error) {
			for _, err := range tx.Scan(from, to) {
				if err != nil {
					return 0, err
				}
				n++
			}
			return n, nil
		}
		g, ctx2 := errgroup.WithContext(ctx)
		for taker := range takers {
			g.Go(func() error {
				err := db.Update(ctx2, func(tx ledger.Tx) error {
					n, err := count(tx)
					if err != nil {
						return err
					}
					if n >= places {
						return errTaken
					}
					return tx.Set(ledger.Key("place", fmt.Sprint(round), fmt.Sprint(taker)), nil)
				})
				if errors.Is(err, errTaken) {
					return nil
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		err := db.View(ctx, func(tx ledger.Tx) error {
			n, err := count(tx)
			if err == nil && n != places {
				err = fmt.Errorf("round %d: %d of %d places were taken", round, n, places)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func checkCancelled(ctx context.Context, open func() ledger.DB) error {
	db := open()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for _, call := range []func(context.Context, func(ledger.Tx) error) error{db.View, db.Update} {
		ran := false
		err := call(gone, func(tx ledger.Tx) error {
			ran = true
			return tx.Set([]byte("a"), []byte("1"))
		})
		if !errors.Is(err, context.Canceled) || ran {
			return fmt.Errorf("a call with a cancelled context: %v, function run: %v", err, ran)
		}
	}
	return expect(ctx, db, "a", "-")
}

// checkCancelledWaiting lets the context of an Update end that may be waiting
// behind another.
func checkCancelledWaiting(ctx context.Context, open func() ledger.DB) error {
	db := open()
	entered, leave := make(chan struct{}, 16), make(chan struct{})
	g, ctx2 := errgroup.WithContext(ctx)
	g.Go(func() error {
		return db.Update(ctx2, func(tx ledger.Tx) error {
			entered <- struct{}{}
			select {
			case <-leave:
			case <-ctx2.Done():
			}
			return tx.Set([]byte("first"), []byte("1"))
		})
	})
	<-entered
	waiting, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	second := make(chan error, 1)
	go func() {
		second <- db.Update(waiting, func(tx ledger.Tx) error { return tx.Set([]byte("second"), []byte("1")) })
	}()
	want := "-"
	select {
	case err := <-second:
		if err == nil {
			want = "1" // the engine runs Updates side by side
		} else if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("an Update whose context ended: %w", err)
		}
	case <-ctx.Done():
		return errors.New("an Update whose context ended waits for the one before it")
	}
	close(leave)
	if err := g.Wait(); err != nil {
		return err
	}
	return errors.Join(expect(ctx, db, "first", "1"), expect(ctx, db, "second", want))
}
