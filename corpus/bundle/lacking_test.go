package bundle

import (
	"slices"
	"testing"

	"agentstore/corpus/record"
)

// TestRowsThatContradictOneAnother has the store itself sign rows that do not follow one another: rounds of ten leaves, in
// which the host has the row of the given place and names the leaf before it, -1 for none.
func TestRowsThatContradictOneAnother(t *testing.T) {
	type row struct{ round, leaf, previous int64 }
	for name, c := range map[string]struct {
		absent  []int64
		rows    []row
		refused bool
		lacks   []Span
	}{
		"as they are":                        {nil, []row{{1, 3, -1}, {2, 13, 3}, {3, 23, 13}}, false, nil},
		"absent between":                     {[]int64{2}, []row{{1, 3, -1}, {3, 23, 3}}, false, nil},
		"absent before":                      {[]int64{1, 2}, []row{{3, 23, -1}}, false, nil},
		"begun late, and nothing before":     {nil, []row{{2, 13, -1}, {3, 23, 13}}, false, nil},
		"cut between":                        {nil, []row{{1, 3, -1}, {3, 23, 13}}, false, []Span{{2, 2}}},
		"cut between, where it was absent":   {nil, []row{{1, 3, -1}, {3, 23, 3}}, false, []Span{{2, 2}}},
		"cut before":                         {nil, []row{{3, 23, 13}}, false, []Span{{1, 2}}},
		"cut before, and absent in the rest": {[]int64{2}, []row{{3, 23, 3}}, false, []Span{{1, 1}}},
		"cut behind":                         {nil, []row{{1, 3, -1}}, false, []Span{{2, 3}}},
		"names none, and there is one":       {nil, []row{{1, 3, -1}, {2, 13, -1}, {3, 23, 13}}, true, nil},
		"names none behind a gap":            {nil, []row{{1, 3, -1}, {3, 23, -1}}, true, nil},
		"names another leaf":                 {nil, []row{{1, 3, -1}, {2, 13, 4}, {3, 23, 13}}, true, nil},
		"names the one before the last":      {nil, []row{{1, 3, -1}, {2, 13, 3}, {3, 23, 3}}, true, nil},
		"names its own":                      {nil, []row{{1, 3, -1}, {2, 13, 13}, {3, 23, 13}}, true, nil},
		"names a later one":                  {nil, []row{{1, 3, -1}, {3, 23, 27}}, true, nil},
		"names one before the last known":    {nil, []row{{1, 3, -1}, {3, 23, 2}}, true, nil},
		"names one where all are absent":     {[]int64{1, 2}, []row{{3, 23, 13}}, true, nil},
	} {
		v := &verifier{rounds: map[int64]record.Round{}, placed: map[Want]placed{}}
		h := HostReport{Host: "door.example", Absent: c.absent}
		for n := range int64(3) {
			v.rounds[n+1] = record.Round{Sequence: n + 1, FirstLeaf: n * 10, Rows: 8}
		}
		for i, r := range c.rows {
			h.Present = append(h.Present, r.round)
			p := placed{at: int64(i), leaf: r.leaf}
			if r.previous >= 0 {
				p.previous = &r.previous
			}
			v.placed[Want{h.Host, r.round}] = p
		}
		v.history(&h, 3)
		var lacks []Span
		for _, u := range v.out.Unproven {
			lacks = append(lacks, u.Rounds...)
		}
		if v.out.Refused() != c.refused || !c.refused && (!slices.Equal(lacks, c.lacks) || h.Whole != (len(c.lacks) == 0)) {
			t.Errorf("%s: %v %v", name, v.out.Problems, v.out.Unproven)
		}
	}
}
