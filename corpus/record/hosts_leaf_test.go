package record_test

import (
	"testing"

	"store.example/agentstore/corpus/record/recordtest"
)

// A host index is read from its own leaf: a row's, a round's and another round's do not stand for
// it.
func TestAHostIndexIsReadFromItsLeaf(t *testing.T) {
	w := recordtest.Small(t)
	r := recordtest.Open(t, w)
	size := r.Log.Head().Size
	for _, round := range r.Rounds() {
		for leaf := range size {
			behind := leaf - round.HostsLeaf()
			if err := r.HostIndexAt(round.Sequence, behind); (err == nil) != (behind == 0) {
				t.Errorf("round %d, leaf %d, where %d is its own: %v", round.Sequence, leaf, round.HostsLeaf(), err)
			}
		}
	}
}
