package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots/calendar"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/witness"
)

// TimestampsConfig says who proves when a round existed.
type TimestampsConfig struct {
	Calendars []string `toml:"calendars" doc:"OpenTimestamps calendars or pools that each round's digest is handed in at, and each that a buyer of bitcoin_anchor brings: two or more. Empty sells no bitcoin_anchor."`
	Upgrades  []string `toml:"upgrades" doc:"Calendars that are asked for the finished proof, as their addresses stand in pending ones. Only these and calendars are ever asked. Empty takes the public calendars."`
	Headers   string   `toml:"headers" doc:"File of Bitcoin block headers, a height and 160 hexadecimal digits a line, such as your own node writes, the newest within the hour: proofs are checked by them, and the order of a census is drawn by them. Empty has none."`
	Explorers []string `toml:"explorers" doc:"Addresses of Esplora APIs that are asked for headers which the file does not have, and for the newest height. Two must agree on each."`
}

func (t TimestampsConfig) check() error {
	var errs []error
	for name, list := range map[string][]string{"calendars": t.Calendars, "upgrades": t.Upgrades,
		"explorers": t.Explorers} {
		for _, raw := range list {
			if u, err := url.Parse(raw); err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
				strings.HasSuffix(raw, "/") {
				errs = append(errs, fmt.Errorf("timestamps.%s: %q is not https://host without a slash at its end", name,
					raw))
			}
		}
	}
	if len(t.Calendars) == 1 {
		errs = append(errs, errors.New("timestamps.calendars: one calendar alone may vanish with its proofs: name "+
			"two or more"))
	}
	if len(t.Explorers) == 1 {
		errs = append(errs, errors.New("timestamps.explorers: one explorer alone is taken at its word: name two or "+
			"more"))
	}
	return errors.Join(errs...)
}

// headers tells of Bitcoin's blocks.
func (t TimestampsConfig) headers(client *fetch.Client) calendar.Headers {
	return calendar.Headers{File: t.Headers, Explorers: t.Explorers, Client: client}
}

// WitnessConfig is one witness of the record's log.
type WitnessConfig struct {
	URL    string `toml:"url" doc:"Its submission prefix: the address before /add-checkpoint, without a slash at its end."`
	Key    string `toml:"key" doc:"Its verifier key, name+id+base64 (c2sp.org/tlog-cosignature; Ed25519 or ML-DSA-44)."`
	Mirror bool   `toml:"mirror" doc:"It takes the leaves too (c2sp.org/tlog-mirror)."`
}

func (c *Config) checkWitnesses() error {
	var errs []error
	keys := map[string]bool{}
	for i, w := range c.Witnesses {
		u, err := url.Parse(w.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || strings.HasSuffix(w.URL, "/") {
			errs = append(errs, fmt.Errorf("witness %d: url must be https://host/prefix without a slash at its end",
				i+1))
		}
		if _, err := tlog.ParseWitness(w.Key); err != nil {
			errs = append(errs, fmt.Errorf("witness %d: %w", i+1, err))
		} else if keys[w.Key] {
			errs = append(errs, fmt.Errorf("witness %d: the key is that of another", i+1))
		}
		keys[w.Key] = true
	}
	return errors.Join(errs...)
}

// witnesses are those of the configuration, by their keys.
func (c *Config) witnesses() (out []tlog.Witness, err error) {
	for _, w := range c.Witnesses {
		known, err := tlog.ParseWitness(w.Key)
		if err != nil {
			return nil, err
		}
		out = append(out, known)
	}
	return out, nil
}

// Outside is how a verb that asks others does it.
type Outside struct {
	Log *slog.Logger
	// Reach changes how they are reached, for tests and the devnet; nil changes nothing.
	Reach func(*fetch.Config)
	// Pause is that of witness.Asking.
	Pause time.Duration
}

// client reaches witnesses and calendars.
func (o Outside) client(c *Config) (*fetch.Client, error) {
	key, err := IdentityKey(c)
	if err != nil {
		return nil, err
	}
	cfg, err := c.fetchConfig(key)
	if err != nil {
		return nil, err
	}
	cfg.Allow = nil       // for the instruments alone
	cfg.Unrecorded = true // what a mirror is given is large
	if o.Reach != nil {
		o.Reach(&cfg)
	}
	return fetch.New(cfg)
}

// Stamp has the configured calendars prove the record's rounds and anchors, and covers it with what
// is new (witness.Stamp).
func Stamp(ctx context.Context, c *Config, o Outside) (witness.Stamped, error) {
	if len(c.Timestamps.Calendars) == 0 {
		return witness.Stamped{}, errors.New("no calendar is configured: name two or more as timestamps.calendars")
	}
	s := witness.Stamping{Log: o.Log}
	client, err := o.client(c)
	if err == nil {
		s.Headers = c.Timestamps.headers(client)
		s.Calendars, s.Asked, err = calendar.All(client, c.Timestamps.Calendars, c.Timestamps.Upgrades)
	}
	if err == nil {
		s.Writer, err = RecordWriter(c)
	}
	if err != nil {
		return witness.Stamped{}, err
	}
	out, err := witness.Stamp(ctx, s)
	if err == nil && out.Changed() {
		err = CoverRecord(ctx, c, s.Writer)
	}
	return out, err
}

// Witness shows the log's head to every configured witness, and covers the record with what they
// signed (witness.Cosign).
func Witness(ctx context.Context, c *Config, o Outside) (witness.Witnessed, error) {
	if len(c.Witnesses) == 0 {
		return witness.Witnessed{}, errors.New("no witness is configured: name them as [[witness]] with url and key")
	}
	return c.cosign(ctx, c.Witnesses, o)
}

// Mirrors are the configured mirrors with the addresses that are named.
func (c *Config) Mirrors(urls []string) (out []WitnessConfig, err error) {
	for _, address := range urls {
		i := slices.IndexFunc(c.Witnesses, func(w WitnessConfig) bool { return w.URL == address && w.Mirror })
		if i < 0 {
			return nil, fmt.Errorf("%q is no mirror of the configuration: name it as [[witness]] with url, key and "+
				"mirror = true, so that its word can be checked", address)
		}
		out = append(out, c.Witnesses[i])
	}
	return out, nil
}

// Mirror gives mirrors the record's log, and covers the record with what they signed.
func Mirror(ctx context.Context, c *Config, mirrors []WitnessConfig, o Outside) (witness.Witnessed, error) {
	return c.cosign(ctx, mirrors, o)
}

func (c *Config) cosign(ctx context.Context, witnesses []WitnessConfig, o Outside) (witness.Witnessed, error) {
	w, err := RecordWriter(c)
	if err != nil {
		return witness.Witnessed{}, err
	}
	client, err := o.client(c)
	if err != nil {
		return witness.Witnessed{}, err
	}
	var all []*witness.Remote
	for _, cfg := range witnesses {
		r, err := witness.New(client, cfg.URL, cfg.Key)
		if err != nil {
			return witness.Witnessed{}, err
		}
		r.Mirror = cfg.Mirror
		all = append(all, r)
	}
	out, err := witness.Cosign(ctx, w, all, witness.Asking{Log: o.Log, Pause: o.Pause})
	if err == nil && out.Changed() {
		err = CoverRecord(ctx, c, w)
	}
	return out, err
}
