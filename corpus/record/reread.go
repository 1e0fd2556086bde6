package record

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
)

// reread remembers of each part that was checked against its round's header a hash with a key of
// this process. A build reads a part several times: from the second time on, that hash tells in a
// fraction of SHA-256's time that the bytes are still those. It is no cryptographic hash, but to
// find other bytes with the same one needs its key.
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

// rereadBlock is how much of a part is hashed at once: maphash takes a stream in pieces of 128
// bytes, at a third of the speed.
const rereadBlock = 4 << 10

// rereadSum is the hash of a part, however it comes in: that of the hashes of its blocks.
type rereadSum struct {
	key   maphash.Seed
	block [rereadBlock]byte
	n     int // bytes of the block
	all   maphash.Hash
}

func newRereadSum(key maphash.Seed) *rereadSum {
	s := &rereadSum{key: key}
	s.all.SetSeed(key)
	return s
}

// Write implements io.Writer. It returns no error.
func (s *rereadSum) Write(p []byte) (int, error) {
	size := len(p)
	if s.n > 0 {
		n := copy(s.block[s.n:], p)
		s.n, p = s.n+n, p[n:]
		if s.n == rereadBlock {
			s.take(s.block[:])
			s.n = 0
		}
	}
	for ; len(p) >= rereadBlock; p = p[rereadBlock:] {
		s.take(p[:rereadBlock])
	}
	s.n += copy(s.block[s.n:], p)
	return size, nil
}

func (s *rereadSum) take(block []byte) {
	var sum [8]byte
	binary.LittleEndian.PutUint64(sum[:], maphash.Bytes(s.key, block))
	s.all.Write(sum[:])
}

// end is the hash of all that was written. The next part begins behind it.
func (s *rereadSum) end() uint64 {
	if s.n > 0 {
		s.take(s.block[:s.n])
	}
	sum := s.all.Sum64()
	s.reset()
	return sum
}

func (s *rereadSum) reset() {
	s.n = 0
	s.all.Reset()
}
