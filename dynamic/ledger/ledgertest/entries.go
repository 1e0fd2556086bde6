package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/dynamic/ledger"
)

func checkEntries(ctx context.Context, open func() ledger.DB) error {
	db := open()
	steps := []struct {
		key, value string
		remove     bool
	}{
		{"a", "", true}, // deleting an absent key is no error
		{"a", "one", false},
		{"a", "two", false},
		{"b", "", false}, // empty is not absent
		{"b", "", true},
		{"b", "again", false},
		{"a", "", true},
	}
	for _, s := range steps {
		want := s.value
		err := db.Update(ctx, func(tx ledger.Tx) error {
			if s.remove {
				want = "-"
				return tx.Delete([]byte(s.key))
			}
			return tx.Set([]byte(s.key), []byte(s.value))
		})
		if err != nil {
			return fmt.Errorf("step %v: %w", s, err)
		}
		if err := expect(ctx, db, s.key, want); err != nil {
			return fmt.Errorf("step %v: %w", s, err)
		}
	}
	// A nil value is an empty one, and a scan yields it.
	err := db.Update(ctx, func(tx ledger.Tx) error { return tx.Set([]byte("n"), nil) })
	if err != nil {
		return err
	}
	if err := expect(ctx, db, "n", ""); err != nil {
		return err
	}
	return db.View(ctx, func(tx ledger.Tx) error {
		got, err := list(tx, "", "")
		return errors.Join(err, same("Scan", got, []string{"b=again", "n="}))
	})
}

func checkLimits(ctx context.Context, open func() ledger.DB) error {
	db := open()
	long := strings.Repeat("k", ledger.MaxKey)
	big := strings.Repeat("v", 1<<20)
	if err := set(ctx, db, long, big); err != nil {
		return fmt.Errorf("longest key, value of 1 MiB: %w", err)
	}
	if err := expect(ctx, db, long, big); err != nil {
		return err
	}
	return db.Update(ctx, func(tx ledger.Tx) error {
		for _, key := range []string{"", long + "k"} {
			_, err := tx.Get([]byte(key))
			for what, err := range map[string]error{
				"Get": err, "Set": tx.Set([]byte(key), nil), "Delete": tx.Delete([]byte(key)),
			} {
				if !errors.Is(err, ledger.ErrTooLong) {
					return fmt.Errorf("%s with a key of %d bytes: %v, want ErrTooLong", what, len(key), err)
				}
			}
		}
		if err := tx.Set([]byte("k"), make([]byte, ledger.MaxValue+1)); !errors.Is(err, ledger.ErrTooLong) {
			return fmt.Errorf("Set of %d bytes: %v, want ErrTooLong", ledger.MaxValue+1, err)
		}
		return nil
	})
}

func checkReadOnly(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := set(ctx, db, "a", "1"); err != nil {
		return err
	}
	err := db.View(ctx, func(tx ledger.Tx) error {
		if err := tx.Set([]byte("b"), []byte("1")); !errors.Is(err, ledger.ErrReadOnly) {
			return fmt.Errorf("Set in View: %v, want ErrReadOnly", err)
		}
		if err := tx.Delete([]byte("a")); !errors.Is(err, ledger.ErrReadOnly) {
			return fmt.Errorf("Delete in View: %v, want ErrReadOnly", err)
		}
		return expectTx(tx, "a", "1")
	})
	mine := errors.New("mine")
	if got := db.View(ctx, func(ledger.Tx) error { return mine }); got != mine {
		return fmt.Errorf("View returned %v, want the error of its function", got)
	}
	return errors.Join(err, expect(ctx, db, "a", "1"), expect(ctx, db, "b", "-"))
}

func checkRollback(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := set(ctx, db, "a", "1"); err != nil {
		return err
	}
	mine := errors.New("mine")
	got := db.Update(ctx, func(tx ledger.Tx) error {
		err := errors.Join(tx.Set([]byte("a"), []byte("2")), tx.Set([]byte("b"), []byte("2")))
		if err != nil {
			return err
		}
		return mine
	})
	if got != mine {
		return fmt.Errorf("Update returned %v, want the error of its function", got)
	}
	got = db.Update(ctx, func(tx ledger.Tx) error {
		if err := tx.Delete([]byte("a")); err != nil {
			return err
		}
		return mine
	})
	if got != mine {
		return fmt.Errorf("Update returned %v, want the error of its function", got)
	}
	return errors.Join(expect(ctx, db, "a", "1"), expect(ctx, db, "b", "-"))
}

// checkPanic demands that functions which do not return do no harm.
func checkPanic(ctx context.Context, open func() ledger.DB) error {
	db := open()
	var wg sync.WaitGroup
	for _, leave := range []func(){func() { panic("of the suite") }, runtime.Goexit} {
		for _, call := range []func(context.Context, func(ledger.Tx) error) error{db.View, db.Update} {
			var caught any
			returned := false
			wg.Go(func() {
				defer func() { caught = recover() }()
				err := call(ctx, func(tx ledger.Tx) error {
					// In View this is refused, which does not matter here.
					_ = tx.Set([]byte("a"), []byte("1"))
					leave()
					return nil
				})
				returned = err == nil
			})
			wg.Wait()
			if returned {
				return errors.New("a call returned nil after its function did not return")
			}
			if caught != nil && caught != "of the suite" {
				return fmt.Errorf("a panic arrived as %v", caught)
			}
			if err := expect(ctx, db, "a", "-"); err != nil {
				return err
			}
			if err := set(ctx, db, "b", "1"); err != nil {
				return fmt.Errorf("after a panic: %w", err)
			}
		}
	}
	return nil
}

// checkOver uses transactions whose functions have returned.
func checkOver(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := set(ctx, db, "a", "1"); err != nil {
		return err
	}
	for _, call := range []func(context.Context, func(ledger.Tx) error) error{db.View, db.Update} {
		var escaped ledger.Tx
		if err := call(ctx, func(tx ledger.Tx) error { escaped = tx; return nil }); err != nil {
			return err
		}
		_, err := escaped.Get([]byte("a"))
		var up, down error
		for _, up = range escaped.Scan(nil, nil) {
		}
		for _, down = range escaped.ScanDown(nil, nil) {
		}
		for what, err := range map[string]error{
			"Get": err, "Set": escaped.Set([]byte("a"), []byte("2")), "Delete": escaped.Delete([]byte("a")),
			"Scan": up, "ScanDown": down,
		} {
			if !errors.Is(err, ledger.ErrDone) {
				return fmt.Errorf("%s of a transaction that is over: %v, want ErrDone", what, err)
			}
		}
	}
	return expect(ctx, db, "a", "1")
}

// checkKeeps changes the slices it has handed over.
func checkKeeps(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := fill(ctx, db); err != nil {
		return err
	}
	var outside []byte
	err := db.Update(ctx, func(tx ledger.Tx) error {
		key, value := []byte("fill/100"), bytes.Repeat([]byte("x"), 100)
		if err := tx.Set(key, value); err != nil {
			return err
		}
		key[0], value[0] = 'Z', 'Z'
		gone := []byte("fill/101")
		if err := tx.Delete(gone); err != nil {
			return err
		}
		gone[7] = '2'
		outside = bytes.Repeat([]byte("y"), 100)
		if err := tx.Set([]byte("fill/102"), outside); err != nil {
			return err
		}
		return expectTx(tx, "fill/100", strings.Repeat("x", 100))
	})
	if err != nil {
		return err
	}
	clear(outside)
	return errors.Join(
		expect(ctx, db, "fill/100", strings.Repeat("x", 100)),
		expect(ctx, db, "fill/101", "-"),
		expect(ctx, db, "fill/102", strings.Repeat("y", 100)),
		expect(ctx, db, "Zill/100", "-"),
	)
}

func scribble(p []byte) {
	p = p[:cap(p)]
	for i := range p {
		p[i] = '#'
	}
}

// expectFilled demands all that fill has written, as it was.
func expectFilled(tx ledger.Tx) error {
	i := 0
	for e, err := range tx.Scan(nil, nil) {
		if err != nil {
			return err
		}
		if string(e.Key) != fmt.Sprintf("fill/%03d", i) || string(e.Value) != fmt.Sprintf("%0100d", i) {
			return fmt.Errorf("entry %d has become %q=%q", i, e.Key, e.Value)
		}
		i++
	}
	return expectTx(tx, "fill/150", fmt.Sprintf("%0100d", 150))
}

// spoilFilled scribbles over what it reads of all that fill has written.
func spoilFilled(tx ledger.Tx) error {
	value, err := tx.Get([]byte("fill/150"))
	if err != nil {
		return err
	}
	scribble(value)
	for _, scan := range []iter.Seq2[ledger.Entry, error]{
		tx.Scan([]byte("fill/050"), []byte("fill/060")), tx.ScanDown([]byte("fill/070"), []byte("fill/080")),
	} {
		for e, err := range scan {
			if err != nil {
				return err
			}
			scribble(e.Key)
			scribble(e.Value)
		}
	}
	return expectFilled(tx)
}

// checkLends scribbles over all that it is given, with spare capacity, too.
func checkLends(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := fill(ctx, db); err != nil {
		return err
	}
	return withFaults(func() error {
		if err := db.View(ctx, spoilFilled); err != nil {
			return err
		}
		if err := db.Update(ctx, spoilFilled); err != nil {
			return err
		}
		if err := db.Update(ctx, scribbledScan); err != nil {
			return err
		}
		err := db.Update(ctx, func(tx ledger.Tx) error {
			// Now of entries that the transaction wrote itself.
			for i := range 200 {
				key := fmt.Appendf(nil, "fill/%03d", i)
				if err := tx.Set(key, fmt.Appendf(nil, "%0100d", i)); err != nil {
					return err
				}
			}
			return spoilFilled(tx)
		})
		if err != nil {
			return err
		}
		return db.View(ctx, expectFilled)
	})
}

// scribbledScan scribbles over each key that a scan gives, where the transaction has written
// between the keys that stood there before: the scan has to know by itself where it was.
func scribbledScan(tx ledger.Tx) error {
	for _, key := range []string{"fill/052a", "fill/055a"} {
		if err := tx.Set([]byte(key), []byte("between")); err != nil {
			return err
		}
	}
	up := []string{"fill/051", "fill/052", "fill/052a", "fill/053", "fill/054", "fill/055", "fill/055a", "fill/056"}
	down := slices.Clone(up)
	slices.Reverse(down)
	from, to := []byte("fill/051"), []byte("fill/057")
	for _, scan := range []struct {
		name    string
		entries iter.Seq2[ledger.Entry, error]
		want    []string
	}{{"Scan", tx.Scan(from, to), up}, {"ScanDown", tx.ScanDown(from, to), down}} {
		var got []string
		for e, err := range scan.entries {
			if err != nil {
				return err
			}
			got = append(got, string(e.Key))
			scribble(e.Key)
		}
		if err := same(scan.name+" whose keys are written over", got, scan.want); err != nil {
			return err
		}
	}
	return errors.Join(tx.Delete([]byte("fill/052a")), tx.Delete([]byte("fill/055a")))
}
