package shop

import (
	"agentstore/corpus"
	"agentstore/corpus/attest"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"agentstore/content"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/till"
	"agentstore/generator"
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
		Site: site, API: API(), Ring: ring, Key: key, OutDir: c.Public, TwinsDir: c.Twins, PublicPools: c.Stock == "" && c.Content == "",
		MaxHostFiles: c.HostPages, PrivateSite: c.Instruments.private(),
	}
	for _, n := range c.Networks {
		in.Networks = append(in.Networks, n.ID)
	}
	if c.Twins != "" {
		in.Record = filepath.Join(filepath.Dir(c.Twins), "build-record.json")
	}
	if c.Record != "" {
		in.Corpus = DirFS(c.Record)
	}
	if in.Corpus != nil {
		in.Bulk = &generator.Bulk{Name: site.Config.Keeper, Email: GitEmail(site)}
		if c.Specimen() || c.Keys.Git != "" {
			git, err := GitKey(c)
			if err != nil {
				return generator.Input{}, err
			}
			in.Bulk.Signer = attest.NewGitSigner(git)
		}
	}
	if c.Verifier != "" {
		in.Verifier = os.DirFS(c.Verifier)
	}
	return in, nil
}

// Backup writes a snapshot of the configured ledger. A bbolt file that is being served is read through its process;
// PostgreSQL, or a file that nobody holds, directly.
func Backup(ctx context.Context, c *Config, w io.Writer) (err error) {
	spec, err := ledgerSpec(c)
	if err != nil {
		return err
	}
	if ok, err := askServer(ctx, spec, http.MethodGet, "/backup", w); ok || err != nil {
		return err
	}
	db, err := openExisting(ctx, c, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return ledger.Backup(ctx, db, w)
}

// Reopen opens a restored and reconciled store for business, in its serving process where there is one. With dry it
// says whether that would work.
func Reopen(ctx context.Context, c *Config, dry bool) (err error) {
	spec, err := ledgerSpec(c)
	if err != nil {
		return err
	}
	ask := "/reopen"
	if dry {
		ask += "?dry"
	}
	if ok, err := askServer(ctx, spec, http.MethodPost, ask, io.Discard); ok || err != nil {
		return err
	}
	db, err := openExisting(ctx, c, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if dry {
		return till.Reopenable(ctx, db)
	}
	return till.Reopen(ctx, db)
}

// openExisting opens the configured ledger for who has no use for an empty one: a mistaken path is an error and makes no file.
func openExisting(ctx context.Context, c *Config, spec string) (ledger.DB, error) {
	if file, ok := strings.CutPrefix(spec, "bolt:"); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no ledger %s", file)
		}
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
	return ledger.Restore(ctx, db, r, till.Shut)
}

// Reconcile compares a restored ledger with the chains and the high-water file.
func Reconcile(ctx context.Context, c *Config, log *slog.Logger) (_ []till.Reconciled, err error) {
	quiet := *c
	quiet.Public, quiet.HighWater, quiet.Record = "", "", ""
	s, err := Open(ctx, &quiet, Options{Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var marks []till.HighMark
	if c.HighWater != "" {
		marks, err = till.ReadHighWater(c.HighWater, s.Ring)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no high-water file %s: put its copy there first, or numbers and secrets may be given twice", c.HighWater)
		}
	}
	recorded, err := observed(c, s.Ring)
	if err != nil {
		return nil, err
	}
	return s.Till.Reconcile(ctx, marks, recorded)
}

// observed is what the published record knows of things that happen once.
func observed(c *Config, ring attest.Ring) ([]corpus.Observation, error) {
	if c.Record == "" {
		return nil, nil
	}
	have, err := corpus.ReadObservations(os.DirFS(ObservationsDir(c)), ring)
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

// GitEmail is the address in publication commits: the keeper's where it is one, else a name on the store's host.
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
	return generator.Current(c.Public)
}
