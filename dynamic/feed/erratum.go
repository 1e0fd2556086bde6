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
	Cause       string `json:"cause,omitzero" doc:"Why it was an error of the instrument, empty where it was none."`
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
	// Once leaves a row alone of which an instrument_error was told, whatever that gave: who judges
	// all rows again does not gainsay what was looked at one by one.
	Once bool
}

// Correct puts on the feed what a row should have said, and what it was judged by, nil for a row
// that should have told of no observation. Of several errata of one row the last counts, so that
// what the last one says is not said again; that it was an error of the instrument is said once.
// dry changes nothing.
func Correct(tx ledger.Tx, rec []record.Observation, c Correction, dry bool) (Corrected, error) {
	all, err := CorrectAll(tx, rec, []Correction{c}, dry)
	if len(all) == 0 {
		return Corrected{}, err
	}
	return all[0], err
}

// CorrectAll is Correct of several rows, each of which stands there once. It ends at the first
// error.
func CorrectAll(tx ledger.Tx, rec []record.Observation, all []Correction, dry bool) ([]Corrected, error) {
	type told struct {
		now, evidence string
		number        int64
		error         bool // one was an instrument_error
	}
	rows := make(map[int64]told, len(all)) // by leaf
	for _, c := range all {
		rows[c.Erratum.Leaf] = told{now: c.Row.Verdict}
	}
	for o, err := range both(tx, rec) {
		if err != nil {
			return nil, err
		}
		if o.Erratum == nil {
			continue
		}
		t, mine := rows[o.Erratum.Leaf]
		if !mine {
			continue
		}
		t.error = t.error || o.Erratum.Kind == record.ErratumError
		if o.Number >= t.number {
			t.now, t.number, t.evidence = o.Erratum.VerdictNow, o.Number, o.Erratum.EvidenceDigest
		}
		rows[o.Erratum.Leaf] = t
	}
	var out []Corrected
	for _, c := range all {
		t := rows[c.Erratum.Leaf]
		done := Corrected{Leaf: c.Erratum.Leaf, Host: c.Row.Host, Week: c.Row.Week, Signed: c.Row.Verdict,
			Now: c.Erratum.VerdictNow, Cause: c.Erratum.Cause, Observation: t.number, Evidence: t.evidence, DryRun: dry}
		if c.Once && t.error || t.now == c.Erratum.VerdictNow && (c.Erratum.Kind == "" || t.error) {
			if done.Already = t.number > 0; !done.Already {
				return append(out, done), fmt.Errorf("%w: %s of %s is %s", ErrNoErratum, c.Row.Host, c.Row.Week,
					c.Row.Verdict)
			}
			out = append(out, done)
			continue
		}
		var err error
		done.Evidence = c.Erratum.EvidenceDigest
		done.Observation, err = observeOnce(tx, record.Observation{Kind: record.ObservationErratum,
			Erratum: &c.Erratum, Judgement: string(c.Judgement)}, dry)
		if out = append(out, done); err != nil {
			return out, err
		}
	}
	return out, nil
}
