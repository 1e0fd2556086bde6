package feed

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// ErrReleased is returned for a version that was released as something else.
var ErrReleased = errors.New("this version was released already, of another commit or with other files")

// Released is what came of telling of a release.
type Released struct {
	Version     string `json:"version"`
	Files       int    `json:"files"`
	Observation int64  `json:"observation"` // that tells of it, 0 in a dry run
	Already     bool   `json:"already_told"`
	DryRun      bool   `json:"dry_run"`
	NextStep    string `json:"next_step"`
}

// Release puts a release on the feed, once for each version: ErrReleased where the feed or the
// record, whose observations a younger ledger has not, has that version as something else. dry
// changes nothing.
func Release(tx ledger.Tx, rec []record.Observation, r record.Release, dry bool) (Released, error) {
	out := Released{Version: r.Version, Files: len(r.Files), DryRun: dry}
	look := func(o record.Observation) error {
		if o.Release == nil || o.Release.Version != r.Version {
			return nil
		}
		if !o.Release.Same(r) {
			return fmt.Errorf("%w: observation %d has commit %s; hint: give the changed files a version of their own",
				ErrReleased, o.Number, o.Release.Commit)
		}
		out.Observation, out.Already = o.Number, true
		return nil
	}
	for _, o := range rec {
		if err := look(o); err != nil {
			return out, err
		}
	}
	for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("observation"))) {
		if err != nil {
			return out, err
		}
		o, err := decode(e)
		if err == nil {
			err = look(o)
		}
		if err != nil {
			return out, err
		}
	}
	if out.Already {
		return out, nil
	}
	o := record.Observation{Kind: record.ObservationRelease, Release: &r}
	// Who rehearses is told as well what would be refused.
	o.Format, o.Number, o.At = record.ObservationFormat, 1, tx.Now().UTC().Format("2006-01-02T15:04:05Z")
	if err := o.Check(); err != nil || dry {
		return out, err
	}
	err := Observe(tx, o)
	if err == nil {
		out.Observation, err = ledger.Last(tx, Counter)
	}
	return out, err
}
