package feed

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// ErrNoText is returned for a digest that no public text on the record has.
var ErrNoText = errors.New("no public text of the record has this digest")

// Withdrawal is what came of a withdrawal.
type Withdrawal struct {
	SHA256      string `json:"sha256"`
	Kind        string `json:"kind"`              // of the observation that holds the digest
	Observation int64  `json:"observation"`       // its number
	WithdrawnBy int64  `json:"withdrawn_by"`      // the number of the observation that withdraws it, 0 in a dry run
	Already     bool   `json:"already_withdrawn"` // it was, and nothing was changed
	DryRun      bool   `json:"dry_run"`
	NextStep    string `json:"next_step"`
}

// Withdraw puts on the feed that a text is withdrawn, once for each digest: ErrNoText where neither
// the feed nor the record, whose observations a younger ledger has not, holds it as a public text.
// dry changes nothing.
func Withdraw(tx ledger.Tx, rec []record.Observation, w record.Withdrawn, dry bool) (Withdrawal, error) {
	out := Withdrawal{SHA256: w.SHA256, DryRun: dry}
	for o, err := range both(tx, rec) {
		switch {
		case err != nil:
			return out, err
		case o.Withdrawn != nil && o.Withdrawn.SHA256 == w.SHA256:
			out.WithdrawnBy, out.Already = o.Number, true
		case out.Observation == 0 && o.HasText(w.SHA256):
			out.Kind, out.Observation = o.Kind, o.Number
		}
	}
	if out.Observation == 0 {
		return out, fmt.Errorf("%w; hint: it is the sha256 beside the text in its observation, and the name of its "+
			"file words/SHA256.json in the record", ErrNoText)
	}
	if out.Already {
		return out, nil
	}
	var err error
	out.WithdrawnBy, err = observeOnce(tx, record.Observation{Kind: record.ObservationWithdrawn, Withdrawn: &w}, dry)
	return out, err
}
