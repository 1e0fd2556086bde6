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
