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
	Version     string `json:"version" doc:"The version."`
	Files       int    `json:"files" doc:"Files of it."`
	Observation int64  `json:"observation" doc:"The number of the observation that tells of it, 0 in a dry run."`
	Already     bool   `json:"already_told" doc:"It was told before."`
	DryRun      bool   `json:"dry_run" doc:"Nothing was changed."`
	NextStep    string `json:"next_step" wide:"true" doc:"What to do next."`
}

// Release puts a release on the feed, once for each version: ErrReleased where the feed or the
// record, whose observations a younger ledger has not, has that version as something else. dry
// changes nothing.
func Release(tx ledger.Tx, rec []record.Observation, r record.Release, dry bool) (Released, error) {
	out := Released{Version: r.Version, Files: len(r.Files), DryRun: dry}
	for o, err := range both(tx, rec) {
		switch {
		case err != nil:
			return out, err
		case o.Release == nil || o.Release.Version != r.Version:
		case !o.Release.Same(r):
			return out, fmt.Errorf("%w: observation %d has commit %s; hint: give the changed files a version of their "+
				"own", ErrReleased, o.Number, o.Release.Commit)
		default:
			out.Observation, out.Already = o.Number, true
		}
	}
	if out.Already {
		return out, nil
	}
	var err error
	out.Observation, err = observeOnce(tx, record.Observation{Kind: record.ObservationRelease, Release: &r}, dry)
	return out, err
}
