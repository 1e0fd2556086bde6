// Package tier derives, of the record, what it shows of one host: its history, round by round, and
// its tier. Both are pure functions that anybody can work out again.
//
// A row is an observation if its host was probed, except one that is unreachable through our own
// instrument's fault. A round that did not walk a host is a fact about the store, and counts
// against the store's coverage; one that was turned away at its door counts against nobody.
package tier

import (
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// The values of Entry.Probed.
const (
	Probed     = "probed"
	NotWalked  = "listed_not_walked"
	TurnedAway = "turned_away" // walked, and kept from a reading at the door's side
	// NotExercised was walked, and not asked as it wants to be asked, which it said nowhere.
	NotExercised = "not_exercised"
	BeforeFirst  = "before_first_sighting"
)

// The reasons of gaps that no row gives itself.
const (
	GapNotListed = "not_listed"          // no row, and the roster was whole
	GapCap       = "possibly_beyond_cap" // no row in a round that was capped
	GapDegraded  = "instrument_degraded" // unreachable through our own fault
)

// Observed reports whether a row is an observation of its host.
func Observed(r *record.Row) bool {
	return r.Verdict != record.VerdictNotProbed && !(r.Verdict == record.VerdictUnreachable &&
		r.Fault == record.FaultInstrument)
}

// Suspect reports whether a round says little about a host it did not observe: it was capped, or it
// probed under 60 % of what the round before did.
func Suspect(r *record.Round) bool { return r.Roster.Capped || r.Coverage.Dropped }

// Entry is one round in a host's history. Row is nil in a round that has none.
type Entry struct {
	Sequence int64
	Week     string
	TakenAt  string
	Digest   attest.Digest
	Suspect  bool
	Listed   bool
	Probed   string // Probed, NotWalked, TurnedAway, NotExercised or BeforeFirst
	Gap      string // why it was not observed; empty if it was
	Row      *record.StoredRow
}

// Change is a verdict that differs from the one observed before it.
type Change struct {
	Sequence int64  `json:"sequence"`
	Week     string `json:"week"`
	From     string `json:"from"`
	To       string `json:"to"`
	// Battery says that the battery differs as well: then the instrument moved, and perhaps not the
	// door.
	Battery bool `json:"battery_changed,omitzero"`
}

// History is what the record shows of one host.
type History struct {
	Host    string
	Entries []Entry // every round, oldest first
	// Rounds counts those since the first sighting that could have observed it: ProbedRounds and
	// Missed add up to it. TurnedAway and NotExercised count the others.
	Rounds, ProbedRounds, Missed int64
	TurnedAway, NotExercised     int64
	Percent                      int64 // ProbedRounds of Rounds, rounded down
	Gaps                         Counts
	Changes                      []Change
	First, Last                  string // observed_at of the first and the last observation, "" for none
	Refreshes                    []record.Observation
}

// HistoryOf derives a history from all rounds, the host's rows, and the paid refreshes of the
// host in the feed.
func HistoryOf(rounds []record.Round, h record.History, feed []record.Observation) History {
	out := History{Host: h.Host, Entries: make([]Entry, 0, len(rounds)), Gaps: Counts{}, Changes: []Change{}}
	rows := h.Rows
	seen := false
	var before *record.StoredRow
	for i := range rounds {
		r := &rounds[i]
		e := Entry{Sequence: r.Sequence, Week: r.Week, TakenAt: r.TakenAt, Digest: r.Digest, Suspect: Suspect(r)}
		if len(rows) > 0 && rows[0].Sequence == r.Sequence {
			e.Row, e.Listed = &rows[0], rows[0].Listed
			rows = rows[1:]
			seen = true
		}
		switch {
		case !seen:
			e.Probed, e.Gap = BeforeFirst, BeforeFirst
		case e.Row != nil && Observed(&e.Row.Row):
			e.Probed = Probed
		default:
			e.Probed, e.Gap = NotWalked, GapOf(r, rowOf(e.Row))
			switch {
			case e.Gap == record.ReasonChallenged:
				e.Probed = TurnedAway
			case e.Row != nil && e.Row.NotExercised():
				e.Probed = NotExercised
			}
		}
		if e.Gap != "" {
			out.Gaps = out.Gaps.Add(e.Gap)
		}
		switch e.Probed {
		case NotWalked:
			out.Missed++
		case TurnedAway:
			out.TurnedAway++
		case NotExercised:
			out.NotExercised++
		case Probed:
			out.ProbedRounds++
			if before != nil && before.Verdict != e.Row.Verdict {
				out.Changes = append(out.Changes, Change{Sequence: r.Sequence, Week: r.Week, From: before.Verdict,
					To: e.Row.Verdict, Battery: before.Battery != e.Row.Battery})
			}
			if before == nil {
				out.First = e.Row.ObservedAt
			}
			out.Last, before = e.Row.ObservedAt, e.Row
		}
		out.Entries = append(out.Entries, e)
	}
	if out.Rounds = out.ProbedRounds + out.Missed; out.Rounds > 0 {
		out.Percent = out.ProbedRounds * 100 / out.Rounds
	}
	for _, o := range feed {
		if o.Kind == record.ObservationPaidRefresh && o.Refresh.Host == h.Host {
			out.Refreshes = append(out.Refreshes, o)
		}
	}
	return out
}

// GapOf names why a host that is known was not observed.
func GapOf(r *record.Round, row *record.Row) string {
	switch {
	case row == nil && r.Roster.Capped:
		return GapCap
	case row == nil:
		return GapNotListed
	case row.Verdict != record.VerdictNotProbed:
		return GapDegraded
	default:
		return row.Reason
	}
}

func rowOf(r *record.StoredRow) *record.Row {
	if r == nil {
		return nil
	}
	return &r.Row
}
