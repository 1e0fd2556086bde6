package generator

import (
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// TestPublishedPolicyIsOfTheLog reads the policy that is published as a stranger does, and opens
// the head of the log that stands beside it.
func TestPublishedPolicyIsOfTheLog(t *testing.T) {
	in, _ := bulkInput(t)
	in.Bulk, in.outputs = nil, only("log*")
	witness := func(name string, p attest.Purpose) tlog.Witness {
		return tlog.Witness{Name: name, Public: attest.SpecimenKeyFor(p).Public()}
	}
	x, y := witness("x.example", attest.PurposeGit), witness("y.example", attest.PurposeIdentity)
	for _, c := range []struct {
		witnesses []tlog.Witness
		least     int
		says      string
	}{
		{nil, 0, "# No witness is named here"},
		{[]tlog.Witness{x}, 1, "the cosignatures of 1 of 1 witnesses"},
		{[]tlog.Witness{x, y}, 2, "the cosignatures of 2 of 2 witnesses"},
	} {
		in.Witnesses = c.witnesses
		mustBuild(t, in)
		verified(t, in)
		tree := readTree(t, in.OutDir)
		text := tree["corpus/log-policy"]
		// What the reference mirror's own reader takes of a list: the header, and a key by its
		// origin.
		list := strings.Split(tree["corpus/log-list"], "\n")
		head := slices.Index(list, "logs/v0")
		if head < 0 || !slices.Contains(list[head:], "vkey "+tlog.VerifierKey("store.example/corpus",
			attest.SpecimenKeyFor(attest.PurposeLog).Public())) ||
			!slices.Contains(list[head:], "origin store.example/corpus") {
			t.Errorf("the entry for lists of logs: %q", list)
		}
		p, err := tlog.ParsePolicy([]byte(text))
		if err != nil || !strings.Contains(text, c.says) {
			t.Fatalf("%v: %s", err, text)
		}
		if _, _, err := p.OpenCheckpoint([]byte(tree["corpus/log/checkpoint"])); err != nil {
			t.Error(err)
		}
		for n := range len(c.witnesses) + 1 {
			signed := c.witnesses[:n]
			met, _ := p.Met(func(w tlog.Witness) bool {
				for _, s := range signed {
					if s.Key() == w.Key() {
						return true
					}
				}
				return false
			})
			if met != (n >= c.least) {
				t.Errorf("of %d witnesses, %d cosigned: met is %v", len(c.witnesses), n, met)
			}
		}
	}
}
