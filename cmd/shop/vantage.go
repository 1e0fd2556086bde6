package shop

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
)

// walkers are the public keys of the walkers at other places.
func (c *CensusConfig) walkers() (out []ed25519.PublicKey, err error) {
	for _, s := range c.Walkers {
		k, err := hex.DecodeString(s)
		if err != nil || len(k) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("census.walkers: %.80q is no public key of 32 bytes in hex: take what store key "+
				"walker prints where the walker stands", s)
		}
		out = append(out, k)
	}
	return out, nil
}

// vantages are the walkers at other places; nil for none. own signs the requests of the store's own
// walkers.
func (c *Config) vantages(own *attest.Key) (v *census.Vantages, err error) {
	if len(c.Census.Walkers) == 0 {
		return nil, nil
	}
	v = &census.Vantages{Dir: filepath.Join(filepath.Dir(c.Twins), "vantages")}
	if v.Walkers, err = c.Census.walkers(); err != nil {
		return nil, err
	}
	for _, k := range v.Walkers {
		if own.Public().Equal(k) {
			return nil, fmt.Errorf("census.walkers: %x is the key of this place: a walker at another place has one of "+
				"its own, which store key walker makes there", k)
		}
	}
	if v.Origin, err = RecordOrigin(c); err != nil {
		return nil, err
	}
	if v.Ring, err = Ring(c); err != nil {
		return nil, err
	}
	// A machine that only walks holds no identity, and commissions nobody.
	if v.Identity, err = IdentityKey(c); errors.Is(err, fs.ErrNotExist) {
		v.Identity, err = nil, nil
	}
	return v, err
}

// Elsewhere walks the roster in a file as a walker at another place, by its key census.key, and
// writes what it saw to another file: whole, or not at all.
func Elsewhere(ctx context.Context, c *Config, roster, out string, o CensusOptions) (report census.VantageReport,
	err error) {
	if c.Census.Key == "" {
		return report, errors.New("a walker at another place signs by a key of its own: make it by store key walker, " +
			"and name it as census.key")
	}
	key, err := c.walkerKey()
	if err != nil {
		return report, err
	}
	ring, err := Ring(c)
	if err != nil {
		return report, err
	}
	in, err := os.Open(roster)
	if err != nil {
		return report, err
	}
	handed, err := census.ReadVantageRoster(in, ring)
	if err = errors.Join(err, in.Close()); err != nil {
		return report, err
	}
	here := *c
	here.Census.Control = handed.Control
	cfg := census.Config{Workers: c.Census.Workers, Progress: o.Progress, Log: o.Log, Now: o.Now, AskFirst: true}
	if err := here.clients(&cfg, key, o.Reach); err != nil {
		return report, err
	}
	if cfg.Nodes, err = c.accountNodes(); err != nil {
		return report, err
	}
	unfinished := out + ".new"
	f, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return report, err
	}
	report, err = census.WalkElsewhere(ctx, cfg, handed, key, f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return report, errors.Join(err, os.Remove(unfinished))
	}
	return report, os.Rename(unfinished, out)
}

// SeenFile is where what was seen of a roster is written if nobody says otherwise.
func SeenFile(roster string) string { return strings.TrimSuffix(roster, ".roster") + ".seen" }
