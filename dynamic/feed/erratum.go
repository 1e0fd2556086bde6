package feed

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// ErrNoErratum is returned for an erratum that would say what the row says already.
var ErrNoErratum = errors.New("the row says that already")

// Corrected is what came of an erratum.
type Corrected struct {
	Leaf        int64  `json:"leaf" doc:"The row."`
	Host        string `json:"host" doc:"Its host."`
	Week        string `json:"week" doc:"Its week."`
	Signed      string `json:"verdict_signed" doc:"What the row says."`
	Now         string `json:"verdict_now" doc:"What it should have said."`
	Evidence    string `json:"evidence_digest,omitzero"` // of the judgement that gives it
	Observation int64  `json:"observation" doc:"The number of the observation that says so, 0 in a dry run."`
	Already     bool   `json:"already_corrected" doc:"It said so, and nothing was changed."`
	DryRun      bool   `json:"dry_run" doc:"Nothing was changed."`
	NextStep    string `json:"next_step" wide:"true" doc:"What to do next."`
}

// Correction is a row that is corrected, the word about it, and the judgement input that it rests
// on, nil for none.
type Correction struct {
	Row       record.Row
	Erratum   record.Erratum
	Judgement []byte
}

// Correct puts on the feed what a row should have said, and what it was judged by, nil for a row
// that should have told of no observation. Of several errata of one row the last counts, so that
// what the last one says is not said again. dry changes nothing.
func Correct(tx ledger.Tx, rec []record.Observation, c Correction, dry bool) (Corrected, error) {
	out := Corrected{Leaf: c.Erratum.Leaf, Host: c.Row.Host, Week: c.Row.Week, Signed: c.Row.Verdict,
		Now: c.Erratum.VerdictNow, DryRun: dry}
	counts := c.Row.Verdict
	for o, err := range both(tx, rec) {
		if err != nil {
			return out, err
		}
		if o.Erratum != nil && o.Erratum.Leaf == c.Erratum.Leaf && o.Number >= out.Observation {
			counts, out.Observation, out.Evidence = o.Erratum.VerdictNow, o.Number, o.Erratum.EvidenceDigest
		}
	}
	if counts == c.Erratum.VerdictNow {
		if out.Already = out.Observation > 0; out.Already {
			return out, nil
		}
		return out, fmt.Errorf("%w: %s of %s is %s", ErrNoErratum, c.Row.Host, c.Row.Week, c.Row.Verdict)
	}
	var err error
	out.Evidence = c.Erratum.EvidenceDigest
	out.Observation, err = observeOnce(tx, record.Observation{Kind: record.ObservationErratum, Erratum: &c.Erratum,
		Judgement: string(c.Judgement)}, dry)
	return out, err
}
