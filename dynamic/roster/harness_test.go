package roster_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/roster"
)

// controlDoor is the street's door that is our own in these tests.
const controlDoor = "https://99.ready-many.doors.street/paid"

// world is a street, a record and a store that censuses share.
type world struct {
	t      *testing.T
	street *street.Street
	writer *seal.Writer
	db     ledger.DB
	store  *roster.Store
	key    *attest.Key
	now    time.Time
	export sync.Mutex   // of what is published
	asked  atomic.Int64 // headers of blocks
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Now().UTC()}
	var err error
	if w.street, err = street.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.street.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.db, err = bolt.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.bolt")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	w.store = roster.New(w.db)
	w.writer = newWriter(t)
	w.key = w.writer.Identity
	return w
}

func newWriter(t *testing.T) *seal.Writer {
	t.Helper()
	keys := make([]*attest.Key, 2)
	for i := range keys {
		var err error
		if keys[i], err = attest.Generate(rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := attest.NewRing("2026-11-01",
		map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: keys[0].Public(),
			attest.PurposeLog: keys[1].Public()})
	if err != nil {
		t.Fatal(err)
	}
	return &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: keys[0], LogKey: keys[1],
		Judge: rejudge.Batteries{},
		Ring:  ring}
}

// client reaches the street. It gives up on nothing that ends, however slow the machine is.
func (w *world) client(change ...func(*fetch.Config)) *fetch.Client {
	w.t.Helper()
	cfg := w.street.Config(fetch.Config{UserAgent: "store/1 (+https://store.example/criteria)", Key: w.key,
		Agent:    "https://store.example",
		OwnHosts: []string{"store.example"}, Timeout: 5 * time.Minute, Now: func() time.Time { return w.now }})
	for _, c := range change {
		c(&cfg)
	}
	c, err := fetch.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// paced is a client that soon gives up on the doors that let everybody wait until he does.
type paced struct {
	*fetch.Client
	hasty *fetch.Client
	slow  map[string]bool // by host
}

func (w *world) paced() paced {
	p := paced{w.client(), w.client(func(c *fetch.Config) { c.Timeout = 5 * time.Second }), map[string]bool{}}
	for _, d := range w.street.Doors() {
		p.slow[d.Host] = d.Slow
	}
	return p
}

func (p paced) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	if u, err := url.Parse(req.URL); err == nil && p.slow[u.Hostname()] {
		return p.hasty.Do(ctx, req, rule)
	}
	return p.Client.Do(ctx, req, rule)
}

// doors are the street's doors that a census is told of, those with a fault in their URL among
// them.
func (w *world) doors() (urls []string) {
	for _, d := range w.street.Doors() {
		if d.Declares == "" {
			urls = append(urls, d.URL())
		} else {
			urls = append(urls, d.Host) // its own file names the door, and the method
		}
	}
	return urls
}

// lists are the sources of a keeper's list of lines.
func lists(lines ...string) []census.Source {
	fsys := fstest.MapFS{"doors.txt": {Data: []byte(strings.Join(lines, "\n"))}}
	return []census.Source{census.List("keeper", fsys, "doors.txt"), census.WellKnown("files", fsys, "doors.txt"),
		census.Revisits("revisits", 8)}
}

// config is a census of the whole street.
func (w *world) config(sources ...census.Source) census.Config {
	client := w.client()
	return census.Config{
		Owner: rand.Text(), Store: w.store, Client: client, Nodes: fetch.Nodes{networks.Solana: street.Node},
		Control: census.Control{URL: controlDoor, Client: client},
		Sources: sources, Record: w.record, Writer: w.writer, Workers: 32, Shard: 16, Batch: 16, Lease: time.Minute,
		Now:     func() time.Time { return w.now },
		Domain:  func(host string) string { return host }, // the street is one domain
		Publish: w.publish, Headers: homemade{w.now, &w.asked}, Difficulty: 1e-12,
	}
}

func (w *world) record() (*record.Record, error) {
	return record.Open(os.DirFS(w.writer.Dir), w.writer.Ring)
}

// run runs a census to its end.
func (w *world) run(cfg census.Config) census.Report {
	w.t.Helper()
	report, err := census.Run(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatalf("Run: %v", err)
	}
	return report
}

// rows are the rows of a round, by host.
func (w *world) rows(sequence int64) map[string]record.Row {
	w.t.Helper()
	rec, err := w.record()
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]record.Row{}
	for row, err := range rec.Rows(sequence) {
		if err != nil {
			w.t.Fatal(err)
		}
		out[row.Host] = row.Row
	}
	return out
}

func (w *world) round(sequence int64) record.Round {
	w.t.Helper()
	record, err := w.record()
	if err != nil {
		w.t.Fatal(err)
	}
	round, ok := record.Round(sequence)
	if !ok {
		w.t.Fatalf("no round %d", sequence)
	}
	return round
}

// verify demands that a stranger accepts the record.
func (w *world) verify() {
	w.t.Helper()
	report, err := verify.Record(context.Background(), os.DirFS(w.writer.Dir), w.writer.Ring,
		verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range report.Problems {
		w.t.Errorf("%s: %s: %s", p.Path, p.Kind, p.Detail)
	}
}
