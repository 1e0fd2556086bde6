package settle

import (
	"testing"

	"store.example/agentstore/dynamic/rail"
)

// A revert is that of the members whom its transaction would have settled, and of all where that is
// not known.
func TestRevertsAreTheirMembers(t *testing.T) {
	s := &Settlement{
		Members: []Member{{ID: "a"}, {ID: "b"}},
		Sent: []Sent{{ID: "tx-0", Of: []int{1}},
			{ID: "tx-1", Of: []int{0}}, {ID: "tx-2"}},
	}
	for _, c := range []struct {
		reverts []Revert
		n       [2]int
		payers  [2]bool
	}{
		{nil, [2]int{}, [2]bool{}},
		{[]Revert{{rail.Revert{Tx: "tx-0"}, rail.Cause{Payer: true}, 1}}, [2]int{0, 1}, [2]bool{false, true}},
		{[]Revert{{rail.Revert{Tx: "tx-1"}, rail.Cause{Payer: true}, 0}}, [2]int{1, 0}, [2]bool{true, false}},
		{[]Revert{{rail.Revert{Tx: "tx-2"}, rail.Cause{Payer: true}, 0},
			{rail.Revert{Tx: "tx-2"}, rail.Cause{Payer: true}, 1}}, [2]int{1, 1}, [2]bool{true, true}},
		{[]Revert{{rail.Revert{Tx: "other"}, rail.Cause{}, 1}, {rail.Revert{Tx: "tx-0"}, rail.Cause{}, 1}},
			[2]int{0, 2}, [2]bool{}},
	} {
		s.Reverts = c.reverts
		for i := range s.Members {
			if n, payers := s.reverted(i); n != c.n[i] || payers != c.payers[i] {
				t.Errorf("%v: member %d has %d, by its payer %v; want %d, %v", c.reverts, i, n, payers, c.n[i],
					c.payers[i])
			}
		}
	}
}
