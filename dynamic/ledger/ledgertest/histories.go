package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
)

// checkSnapshot commits from beside while a View is open.
func checkSnapshot(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := errors.Join(set(ctx, db, "a", "old"), set(ctx, db, "b", "old")); err != nil {
		return err
	}
	err := db.View(ctx, func(tx ledger.Tx) error {
		if err := expectTx(tx, "a", "old"); err != nil {
			return err
		}
		beside := make(chan error, 1)
		go func() {
			beside <- db.Update(ctx, func(tx ledger.Tx) error {
				return errors.Join(tx.Set([]byte("a"), []byte("new")), tx.Delete([]byte("b")), tx.Set([]byte("c"), nil))
			})
		}()
		if err := <-beside; err != nil {
			return fmt.Errorf("an Update beside a View: %w", err)
		}
		got, err := list(tx, "", "")
		if err != nil {
			return err
		}
		if err := same("a View after an Update beside it", got, []string{"a=old", "b=old"}); err != nil {
			return err
		}
		return errors.Join(expectTx(tx, "a", "old"), expectTx(tx, "b", "old"), expectTx(tx, "c", "-"))
	})
	return errors.Join(err, expect(ctx, db, "a", "new"), expect(ctx, db, "b", "-"), expect(ctx, db, "c", ""))
}

func account(i int) []byte { return ledger.Key("account", fmt.Sprint(i)) }

// credit adds an amount to an account.
func credit(tx ledger.Tx, i, amount int) error {
	value, err := tx.Get(account(i))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(value))
	if err != nil {
		return err
	}
	return tx.Set(account(i), []byte(strconv.Itoa(n+amount)))
}

// balances adds all accounts up.
func balances(tx ledger.Tx) (sum int, err error) {
	for e, err := range tx.Scan(ledger.Prefix(ledger.Key("account"))) {
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// checkTransfers moves amounts between accounts while Views add all up.
func checkTransfers(ctx context.Context, open func() ledger.DB) error {
	const accounts, start, transfers = 10, 100, 40
	db := open()
	err := db.Update(ctx, func(tx ledger.Tx) error {
		for i := range accounts {
			if err := tx.Set(account(i), []byte(strconv.Itoa(start))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	total := func(tx ledger.Tx) error {
		sum, err := balances(tx)
		if err == nil && sum != accounts*start {
			err = fmt.Errorf("the accounts add up to %d, want %d", sum, accounts*start)
		}
		return err
	}
	g, ctx2 := errgroup.WithContext(ctx)
	var left atomic.Int32
	left.Store(4)
	for range 4 {
		g.Go(func() error {
			defer left.Add(-1)
			for range transfers {
				from := rand.IntN(accounts)
				to := (from + 1 + rand.IntN(accounts-1)) % accounts
				err := db.Update(ctx2, func(tx ledger.Tx) error {
					return errors.Join(credit(tx, from, -7), credit(tx, to, 7))
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for left.Load() > 0 {
			if err := db.View(ctx2, total); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return db.View(ctx, total)
}

// An event is one call as seen from outside. Ticks order beginnings and ends of
// calls in real time.
type event struct {
	began, ended int64
	serial       int64             // of an Update: its place; of a View: the last place it saw
	update       bool              //
	read         map[string]string // "-" for absent
	wrote        map[string]string
}

// checkHistory lets workers make random calls and then checks that the history
// has an order: each Update takes a serial number inside the ledger, so the
// order is known, and every read must be what the Updates before it had written,
// and the order must agree with real time.
func checkHistory(ctx context.Context, open func() ledger.DB) error {
	const workers, calls, keys = 6, 30, 5
	db := open()
	var tick atomic.Int64
	var mu sync.Mutex // guards events
	var events []event
	g, ctx2 := errgroup.WithContext(ctx)
	for w := range workers {
		g.Go(func() error {
			for c := range calls {
				e, err := randomCall(ctx2, db, &tick, fmt.Sprint(w, ".", c), keys)
				if err != nil {
					return err
				}
				if e != nil {
					mu.Lock()
					events = append(events, *e)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return judge(events)
}

// randomCall makes one call and returns what was seen of it, or nil for an
// Update that was given up, which must leave no trace.
func randomCall(ctx context.Context, db ledger.DB, tick *atomic.Int64, id string, keys int) (*event, error) {
	kind := rand.IntN(4)
	reads := rand.Perm(keys)[:3]
	writes := rand.Perm(keys)[:1+rand.IntN(2)]
	giveUp := errors.New("given up")
	name := func(i int) string { return fmt.Sprint("key", i) }
	var e event
	f := func(tx ledger.Tx) (err error) {
		e.read, e.wrote, e.update = map[string]string{}, map[string]string{}, kind != 0
		if rand.IntN(2) == 0 { // which may change nothing
			ledger.Ahead(tx, ledger.At([]byte(name(reads[0]))), ledger.At([]byte(name(writes[0]))),
				ledger.At(ledger.CounterKey("serial")))
		}
		for _, i := range reads {
			value, err := tx.Get([]byte(name(i)))
			switch {
			case errors.Is(err, ledger.ErrNotFound):
				e.read[name(i)] = "-"
			case err != nil:
				return err
			default:
				e.read[name(i)] = string(value)
			}
		}
		if kind == 0 {
			e.serial, err = ledger.Last(tx, "serial")
			return err
		}
		for n, i := range writes {
			if n == 1 && kind == 2 {
				e.wrote[name(i)] = "-"
				err = tx.Delete([]byte(name(i)))
			} else {
				e.wrote[name(i)] = id
				err = tx.Set([]byte(name(i)), []byte(id))
			}
			if err != nil {
				return err
			}
		}
		if e.serial, err = ledger.Next(tx, "serial"); err != nil {
			return err
		}
		if kind == 3 {
			return giveUp
		}
		return nil
	}
	e.began = tick.Add(1)
	var err error
	if kind == 0 {
		err = db.View(ctx, f)
	} else {
		err = db.Update(ctx, f)
	}
	e.ended = tick.Add(1)
	if kind == 3 && err == giveUp {
		return nil, nil
	}
	if err == nil && kind == 3 {
		err = errors.New("an Update succeeded whose function failed")
	}
	return &e, err
}

func judge(events []event) error {
	slices.SortFunc(events, func(a, b event) int {
		if a.serial != b.serial {
			return int(a.serial - b.serial)
		}
		if a.update != b.update { // a View follows the Update that it saw last
			if a.update {
				return -1
			}
			return 1
		}
		return int(a.began - b.began)
	})
	state := map[string]string{}
	var serial int64
	for i, e := range events {
		if e.update {
			serial++
		}
		if e.serial != serial {
			return fmt.Errorf("history: an Update or View has place %d, want %d", e.serial, serial)
		}
		for k, v := range e.read {
			want, ok := state[k]
			if !ok {
				want = "-"
			}
			if v != want {
				return fmt.Errorf("history: place %d read %s = %s, want %s", e.serial, k, v, want)
			}
		}
		maps.Copy(state, e.wrote)
		// Nothing later in the order may have ended before this began.
		for _, later := range events[i+1:] {
			if later.ended < e.began && (later.serial > e.serial || later.update && !e.update) {
				return fmt.Errorf("history: place %d ended before place %d began", later.serial, e.serial)
			}
		}
	}
	return nil
}
