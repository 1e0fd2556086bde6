package verify

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
)

// check judges a proof of time with the blocks at hand.
func (t *BundleTime) check(digest attest.Digest, difficulty float64) (*ots.Status, error) {
	p, err := ots.Parse(t.Proof)
	if err != nil {
		return nil, err
	}
	if attest.Digest(p.Digest) != digest {
		return nil, errors.New("checking time: the proof is not about the digest of its round")
	}
	blocks := make(map[int64]ots.Header)
	named := claimed(p)
	last := int64(-1)
	for _, b := range t.Blocks {
		if b.Height <= last || !named[b.Height] {
			return nil, fmt.Errorf("checking time: block %d is out of order, or the proof does not rest on it",
				b.Height)
		}
		last = b.Height
		if blocks[b.Height], err = ots.ParseHeader([]byte(b.Header + "\n")); err != nil {
			return nil, err
		}
	}
	s := p.Check(blocks, difficulty)
	if s.State == ots.StateMismatch {
		return nil, fmt.Errorf("checking time: block %d does not commit to it", s.Height)
	}
	return &s, nil
}
