package ledger

import (
	"context"
	"errors"
	"testing"
)

// TestReads asks whether a transaction has read what another wrote.
func TestReads(t *testing.T) {
	k := func(s string) []byte { return []byte(s) }
	for _, c := range []struct {
		name  string
		reads func(tx Tx)
		want  bool
	}{
		{"nothing", func(Tx) {}, false},
		{"another key", func(tx Tx) { _, _ = tx.Get(k("a")) }, false},
		{"the key before", func(tx Tx) { _, _ = tx.Get(k("l")) }, false},
		{"the key after", func(tx Tx) { _, _ = tx.Get(k("m\x00")) }, false},
		{"the key", func(tx Tx) { _, _ = tx.Get(k("m")) }, true},
		{"a key that was deleted", func(tx Tx) { _, _ = tx.Get(k("q")) }, true},
		{"what it wrote itself", func(tx Tx) { _ = tx.Set(k("m"), nil); _, _ = tx.Get(k("m")) }, false},
		{"a range before", func(tx Tx) { scanAll(tx, "a", "m") }, false},
		{"a range between", func(tx Tx) { scanAll(tx, "n", "q") }, false},
		{"a range with it", func(tx Tx) { scanAll(tx, "m", "n") }, true},
		{"a range to the end", func(tx Tx) { scanAll(tx, "p", "") }, true},
		{"a range after", func(tx Tx) { scanAll(tx, "r", "") }, false},
		{"a range that was left", func(tx Tx) {
			for range tx.ScanDown(k("a"), k("z")) {
				break
			}
		}, true},
	} {
		other := NewUpdate(memSnapshot{})
		other.Apply([]Write{{Key: k("m"), Value: k("")}, {Key: k("q"), Delete: true}})
		tx := NewUpdate(memSnapshot{new(node).insert(newNode("b", ""))})
		c.reads(tx)
		if got := tx.Reads(other); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func scanAll(tx Tx, from, to string) {
	for range tx.Scan([]byte(from), []byte(to)) {
		continue
	}
}

// ahead is a Snapshot that is told what will be read.
type ahead struct {
	memSnapshot
	told []Range
}

func (a *ahead) Ahead(reads []Range) { a.told = append(a.told, reads...) }

// TestAhead tells a Snapshot what will be read, through the overlay of a batch, and engines that do
// not ask.
func TestAhead(t *testing.T) {
	s := new(ahead)
	Ahead(NewUpdate(NewUpdate(s)), At([]byte("a")), In(Prefix([]byte("b"))))
	if len(s.told) != 2 || string(s.told[0].From) != "a" || string(s.told[0].To) != "a\x00" ||
		string(s.told[1].To) != "c" {
		t.Errorf("told %q", s.told)
	}
	db := NewMem(MemOptions{})
	if err := db.Update(context.Background(),
		func(tx Tx) error { Ahead(tx, At([]byte("a"))); return nil }); err != nil {
		t.Error(err)
	}
}

// What a transaction deleted is not there for it, and what it wrote is there until it deletes it.
func TestWhatWasDeletedIsNotThere(t *testing.T) {
	tx := NewUpdate(memSnapshot{new(node).insert(newNode("b", "was"))})
	for _, key := range []string{"a", "b"} {
		if err := tx.Set([]byte(key), []byte("is")); err != nil {
			t.Fatal(err)
		}
		if v, err := tx.Get([]byte(key)); string(v) != "is" || err != nil {
			t.Errorf("%s is %q, %v", key, v, err)
		}
		if err := tx.Delete([]byte(key)); err != nil {
			t.Fatal(err)
		}
		if v, err := tx.Get([]byte(key)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s was deleted and is %q, %v", key, v, err)
		}
	}
}

// What an absent key is told by names it, as it was when it was asked for.
func TestAbsent(t *testing.T) {
	key := Key("purchase", "pur_1")
	err := Absent(key)
	key[0] = 'x'
	if !errors.Is(err, ErrNotFound) || err.Error() != ErrNotFound.Error()+": "+KeyText(Key("purchase", "pur_1")) {
		t.Error(err)
	}
}
