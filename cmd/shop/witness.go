package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/witness"
)

// WitnessConfig is one witness of the record's log.
type WitnessConfig struct {
	URL string `toml:"url" doc:"Its submission prefix: the address before /add-checkpoint, without a slash at its end."`
	Key string `toml:"key" doc:"Its verifier key, name+id+base64, as c2sp.org/tlog-cosignature has it (Ed25519 or ML-DSA-44)."`
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
	// Pause is the wait before a second try, doubled before the third; 0 takes two seconds.
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
	cfg.Allow = nil // for the instruments alone
	if o.Reach != nil {
		o.Reach(&cfg)
	}
	return fetch.New(cfg)
}

// thrice tries until it works, waiting in between.
func (o Outside) thrice(ctx context.Context, try func() error) error {
	wait := o.Pause
	if wait == 0 {
		wait = 2 * time.Second
	}
	for n := 1; ; n++ {
		err := try()
		if err == nil || n == 3 || errors.Is(err, witness.ErrSplit) {
			return err
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(ctx.Err(), err)
		}
		wait *= 2
	}
}

// Witnessed says what the witnesses answered.
type Witnessed struct {
	Origin string          `json:"origin"`
	Size   int64           `json:"size"` // of the log's head, which they were shown
	Root   string          `json:"root"`
	Signed int             `json:"signed"` // witnesses whose cosignature of this head is kept
	By     []WitnessAnswer `json:"witnesses"`
}

// WitnessAnswer is what became of one witness.
type WitnessAnswer struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	At      string `json:"at,omitzero"` // when it says it signed
	Held    bool   `json:"held"`        // its cosignature of this head was kept before
	Problem string `json:"problem,omitzero"`
	Split   bool   `json:"split_view,omitzero"` // it has seen another history: look at this at once
}

// Witness shows the log's head to every configured witness, keeps the cosignatures that verify, and
// covers the record.
func Witness(ctx context.Context, c *Config, o Outside) (Witnessed, error) {
	if len(c.Witnesses) == 0 {
		return Witnessed{}, errors.New("no witness is configured: name them as [[witness]] with url and key")
	}
	w, err := RecordWriter(c)
	if err != nil {
		return Witnessed{}, err
	}
	client, err := o.client(c)
	if err != nil {
		return Witnessed{}, err
	}
	if _, err := w.CatchUp(ctx); err != nil {
		return Witnessed{}, err
	}
	log, err := tlog.Open(os.DirFS(c.Record), w.Ring)
	if err != nil {
		return Witnessed{}, err
	}
	head := log.Head()
	if head.Size == 0 {
		return Witnessed{}, errors.New("the record's log is empty: there is nothing to cosign")
	}
	out := Witnessed{Origin: head.Origin, Size: head.Size, Root: head.Root.String(), By: []WitnessAnswer{}}
	added := 0
	for _, cfg := range c.Witnesses {
		r, err := witness.New(client, cfg.URL, cfg.Key)
		if err != nil {
			return out, err
		}
		a := WitnessAnswer{Name: r.Name, URL: cfg.URL}
		fresh, err := cosign(ctx, w, log, r, o)
		switch {
		case err != nil:
			a.Problem, a.Split = err.Error(), errors.Is(err, witness.ErrSplit)
			o.Log.Error("not cosigned", "witness", r.Name, "split_view", a.Split, "err", err)
		case fresh == nil:
			a.Held = true
			out.Signed++
		default:
			a.At = fresh.At.Format(time.RFC3339)
			out.Signed, added = out.Signed+1, added+1
		}
		out.By = append(out.By, a)
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if added > 0 {
		return out, CoverRecord(ctx, c, w)
	}
	return out, nil
}

// cosign asks one witness and keeps what it signed; nil where that was kept before.
func cosign(ctx context.Context, w *seal.Writer, log *tlog.Log, r *witness.Remote,
	o Outside) (fresh *tlog.Cosignature, err error) {
	err = o.thrice(ctx, func() error {
		lines, err := r.Ask(ctx, log, 0)
		if err != nil {
			return err
		}
		signed, err := tlog.Cosignatures(log.Head(), lines, []tlog.Witness{r.Witness})
		if err == nil && len(signed) == 0 {
			err = errors.New("it answered without a signature of its own")
		}
		if err != nil {
			return fmt.Errorf("asking witness %s: %w", r.Name, err)
		}
		added, err := w.Cosign(ctx, lines, []tlog.Witness{r.Witness})
		if err == nil && len(added) > 0 {
			fresh = &added[0]
		}
		return err
	})
	return fresh, err
}
