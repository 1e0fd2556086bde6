package shop

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// What happens in the store and belongs on the public record is appended to the ledger in the
// transaction of its cause, and signed, logged and covered in the record's folder here. Numbers are
// the ledger's, so that whatever cuts an export off, the next one goes on where it stopped.

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

// feed is the feed of a ledger, as a configuration has it exported.
func (c *Config) feed(db ledger.DB, ring attest.Ring) feed.Source {
	return feed.Source{DB: db, Ring: ring, Artifacts: artifactClasses(),
		Recorded: func() ([]record.Observation, error) { return observed(c, ring) }}
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
	n, err := feed.Export(ctx, w, func(after int64) ([]record.Observation, error) {
		return observationsAfter(ctx, c, after)
	})
	if err != nil {
		return n, err
	}
	return n, CoverWhatChanged(ctx, c, w)
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
	return c.feed(db, ring).Page(ctx, n)
}

// serveObservations answers the control socket.
func (s *Shop) serveObservations(w http.ResponseWriter, r *http.Request) {
	answerControl(w, func(to io.Writer) error {
		after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		if err != nil || after < 0 {
			return errors.New("after must be a number")
		}
		out, err := s.Config.feed(s.DB, s.Ring).Page(r.Context(), after)
		if err != nil {
			return err
		}
		return json.MarshalWrite(to, out)
	})
}
