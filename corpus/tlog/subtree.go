package tlog

import (
	"fmt"
	"math/bits"

	"store.example/agentstore/corpus/attest"
)

// Subtree proves that the tree over the leaves from start up to end stands in the log of a size:
// the subtree consistency proof of draft-ietf-plants-merkle-tree-certs, section 4.4, which a mirror
// asks for with each package of entries (c2sp.org/tlog-mirror). A proof of consistency is the one
// with start 0. Such a tree begins at a multiple of the power of two that is not less than its
// length.
func (l *Log) Subtree(start, end, size int64) ([]attest.Digest, error) {
	if size > l.head.Size || end > size || !isSubtree(start, end) {
		return nil, fmt.Errorf("proving the leaves from %d up to %d: they are no subtree of %d of %d", start, end, size,
			l.head.Size)
	}
	proof, err := l.subproof(span{0, size}, span{start, end}, true)
	if err != nil {
		return nil, fmt.Errorf("proving the leaves from %d up to %d: %w", start, end, err)
	}
	return proof, nil
}

func isSubtree(start, end int64) bool {
	if start < 0 || start >= end {
		return false
	}
	return start&(int64(1)<<bits.Len64(uint64(end-start-1))-1) == 0
}

// span is the leaves from first up to behind.
type span struct{ first, behind int64 }

// subproof proves the wanted leaves within a node over others. known says that whoever checks it
// knows the hash over what is wanted here.
func (l *Log) subproof(node, want span, known bool) ([]attest.Digest, error) {
	if node == want {
		if known {
			return nil, nil
		}
		h, err := l.edge(node.first, node.behind)
		return []attest.Digest{h}, err
	}
	half := node.first + int64(1)<<(bits.Len64(uint64(node.behind-node.first-1))-1)
	left, right := span{node.first, half}, span{half, node.behind}
	within, beside := left, right
	switch {
	case want.behind <= half:
	case want.first >= half:
		within, beside = right, left
	default: // it has all of the left half, and begins with it
		within, beside, want, known = right, left, span{half, want.behind}, false
	}
	proof, err := l.subproof(within, want, known)
	if err != nil {
		return nil, err
	}
	h, err := l.edge(beside.first, beside.behind)
	return append(proof, h), err
}
