package rail_test

import (
	"errors"
	"iter"
	"testing"

	"store.example/agentstore/dynamic/rail"
)

// A span is read when none of its blocks is left, and not while its last one is.
func TestASpanOfOneBlockIsNotRead(t *testing.T) {
	for s, want := range map[rail.Span]bool{{From: 1, To: 2}: false, {From: 2, To: 2}: false, {From: 3, To: 2}: true} {
		if got := s.Read(); got != want {
			t.Errorf("%+v: read %v, want %v", s, got, want)
		}
	}
}

// arrived lists transfers by their blocks, as a network would that has them.
func arrived(blocks []uint64) func(from, to uint64) iter.Seq2[rail.Transfer, error] {
	return func(from, to uint64) iter.Seq2[rail.Transfer, error] {
		return func(yield func(rail.Transfer, error) bool) {
			for i, b := range blocks {
				if b >= from && b <= to && !yield(rail.Transfer{Block: b, LogIndex: uint64(i)}, nil) {
					return
				}
			}
		}
	}
}

// Whoever goes on after any piece with its rest, a process that was restarted for instance, reads
// every transfer once: a block is in one piece, and no piece has more than 200 transfers but for
// those of its last block.
func TestReadingGoesOnAfterAnyPiece(t *testing.T) {
	var single []uint64 // a transfer a block
	for b := range uint64(450) {
		single = append(single, b)
	}
	twice := append(append(single[:200:200], 199), single[200:]...)
	for name, c := range map[string]struct {
		blocks []uint64
		pieces []int // transfers of each
	}{
		"nothing":                      {nil, []int{0, 0}},
		"a transfer a block":           {single, []int{200, 200, 50, 0}},
		"as many as a piece has":       {single[:200], []int{200, 0}},
		"two of a block at the bounds": {twice, []int{201, 200, 50, 0}},
		"a block larger than a piece":  {make([]uint64, 250), []int{250, 0}},
	} {
		left := rail.Span{To: 10_000} // in two pieces, however few they are
		seen := make(map[uint64]bool)
		for i := 0; !left.Read(); i++ {
			if i == len(c.pieces) {
				t.Errorf("%s: more than %d pieces", name, i)
				break
			}
			for p, err := range rail.Ascending(left, arrived(c.blocks)) {
				if err != nil || len(p.Transfers) != c.pieces[i] {
					t.Errorf("%s: piece %d has %d transfers, %v; want %d", name, i, len(p.Transfers), err, c.pieces[i])
				}
				for _, x := range p.Transfers {
					if seen[x.LogIndex] {
						t.Errorf("%s: the transfer %d is read again", name, x.LogIndex)
					}
					seen[x.LogIndex] = true
				}
				left = p.Rest
				break // the next one reads on
			}
		}
		if len(seen) != len(c.blocks) {
			t.Errorf("%s: %d transfers were read of %d", name, len(seen), len(c.blocks))
		}
	}
}

// A reading that fails in the middle ends with its error, after the pieces that were whole.
func TestAReadingThatFailsEndsThere(t *testing.T) {
	broken := errors.New("no node answers")
	read := func(uint64, uint64) iter.Seq2[rail.Transfer, error] {
		return func(yield func(rail.Transfer, error) bool) {
			for b := range uint64(201) {
				if !yield(rail.Transfer{Block: b}, nil) {
					return
				}
			}
			yield(rail.Transfer{}, broken)
		}
	}
	n, last := 0, error(nil)
	for _, err := range rail.Transfers(rail.Ascending(rail.Span{To: 300}, read)) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 200 || !errors.Is(last, broken) {
		t.Errorf("%d transfers, then %v; want 200, then %v", n, last, broken)
	}
}
