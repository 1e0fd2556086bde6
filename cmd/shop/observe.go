package shop

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// What happens in the store and belongs on the public record is appended to the ledger in the
// transaction of its cause, and signed, logged and covered in the record's folder here. Numbers are
// the ledger's, so that whatever cuts an export off, the next one goes on where it stopped.

// feedPage is how many observations are read from the ledger and put on the record at a time.
const feedPage = 256

// artifactClasses are the classes of artifacts that are counted on the record. What is signed
// beside a certificate is counted with it.
func artifactClasses() (all []feed.Class) {
	for _, c := range counter.Issued {
		if c.Issued == "" {
			continue
		}
		all = append(all, feed.Class{Name: c.Name, Counter: c.Issued})
	}
	return all
}

// ObservationsDir is where a configuration keeps its observations.
func ObservationsDir(c *Config) string { return filepath.Join(c.Record, "observations") }

// ExportObservations writes what the record does not have yet and returns how many observations
// that were. It does nothing for a configuration without a ledger or a record. Several may run at
// once.
func ExportObservations(ctx context.Context, c *Config) (int, error) {
	if c.Record == "" || c.Ledger == "" && c.LedgerFile == "" {
		return 0, nil
	}
	w, err := RecordWriter(c)
	if err != nil {
		return 0, err
	}
	n, err := exportFeed(ctx, c, w, func(after int64) ([]record.Observation, error) {
		return observationsAfter(ctx, c,
			after)
	})
	if err != nil {
		return n, err
	}
	return n, CoverWhatChanged(ctx, c, w)
}

// exportFeed puts on the record what read gives behind a number, until it gives nothing more.
func exportFeed(ctx context.Context, c *Config, w *seal.Writer, read func(after int64) ([]record.Observation,
	error)) (written int, err error) {
	for {
		// What a crash cut off is logged first, and then counted.
		if _, err := w.CatchUp(ctx); err != nil {
			return written, err
		}
		have, err := lastObservation(c.Record)
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
		if next, err := lastObservation(c.Record); err != nil || next == have {
			return written, errors.Join(err, fmt.Errorf("the ledger's observation %d does not follow the record's %d",
				fresh[0].Number, have))
		}
	}
}

// lastObservation is the number of the record's last observation, 0 for none.
func lastObservation(rec string) (int64, error) {
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

// observationsAfter reads a page of the ledger's feed behind a number, through the process that
// serves it where there is one.
func observationsAfter(ctx context.Context, c *Config, n int64) (_ []record.Observation, err error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if ok, err := askServer(ctx, spec, "POST /observations?after="+strconv.FormatInt(n, 10),
		nil, &b); err != nil {
		return nil, err
	} else if ok {
		var out []record.Observation
		return out, json.Unmarshal(b.Bytes(), &out, json.RejectUnknownMembers(true))
	}
	ring, err := Ring(c)
	if err != nil {
		return nil, err
	}
	db, err := OpenLedger(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return readFeed(ctx, c, db, ring, n)
}

// readFeed puts on the feed what nobody else does, the events of the ring and the count of
// artifacts, and reads a page.
func readFeed(ctx context.Context, c *Config, db ledger.DB, ring attest.Ring, after int64) (out []record.Observation,
	err error) {
	fresh := false
	err = db.View(ctx, func(tx ledger.Tx) (err error) {
		fresh, err = feed.Fresh(tx)
		return err
	})
	var held []record.Observation
	if err == nil && fresh && after > 0 {
		held, err = observed(c, ring)
	}
	if err != nil {
		return nil, err
	}
	err = db.Update(ctx, func(tx ledger.Tx) error {
		err := feed.Follow(tx, after, held)
		if err == nil {
			err = feed.KeyEvents(tx, ring)
		}
		if err == nil {
			err = feed.Artifacts(tx, artifactClasses())
		}
		if errors.Is(err, feed.ErrShut) {
			return nil // noted once it is open again
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = db.View(ctx, func(tx ledger.Tx) (err error) {
		out, err = feed.Since(tx, after+1, feedPage)
		return err
	})
	return out, err
}

// serveObservations answers the control socket.
func (s *Shop) serveObservations(w http.ResponseWriter, r *http.Request) {
	answerControl(w, func(to io.Writer) error {
		after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		if err != nil || after < 0 {
			return errors.New("after must be a number")
		}
		out, err := readFeed(r.Context(), &s.Config, s.DB, s.Ring, after)
		if err != nil {
			return err
		}
		return json.MarshalWrite(to, out)
	})
}
