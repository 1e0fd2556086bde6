package verify

import (
	"slices"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// TestRowsThatContradictOneAnother has the store itself sign rows that do not follow one another,
// or an index that is not theirs: rounds of ten leaves, in which the host has the row of the given
// place and names the leaf before it, -1 for none. The index is what the rows of all give, unless
// another is said.
func TestRowsThatContradictOneAnother(t *testing.T) {
	type row struct{ round, leaf, previous int64 }
	for name, c := range map[string]struct {
		all     []row
		cut     []int64 // rounds whose rows are not here
		index   func(e *record.HostEntry)
		refused bool
		lacks   []BundleSpan
	}{
		"as they are":    {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, nil, nil, false, nil},
		"absent between": {[]row{{1, 3, -1}, {3, 23, 3}}, nil, nil, false, nil},
		"absent before":  {[]row{{3, 23, -1}}, nil, nil, false, nil},
		"never there":    {nil, nil, nil, false, nil},
		"cut between": {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, []int64{2}, nil, false,
			[]BundleSpan{{2, 2}}},
		"cut before": {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, []int64{1, 2}, nil, false,
			[]BundleSpan{{1, 2}}},
		"cut before, and absent in the rest": {[]row{{1, 3, -1}, {3, 23, 3}}, []int64{1}, nil, false,
			[]BundleSpan{{1, 1}}},
		"cut behind": {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, []int64{2, 3}, nil, false,
			[]BundleSpan{{2, 3}}},
		"cut behind, and gone in the rest": {[]row{{1, 3, -1}, {2, 13, 3}}, []int64{2}, nil, false,
			[]BundleSpan{{2, 2}}},
		"all cut": {[]row{{2, 13, -1}, {3, 23, 13}}, []int64{2, 3}, nil, false,
			[]BundleSpan{{2, 3}}},
		"names none, and there is one":     {[]row{{1, 3, -1}, {2, 13, -1}, {3, 23, 13}}, nil, nil, true, nil},
		"names none behind a gap":          {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, -1}}, []int64{2}, nil, true, nil},
		"names none, and the first is cut": {[]row{{1, 3, -1}, {2, 13, -1}}, []int64{1}, nil, true, nil},
		"names another leaf":               {[]row{{1, 3, -1}, {2, 13, 4}, {3, 23, 13}}, nil, nil, true, nil},
		"names the one before the last":    {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 3}}, nil, nil, true, nil},
		"names its own":                    {[]row{{1, 3, -1}, {2, 13, 13}, {3, 23, 13}}, nil, nil, true, nil},
		"names a later one":                {[]row{{1, 3, -1}, {3, 23, 27}}, nil, nil, true, nil},
		"names one before the last known":  {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 2}}, []int64{2}, nil, true, nil},
		"names one where none is":          {[]row{{3, 23, 13}}, nil, nil, true, nil},
		"a row more in the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { e.Rows++ }, true, nil},
		"a row less in the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { e.Rows-- }, true, nil},
		"as many in the index as are left": {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, []int64{2},
			func(e *record.HostEntry) { e.Rows = 2 }, true, nil},
		"another head in the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { e.Head[0] ^= 1 }, true, nil},
		"a later last leaf in the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { e.LastLeaf = 23 }, true, nil},
		"an earlier last leaf in the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { e.LastLeaf = 3 }, true, nil},
		"seen later, by the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { e.FirstSequence = 2 }, true, nil},
		"seen later, and cut": {[]row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, []int64{2},
			func(e *record.HostEntry) { e.FirstSequence = 2 }, true, nil},
		"seen later than its cut row": {[]row{{1, 3, -1}, {2, 13, 3}}, []int64{1},
			func(e *record.HostEntry) { e.FirstSequence = 2 }, true, nil},
		"never seen, by the index": {[]row{{1, 3, -1}, {2, 13, 3}}, nil,
			func(e *record.HostEntry) { *e = record.HostEntry{} }, true, nil},
	} {
		v := &verifier{rounds: map[int64]record.Round{}, placed: map[string][]placed{}}
		v.out.CompleteTo = 3
		for n := range int64(3) {
			v.rounds[n+1] = record.Round{Sequence: n + 1, FirstLeaf: n * 10, Rows: 8}
			v.out.Rounds = append(v.out.Rounds, RoundReport{Sequence: n + 1})
		}
		h := BundleHost{Host: "door.example"}
		for _, r := range c.all {
			p := placed{sequence: r.round, leaf: r.leaf, sum: attest.Digest{byte(r.leaf)}}
			if r.previous >= 0 {
				p.previous = &r.previous
			}
			h.entry = h.entry.Next(h.Host, p.sequence, p.leaf, p.sum)
			if !slices.Contains(c.cut, r.round) {
				v.placed[h.Host] = append(v.placed[h.Host], p)
			}
		}
		if c.index != nil {
			c.index(&h.entry)
		}
		v.history(&h)
		var lacks []BundleSpan
		for _, u := range v.out.Unproven {
			lacks = append(lacks, u.Rounds...)
		}
		if v.out.Refused() != c.refused || !c.refused &&
			(!slices.Equal(lacks, c.lacks) || h.Whole != (len(c.lacks) == 0)) {
			t.Errorf("%s: %v %v", name, v.out.Problems, v.out.Unproven)
		}
	}
}
