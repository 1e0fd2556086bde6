package feed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/ledger"
)

// PageSize is how many observations are read from the ledger and put on the record at a time.
const PageSize = 256

// Export puts on the record what read gives behind a number, until it gives nothing more, and
// returns how many observations that were. Several may run at once.
func Export(ctx context.Context, w *seal.Writer, read func(after int64) ([]record.Observation, error)) (written int,
	err error) {
	for {
		// What a crash cut off is logged first, and then counted.
		if _, err := w.CatchUp(ctx); err != nil {
			return written, err
		}
		have, err := LastOf(w.Dir)
		if err != nil {
			return written, err
		}
		fresh, err := read(have)
		if err != nil {
			return written, fmt.Errorf("reading new observations: %w", err)
		}
		if len(fresh) == 0 {
			return written, nil
		}
		done, err := w.Observe(ctx, fresh...)
		written += len(done)
		// Another export that runs beside this one may have been faster: what is left is looked up
		// again.
		if err != nil && !(errors.Is(err, seal.ErrNumber) && ctx.Err() == nil) {
			return written, err
		}
		if next, err := LastOf(w.Dir); err != nil || next == have {
			return written, errors.Join(err, fmt.Errorf("the ledger's observation %d does not follow the record's %d",
				fresh[0].Number, have))
		}
	}
}

// LastOf is the number of the record's last observation, 0 for none.
func LastOf(rec string) (int64, error) {
	entries, err := os.ReadDir(filepath.Join(rec, "observations"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var last int64
	for _, e := range entries {
		var n int64
		if _, err := fmt.Sscanf(e.Name(), "%09d.json", &n); err == nil &&
			e.Name() == (record.Observation{Number: n}).File() {
			last = max(last, n)
		}
	}
	return last, nil
}

// Source is where a page of the feed is read from.
type Source struct {
	DB   ledger.DB
	Ring attest.Ring
	// Artifacts are the classes that are counted on the record.
	Artifacts []Class
	// Recorded reads what the record has, for a ledger that is younger.
	Recorded func() ([]record.Observation, error)
}

// Page puts on the feed what nobody else does, the events of the ring and the count of artifacts,
// and reads what lies behind a number, a page at most.
func (s Source) Page(ctx context.Context, after int64) (out []record.Observation, err error) {
	fresh := false
	err = s.DB.View(ctx, func(tx ledger.Tx) (err error) {
		fresh, err = Fresh(tx)
		return err
	})
	var held []record.Observation
	if err == nil && fresh && after > 0 {
		held, err = s.Recorded()
	}
	if err != nil {
		return nil, err
	}
	err = s.DB.Update(ctx, func(tx ledger.Tx) error {
		err := Follow(tx, after, held)
		if err == nil {
			err = KeyEvents(tx, s.Ring)
		}
		if err == nil {
			err = Artifacts(tx, s.Artifacts)
		}
		if errors.Is(err, ErrShut) {
			return nil // noted once it is open again
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.DB.View(ctx, func(tx ledger.Tx) (err error) {
		out, err = Since(tx, after+1, PageSize)
		return err
	})
	return out, err
}
