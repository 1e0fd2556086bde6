package shop

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// nowhere resolves no name.
type nowhere struct{}

func (nowhere) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func lost(cfg *fetch.Config) { cfg.Resolver = nowhere{} }

// thursday is when it is: a census that ran across the end of its week would be another.
func thursday() time.Time { return time.Date(2026, 11, 12, 12, 0, 0, 0, time.UTC) }

// TestCensusGoesThroughTheServingProcess: where one process has the ledger, the others ask it; a
// host that declared itself since is walked at the next firing.
func TestCensusGoesThroughTheServingProcess(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	// The ledger dates what is observed, so that the census is of its time.
	began := time.Now()
	today := func() time.Time { return began }
	c.Census = CensusConfig{List: filepath.Join(dir, "doors.txt"), Recordings: filepath.Join(dir, "recordings")}
	if err := os.WriteFile(c.Census.List, []byte("https://a.door.test/paid\nhttps://store.test/own\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &Shop{Config: *c, DB: db, Ring: attest.SpecimenRing(), Log: slog.New(slog.DiscardHandler), reach: lost,
		now: today}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.serveControl(ctx, c.Ledger) }()
	ask := func(o CensusOptions) census.Report {
		t.Helper()
		for {
			report, err := Census(t.Context(), c, o)
			if err != nil && strings.Contains(err.Error(), "another process") {
				continue // the socket is not there yet, and the ledger is taken
			}
			if err != nil {
				t.Fatalf("Census(%+v): %v", o, err)
			}
			return report
		}
	}
	for i, o := range []CensusOptions{{Hourly: true}, {WalkOnly: true}} {
		if r := ask(o); r.Week != record.ISOWeek(began) || r.Outcome != census.OutcomeWalked || r.Due != 1 ||
			r.Listed != 2 ||
			r.Walked != int64(1-i) {
			t.Errorf("%+v: %+v", o, r)
		}
	}
	err = db.Update(t.Context(), func(tx ledger.Tx) error {
		return feed.Declare(tx, record.Declaration{Host: "b.door.test", Shape: "resources",
			Doors: []string{"https://b.door.test/paid"}}, []string{""})
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := ask(CensusOptions{Hourly: true}); r.Outcome != census.OutcomeWalked || r.Added != 1 || r.Due != 2 {
		t.Errorf("hourly: %+v", r)
	}
	sealed := ask(CensusOptions{})
	if r := ask(CensusOptions{Hourly: true}); r.Outcome != census.OutcomeNotOpen {
		t.Errorf("hourly after the round: %+v", r)
	}
	if sealed.Outcome != census.OutcomeSealed || sealed.Rows != 2 {
		t.Errorf("sealed: %+v", sealed)
	}
	stop()
	if err := errors.Join(<-served, db.Close()); err != nil {
		t.Error(err)
	}
	// Nobody serves it any more.
	again := ask(CensusOptions{Reach: lost, Now: today})
	if again.Outcome != census.OutcomeStood || again.Digest != sealed.Digest {
		t.Errorf("again: %+v", again)
	}
	report, err := verify.Clone(t.Context(), os.DirFS(c.Record),
		verify.CloneOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the record: %+v, %v", report.Problems, err)
	}
}

// TestWalkersMayHaveAKeyOfTheirOwn: then a machine that only walks needs no key of the record.
func TestWalkersMayHaveAKeyOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	key, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "walker.pem")
	if err := key.Store(file); err != nil {
		t.Fatal(err)
	}
	c := observingConfig(dir)
	c.Census.SourceTime = Duration(time.Hour)
	c.Census.Key, c.Keys.Identity, c.Keys.Log = file, filepath.Join(dir, "absent.pem"), filepath.Join(dir, "absent.pem")
	cfg, _, err := c.census(ledger.NewMem(ledger.MemOptions{}),
		CensusOptions{WalkOnly: true, Log: slog.New(slog.DiscardHandler), Reach: lost})
	if err != nil || cfg.Writer != nil || cfg.SourceTime != time.Hour {
		t.Errorf("a walker without keys of the record: writer %v, %s for a source, %v", cfg.Writer, cfg.SourceTime, err)
	}
	if got, err := c.walkerKey(); err != nil || got.KID() != key.KID() {
		t.Errorf("the walker's key: %v", err)
	}
	if _, _, err := c.census(ledger.NewMem(ledger.MemOptions{}), CensusOptions{Log: slog.New(slog.DiscardHandler),
		Reach: lost}); err == nil {
		t.Error("a round would be sealed without the record's keys")
	}
}

func TestCensusConfigIsChecked(t *testing.T) {
	world := ArrivalsConfig{ID: "eip155:480", RPC: []string{"https://rpc.example"}, GenesisHash: "any"}
	if c := Example(); world.check(&c, 0) != nil {
		t.Error("World Chain is refused")
	}
	for name, change := range map[string]func(*Config){
		"a negative cap":         func(c *Config) { c.Census.Cap = -1 },
		"a negative lease":       func(c *Config) { c.Census.Lease = -1 },
		"no time for a source":   func(c *Config) { c.Census.SourceTime = Duration(time.Minute - 1) },
		"a day for a source":     func(c *Config) { c.Census.SourceTime = Duration(24 * time.Hour) },
		"a control without TLS":  func(c *Config) { c.Census.Control = "http://control.test/" },
		"a source without a URL": func(c *Config) { c.Discovery = []DiscoveryConfig{{Name: "x"}} },
		"arrivals twice":         func(c *Config) { c.Arrivals = []ArrivalsConfig{world, world} },
		"arrivals that are sold on": func(c *Config) {
			c.Arrivals = []ArrivalsConfig{{ID: c.Networks[0].ID, RPC: world.RPC}}
		},
		"arrivals on no chain named": func(c *Config) { c.Arrivals = []ArrivalsConfig{{ID: world.ID, RPC: world.RPC}} },
		"arrivals without a node": func(c *Config) {
			c.Arrivals = []ArrivalsConfig{{ID: world.ID, GenesisHash: "any"}}
		},
		"arrivals of no known coin": func(c *Config) {
			c.Arrivals = []ArrivalsConfig{{ID: "eip155:10", RPC: world.RPC, GenesisHash: "any"}}
		},
		"arrivals of another kind": func(c *Config) {
			c.Arrivals = []ArrivalsConfig{{ID: "cosmos:hub", RPC: world.RPC}}
		},
		"arrivals of a genesis of another form": func(c *Config) {
			c.Arrivals = []ArrivalsConfig{{ID: world.ID, RPC: world.RPC, GenesisHash: "0x"}}
		},
		"a slash at the end": func(c *Config) {
			c.Discovery = []DiscoveryConfig{{Name: "x",
				URL: "https://x.test/"}}
		},
		"a name twice": func(c *Config) {
			c.Discovery = []DiscoveryConfig{{Name: "x", URL: "https://x.test"}, {Name: "x", URL: "https://y.test"}}
		},
		"a name that is taken": func(c *Config) {
			c.Discovery = []DiscoveryConfig{{Name: sourceDeclared,
				URL: "https://x.test"}}
		},
	} {
		c := Example()
		if err := c.checkCensus(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if c.checkCensus() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
