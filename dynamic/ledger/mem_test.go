package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTreap compares a tree with a map over random edits, and demands that old
// versions stay as they were.
func TestTreap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var root *node
	model := map[string]string{}
	type version struct {
		root  *node
		model map[string]string
	}
	var versions []version
	for i := range 3000 {
		key := fmt.Sprintf("%03d", rng.IntN(400))
		if rng.IntN(3) == 0 {
			root = root.remove(key)
			delete(model, key)
		} else {
			root = root.insert(newNode(key, fmt.Sprint(i)))
			model[key] = fmt.Sprint(i)
		}
		if i%300 == 0 {
			versions = append(versions, version{root, maps.Clone(model)})
		}
	}
	versions = append(versions, version{root, model})
	for _, v := range versions {
		from, to := fmt.Sprintf("%03d", rng.IntN(200)), fmt.Sprintf("%03d", 200+rng.IntN(200))
		for _, r := range [][2]string{{"", ""}, {from, to}, {from, ""}, {"", to}, {to, from}} {
			var want []string
			for _, k := range slices.Sorted(maps.Keys(v.model)) {
				if k >= r[0] && (r[1] == "" || k < r[1]) {
					want = append(want, k+"="+v.model[k])
				}
			}
			var got []string
			collect := func(e Entry, _ error) bool {
				got = append(got, string(e.Key)+"="+string(e.Value))
				return true
			}
			v.root.ascend(r[0], r[1], collect)
			if !slices.Equal(got, want) {
				t.Fatalf("ascend(%q, %q) = %v, want %v", r[0], r[1], got, want)
			}
			got = nil
			v.root.descend(r[0], r[1], collect)
			slices.Reverse(want)
			if !slices.Equal(got, want) {
				t.Fatalf("descend(%q, %q) = %v, want %v", r[0], r[1], got, want)
			}
		}
	}
}

func TestMemReruns(t *testing.T) {
	calls := 0
	db := NewMem(MemOptions{})
	for range 1000 {
		if err := db.Update(t.Context(), func(tx Tx) error {
			calls++
			_, err := Next(tx, "n")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if calls < 1050 || calls > 1200 {
		t.Errorf("1000 updates made %d calls, want about 1111", calls)
	}
	if n := lastOf(t, db); n != 1000 {
		t.Errorf("counter = %d after 1000 updates, want 1000", n)
	}
}

func TestMemFaults(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		op     string
		apply  bool
		stored int64
	}{
		{"update", false, 0},
		{"commit", false, 0},
		{"commit", true, 1},
	} {
		armed := true
		db := NewMem(MemOptions{Fault: func(op string) (bool, error) {
			if armed && op == c.op {
				return c.apply, broken
			}
			return true, nil
		}})
		err := db.Update(t.Context(), func(tx Tx) error { _, err := Next(tx, "n"); return err })
		if !errors.Is(err, broken) {
			t.Errorf("%s: Update = %v, want the fault", c.op, err)
		}
		armed = false
		if n := lastOf(t, db); n != c.stored {
			t.Errorf("%s, apply %v: counter = %d, want %d", c.op, c.apply, n, c.stored)
		}
	}
	db := NewMem(MemOptions{Fault: func(string) (bool, error) { return false, broken }})
	if err := db.View(t.Context(), func(Tx) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("View = %v, want the fault", err)
	}
}

func lastOf(t *testing.T, db DB) int64 {
	t.Helper()
	var n int64
	err := db.View(t.Context(), func(tx Tx) (err error) { n, err = Last(tx, "n"); return err })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKeyKeepsOrderAndParts(t *testing.T) {
	alphabet := []string{"", "\x00", "\x01", "\x00\x01", "\x02", "a", "a\x00", "a\x01", "a\xff", "ab", "é", "A", "\xff",
		"\xff\xff"}
	var lists [][]string
	for _, a := range alphabet {
		lists = append(lists, []string{a})
		for _, b := range alphabet {
			lists = append(lists, []string{a, b}, []string{a, b, "z"})
		}
	}
	for _, a := range lists {
		key := Key(a...)
		if got, err := Parts(key); err != nil || !slices.Equal(got, a) {
			t.Fatalf("Parts(Key(%q)) = %q, %v", a, got, err)
		}
		for _, b := range lists {
			if got, want := bytes.Compare(key, Key(b...)), slices.Compare(a, b); got != want {
				t.Fatalf("Key(%q) against Key(%q) compares as %d, want %d", a, b, got, want)
			}
			nested := len(a) <= len(b) && slices.Equal(a, b[:len(a)])
			if bytes.HasPrefix(Key(b...), key) != nested {
				t.Fatalf("Key(%q) is a prefix of Key(%q): want %v", a, b, nested)
			}
		}
	}
}

func FuzzParts(f *testing.F) {
	f.Add(Key("purchase", "a\x00b"))
	f.Fuzz(func(t *testing.T, key []byte) {
		parts, err := Parts(key)
		if err == nil && !bytes.Equal(Key(parts...), key) {
			t.Errorf("Key(Parts(%q)) = %q", key, Key(parts...))
		}
	})
}

func TestPrefix(t *testing.T) {
	for _, c := range []struct{ p, to string }{
		{"a", "b"}, {"a\xff", "b"}, {"\xff", ""}, {"", ""}, {"a\xff\xffb", "a\xff\xffc"}, {"\x00", "\x01"},
	} {
		from, to := Prefix([]byte(c.p))
		if string(from) != c.p || string(to) != c.to {
			t.Errorf("Prefix(%q) = %q, %q, want %q, %q", c.p, from, to, c.p, c.to)
		}
	}
}

func TestNumber(t *testing.T) {
	last := ""
	for _, n := range []uint64{0, 1, 9, 10, 1 << 53, 1<<64 - 1} {
		s := Number(n)
		if got, err := ParseNumber(s); err != nil || got != n || s <= last {
			t.Errorf("Number(%d) = %q after %q, ParseNumber = %d, %v", n, s, last, got, err)
		}
		last = s
	}
	for _, s := range []string{"", "1", strings.Repeat("9", 20), "+" + strings.Repeat("0", 19),
		strings.Repeat("0", 21)} {
		if n, err := ParseNumber(s); err == nil {
			t.Errorf("ParseNumber(%q) = %d, want an error", s, n)
		}
	}
}

// The time in a key is the one that it was made of, to the second.
func TestNotSettledAt(t *testing.T) {
	at := time.Date(2026, 11, 28, 1, 2, 3, 4, time.UTC)
	got, err := NotSettledAt(NotSettledKey("payer", at, "pur_1"))
	if err != nil || !got.Equal(at.Truncate(time.Second)) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := NotSettledAt(Key("notsettled", "payer")); err == nil {
		t.Error("a key without a time has one")
	}
}

func TestJSONIsStrict(t *testing.T) {
	type record struct {
		Name string `json:"name"`
	}
	db := NewMem(MemOptions{})
	for value, good := range map[string]bool{
		`{"name":"a"}`:              true,
		`{"name":"a","x":1}`:        false,
		`{"name":"a","name":"b"}`:   false,
		`{"NAME":"a"}`:              false,
		"{\"name\":\"\xff\"}":       false,
		`{"name":"a"} {"name":"b"}`: false,
		``:                          false,
	} {
		err := db.Update(t.Context(), func(tx Tx) error {
			if err := tx.Set(MetaKey("r"), []byte(value)); err != nil {
				return err
			}
			r, err := GetJSON[record](tx, MetaKey("r"))
			if err != nil && r != (record{}) {
				t.Errorf("GetJSON of %q gave %v beside its error", value, r)
			}
			return err
		})
		if (err == nil) != good {
			t.Errorf("GetJSON of %q: %v", value, err)
		}
	}
}
