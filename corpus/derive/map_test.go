package derive_test

import (
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// TestMapIsTheHistories compares the map, with its hosts by name and with counts alone, with what
// each host's history says.
func TestMapIsTheHistories(t *testing.T) {
	for _, plain := range []int{20, derive.MapHosts + 1} {
		r, feed := open(t, plain)
		rounds := r.Rounds()
		roll, figures, err := derive.CallRoll("https://store.example", rounds,
			func(string) []record.Observation { return nil }, r.Histories())
		if err != nil {
			t.Fatal(err)
		}
		cells := map[string][]derive.Cell{}
		for h, err := range r.Histories() {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range tier.HistoryOf(rounds, h, feed).Entries {
				c := derive.CellMissed
				switch {
				case e.Probed == tier.BeforeFirst:
					c = derive.CellBefore
				case e.Probed == tier.Probed:
					c = map[string]derive.Cell{record.VerdictReady: derive.CellReady,
						record.VerdictNotReady:    derive.CellNotReady,
						record.VerdictUnreachable: derive.CellUnreachable}[e.Row.Verdict]
				}
				cells[h.Host] = append(cells[h.Host], c)
			}
		}
		hosts, named, ready := int64(0), 0, make([]int64, len(rounds))
		for _, m := range roll.Map() {
			hosts += m.Hosts
			for i, c := range m.Rounds {
				ready[i] += c[derive.CellReady]
			}
			for _, h := range m.Named {
				named++
				for i, c := range h.Cells {
					if c != cells[h.Host][i] {
						t.Errorf("%s, round %d: %d on the map, %d in the history", h.Host, i+1, c, cells[h.Host][i])
					}
				}
			}
		}
		want := len(cells)
		if want > derive.MapHosts {
			want = 0
		}
		if named != want || hosts != int64(len(cells)) {
			t.Errorf("of %d hosts %d are on the map, %d by name", len(cells), hosts, named)
		}
		for i := range rounds {
			if ready[i] != figures[i].Week.Ready {
				t.Errorf("round %d: %d ready on the map, %d in the figures", i+1, ready[i], figures[i].Week.Ready)
			}
		}
	}
}
