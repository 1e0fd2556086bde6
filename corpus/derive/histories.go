// Package derive turns the signed record into what is shown of it: histories and tiers of hosts,
// the trajectory of the weeks, what changed between two of them, coverage and gaps, facts about
// wallets. Each is a pure function of rounds, rows and observations that says its denominator and
// cites sequences and digests; none reads a clock, and none is signed, because anybody can work it
// out again.
package derive

import (
	"iter"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// Histories and tiers of hosts, which a verifier derives too, under the names they are shown by.
type (
	Change   = tier.Change
	Count    = tier.Count
	Counts   = tier.Counts
	Entry    = tier.Entry
	History  = tier.History
	Latest   = tier.Latest
	Standing = tier.Standing
)

// The tiers and what they are derived from.
const (
	TierBroken        = tier.TierBroken
	TierIndeterminate = tier.TierIndeterminate
	TierStanding      = tier.TierStanding
	TierEstablished   = tier.TierEstablished
	TierObserved      = tier.TierObserved

	WindowRounds      = tier.WindowRounds
	EstablishedRounds = tier.EstablishedRounds

	Probed       = tier.Probed
	NotWalked    = tier.NotWalked
	TurnedAway   = tier.TurnedAway
	BeforeFirst  = tier.BeforeFirst
	GapNotListed = tier.GapNotListed
	GapCap       = tier.GapCap
	GapDegraded  = tier.GapDegraded
)

// What derives them.
var (
	Tier        = tier.Of
	Tiers       = tier.Names
	HostHistory = tier.HistoryOf
	Observed    = tier.Observed
	Suspect     = tier.Suspect
)

// Corrected yields histories as errata correct them.
func Corrected(all iter.Seq2[record.History, error], errata record.Errata) iter.Seq2[record.History, error] {
	return func(yield func(record.History, error) bool) {
		for h, err := range all {
			errata.Correct(h.Rows)
			if !yield(h, err) {
				return
			}
		}
	}
}

// HostRoom is memory that one host after the other is described in. The lists of a History and the
// timeline of a Host are valid until the next one is derived in it.
type HostRoom struct {
	tier.Room
	weeks     []HostWeek
	addresses []roundAddress // by the place of the round
}

// roundAddress is the address of a round, which is the same for all hosts.
type roundAddress struct {
	base     string
	sequence int64
	url      string
}

// address is that of the round at a place.
func (m *HostRoom) address(i int, base string, sequence int64) string {
	if i >= len(m.addresses) {
		m.addresses = append(m.addresses, make([]roundAddress, i+1-len(m.addresses))...)
	}
	a := &m.addresses[i]
	if a.sequence != sequence || a.base != base {
		*a = roundAddress{base, sequence, base + RoundPath(sequence)}
	}
	return a.url
}
