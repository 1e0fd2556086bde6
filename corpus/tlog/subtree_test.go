package tlog

import (
	"slices"
	"testing"
)

// TestSubtree holds the proofs of trees within a log against those that it contains: of a log's
// beginning (Consistency) and of one leaf (Inclusion). What they are beyond that, the mirror that
// package corpustest plays shows with each package it takes.
func TestSubtree(t *testing.T) {
	_, log := logOf(t, 70)
	for size := int64(1); size <= 70; size++ {
		for end := int64(1); end <= size; end++ {
			proof, err := log.Subtree(0, end, size)
			want, wrong := log.Consistency(end, size)
			if err != nil || wrong != nil || !slices.Equal(proof, want) {
				t.Fatalf("%d of %d: %v, %v, %v and %v", end, size, err, wrong, proof, want)
			}
			proof, err = log.Subtree(end-1, end, size)
			want, wrong = log.Inclusion(end-1, size)
			if err != nil || wrong != nil || !slices.Equal(proof, want) {
				t.Fatalf("leaf %d of %d: %v, %v", end-1, size, err, wrong)
			}
		}
	}
	for _, c := range [][3]int64{{0, 0, 70}, {2, 1, 70}, {-1, 1, 70}, {1, 3, 70}, {4, 12, 70}, {0, 71, 70},
		{0, 70, 71}} {
		if proof, err := log.Subtree(c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is proven: %v", c, proof)
		}
	}
}
