package templates

import (
	"fmt"
	"html/template"
	"strings"

	"store.example/agentstore/corpus/derive"
)

// The marks of cells, as bars and as lines of a map: verdicts are told by their height and their
// dashes, and not by the colour alone. What was not known yet has none.
var (
	barKeys = [...]key{
		derive.CellReady:       {class: "ready", word: "ready"},
		derive.CellNotReady:    {class: "notready", word: "not ready"},
		derive.CellUnreachable: {class: "away", word: "unreachable"},
		derive.CellMissed:      {class: "missed", word: "no verdict"},
	}
	lineKeys = [...]key{
		derive.CellReady:       {class: "cell good", word: "ready", line: .86},
		derive.CellNotReady:    {class: "cell bad", word: "not ready", line: .4},
		derive.CellUnreachable: {class: "cell bad", word: "unreachable", line: .15, dash: "4 2"},
		derive.CellMissed:      {class: "cell unknown", word: "no verdict", line: .15, dash: "1 3"},
	}
)

const (
	mapLeft   = 98.0 // of it the names of the tiers
	mapTop    = 4.0
	mapBand   = 34.0 // height of a tier that is counted and not named
	mapGap    = 7.0  // between two tiers
	mapWeeks  = 52   // the newest that a map shows
	bandWeeks = 26   // and where it has counts alone
	mapHeight = 300.0
)

// hostMap draws hosts by weeks: a line a host, sorted by tier, where there are few enough to name,
// else a band a tier with its counts. Weeks are those of the calendar, and one without a round is a
// gap, as is a round that did not observe the host.
type hostMap struct {
	rounds []string       // their weeks
	at     map[string]int // places of weeks
	step   float64
	b      strings.Builder
}

func drawMap(tiers []derive.MapTier, rounds []string) *Figure {
	lines, shown, total := 0, 0, int64(0)
	for _, t := range tiers {
		lines, total = lines+len(t.Named), total+t.Hosts
		if t.Hosts > 0 {
			shown++
		}
	}
	most := mapWeeks
	if lines == 0 {
		most = bandWeeks
	}
	slots := calendar(rounds)
	slots = slots[max(0, len(slots)-most):]
	m := hostMap{rounds: rounds, at: map[string]int{}, step: (plotRight - mapLeft) / float64(len(slots))}
	for i, w := range slots {
		m.at[w] = i
	}
	row := min(7, max(2, (mapHeight-mapGap*float64(shown))/float64(max(1, lines))))
	y := mapTop
	for _, t := range tiers {
		if t.Hosts == 0 {
			continue
		}
		height := mapBand
		if lines > 0 {
			height = max(10, row*float64(len(t.Named)))
		}
		fmt.Fprintf(&m.b, `<text class="end" x="%s" y="%s">%s %s</text>`, coord(mapLeft-6), coord(y+8),
			t.Tier, number(float64(t.Hosts)))
		if lines > 0 {
			m.lines(t.Named, y, row)
		} else {
			m.bands(t, y)
		}
		y += height + mapGap
	}
	every := (len(slots) + weekNamesAtMost - 1) / weekNamesAtMost
	for i, w := range slots {
		if (len(slots)-1-i)%every == 0 { // the newest has its name
			fmt.Fprintf(&m.b, `<text class="mid" x="%s" y="%s">%s</text>`, coord(m.x(i)+m.step/2), coord(y+6),
				w[len("2026-"):])
		}
	}
	what, keys := "A line a host", lineKeys[:]
	if lines == 0 {
		what, keys = "A band a tier, with the counts of its hosts", barKeys[:]
	}
	drawKeys(&m.b, keys, y+20)
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg class="chart" role="img" viewBox="0 0 %s %s"><title>%s</title><desc>%s</desc>%s</svg>`,
		coord(chartWidth), coord(y+24), template.HTMLEscapeString(fmt.Sprintf("%d hosts by weeks", total)),
		template.HTMLEscapeString(what+", a column a week, by tier."), m.b.String())
	return &Figure{SVG: Markup(svg.String()), Legend: fmt.Sprintf("%s, the newest week last: %d "+
		"hosts, %s to %s. Nothing is drawn before a host was known, or in a week without a round.", what, total,
		slots[0], slots[len(slots)-1])}
}

func (m *hostMap) x(slot int) float64 { return mapLeft + m.step*float64(slot) }

// lines draws a line a host. Rounds that saw the same one after the other are one stroke.
func (m *hostMap) lines(hosts []derive.MapHost, y, row float64) {
	var strokes [len(barKeys)]strings.Builder
	for n, h := range hosts {
		for r := 0; r < len(h.Cells); r++ {
			from, ok := m.at[m.rounds[r]]
			c := h.Cells[r]
			if !ok || c == derive.CellBefore {
				continue
			}
			to := from
			for r+1 < len(h.Cells) && h.Cells[r+1] == c && m.at[m.rounds[r+1]] == to+1 {
				r, to = r+1, to+1
			}
			fmt.Fprintf(&strokes[c], "M%s %sh%s", coord(m.x(from)), coord(y+row*(float64(n)+.5)),
				coord(m.step*float64(to-from+1)))
		}
	}
	for c := range strokes {
		if strokes[c].Len() > 0 {
			lineKeys[c].stroke(&m.b, row, strokes[c].String())
		}
	}
}

// bands draws the counts of a tier, a bar a week, all of its hosts high.
func (m *hostMap) bands(t derive.MapTier, y float64) {
	var bars [len(barKeys)]strings.Builder
	for r, counts := range t.Rounds {
		slot, ok := m.at[m.rounds[r]]
		if !ok {
			continue
		}
		low, wide := y+mapBand, coord(m.step*.8)
		for c := range bars {
			height := float64(counts[c]) / float64(t.Hosts) * mapBand
			if height > 0 {
				fmt.Fprintf(&bars[c], "M%s %sh%sv-%sh-%sz", coord(m.x(slot)+m.step*.1), coord(low), wide,
					coord(height), wide)
			}
			low -= height
		}
	}
	for c := range bars {
		if bars[c].Len() > 0 {
			fmt.Fprintf(&m.b, `<path class="%s" d="%s"/>`, barKeys[c].class, bars[c].String())
		}
	}
}

// mapTable is what the newest round saw of each tier: the map's last column in numbers, beside when
// a host has the tier.
func mapTable(tiers []derive.MapTier, t derive.TiersView, week string) *Table {
	table := &Table{Caption: fmt.Sprintf("%d hosts by tier, and what %s saw of them. A tier is that of the first rule "+
		"in /criteria that holds", t.TotalHosts, week), Dense: true, Head: heads("Tier", "#Hosts", "#Ready",
		"#Not ready", "#Unreachable", "#Not observed", "When")}
	for _, m := range tiers {
		newest := m.Rounds[len(m.Rounds)-1]
		row := []Cell{{Text: m.Tier, Mark: tierMark(m.Tier)}, num(m.Hosts)}
		for _, c := range []derive.Cell{derive.CellReady, derive.CellNotReady, derive.CellUnreachable,
			derive.CellMissed} {
			row = append(row, num(newest[c]))
		}
		for _, r := range t.Rules {
			if r.Tier == m.Tier {
				row = append(row, words(Plainly(r.Rule)))
			}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// readyTrend draws the hosts that were probed and those that were ready.
func readyTrend(weeks []derive.Week) *Figure {
	trend := chart{title: "Ready of probed by week", desc: "Two points a round: hosts probed, and hosts ready below " +
		"it. Points of weeks that follow each other are joined."}
	probed, ready := layer{name: "probed", class: "unknown"}, layer{name: "ready", class: "good"}
	for _, w := range weeks {
		trend.weeks = append(trend.weeks, w.Week)
		probed.values, ready.values = append(probed.values, float64(w.HostsProbed)),
			append(ready.values, float64(w.Ready))
	}
	trend.points = []layer{probed, ready}
	return &Figure{SVG: trend.draw(), Legend: "Hosts, by week; the numbers stand in the trajectory."}
}

// overview is the first screen of the record: the map, the newest figures, what changed, the trend.
func overview(p CorpusParts) []Section {
	w := p.Week
	rounds := make([]string, len(p.Weeks))
	for i, week := range p.Weeks {
		rounds[i] = week.Week
	}
	out := []Section{
		{ID: "map", Title: "Every host, every week", Figure: drawMap(p.Map, rounds)},
		{ID: "newest", Title: "The newest round", Facts: []Fact{
			{Name: "Week", Value: fmt.Sprintf("%s, taken at %s UTC", w.Week, minute(w.TakenAt))},
			{Name: "Probed", Value: fmt.Sprintf("%d of %d hosts due, of %d known by name", w.HostsProbed, w.HostsDue,
				w.HostsKnown)},
			{Name: "Ready", Value: fmt.Sprintf("%d of %d probed", w.Ready, w.HostsProbed)},
			{Name: "Not ready", Value: fmt.Sprintf("%d of %d probed", w.NotReady, w.HostsProbed)},
			{Name: "Unreachable", Value: fmt.Sprintf("%d of %d probed", w.Unreachable, w.HostsProbed)},
			{Name: "Missed by us", Value: fmt.Sprintf("%d of %d due", w.Missed(), w.HostsDue)},
			{Name: "Coverage", Value: caution(w.CoverageSuspect)},
		}},
	}
	if c := p.Changes; c != nil {
		out = append(out, Section{ID: "changed", Title: "What changed since " + c.From.Week, Facts: []Fact{
			{Name: "Verdicts", Value: fmt.Sprintf("%d of %d hosts seen in both", c.Transitions, c.OfBoth)},
			{Name: "Terms", Value: fmt.Sprintf("%d drifted", c.Drift)},
			{Name: "Hosts", Value: fmt.Sprintf("%d appeared, %d disappeared", c.Appeared, c.Disappeared)},
		}, Links: []Pointer{{Text: "Which they are", Href: derive.WeekPath(w.Week)}}})
	}
	return append(out, Section{ID: "trend", Title: "Ready of probed", Figure: readyTrend(p.Weeks),
		Links: []Pointer{{Text: "The numbers of all weeks", Href: "/corpus/trajectory"}}})
}
