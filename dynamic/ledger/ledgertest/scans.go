package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"store.example/agentstore/dynamic/ledger"
)

// withFaults runs f and returns a fault of memory access in it as an error: an
// engine that lends its read-only memory map is caught, and not the process.
func withFaults(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("writing to memory that was given: %v", r)
		}
	}()
	return f()
}

func checkOwnWrites(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := fill(ctx, db); err != nil {
		return err
	}
	return db.Update(ctx, func(tx ledger.Tx) error {
		err := errors.Join(
			tx.Set([]byte("fill/100"), []byte("new")),
			tx.Set([]byte("fill/100a"), []byte("between")),
			tx.Delete([]byte("fill/102")),
			tx.Set([]byte("gill"), []byte("beyond")),
			tx.Set([]byte("fil"), []byte("before")),
			tx.Set([]byte("fill/103"), nil),
			tx.Set([]byte("fill/104"), nil),
			tx.Delete([]byte("fill/104")),
			tx.Delete([]byte("fill/105")),
			tx.Set([]byte("fill/105"), []byte("back")),
		)
		if err != nil {
			return err
		}
		err = errors.Join(
			expectTx(tx, "fill/100", "new"), expectTx(tx, "fill/102", "-"), expectTx(tx, "fill/103", ""),
			expectTx(tx, "fill/104", "-"), expectTx(tx, "fill/105", "back"), expectTx(tx, "gill", "beyond"),
		)
		if err != nil {
			return err
		}
		got, err := list(tx, "fill/099", "fill/107")
		if err != nil {
			return err
		}
		err = same("Scan over own writes", got, []string{
			fmt.Sprintf("fill/099=%0100d", 99), "fill/100=new", "fill/100a=between",
			fmt.Sprintf("fill/101=%0100d", 101), "fill/103=", "fill/105=back", fmt.Sprintf("fill/106=%0100d", 106),
		})
		if err != nil {
			return err
		}
		got, err = list(tx, "", "")
		if err != nil {
			return err
		}
		if len(got) != 201 || got[0] != "fil=before" || got[200] != "gill=beyond" {
			return fmt.Errorf("Scan of all gives %d entries from %.20q to %.20q", len(got), got[0], got[len(got)-1])
		}
		return nil
	})
}

// checkWritesAhead writes in the body of a scan, before it and behind it.
func checkWritesAhead(ctx context.Context, open func() ledger.DB) error {
	db := open()
	for _, k := range []string{"b", "d", "f", "h"} {
		if err := set(ctx, db, k, "old"); err != nil {
			return err
		}
	}
	return db.Update(ctx, func(tx ledger.Tx) error {
		run := func(down bool) ([]string, error) {
			var got []string
			seq := tx.Scan([]byte("b"), []byte("i"))
			if down {
				seq = tx.ScanDown([]byte("b"), []byte("i"))
			}
			for e, err := range seq {
				if err != nil {
					return nil, err
				}
				got = append(got, string(e.Key)+"="+string(e.Value))
				if k := string(e.Key); k == "d" && !down || k == "f" && down {
					err = errors.Join(
						tx.Set([]byte("c"), []byte("c")),
						tx.Set([]byte("e"), []byte("e")),
						tx.Set([]byte("b"), []byte("new")),
						tx.Set([]byte("h"), []byte("new")),
						tx.Delete([]byte("d")),
						tx.Delete([]byte("f")),
						tx.Set([]byte("z"), []byte("outside")),
					)
					if err != nil {
						return nil, err
					}
				}
			}
			return got, nil
		}
		got, err := run(false)
		if err != nil {
			return err
		}
		if err := same("Scan with writes", got, []string{"b=old", "d=old", "e=e", "h=new"}); err != nil {
			return err
		}
		for _, k := range []string{"b", "d", "f", "h"} {
			if err := tx.Set([]byte(k), []byte("old")); err != nil {
				return err
			}
		}
		if err := errors.Join(tx.Delete([]byte("c")), tx.Delete([]byte("e"))); err != nil {
			return err
		}
		got, err = run(true)
		if err != nil {
			return err
		}
		return same("ScanDown with writes", got, []string{"h=old", "f=old", "e=e", "c=c", "b=new"})
	})
}

func checkOrder(ctx context.Context, open func() ledger.DB) error {
	db := open()
	keys := []string{
		"a", "B", "A", "b", "é", "e", "z", "Z", "|", "}", "~", "\x00", "\x00\x00", "\x01", "\x7f", "\x80",
		"\xff", "\xff\xff", "\xff\x00", "a\x00", "a/b", "a.b", "a b", "ab", "aa", "a\xff", "10", "9", "日", "ß", "ss",
	}
	for _, k := range keys {
		if err := set(ctx, db, k, "v"); err != nil {
			return err
		}
	}
	slices.Sort(keys)
	want := make([]string, len(keys))
	for i, k := range keys {
		want[i] = k + "=v"
	}
	err := db.View(ctx, func(tx ledger.Tx) error {
		got, err := list(tx, "", "")
		if err != nil {
			return err
		}
		return same("Scan", got, want)
	})
	if err != nil {
		return err
	}
	// Each key also is found where its neighbours are.
	return db.View(ctx, func(tx ledger.Tx) error {
		for i, k := range keys {
			got, err := list(tx, k, k+"\x00")
			if err != nil {
				return err
			}
			if err := same(fmt.Sprintf("Scan from %q to its successor", k), got, want[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkRanges(ctx context.Context, open func() ledger.DB) error {
	db := open()
	keys := []string{"a", "a\xfe", "a\xff", "a\xff\xff", "a\xff\xff1", "b", "\xff", "\xff\xff", "\xff\xffz"}
	for _, k := range keys {
		if err := set(ctx, db, k, "v"); err != nil {
			return err
		}
	}
	slices.Sort(keys)
	bounds := append([]string{"", "0", "a\xff\x00", "aa", "c", "\xff\x00", "\xff\xff\xff"}, keys...)
	return db.View(ctx, func(tx ledger.Tx) error {
		for _, from := range bounds {
			for _, to := range bounds {
				var want []string
				for _, k := range keys {
					if from <= k && (to == "" || k < to) {
						want = append(want, k+"=v")
					}
				}
				got, err := list(tx, from, to)
				if err != nil {
					return err
				}
				if err := same(fmt.Sprintf("Scan(%q, %q)", from, to), got, want); err != nil {
					return err
				}
			}
			var want []string
			for _, k := range keys {
				if len(k) >= len(from) && k[:len(from)] == from {
					want = append(want, k+"=v")
				}
			}
			low, high := ledger.Prefix([]byte(from))
			got, err := list(tx, string(low), string(high))
			if err != nil {
				return err
			}
			if err := same(fmt.Sprintf("Scan(Prefix(%q))", from), got, want); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkBreak leaves scans, also nested ones, and goes on working.
func checkBreak(ctx context.Context, open func() ledger.DB) error {
	db := open()
	if err := fill(ctx, db); err != nil {
		return err
	}
	err := db.Update(ctx, func(tx ledger.Tx) error {
		n := 0
		for e, err := range tx.Scan(nil, nil) {
			if err != nil {
				return err
			}
			for inner, err := range tx.ScanDown(nil, e.Key) {
				if err != nil {
					return err
				}
				if err := expectTx(tx, string(inner.Key), string(inner.Value)); err != nil {
					return err
				}
				break
			}
			if n++; n == 70 {
				if err := tx.Set(e.Key, []byte("seen")); err != nil {
					return err
				}
				break
			}
		}
		if err := errors.Join(tx.Delete([]byte("fill/000")), tx.Set([]byte("fill/002"), []byte("set"))); err != nil {
			return fmt.Errorf("writing after a scan was left: %w", err)
		}
		return expectTx(tx, "fill/069", "seen")
	})
	if err != nil {
		return err
	}
	return errors.Join(expect(ctx, db, "fill/069", "seen"), expect(ctx, db, "fill/000", "-"),
		expect(ctx, db, "fill/002", "set"), expect(ctx, db, "fill/001", fmt.Sprintf("%0100d", 1)))
}

// A model is what a ledger must hold.
type model map[string]string

// compare holds a range of a ledger against the model.
func (m model) compare(tx ledger.Tx, from, to string) error {
	var want []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if from <= k && (to == "" || k < to) {
			want = append(want, k+"="+m[k])
		}
	}
	got, err := list(tx, from, to)
	if err != nil {
		return err
	}
	return same(fmt.Sprintf("Scan(%q, %q)", from, to), got, want)
}

// An op is one random step of a transaction; arg is a value or, of a scan, where it ends.
type op struct {
	kind     int
	key, arg string
}

// do takes a step in the ledger and in the model.
func (m model) do(tx ledger.Tx, o op) error {
	switch o.kind {
	case 0, 1, 2:
		m[o.key] = o.arg
		return tx.Set([]byte(o.key), []byte(o.arg))
	case 3, 4:
		delete(m, o.key)
		return tx.Delete([]byte(o.key))
	case 5:
		want, ok := m[o.key]
		if !ok {
			want = "-"
		}
		return expectTx(tx, o.key, want)
	case 6:
		return m.compare(tx, o.key, o.arg)
	}
	// Empty a range, so that pages become empty, too.
	for e, err := range tx.Scan([]byte(o.key), []byte(o.key[:1]+"~")) {
		if err != nil {
			return err
		}
		delete(m, string(e.Key))
		if err := tx.Delete(e.Key); err != nil {
			return err
		}
	}
	return nil
}

// checkModel makes random transactions and compares everything with a map.
func checkModel(ctx context.Context, open func() ledger.DB) error {
	db := open()
	rng := rand.New(rand.NewPCG(3, 5))
	now := model{}
	key := func() string { return fmt.Sprintf("%c%02d", 'a'+rng.IntN(3), rng.IntN(60)) }
	giveUp := errors.New("given up")
	for i := range 150 {
		ops := make([]op, rng.IntN(25))
		for j := range ops {
			ops[j] = op{rng.IntN(8), key(), fmt.Sprint(i, "/", j)}
			if ops[j].kind == 6 {
				ops[j].arg = key()
			}
		}
		fail := rng.IntN(5) == 0
		var after model
		err := db.Update(ctx, func(tx ledger.Tx) error {
			after = maps.Clone(now)
			for _, o := range ops {
				if err := after.do(tx, o); err != nil {
					return fmt.Errorf("transaction %d: %w", i, err)
				}
			}
			if fail {
				return giveUp
			}
			return nil
		})
		switch {
		case fail && err == giveUp:
		case err != nil:
			return err
		default:
			now = after
		}
		if err := db.View(ctx, func(tx ledger.Tx) error { return now.compare(tx, "", "") }); err != nil {
			return fmt.Errorf("after transaction %d: %w", i, err)
		}
	}
	return nil
}
