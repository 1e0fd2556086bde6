package corpus

import (
	"bytes"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPartIsCheckedEachTimeItIsRead reads a record in every way, changes one byte of a part, and reads it again: what
// was checked before is not taken on trust, and with the byte as it was, it is read again.
func TestAPartIsCheckedEachTimeItIsRead(t *testing.T) {
	ways := map[string]func(r *Record) error{
		"Part": func(r *Record) error { _, err := r.Part(2, 0); return err },
		"RawRows": func(r *Record) (last error) {
			for _, err := range r.RawRows(2) {
				last = err
			}
			return last
		},
		"Rows": func(r *Record) (last error) {
			for _, err := range r.Rows(2) {
				last = err
			}
			return last
		},
		"RawHistories": func(r *Record) (last error) {
			for _, err := range r.RawHistories() {
				last = err
			}
			return last
		},
	}
	for first, read := range ways {
		for then, again := range ways {
			w := smallRecord(t)
			file := filepath.Join(w.Dir, filepath.FromSlash(partPath(2, 0)))
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, w)
			if err := read(r); err != nil {
				t.Fatalf("%s: %v", first, err)
			}
			if r.reread.of(2, 0).Load() == 0 {
				t.Errorf("after %s nothing is remembered", first)
			}
			changed := bytes.Replace(whole, []byte(`"listed":true`), []byte(`"listed":!rue`), 1)
			if err := os.WriteFile(file, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := again(r); err == nil || !strings.Contains(err.Error(), partPath(2, 0)) {
				t.Errorf("%s, a changed part, %s: %v", first, then, err)
			}
			if err := os.WriteFile(file, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := again(r); err != nil {
				t.Errorf("%s, a changed part and back, %s: %v", first, then, err)
			}
		}
	}
}

// TestRawRowsAreTheParts compares the stream of a round's rows with its parts.
func TestRawRowsAreTheParts(t *testing.T) {
	r := open(t, smallRecord(t))
	for _, round := range r.Rounds() {
		var got, want [][]byte
		for raw, err := range r.RawRows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, bytes.Clone(raw))
		}
		for i := range round.Parts {
			rows, err := r.Part(round.Sequence, i)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, rows...)
		}
		if len(got) != int(round.Rows) || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
			t.Errorf("round %d: %d rows, want %d", round.Sequence, len(got), len(want))
		}
	}
	for _, err := range r.RawRows(99) {
		if err == nil {
			t.Error("a round that does not exist has rows")
		}
	}
	n := 0
	for range r.RawRows(1) {
		n++
		break // an early end closes the file
	}
	if n != 1 {
		t.Error("no row")
	}
}

// TestRereadSum writes the same bytes in pieces of all kinds: the hash is of the bytes alone, and of every one of them.
func TestRereadSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := newRereadSum(maphash.MakeSeed())
	sum := func(b []byte, whole bool) uint64 {
		for len(b) > 0 {
			n := len(b)
			if !whole {
				n = min(n, r.IntN(3*rereadBlock))
			}
			s.Write(b[:n])
			b = b[n:]
		}
		return s.end()
	}
	for _, size := range []int{0, 1, 127, 128, rereadBlock - 1, rereadBlock, rereadBlock + 1, 3 * rereadBlock, 5*rereadBlock + 77} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		want := sum(b, true)
		for range 20 {
			if got := sum(b, false); got != want {
				t.Fatalf("%d bytes in pieces: %x, want %x", size, got, want)
			}
		}
		for range min(size, 200) {
			at := r.IntN(size)
			b[at] ^= 1 << r.IntN(8)
			if sum(b, false) == want {
				t.Fatalf("%d bytes: another byte %d has the same hash", size, at)
			}
			want = sum(b, true)
		}
		if sum(append(b, 0), false) == want {
			t.Fatalf("%d bytes and a zero have the same hash", size)
		}
	}
	s.Write([]byte("left behind"))
	s.reset()
	if s.end() != sum(nil, true) {
		t.Error("a reset leaves something behind")
	}
}
