package templates

import (
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/tier"
)

// TestMapOfManyHostsStaysSmall draws 100,000 hosts over two years: a band a tier, in few bytes.
func TestMapOfManyHostsStaysSmall(t *testing.T) {
	var weeks []string
	day := monday("2024-W50")
	for range 104 {
		year, week := day.ISOWeek()
		weeks, day = append(weeks, fmt.Sprintf("%04d-W%02d", year, week)), day.AddDate(0, 0, 7)
	}
	var tiers []derive.MapTier
	for _, name := range tier.TierNames() {
		m := derive.MapTier{Tier: name, Hosts: 20_000}
		for range weeks {
			m.Rounds = append(m.Rounds, [5]int64{9000, 4000, 2000, 3000, 2000})
		}
		tiers = append(tiers, m)
	}
	f := drawMap(tiers, weeks)
	if n := len(f.SVG); n > 16<<10 || strings.Count(string(f.SVG), "<rect") != len(barKeys) {
		t.Errorf("the map takes %d bytes", n)
	}
}

// TestWeeksWithoutARoundAreGaps draws a host in weeks 1, 2 and 4: its line is broken.
func TestWeeksWithoutARoundAreGaps(t *testing.T) {
	f := drawMap([]derive.MapTier{{Tier: "standing", Hosts: 1, Named: []derive.MapHost{{Host: "a.example",
		Cells: []derive.Cell{derive.CellReady, derive.CellReady, derive.CellReady}}}}},
		[]string{"2026-W01", "2026-W02", "2026-W04"})
	if !strings.Contains(string(f.SVG), "h129M") {
		t.Errorf("%s", f.SVG)
	}
}
