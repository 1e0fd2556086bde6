package shop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/generator"
)

// RecordOrigin is the origin of the record's log: the store's public host and the record's place on
// it.
func RecordOrigin(c *Config) (string, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("base_url %q has no host", c.BaseURL)
	}
	return u.Host + "/corpus", nil
}

// RecordWriter opens the configured record for appending; its folder is made if need be.
func RecordWriter(c *Config) (*seal.Writer, error) {
	if c.Record == "" {
		return nil, errors.New("record, the folder of the signed record, is not configured")
	}
	if err := generator.RecordIsNewer(os.DirFS(c.Record)); err != nil {
		return nil, err
	}
	if err := CheckOrigin(c); err != nil {
		return nil, err
	}
	w := &seal.Writer{Dir: c.Record, Judge: rejudge.Batteries{}}
	var err error
	if w.Origin, err = RecordOrigin(c); err != nil {
		return nil, err
	}
	if w.Ring, err = Ring(c); err != nil {
		return nil, err
	}
	if w.Identity, err = IdentityKey(c); err != nil {
		return nil, err
	}
	if w.LogKey, err = LogKey(c, w.Ring); err != nil {
		return nil, err
	}
	return w, os.MkdirAll(c.Record, 0o755)
}

// CoverRecord signs the record's manifest anew. It is called after the last change of a run.
func CoverRecord(ctx context.Context, c *Config, w *seal.Writer) error {
	meta, err := recordMeta(c)
	if err != nil {
		return err
	}
	return w.Cover(ctx, meta)
}

// CoverWhatChanged signs the manifest anew where it does not know the record as it is: a crash may
// have come between the two, or a handover of keys.
func CoverWhatChanged(ctx context.Context, c *Config, w *seal.Writer) error {
	if ok, err := covered(c.Record, w.Ring); err != nil || ok {
		return err
	}
	return CoverRecord(ctx, c, w)
}

func recordMeta(c *Config) (filetree.Meta, error) {
	site, err := LoadSite(c)
	if err != nil {
		return filetree.Meta{}, err
	}
	return filetree.Meta{BaseURL: c.BaseURL, ContentDigest: site.Digest}, nil
}

// covered reports whether the record's manifest knows the log's last checkpoint, which changes with
// every row and observation, and the ring of keys, which changes with a handover.
func covered(dir string, ring attest.Ring) (bool, error) {
	fsys := os.DirFS(dir)
	layout := attest.CorpusLayout()
	m, _, err := attest.OpenManifest(fsys, layout, ring)
	if err != nil {
		return false, nil // none yet, or one that a crash or new keys left behind: it is made anew
	}
	const checkpoint = "log/checkpoint"
	want := map[string]attest.Digest{}
	for _, name := range []string{checkpoint, record.RingFile} {
		raw, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) && name == checkpoint {
			return true, nil // nothing was logged yet: a new store's record is its keys alone
		}
		if err != nil {
			return false, err
		}
		want[name] = sha256.Sum256(raw)
	}
	for e, err := range m.Entries(fsys, layout) {
		if err != nil {
			return false, nil // as above
		}
		if want[e.Path] == e.SHA256 {
			delete(want, e.Path)
		}
	}
	return len(want) == 0, nil
}

// openRecord opens the record that a keeper puts something on, beside what the feed has.
func (s *Shop) openRecord() (*record.Record, error) {
	if s.Config.Record == "" {
		return nil, errors.New("record, the folder of the signed record, is not configured: name one by record in " +
			"the configuration")
	}
	rec, err := record.Open(os.DirFS(s.Config.Record), s.Ring)
	if err != nil {
		return nil, fmt.Errorf("reading the record: %w", err)
	}
	return rec, nil
}

// observations opens the record, and reads what it has beside its rows.
func (s *Shop) observations() (rec *record.Record, have []record.Observation, err error) {
	if rec, err = s.openRecord(); err != nil {
		return nil, nil, err
	}
	if have, err = rec.Observations(); err != nil {
		return nil, nil, fmt.Errorf("reading the record: %w", err)
	}
	return rec, have, nil
}

// besideRecord runs put in a transaction of a feed that goes on behind what the record has. dry
// writes nothing.
func (s *Shop) besideRecord(ctx context.Context, have []record.Observation, dry bool,
	put func(tx ledger.Tx) error) error {
	if dry {
		return s.DB.View(ctx, put)
	}
	return s.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := feed.Follow(tx, int64(len(have)), have); err != nil {
			return err
		}
		return put(tx)
	})
}
