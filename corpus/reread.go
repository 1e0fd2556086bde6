package corpus

import (
	"hash/maphash"
	"sync/atomic"
)

// reread remembers of each part that was checked against its round's header a hash with a key of this process. A build
// reads a part several times: from the second time on, that hash tells in a fraction of SHA-256's time that the bytes are
// still those. It is no cryptographic hash, but to find other bytes with the same one needs its key.
type reread struct {
	key  maphash.Seed
	sums [][]atomic.Uint64 // by round and part, 0 for a part that was not checked yet
}

func newReread(rounds []Round) *reread {
	m := &reread{key: maphash.MakeSeed(), sums: make([][]atomic.Uint64, len(rounds))}
	for i := range rounds {
		m.sums[i] = make([]atomic.Uint64, len(rounds[i].Parts))
	}
	return m
}

// of is what is remembered of a part: nothing for one of a round that came since.
func (m *reread) of(sequence int64, part int) *atomic.Uint64 {
	if sequence > int64(len(m.sums)) {
		return new(atomic.Uint64)
	}
	return &m.sums[sequence-1][part]
}
