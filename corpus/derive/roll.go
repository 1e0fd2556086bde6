package derive

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// Roll is every host of the record with its tier, and what changed between rounds. It is made in
// one pass over the histories and holds about 60 bytes for each host, and 8 for each change.
type Roll struct {
	ByTier map[string]int64 // how many hosts are of each tier
	rounds []record.Round
	naming strings.Builder
	names  string // one after the other
	lines  []rollLine
	since  []compared // from each round to the newest
	weekly []compared // from each round but the newest to the one after it
	cells  cellMap

	mistakes mistakes
}

// rollLine is a Standing in few bytes.
type rollLine struct {
	end                uint32 // of the host's name in names
	from, to           int32  // places of rounds, -1 for none
	latest             int64  // sequence or number of the newest observation
	at                 int64  // of it, in Unix time; 0 for none
	tier, verdict      uint8
	ready, counted     uint8
	refreshed, suspect bool
}

var verdicts = []string{record.VerdictReady, record.VerdictNotReady, record.VerdictUnreachable, record.VerdictNotProbed}

// compared is a Diff in few bytes: hosts are their places on the roll.
type compared struct {
	appeared, disappeared []uint32
	moved                 []moved
	drift                 []Drift
	inFrom, inTo, inBoth  int64
}

type moved struct {
	host     uint32
	from, to uint8
	battery  bool
}

// CallRoll makes the roll of a record and the figures of its rounds in one pass. about returns the
// observations of a host, base is the site's address. Memory grows with hosts as the roll does, and
// with each address that a row names by 4 bytes a round.
func CallRoll(base string, rounds []record.Round, about func(host string) []record.Observation,
	histories iter.Seq2[record.History, error]) (*Roll, []Figures, error) {
	r := &Roll{ByTier: make(map[string]int64), rounds: rounds, cells: newCellMap(len(rounds))}
	place := make(map[int64]int, len(rounds))
	surveys := make([]*survey, len(rounds))
	known := newAddresses()
	for i := range rounds {
		place[rounds[i].Sequence] = i
		surveys[i] = newSurvey(base, &rounds[i], known)
		surveys[i].newest = i == len(rounds)-1
	}
	if n := len(rounds); n > 0 {
		r.since, r.weekly = make([]compared, n), make([]compared, n-1)
	}
	rows := make([]*record.Row, len(rounds))
	for h, err := range histories {
		if err != nil {
			return nil, nil, err
		}
		clear(rows)
		for i := range h.Rows {
			at, row := place[h.Rows[i].Sequence], &h.Rows[i].Row
			rows[at] = row
			surveys[at].add(row)
			m, corrected, err := surveys[at].out.Week.Errors.add(&h.Rows[i])
			if err != nil {
				return nil, nil, err
			}
			if corrected {
				r.mistakes.add(m)
			}
		}
		if err := r.add(h, rows, about(h.Host)); err != nil {
			return nil, nil, err
		}
	}
	r.names = r.naming.String()
	r.mistakes.cut()
	figures := make([]Figures, len(rounds))
	for i, s := range surveys {
		figures[i] = s.done()
	}
	return r, figures, nil
}

func (r *Roll) add(h record.History, rows []*record.Row, feed []record.Observation) error {
	history := tier.HistoryOf(r.rounds, h, feed)
	s := tier.StandingOf(history)
	r.ByTier[s.Tier]++
	host := uint32(len(r.lines))
	r.naming.WriteString(h.Host)
	line := rollLine{end: uint32(r.naming.Len()), from: -1, to: -1, ready: uint8(s.Ready), counted: uint8(s.Rounds),
		suspect: s.WindowSuspect,
		tier:    uint8(slices.Index(tier.TierNames(), s.Tier))}
	if s.Rounds > 0 {
		line.to = int32(len(r.rounds) - 1)
		line.from = line.to - int32(s.Rounds) + 1
	}
	if l := s.Latest; l != nil {
		at, err := time.Parse(time.RFC3339, l.ObservedAt)
		if err != nil {
			return fmt.Errorf("reading when %s was observed: %w", h.Host, err)
		}
		line.at, line.latest, line.refreshed = at.Unix(), l.Sequence, l.Number > 0
		line.latest += l.Number
		line.verdict = uint8(slices.Index(verdicts, l.Verdict))
	}
	r.lines = append(r.lines, line)
	r.cells.add(line.tier, history)
	for i := range r.since {
		r.since[i].add(host, rows[i], rows[len(rows)-1])
	}
	for i := range r.weekly {
		r.weekly[i].add(host, rows[i], rows[i+1])
	}
	return nil
}

func (c *compared) add(host uint32, x, y *record.Row) {
	p := pairOf(x, y)
	c.inFrom, c.inTo, c.inBoth = c.inFrom+p.inFrom, c.inTo+p.inTo, c.inBoth+p.inFrom*p.inTo
	switch {
	case p.inFrom < p.inTo:
		c.appeared = append(c.appeared, host)
	case p.inFrom > p.inTo:
		c.disappeared = append(c.disappeared, host)
	}
	if !p.compares {
		return
	}
	if x.Verdict != y.Verdict {
		c.moved = append(c.moved, moved{host, uint8(slices.Index(verdicts, x.Verdict)),
			uint8(slices.Index(verdicts, y.Verdict)), x.Battery != y.Battery})
	}
	for _, f := range Drifts(x, y) { // what is kept must not keep the rows
		c.drift = append(c.drift, Drift{strings.Clone(f.Host), f.Field, strings.Clone(f.From), strings.Clone(f.To)})
	}
}

// Len is how many hosts there are.
func (r *Roll) Len() int { return len(r.lines) }

// Host is the name of the i-th host, in the order of their bytes.
func (r *Roll) Host(i int) string {
	start := uint32(0)
	if i > 0 {
		start = r.lines[i-1].end
	}
	return r.names[start:r.lines[i].end]
}

// Standing is that of the i-th host.
func (r *Roll) Standing(i int) tier.Standing {
	l := r.lines[i]
	s := tier.Standing{Host: r.Host(i), Tier: tier.TierNames()[l.tier], Ready: int64(l.ready), Rounds: int64(l.counted),
		WindowSuspect: l.suspect}
	if l.from >= 0 {
		s.From, s.To = r.rounds[l.from].Week, r.rounds[l.to].Week
	}
	if l.at != 0 {
		s.Latest = &tier.Latest{Verdict: verdicts[l.verdict], ObservedAt: time.Unix(l.at, 0).UTC().Format(time.RFC3339),
			Source: "census", Sequence: l.latest}
		if l.refreshed {
			s.Latest.Source, s.Latest.Sequence, s.Latest.Number = record.ObservationPaidRefresh, 0, l.latest
		}
	}
	s.Label = tier.TierLabel(s)
	return s
}

// Since is the difference from the i-th round, counted from 0, to the newest; from the newest
// itself nothing changed.
func (r *Roll) Since(i int) Diff { return r.diff(r.since[i], r.rounds[i], r.rounds[len(r.rounds)-1]) }

// Weekly is the difference from the i-th round, counted from 0, to the one after it.
func (r *Roll) Weekly(i int) Diff { return r.diff(r.weekly[i], r.rounds[i], r.rounds[i+1]) }

func (r *Roll) diff(c compared, from, to record.Round) Diff {
	d := newDiff(from, to)
	d.HostsInFrom, d.HostsInTo, d.HostsInBoth = c.inFrom, c.inTo, c.inBoth
	for _, h := range c.appeared {
		d.Appeared = append(d.Appeared, r.Host(int(h)))
	}
	for _, h := range c.disappeared {
		d.Disappeared = append(d.Disappeared, r.Host(int(h)))
	}
	for _, m := range c.moved {
		d.Transitions = append(d.Transitions, Transition{Host: r.Host(int(m.host)), From: verdicts[m.from],
			To: verdicts[m.to], Battery: m.battery})
	}
	d.Drift = append(d.Drift, c.drift...)
	return d
}
