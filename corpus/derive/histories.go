// Package derive turns the signed record into what is shown of it: histories and tiers of hosts,
// the trajectory of the weeks, what changed between two of them, coverage and gaps, facts about
// wallets. Each is a pure function of rounds, rows and observations that says its denominator and
// cites sequences and digests; none reads a clock, and none is signed, because anybody can work it
// out again.
package derive

import (
	"iter"

	"store.example/agentstore/corpus/record"
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
