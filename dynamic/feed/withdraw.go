package feed

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// ErrNoText is returned for a digest of nothing that the record could withdraw.
var ErrNoText = errors.New("no public text and no evidence of the record has this digest")

// Withdrawal is what came of a withdrawal.
type Withdrawal struct {
	SHA256      string `json:"sha256" doc:"The digest."`
	Kind        string `json:"kind" doc:"Of the observation that holds the text, or evidence."`
	Observation int64  `json:"observation" doc:"The number of the observation that holds it; 0 for that of a row."`
	WithdrawnBy int64  `json:"withdrawn_by" doc:"The number of the observation that withdraws it, 0 in a dry run."`
	Already     bool   `json:"already_withdrawn" doc:"It was, and nothing was changed."`
	DryRun      bool   `json:"dry_run" doc:"Nothing was changed."`
	NextStep    string `json:"next_step" wide:"true" doc:"What to do next."`
}

// OfEvidence is the Kind of a withdrawal of what a walk was judged by.
const OfEvidence = "evidence"

// Withdraw puts on the feed that a text, or what a walk was judged by, is withdrawn, once for each
// digest: ErrNoText where neither the feed nor the record, whose observations a younger ledger has
// not, holds it as a public text or names it as evidence, and kept does not say that the record
// keeps it as that of a round. dry changes nothing.
func Withdraw(tx ledger.Tx, rec []record.Observation, w record.Withdrawn, kept, dry bool) (Withdrawal, error) {
	out := Withdrawal{SHA256: w.SHA256, DryRun: dry, Kind: OfEvidence}
	var rests []record.Observation    // on what is to be withdrawn
	corrects := make(map[int64]int64) // the erratum that counts, by leaf
	for o, err := range both(tx, rec) {
		if err != nil {
			return out, err
		}
		if o.Erratum != nil {
			corrects[o.Erratum.Leaf] = max(corrects[o.Erratum.Leaf], o.Number)
		}
		if o.JudgedBy() == w.SHA256 {
			rests = append(rests, o)
		}
		switch {
		case o.Withdrawn != nil && o.Withdrawn.SHA256 == w.SHA256:
			out.WithdrawnBy, out.Already = o.Number, true
		case out.Observation == 0 && o.HasText(w.SHA256):
			out.Kind, out.Observation = o.Kind, o.Number
		case out.Observation == 0 && o.JudgedBy() == w.SHA256:
			out.Observation = o.Number
		}
	}
	if out.Already {
		return out, nil
	}
	if out.Observation == 0 && !kept {
		return out, fmt.Errorf("%w; hint: it is the sha256 beside the text in its observation, and the name of its "+
			"file words/SHA256.json in the record; of a walk it is the evidence_digest of its row", ErrNoText)
	}
	now := record.Observation{At: tx.Now().UTC().Format(record.SecondLayout)}
	for _, o := range rests {
		if err := o.Keeps(now, o.Erratum != nil && corrects[o.Erratum.Leaf] == o.Number); err != nil {
			return out, err
		}
	}
	var err error
	out.WithdrawnBy, err = observeOnce(tx, record.Observation{Kind: record.ObservationWithdrawn, Withdrawn: &w}, dry)
	return out, err
}
