package record

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"
)

// TestRereadSum writes the same bytes in pieces of all kinds: the hash is of the bytes alone, and
// of every one of them.
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
	for _, size := range []int{0, 1, 127, 128, rereadBlock - 1, rereadBlock, rereadBlock + 1, 3 * rereadBlock,
		5*rereadBlock + 77} {
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
