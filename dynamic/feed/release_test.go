package feed_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestAVersionIsReleasedOnce: the same again changes nothing, something else is refused, and so it
// is where only the record knows of the version.
func TestAVersionIsReleasedOnce(t *testing.T) {
	d := strings.Repeat("ab", 32)
	r := record.Release{Version: "v1.0.0", Commit: d[:40], Files: []record.ReleaseFile{{Name: "a.zip", SHA256: d}}}
	db := ledger.NewMem(ledger.MemOptions{})
	tell := func(db ledger.DB, rec []record.Observation, r record.Release, dry bool) (out feed.Released, err error) {
		err = db.Update(t.Context(), func(tx ledger.Tx) (err error) {
			out, err = feed.Release(tx, rec, r, dry)
			return err
		})
		return out, err
	}
	if out, err := tell(db, nil, r, true); err != nil || out.Observation != 0 || len(since(t, db, 1, 9)) != 0 {
		t.Errorf("a rehearsal: %+v %v", out, err)
	}
	if out, err := tell(db, nil, r, false); err != nil || out.Observation != 1 || out.Already {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := tell(db, nil, r, false); err != nil || out.Observation != 1 || !out.Already {
		t.Errorf("once more: %+v %v", out, err)
	}
	rec := since(t, db, 1, 9)
	if len(rec) != 1 {
		t.Fatalf("%+v", rec)
	}
	other, commit := r, r
	other.Files = append(slices.Clone(r.Files), record.ReleaseFile{Name: "b.zip", SHA256: d})
	commit.Commit = strings.Repeat("0", 40)
	for _, wrong := range []record.Release{other, commit} {
		if _, err := tell(db, nil, wrong, false); !errors.Is(err, feed.ErrReleased) {
			t.Errorf("%+v beside the feed: %v", wrong, err)
		}
		if _, err := tell(ledger.NewMem(ledger.MemOptions{}), rec, wrong, true); !errors.Is(err, feed.ErrReleased) {
			t.Errorf("%+v beside the record: %v", wrong, err)
		}
	}
	bad := r
	bad.Version = "v 2"
	if _, err := tell(db, nil, bad, true); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a bad version: %v", err)
	}
}
