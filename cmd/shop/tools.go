package shop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/generator"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/tree"
)

// LoadSpecimen reads the built-in specimen.
func LoadSpecimen() (*content.Site, error) { return content.Load(content.Sources{}) }

// BuildInput is what a build of the configured site depends on.
func BuildInput(c *Config) (generator.Input, error) {
	site, err := LoadSite(c)
	if err != nil {
		return generator.Input{}, err
	}
	key, err := IdentityKey(c)
	if err != nil {
		return generator.Input{}, err
	}
	ring, err := Ring(c)
	if err != nil {
		return generator.Input{}, err
	}
	if err := identityInForce(key, ring); err != nil {
		return generator.Input{}, err
	}
	in := generator.Input{
		Site: site, API: API(), Ring: ring, Key: key, OutDir: c.Public, TwinsDir: c.Twins, PublicPools: c.Stock == "" &&
			c.Content == "", MaxHostFiles: c.HostPages, Settings: Settings(),
	}
	for _, n := range c.Networks {
		in.Networks = append(in.Networks, n.ID)
	}
	if c.Twins != "" {
		in.Cache = filepath.Join(filepath.Dir(c.Twins), "build-record.json")
	}
	if c.Record != "" {
		in.Corpus = DirFS(c.Record)
		if err := generator.RecordIsNewer(os.DirFS(c.Record)); err != nil {
			return generator.Input{}, err // before the sources of the build are kept
		}
	}
	if in.Witnesses, err = c.witnesses(); err != nil {
		return generator.Input{}, err
	}
	if in.Corpus != nil {
		in.Bulk = &pages.Bulk{Name: site.Config.Keeper, Email: GitEmail(site)}
		if c.Specimen() || c.Keys.Git != "" {
			git, err := GitKey(c)
			if err != nil {
				return generator.Input{}, err
			}
			in.Bulk.Signer = attest.NewSSHSigner(git)
		}
	}
	if at := c.verifier(); at != "" {
		in.Verifier = os.DirFS(at)
	}
	return in, nil
}

// verifier is the folder of the verifier for browsers, "" for none: the configured one, or that of
// the release that the program is of.
func (c *Config) verifier() string {
	if c.Verifier != "" {
		return c.Verifier
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "" // who cannot say where it stands has nothing beside it
	}
	return verifierBeside(self)
}

// verifierBeside is the folder in which an archive of a release has the verifier, or in which it is
// installed: beside the program, or below share beside the program's folder.
func verifierBeside(program string) string {
	folder := filepath.Dir(program)
	for _, at := range []string{filepath.Join(folder, "verifier"), filepath.Join(folder, "..", "share", "store",
		"verifier")} {
		if st, err := os.Stat(filepath.Join(at, "verify.wasm")); err == nil && st.Mode().IsRegular() {
			return at
		}
	}
	return ""
}

// Backup writes a snapshot of the configured ledger. A bbolt file that is being served is read
// through its process; PostgreSQL, or a file that nobody holds, directly.
func Backup(ctx context.Context, c *Config, w io.Writer) (err error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return err
	}
	if ok, err := askServer(ctx, spec, "GET /backup", nil, w); ok || err != nil {
		return err
	}
	db, err := openExisting(ctx, c, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return backUp(ctx, db, w)
}

// backUp writes a snapshot of a ledger, and notes in the ledger when that was.
func backUp(ctx context.Context, db ledger.DB, w io.Writer) error {
	if err := ledger.Backup(ctx, db, w); err != nil {
		return err
	}
	// For the keeper's eyes: no backup fails for it.
	_ = db.Update(ctx, func(tx ledger.Tx) error { return ledger.SetJSON(tx, ledger.BackupKey(), tx.Now().UTC()) })
	return nil
}

type reopenIn struct {
	Network string `flag:"network" doc:"one network, such as eip155:8453; all of them when left out"`
	Wait    bool   `flag:"wait" doc:"wait until nothing that was sent before the restore can land any more"`
}

func (in *reopenIn) waits() bool { return in.Wait }

// reopen opens a restored and reconciled store for business where nothing that was sent before can
// land any more. restore.ErrNotYet says that some networks have to wait.
func (s *Shop) reopen(ctx context.Context, in reopenIn, dry bool) (reopened, error) {
	return restore.Reopen(ctx, s.DB, s.Rails, restore.Options{Network: in.Network, Dry: dry})
}

// reopened are the networks of a store that was restored, none of one that is open.
type reopened []restore.Reopened

// Plain is how they stand.
func (r reopened) Plain() []any {
	if len(r) == 0 {
		return []any{"The store is open on every network."}
	}
	return []any{[]restore.Reopened(r)}
}

// owed lists what is owed for money that no purchase credits.
func (s *Shop) owed(ctx context.Context, _ nothing) ([]till.Owed, error) {
	return till.ListOwed(ctx, s.DB)
}

// mustExist refuses a ledger that is not there: a mistaken path is an error and makes no file.
func mustExist(spec string) error {
	if file, ok := strings.CutPrefix(spec, "bolt:"); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no ledger %s: store serve makes it; if it stands elsewhere, say where by "+
				"ledger in the configuration", file)
		}
	}
	return nil
}

// openExisting opens the configured ledger for who has no use for an empty one.
func openExisting(ctx context.Context, c *Config, spec string) (ledger.DB, error) {
	if err := mustExist(spec); err != nil {
		return nil, err
	}
	return OpenLedger(ctx, c)
}

// Restore fills the configured, empty ledger from a verified backup and leaves it closed.
func Restore(ctx context.Context, c *Config, r io.Reader) (err error) {
	db, err := OpenLedger(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return ledger.Restore(ctx, db, r, ledger.Shut)
}

// Reconcile compares a restored ledger with the chains and with the high-water files of every
// process of the store: the configured one, where there is, and others. Lines that cannot be read
// are an error, unless they are to be skipped; then they are told in the log.
func Reconcile(ctx context.Context, c *Config, files []string, skip bool, log *slog.Logger) (_ []restore.Reconciled,
	err error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return nil, err
	}
	s, err := openBeside(ctx, c, spec, false, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if c.HighWater != "" && !slices.Contains(files, c.HighWater) {
		files = append([]string{c.HighWater}, files...)
	}
	var marks []till.HighMark
	var unreadable []error
	for _, file := range files {
		m, err := restore.ReadHighWater(file, s.Ring)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no high-water file %s: put its copy there first, or numbers and secrets "+
				"may be given twice; if it is lost, store keeper high-water rebuild makes what ledger and chains "+
				"still know", file)
		}
		if _, bad := errors.AsType[*restore.Unreadable](err); bad {
			unreadable = append(unreadable, err)
			log.Warn("high-water lines cannot be read", "err", err)
		} else if err != nil {
			return nil, err
		}
		marks = append(marks, m...)
	}
	if len(unreadable) > 0 && !skip {
		return nil, fmt.Errorf("%w\nwhat these lines held may be given twice: bring a whole copy, or go on without "+
			"them with -skip-unreadable", errors.Join(unreadable...))
	}
	recorded, err := observed(c, s.Ring)
	if err != nil {
		return nil, err
	}
	return restore.Reconcile(ctx, s.Till, marks, recorded)
}

type rebuildIn struct {
	What string `arg:"rebuild" form:"^rebuild$" doc:"what is to be done: rebuild"`
}

// rebuildHighWater makes the configured high-water file anew from ledger and chains.
func (s *Shop) rebuildHighWater(ctx context.Context, _ rebuildIn, dry bool) (restore.Rebuilt, error) {
	if s.Config.HighWater == "" {
		return restore.Rebuilt{}, errors.New("the configuration names no high_water file")
	}
	marks, out, err := restore.Marks(ctx, s.Till)
	out.File, out.DryRun = s.Config.HighWater, dry
	if err != nil || dry {
		return out, err
	}
	key, err := IdentityKey(&s.Config)
	if err != nil {
		return out, err
	}
	return out, restore.WriteHighWater(s.Config.HighWater, key, marks)
}

// observed is what the published record knows of things that happen once.
func observed(c *Config, ring attest.Ring) ([]record.Observation, error) {
	if c.Record == "" {
		return nil, nil
	}
	have, err := record.ReadObservations(os.DirFS(c.Record), ring)
	if err != nil {
		return nil, fmt.Errorf("reading the record: %w", err)
	}
	return have, nil
}

// GitKey loads the key that signs publication commits.
func GitKey(c *Config) (*attest.Key, error) {
	if c.Specimen() {
		return attest.SpecimenKeyFor(attest.PurposeGit), nil
	}
	if c.Keys.Git == "" {
		return nil, errors.New("keys.git is needed to publish")
	}
	return attest.LoadKey(c.Keys.Git)
}

// GitEmail is the address in publication commits: the keeper's where it is one, else a name on the
// store's host.
func GitEmail(site *content.Site) string {
	if mail, ok := strings.CutPrefix(site.Config.Contact, "mailto:"); ok {
		return mail
	}
	u, err := url.Parse(site.Config.BaseURL)
	if err != nil {
		return "store@localhost"
	}
	return "store@" + u.Hostname()
}

// Tree is the folder of the published tree: the configured one, or what its pointer names.
func Tree(c *Config) (string, error) {
	if _, err := os.Lstat(filepath.Join(c.Public, "current")); errors.Is(err, fs.ErrNotExist) {
		return c.Public, nil
	} else if err != nil {
		return "", err
	}
	return tree.Current(c.Public)
}

// Drilled is what restoring a backup would come to.
type Drilled struct {
	// Occupied says that the configured ledger's file is there: a restore refuses it.
	Occupied bool                 `json:"ledger_occupied"`
	Networks []restore.Reconciled `json:"networks"`
	Counters []DrilledCounter     `json:"counters"`
}

// DrilledCounter is the last number of a counter in the backup, and after the high-water files and
// the published record have raised it.
type DrilledCounter struct {
	Name   string `json:"name"`
	Backup int64  `json:"backup"`
	Then   int64  `json:"then"`
}

// Trial is a backup to be tried, with the high-water files beside it; Skip does without the chains.
type Trial struct {
	Backup    io.Reader
	HighWater []string
	Skip      bool
}

// Drill restores a backup for trial: into a ledger of its own in a folder for the time being, by
// the same steps, with the chains and high-water files of the configuration. The configured ledger
// is left alone, and nothing is left behind.
func Drill(ctx context.Context, c *Config, t Trial, log *slog.Logger) (d Drilled,
	err error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return d, err
	}
	beside := "" // where the system keeps what is for the time being
	if file, ok := strings.CutPrefix(spec, "bolt:"); ok {
		_, err := os.Stat(file)
		d.Occupied, beside = err == nil, filepath.Dir(file) // a container has no other place to write to
	}
	dir, err := os.MkdirTemp(beside, "store-drill-") // of its owner alone: a backup holds private answers
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	trial := *c
	trial.LedgerFile, trial.Ledger = "", "bolt:"+filepath.Join(dir, "ledger")
	if err := Restore(ctx, &trial, t.Backup); err != nil {
		return d, err
	}
	before, err := counters(ctx, &trial)
	if err != nil {
		return d, err
	}
	if d.Networks, err = Reconcile(ctx, &trial, t.HighWater, t.Skip, log); err != nil {
		return d, fmt.Errorf("comparing with the chains and high-water files: %w", err)
	}
	after, err := counters(ctx, &trial)
	for i, name := range drilledCounters {
		d.Counters = append(d.Counters, DrilledCounter{name, before[i], after[i]})
	}
	return d, err
}

// drilledCounters are those that a restore may raise.
var drilledCounters = [...]string{till.CounterPatron, goods.JarCounter}

func counters(ctx context.Context, c *Config) (n [len(drilledCounters)]int64, err error) {
	db, err := OpenLedger(ctx, c)
	if err != nil {
		return n, err
	}
	err = db.View(ctx, func(tx ledger.Tx) (err error) {
		for i, name := range drilledCounters {
			if n[i], err = ledger.Last(tx, name); err != nil {
				return err
			}
		}
		return nil
	})
	return n, errors.Join(err, db.Close())
}
