// Package specimen makes the signed record that the repository is shown with: twelve weekly rounds
// over a street of test doors on which a play is given, with what is observed between them, proofs
// of time by calendars of the street and a witness. Nobody in it exists, its keys are public by
// design, and it is the same to the byte whenever it is made.
//
//	err := specimen.Write(ctx, dir, "https://store.example")
package specimen

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// Site is whose record is made.
type Site struct {
	BaseURL       string
	Identity, Log *attest.Key
	Ring          attest.Ring
}

// maker makes one record.
type maker struct {
	dir     string
	baseURL string
	origin  string
	site    *Site       // nil for the specimen itself, which hands a key over on the way
	handed  attest.Ring // of the specimen itself after that
	play    street.Play
	clock   *street.Clock
	street  *street.Street
	client  *street.Walker // reaches everything but the store's own doors
	own     *street.Walker // reaches those too
	nonces  io.Reader
	store   *roster.Store
	pending []stamped
	closed  map[string]time.Time // when rosters were closed, by week
	// anchored is how many anchors of the chain over the keys are stamped.
	anchored int
}

// Write makes the record of the specimen site at baseURL in dir, which is made where it is not
// there and must hold none of it.
func Write(ctx context.Context, dir, baseURL string) error {
	return write(ctx, dir, &maker{baseURL: baseURL})
}

// Begins is the UTC date of the first of its days.
func Begins() string { return moment(firstWeek, 0, 0).Format(time.DateOnly) }

// WriteFor makes the same rounds for another site, with its keys, which are in force since Begins,
// for a store on chains of its own. What is observed between rounds it leaves out, because a store
// numbers that itself.
func WriteFor(ctx context.Context, dir string, site Site) error {
	return write(ctx, dir, &maker{baseURL: site.BaseURL, site: &site})
}

func write(ctx context.Context, dir string, m *maker) (err error) {
	u, err := url.Parse(m.baseURL)
	if err != nil {
		return fmt.Errorf("making the specimen's record: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range Folders() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("making the specimen's record: %s/%s is there already, and a record is never written "+
				"over", dir, name)
		}
	}
	m.dir, m.origin, m.play, m.clock, m.nonces, m.closed = dir, u.Host+"/corpus", thePlay(),
		street.NewClock(moment(firstWeek, 0, 0)), &counter{}, map[string]time.Time{}
	db := ledger.NewMem(ledger.MemOptions{Calm: true})
	defer func() { err = errors.Join(err, db.Close()) }()
	m.store = roster.New(db)
	if m.street, err = street.OpenScripted(m.play, m.clock); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.street.Close()) }()
	cfg := fetch.Config{UserAgent: "specimen/1 (+" + m.baseURL + "/criteria)", Key: attest.SpecimenKey(),
		Agent: m.baseURL, Random: m.nonces}
	if m.own, err = m.street.Walker(cfg); err != nil {
		return err
	}
	cfg.OwnHosts = []string{u.Hostname(), controlHost}
	if m.client, err = m.street.Walker(cfg); err != nil {
		return err
	}
	for week := firstWeek; week <= lastWeek; week++ {
		if err := m.week(ctx, week); err != nil {
			return fmt.Errorf("making week %d of the specimen's record: %w", week, err)
		}
	}
	if err := thin(filepath.Join(m.dir, "log", "tile")); err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", m.play))
	return m.writer().Cover(ctx, filetree.Meta{BaseURL: m.baseURL, ContentDigest: attest.Digest(sum).String()})
}

// thin takes away the tiles and bundles of a log that a wider one of the same place has taken the
// place of. A store keeps them until the place is full, for those who read while it grows; nobody
// reads the specimen while it does.
func thin(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || filepath.Ext(name) != ".p" {
			return err
		}
		widths, err := os.ReadDir(name)
		if err != nil {
			return err
		}
		widest := 0
		for _, w := range widths {
			n, err := strconv.Atoi(w.Name())
			if err != nil {
				return fmt.Errorf("taking away narrower tiles: %w", err)
			}
			widest = max(widest, n)
		}
		for _, w := range widths {
			if w.Name() != strconv.Itoa(widest) {
				if err := os.Remove(filepath.Join(name, w.Name())); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Folders are the places of a record below its folder.
func Folders() []string {
	return []string{"rounds", "observations", "proofs", "log", "keys", "evidence", "words", "manifest", "manifest.json"}
}

// Remove takes away a record of the specimen, and no other's.
func Remove(dir string) error {
	held, err := os.ReadFile(filepath.Join(dir, record.RingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// Of a record that was made before, whose ring may be of a form that is none any more, the
	// identity is enough.
	var ring attest.Ring
	if err := json.Unmarshal(held, &ring); err != nil {
		return fmt.Errorf("reading the keys of %s: %w", dir, err)
	}
	if !attest.IsSpecimen(ed25519.PublicKey(ring.Identity().Public)) {
		return fmt.Errorf("%s holds the record of a store, not the specimen's", dir)
	}
	for _, name := range append(Folders(), ".lock") {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// week is one week of the record: what happens on its Monday, the census, then what happens until
// its Sunday.
func (m *maker) week(ctx context.Context, week int) error {
	m.clock.Set(moment(week, 0, 10))
	monday, err := m.monday(ctx, week)
	if err != nil {
		return err
	}
	if err := m.observe(ctx, monday); err != nil {
		return err
	}
	m.clock.Set(sealed(week))
	round, err := m.census(ctx, week)
	if err != nil {
		return err
	}
	if err := m.cosign(ctx); err != nil {
		return err
	}
	if err := m.upgrade(ctx, week); err != nil {
		return err
	}
	if err := m.stamp(ctx, stamped{sequence: round.Sequence, week: week}, round.Digest); err != nil {
		return err
	}
	rest, err := m.rest(ctx, week)
	if err != nil {
		return err
	}
	if err := m.observe(ctx, rest); err != nil {
		return err
	}
	return m.anchor(ctx, week)
}

// writer writes with the keys of the moment.
func (m *maker) writer() *seal.Writer {
	if s := m.site; s != nil {
		return &seal.Writer{Dir: m.dir, Origin: m.origin, Identity: s.Identity, LogKey: s.Log, Ring: s.Ring,
			Judge: rejudge.Batteries{}}
	}
	w := &seal.Writer{Dir: m.dir, Origin: m.origin, Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenFormerLogKey(), Ring: attest.SpecimenRingBefore(),
		Judge: rejudge.Batteries{}}
	if m.handed.Format != "" {
		w.LogKey, w.Ring = attest.SpecimenKeyFor(attest.PurposeLog), m.handed
	}
	return w
}

// handOver hands the specimen's log over to its second key.
func (m *maker) handOver(ctx context.Context) (attest.Handover, error) {
	next, err := m.writer().HandOver(ctx, attest.SpecimenKeyFor(attest.PurposeLog).Public(), attest.SpecimenHandover,
		"rotated to show a rotation")
	if err != nil {
		return attest.Handover{}, err
	}
	m.handed = next
	return next.Handovers[len(next.Handovers)-1], nil
}

// observe puts observations on the record.
func (m *maker) observe(ctx context.Context, fresh []record.Observation) error {
	if len(fresh) == 0 || m.site != nil {
		return nil
	}
	w := m.writer()
	// salts of a specimen are no secret, and the same every time
	w.Random = &counter{n: uint64(m.clock.Now().Unix()) << 8}
	_, err := w.Observe(ctx, fresh...)
	return err
}

// counter is a source of bytes that are different every time. Nothing that is recorded holds any of
// them.
type counter struct {
	mu sync.Mutex // guards n
	n  uint64
}

func (c *counter) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(p); {
		sum := sha256.Sum256(fmt.Append(nil, "specimen ", c.n))
		c.n++
		i += copy(p[i:], sum[:])
	}
	return len(p), nil
}
