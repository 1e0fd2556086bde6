package derive

import (
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// MapHosts is the most hosts that a map names one by one; above it a map has their counts alone.
const MapHosts = 150

// Cell is what a round has of one host.
type Cell uint8

// The cells of a map.
const (
	CellReady Cell = iota
	CellNotReady
	CellUnreachable
	CellMissed // known, and not observed
	CellBefore // not known yet
	cells
)

// MapTier is the hosts of one tier in all rounds.
type MapTier struct {
	Tier   string
	Hosts  int64
	Rounds [][cells]int64 // how many of them have each cell, by round
	// Named are the hosts by name, with a cell a round; none in a record of more than MapHosts.
	Named []MapHost
}

// MapHost is one line of a map.
type MapHost struct {
	Host  string
	Cells []Cell
}

// cellMap gathers the cells of all hosts.
type cellMap struct {
	counts [][][cells]int64 // by tier, then by round
	named  [][]Cell         // of each host of the roll; nil above MapHosts
}

func newCellMap(rounds int) cellMap {
	m := cellMap{counts: make([][][cells]int64, len(tier.TierNames())), named: [][]Cell{}}
	for i := range m.counts {
		m.counts[i] = make([][cells]int64, rounds)
	}
	return m
}

// add takes the history of the next host of the roll.
func (m *cellMap) add(tier uint8, h tier.History) {
	var line []Cell
	for i := range h.Entries {
		c := cellOf(&h.Entries[i])
		m.counts[tier][i][c]++
		if m.named != nil {
			line = append(line, c)
		}
	}
	if m.named == nil {
		return
	}
	if m.named = append(m.named, line); len(m.named) > MapHosts {
		m.named = nil
	}
}

func cellOf(e *tier.Entry) Cell {
	switch {
	case e.Probed == tier.BeforeFirst:
		return CellBefore
	case e.Probed != tier.Probed:
		return CellMissed
	case e.Row.Verdict == record.VerdictReady:
		return CellReady
	case e.Row.Verdict == record.VerdictNotReady:
		return CellNotReady
	}
	return CellUnreachable
}

// Map is the hosts of the record by tier, the best tier first, and what each round saw of them.
func (r *Roll) Map() []MapTier {
	var out []MapTier
	for _, name := range []string{tier.TierStanding, tier.TierEstablished, tier.TierObserved,
		tier.TierIndeterminate, tier.TierBroken} {
		t := MapTier{Tier: name, Hosts: r.ByTier[name]}
		for i, known := range tier.TierNames() {
			if known == name {
				t.Rounds = r.cells.counts[i]
			}
		}
		for i, line := range r.cells.named {
			if tier.TierNames()[r.lines[i].tier] == name {
				t.Named = append(t.Named, MapHost{Host: r.Host(i), Cells: line})
			}
		}
		out = append(out, t)
	}
	return out
}
