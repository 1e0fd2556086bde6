package shop

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// CensusConfig says which hosts are walked once a week, and how.
type CensusConfig struct {
	List            string   `toml:"list" doc:"File of doors of your own choice: a URL a line, or the name of a host whose /.well-known/x402 is read. Empty is none."`
	Control         string   `toml:"control" doc:"URL of a door of your own that sells as it should, reached over the public network. While it cannot be read, nothing is called unreachable. Empty walks without one, and every round shows that."`
	Cap             int      `toml:"cap" doc:"Hosts that are walked in a week. What is beyond it is counted against the round. 0 is no cap."`
	Workers         int      `toml:"workers" doc:"Doors walked at once by one process. 0 takes 64."`
	Shard           int      `toml:"shard" doc:"Hosts that a process takes at a time. 0 takes 1024."`
	Spacing         Duration `toml:"spacing" doc:"Pause between the end of a request to a host and the next one to it. One request at a time goes to a host in any case."`
	Lease           Duration `toml:"lease" doc:"How long what a process had taken stays taken after it died. 0s takes 1m."`
	SourceTime      Duration `toml:"source_time" doc:"How long one catalogue, or one of the other lists, may hold up the week's roster, from 1m to 6h. What it did not give by then is not waited for, and the round says that it was not read to its end. 0s takes 30m."`
	Revisits        int      `toml:"revisits" doc:"Rounds for which a host that no list names any more and that does not answer is still walked. 0 takes 8."`
	Recordings      string   `toml:"recordings" doc:"Private folder for the raw recordings, by week. Empty keeps none."`
	RecordingsWeeks int      `toml:"recordings_weeks" doc:"Weeks whose recordings are kept. 0 takes 13."`
	SealHour        string   `toml:"seal_hour" doc:"Hour of Sunday in UTC, such as 6, at which store serve walks what is left and seals the week's round, and does then and every six hours what store stamp and store witness do. Of several processes one does it; set it where the folder and the keys of the record are. Empty leaves all three to those verbs and their timers."`
	Hourly          bool     `toml:"hourly" doc:"store serve walks, at every full hour until the week's round is sealed, what is to be walked, with the hosts that declared themselves since; the first such hour of a week makes its roster. Replicas share the work."`
	Key             string   `toml:"key" doc:"Key (ed25519) that signs the requests of walkers, so that a machine that only walks holds no key of the record. store serve lists it in the directory of keys. Empty takes keys.identity."`
	Walkers         []string `toml:"walkers" doc:"Public keys of at most four walkers at other places (store key walker). Their files lie in the folder vantages beside twins."`
}

// DiscoveryConfig is one discovery API.
type DiscoveryConfig struct {
	Name string `toml:"name" doc:"What rounds call it: rows that it listed name it as their catalog. It is for ever."`
	URL  string `toml:"url" doc:"Address before /discovery/resources."`
}

const defaultRecordingsWeeks = 13

// The bounds of source_time: a catalogue of one page takes seconds, and a roster that is closed
// later than a quarter of a day after it was begun is missed by walks of that day.
const (
	leastSourceTime = time.Minute
	mostSourceTime  = 6 * time.Hour
)

// The names of the sources that are not configured by name.
const (
	sourceDeclared  = "declared"
	sourceList      = "keeper"
	sourceWellKnown = "well-known"
	sourceRevisits  = "revisits"
)

func (c *Config) checkCensus() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for name, n := range map[string]int{"cap": c.Census.Cap, "workers": c.Census.Workers, "shard": c.Census.Shard,
		"revisits": c.Census.Revisits, "recordings_weeks": c.Census.RecordingsWeeks} {
		if n < 0 {
			fail("census.%s is negative: 0 takes the usual", name)
		}
	}
	for name, d := range map[string]Duration{"spacing": c.Census.Spacing, "lease": c.Census.Lease} {
		if d < 0 {
			fail("census.%s is negative: 0s takes the usual", name)
		}
	}
	if d := time.Duration(c.Census.SourceTime); d != 0 && (d < leastSourceTime || d > mostSourceTime) {
		fail("census.source_time is %s: set it from %s to %s, or to 0s for %s", d, leastSourceTime, mostSourceTime,
			census.DefaultSourceTime)
	}
	if u, err := url.Parse(c.Census.Control); c.Census.Control != "" &&
		(err != nil || u.Scheme != "https" || u.Host == "") {
		fail("census.control must be an https URL of a door of yours")
	}
	if _, _, err := c.Census.sealHour(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Census.walkers(); err != nil {
		errs = append(errs, err)
	}
	if len(c.Census.Walkers) > 0 && (c.Twins == "" || c.Census.Control == "") {
		fail("census.walkers needs twins, beside which the folder of their files is, and census.control, by which a " +
			"walker shows that its own path is whole")
	}
	for i, a := range c.Arrivals {
		errs = append(errs, a.check(c, i))
	}
	names := map[string]bool{sourceDeclared: true, sourceList: true, sourceWellKnown: true, sourceRevisits: true}
	for i, d := range c.Discovery {
		u, err := url.Parse(d.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || strings.HasSuffix(d.URL, "/") {
			fail("discovery %d: url must be https://host/path without a slash at its end", i+1)
		}
		if d.Name == "" || len(d.Name) > 64 || names[d.Name] {
			fail("discovery %d: name %q is missing, longer than 64 or stands twice: give each a name of its own", i+1,
				d.Name)
		}
		names[d.Name] = true
	}
	return errors.Join(errs...)
}

// CensusOptions say what one run of the census does.
type CensusOptions struct {
	Week     string // "" is this one
	WalkOnly bool   // holds no key of the record and seals nothing
	Vantages bool   // says what walkers at other places handed over, and does nothing
	DryRun   bool   // says what would be walked, and does nothing
	// SealEmpty seals a round in which no host has a row.
	SealEmpty bool
	Hourly    bool // begins the round if nobody did, adds what declared itself, and walks; seals nothing
	Progress  func(done, due int64)
	Log       *slog.Logger
	// Reach is as in Options.
	Reach func(*fetch.Config)
	// Now is the clock that weeks are told by; nil is time.Now. A process that serves the ledger
	// goes by its own.
	Now func() time.Time
}

// Census takes part in the census of a week, through the process that serves the ledger where only
// one can have it.
func Census(ctx context.Context, c *Config, o CensusOptions) (report census.Report, err error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return report, err
	}
	var b bytes.Buffer
	ask := "POST /census?" + url.Values{"week": {o.Week}, "walk_only": {strconv.FormatBool(o.WalkOnly)},
		"hourly": {strconv.FormatBool(o.Hourly)}, "vantages": {strconv.FormatBool(o.Vantages)},
		"dry_run": {strconv.FormatBool(o.DryRun)}, "seal_empty": {strconv.FormatBool(o.SealEmpty)}}.Encode()
	if ok, err := askServer(ctx, spec, ask, nil, &b); err != nil {
		return report, err
	} else if ok {
		return report, json.Unmarshal(b.Bytes(), &report, json.RejectUnknownMembers(true))
	}
	db, err := OpenLedger(ctx, c)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return runCensus(ctx, c, db, o)
}

// serveCensus answers the control socket: it runs a census in this process, for as long as the
// asker waits.
func (s *Shop) serveCensus(w http.ResponseWriter, r *http.Request) {
	is := func(name string) bool { return r.URL.Query().Get(name) == "true" }
	answerControl(w, func(to io.Writer) error {
		report, err := runCensus(r.Context(), &s.Config, s.DB, CensusOptions{Week: r.URL.Query().Get("week"),
			WalkOnly: is("walk_only"), Hourly: is("hourly"), Vantages: is("vantages"), DryRun: is("dry_run"),
			SealEmpty: is("seal_empty"), Log: s.Log, Reach: s.reach, Now: s.now})
		if err != nil {
			return err
		}
		return json.MarshalWrite(to, report)
	})
}

// hourly walks, at every full hour, what is to be walked, with what declared itself since.
func (s *Shop) hourly(ctx context.Context) error {
	for {
		now := time.Now()
		select {
		case <-time.After(now.Truncate(time.Hour).Add(time.Hour).Sub(now)):
		case <-ctx.Done():
			return nil
		}
		report, err := runCensus(ctx, &s.Config, s.DB, CensusOptions{Hourly: true, Log: s.Log, Reach: s.reach,
			Now: s.now})
		switch {
		case err != nil && ctx.Err() == nil:
			s.Log.Error("hourly walk ended", "err", err)
		case err == nil:
			s.Log.Info("hourly walk", "week", report.Week, "outcome", report.Outcome, "added", report.Added, "walked",
				report.Walked)
		}
	}
}

// runCensus runs on a ledger.
func runCensus(ctx context.Context, c *Config, db ledger.DB, o CensusOptions) (report census.Report, err error) {
	cfg, folder, err := c.census(db, o)
	if err != nil {
		return report, err
	}
	if folder != nil {
		defer func() { err = errors.Join(err, folder.Close()) }()
	}
	if in, ok := cfg.Inflows.(roster.Inflows); ok {
		defer in.Close()
	}
	if o.Vantages {
		return census.TakeIn(ctx, cfg)
	}
	if o.DryRun {
		return census.DryRun(ctx, cfg)
	}
	if o.Hourly {
		return census.Hourly(ctx, cfg)
	}
	report, err = census.Run(ctx, cfg)
	if err != nil || cfg.Writer == nil {
		return report, err
	}
	err = CoverWhatChanged(ctx, c, cfg.Writer)
	if err == nil && folder != nil {
		weeks := c.Census.RecordingsWeeks
		if weeks == 0 {
			weeks = defaultRecordingsWeeks
		}
		err = folder.Keep(weeks, report.Week)
	}
	return report, err
}

// census is what a configuration makes of a census. The folder of recordings is nil where none are
// kept.
func (c *Config) census(db ledger.DB, o CensusOptions) (cfg census.Config, folder *census.Folder, err error) {
	key, err := c.walkerKey()
	if err != nil {
		return cfg, nil, err
	}
	cfg = census.Config{
		Week: o.Week, Owner: rand.Text(), Store: roster.New(db), Cap: c.Census.Cap, Workers: c.Census.Workers,
		Shard: c.Census.Shard, Lease: time.Duration(c.Census.Lease),
		SourceTime: time.Duration(c.Census.SourceTime), Progress: o.Progress, Log: o.Log, Now: o.Now,
		AskFirst: true, SealEmpty: o.SealEmpty,
	}
	if err := c.clients(&cfg, key, o.Reach); err != nil {
		return cfg, nil, err
	}
	if cfg.Nodes, err = c.accountNodes(); err != nil {
		return cfg, nil, err
	}
	cfg.Sources = c.sources(db)
	if c.Record != "" {
		ring, err := Ring(c)
		if err != nil {
			return cfg, nil, err
		}
		cfg.Record = func() (*record.Record, error) {
			if err := os.MkdirAll(c.Record, 0o755); err != nil {
				return nil, err
			}
			return record.Open(os.DirFS(c.Record), ring)
		}
	}
	if cfg.Vantages, err = c.vantages(key); err != nil {
		return cfg, nil, err
	}
	if !o.WalkOnly && !o.Hourly && !o.Vantages && !o.DryRun {
		if cfg.Writer, err = RecordWriter(c); err != nil {
			return cfg, nil, err
		}
		// Who seals counts what arrived at the addresses of the week.
		if len(c.arrivals()) > 0 {
			in, err := OpenInflows(c)
			if err != nil {
				return cfg, nil, err
			}
			cfg.Inflows = in
		}
	}
	if cfg.Publish, err = c.publisher(db, cfg.Writer); err != nil {
		return cfg, nil, err
	}
	if c.Census.Recordings != "" {
		if folder, err = census.OpenFolder(c.Census.Recordings, cfg.Owner); err != nil {
			return cfg, nil, err
		}
		cfg.Raw = folder
	}
	return cfg, folder, nil
}

// clients makes the clients of a census: for doors, catalogues, the control door and explorers.
func (c *Config) clients(cfg *census.Config, key *attest.Key, reach func(*fetch.Config)) (err error) {
	workers := c.Census.Workers
	if workers == 0 {
		workers = census.DefaultWorkers
	}
	client := func(change func(*fetch.Config)) (*fetch.Client, error) {
		f, err := c.fetchConfig(key)
		if err != nil {
			return nil, err
		}
		f.Concurrent, f.Spacing = workers+8, time.Duration(c.Census.Spacing)
		change(&f)
		if reach != nil {
			reach(&f)
		}
		return fetch.New(f)
	}
	if cfg.Client, err = client(func(f *fetch.Config) { f.OnePerAddress = true }); err != nil {
		return err
	}
	// A page of a catalogue is longer than a door's answer and takes its time.
	if cfg.Lists, err = client(func(f *fetch.Config) {
		f.MaxBytes, f.Timeout = exchange.MaxBody,
			30*time.Second
	}); err != nil {
		return err
	}
	if cfg.Control.URL = c.Census.Control; cfg.Control.URL != "" {
		// The control door is our own, and this client is handed no other URL.
		if cfg.Control.Client, err = client(func(f *fetch.Config) {
			f.OwnHosts, f.OwnAddresses = nil,
				nil
		}); err != nil {
			return err
		}
	}
	// An explorer answers shortly and at once, or is not waited for.
	explorers, err := client(func(f *fetch.Config) { f.Timeout = 10 * time.Second })
	if err != nil {
		return err
	}
	if h := c.Timestamps.headers(explorers); h.Any() {
		cfg.Headers = h
	}
	return nil
}

// publisher puts the closings of rosters on the feed and, where there is a writer, from there on
// the record.
func (c *Config) publisher(db ledger.DB, w *seal.Writer) (func(context.Context, record.ClosedRoster) (time.Time,
	error), error) {
	if c.Record == "" {
		return func(ctx context.Context, closed record.ClosedRoster) (at time.Time, err error) {
			err = db.Update(ctx, func(tx ledger.Tx) error {
				fresh, err := feed.Fresh(tx)
				if err == nil && fresh {
					// The record may have numbers that this ledger does not know of.
					err = errors.New("the ledger knows nothing of the record yet; hint: run store build, or the " +
						"census, once where the record is")
				}
				if err == nil {
					at, err = feed.Close(tx, closed)
				}
				return err
			})
			return at, err
		}, nil
	}
	ring, err := Ring(c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, closed record.ClosedRoster) (at time.Time, err error) {
		read := func(after int64) ([]record.Observation, error) { return c.feed(db, ring).Page(ctx, after) }
		// A ledger that is younger than the record learns first what stands there.
		have, err := feed.LastOf(c.Record)
		if err == nil {
			_, err = read(have)
		}
		if err == nil {
			err = db.Update(ctx, func(tx ledger.Tx) (err error) {
				at, err = feed.Close(tx, closed)
				return err
			})
		}
		if err == nil && w != nil {
			_, err = feed.Export(ctx, w, read)
		}
		return at, err
	}, nil
}

// walkerKey signs the requests of the census.
func (c *Config) walkerKey() (*attest.Key, error) {
	if c.Census.Key == "" {
		return IdentityKey(c)
	}
	key, err := attest.LoadKey(c.Census.Key)
	if err != nil {
		return nil, fmt.Errorf("census.key: %w", err)
	}
	return key, nil
}

// sources are where hosts are named, in the order of their weight.
func (c *Config) sources(db ledger.DB) []census.Source {
	out := []census.Source{census.Declared(sourceDeclared, declarations{db})}
	for _, d := range c.Discovery {
		out = append(out, census.Discovery(d.Name, d.URL))
	}
	if c.Census.List != "" {
		fsys, file := os.DirFS(filepath.Dir(c.Census.List)), filepath.Base(c.Census.List)
		out = append(out, census.List(sourceList, fsys, file), census.WellKnown(sourceWellKnown, fsys, file))
	}
	revisits := c.Census.Revisits
	if revisits == 0 {
		revisits = census.DefaultRevisits
	}
	return append(out, census.Revisits(sourceRevisits, revisits))
}

// declarations are those of the ledger.
type declarations struct{ db ledger.DB }

// Declared implements census.Declarations.
func (d declarations) Declared(ctx context.Context) (out []census.Declaration, err error) {
	err = d.db.View(ctx, func(tx ledger.Tx) error {
		all, err := feed.Declarations(tx)
		out = out[:0]
		for _, one := range all {
			out = append(out, census.Declaration{Declaration: one.Declaration, Methods: one.Methods})
		}
		return err
	})
	return out, err
}

// sealHour is the hour of Sunday at which rounds are sealed; ok is false where that is left to
// store census.
func (c CensusConfig) sealHour() (hour int, ok bool, err error) {
	if c.SealHour == "" {
		return 0, false, nil
	}
	if hour, err = strconv.Atoi(c.SealHour); err != nil || hour < 0 || hour > 23 {
		return 0, false, fmt.Errorf("census.seal_hour is %q: it is an hour of Sunday in UTC, 0 to 23", c.SealHour)
	}
	return hour, true, nil
}

// openWeekly has the week's round sealed on Sunday and the record's proofs made, where an hour is
// configured for it.
func (s *Shop) openWeekly(ctx context.Context) error {
	hour, ok, err := s.Config.Census.sealHour()
	if err != nil || !ok {
		return err
	}
	c := &s.Config
	if _, err := RecordWriter(c); err != nil {
		return fmt.Errorf("census.seal_hour: %w", err)
	}
	w := &roster.Weekly{DB: s.DB, Hour: hour, Log: s.Log,
		Seal: func(ctx context.Context, week string) (census.Report, error) {
			return runCensus(ctx, c, s.DB, CensusOptions{Week: week, Log: s.Log, Reach: s.reach, Now: s.now})
		}}
	o := Outside{Log: s.Log, Reach: s.reach} // what fails stands in its log
	if len(c.Timestamps.Calendars) > 0 {
		w.Proofs = append(w.Proofs, roster.Proof{Name: "stamp", Do: func(ctx context.Context) error {
			_, err := Stamp(ctx, c, o)
			return err
		}})
	}
	if len(c.Witnesses) > 0 {
		w.Proofs = append(w.Proofs, roster.Proof{Name: "witness", Do: func(ctx context.Context) error {
			_, err := Witness(ctx, c, o)
			return err
		}})
	}
	s.jobs = append(s.jobs, w.Jobs()...)
	return w.Put(ctx)
}
