package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"store.example/agentstore/content"
)

// TestPrivateRunsAreFoundWhereverTheyStand tries every offset of a run in the
// file against every length around the limit.
func TestPrivateRunsAreFoundWhereverTheyStand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return b
	}
	body := random(300)
	p := &Private{blocks: make(map[uint64][]occurrence), filter: make([]uint64, filterBits/64)}
	p.add("pools/x", string(body))
	for at := range 130 {
		for _, length := range []int{LeakLength - 1, LeakLength, LeakLength + 1} {
			start := rng.IntN(len(body) - length)
			file := bytes.Repeat([]byte{'#'}, 200)
			copy(file[at:], body[start:start+length])
			// The byte beyond the run differs, as # is in no private text.
			if got := p.Check("f", file) != nil; got != (length >= LeakLength) {
				t.Fatalf("run of %d at %d: found is %v", length, at, got)
			}
		}
	}
}

// TestSieveFindsRunsAcrossPieces writes a private run over every border there may be, in writes of
// random sizes.
func TestSieveFindsRunsAcrossPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	secret := make([]byte, 200)
	for i := range secret {
		secret[i] = byte('a' + rng.IntN(26))
	}
	p := &Private{blocks: make(map[uint64][]occurrence), filter: make([]uint64, filterBits/64)}
	p.add("pools/x", string(secret))
	for _, border := range []int{0, 64 << 10, 2 * (64 << 10), 190 << 10} {
		for range 80 {
			length := LeakLength - 1 + rng.IntN(2)
			at := max(0, border-rng.IntN(2*LeakLength))
			file := bytes.Repeat([]byte{'#'}, 200<<10)
			copy(file[at:], secret[10:10+length])
			s := p.Sieve("f")
			var err error
			for rest := file; len(rest) > 0 && err == nil; {
				n := min(len(rest), 1+rng.IntN(40<<10))
				_, err = s.Write(rest[:n])
				rest = rest[n:]
			}
			if err == nil {
				err = s.Flush()
			}
			if found := errors.Is(err, ErrPrivate); found != (length >= LeakLength) {
				t.Fatalf("run of %d at %d: found is %v", length, at, found)
			}
		}
	}
}

// Texts and files that goods sell are private: a run of a text, and a whole file, are found.
func TestWhatGoodsSellIsPrivate(t *testing.T) {
	sold, file := strings.Repeat("Tea is drunk at four. ", 9), []byte("%PDF tea")
	sum := sha256.Sum256(file)
	guard := NewPrivate(&content.Site{Goods: []content.Good{{ID: "letter", Text: sold},
		{ID: "tea", Stored: &content.File{Path: "tea.pdf", SHA256: hex.EncodeToString(sum[:])}}}}, nil)
	for said, body := range map[string][]byte{"texts of letter": []byte("It says: " + sold[10:90]),
		"files/tea.pdf": file} {
		if err := guard.Check("what", body); !errors.Is(err, ErrPrivate) || !strings.Contains(err.Error(), said) {
			t.Errorf("%s: %v", said, err)
		}
	}
	if err := guard.Check("what", append(file, '.')); err != nil {
		t.Error(err)
	}
}
