package census

import (
	"testing"

	"store.example/agentstore/corpus/probe"
)

// Every judgement has a salt of its own, drawn at random where nobody gives them: under one that is
// known or used twice, what was withdrawn could be tried against its digest.
func TestSaltsAreDrawn(t *testing.T) {
	r := &run{}
	seen := map[probe.Salt]bool{{}: true}
	for n := range 3 {
		for _, host := range []string{"a.example", "a.example", "b.example", ""} {
			salt := r.salt(host, n)
			if seen[salt] {
				t.Errorf("salt %x of %q in walk %d was there before", salt, host, n)
			}
			seen[salt] = true
		}
	}
}
