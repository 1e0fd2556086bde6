// Package archive keeps the signed record open for a server. A server asks it by host, by address
// and by digest; each request takes one State, which does not change, and the archive replaces it
// as a whole when the record grows: new observations at once, a new round when its index is in
// force. What it answers comes from the index (see hostindex.Index) and from the feed of
// observations, which is held in memory; rounds are never held.
//
//	a, err := archive.Open(ctx, archive.Config{Record: "corpus", Index: "var/view", Ring: ring})
//	go a.Run(ctx)
//	if s := a.Now(); s != nil { … } // nil while there is no round
package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
)

// Config says where a record is.
type Config struct {
	Record string // the record's folder
	Index  string // the folder of its index
	Ring   attest.Ring
	Log    *slog.Logger  // nil: nothing is logged
	Every  time.Duration // how often Run looks; 0 is 5 s
}

// Archive holds the state of a record that is in force. It may be used by many goroutines at once.
type Archive struct {
	cfg     Config
	current atomic.Pointer[State]
	lists   catalogues

	mu   sync.Mutex // guards looking
	seen string     // what the state in force was read from
}

// Open opens a record, after building its index where there is none or an older one. An index that
// cannot be built stops it only if there is no older one.
func Open(ctx context.Context, cfg Config) (*Archive, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Every = cmp.Or(cfg.Every, 5*time.Second)
	a := &Archive{cfg: cfg}
	record, err := a.open()
	if err != nil {
		return nil, err
	}
	if len(record.Rounds()) > 0 {
		if err := hostindex.Build(ctx, record, cfg.Index); err != nil {
			if _, older := hostindex.Open(cfg.Index); older != nil {
				return nil, err
			}
			cfg.Log.Error("index of the record not built, the older one stays", "err", err)
		}
	}
	return a, a.Refresh()
}

// Now is the state in force: nil while the record has no round, and where there is no archive.
func (a *Archive) Now() *State {
	if a == nil {
		return nil
	}
	return a.current.Load()
}

// Run follows the record until ctx ends.
func (a *Archive) Run(ctx context.Context) error {
	tick := time.NewTicker(a.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := a.Refresh(); err != nil {
			a.cfg.Log.Error("the record cannot be followed, what was held of it stays", "err", err)
		}
		if _, err := a.Catalogue(ctx, 0); err != nil && ctx.Err() == nil {
			a.cfg.Log.Error("the newest round cannot be listed, the list of the one before stays", "err", err)
		}
	}
}

// Refresh looks whether the record or its index moved and, if so, puts the new state in force. On
// an error the old one stays.
func (a *Archive) Refresh() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	mark, err := a.mark()
	if err != nil || mark == a.seen {
		return err
	}
	s, err := a.read()
	if err != nil {
		return err
	}
	if s != nil {
		a.current.Store(s)
	}
	a.seen = mark
	return nil
}

// mark changes whenever the log or the index in force does.
func (a *Archive) mark() (string, error) {
	h := sha256.New()
	for _, name := range []string{filepath.Join(a.cfg.Record, "log", "checkpoint"),
		filepath.Join(a.cfg.Index, "current")} {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("following the record: %w", err)
		}
		fmt.Fprintf(h, "%d %s", len(b), b)
	}
	return string(h.Sum(nil)), nil
}

// open opens the record if it may be answered from.
func (a *Archive) open() (*record.Record, error) {
	opened, err := record.Open(os.DirFS(a.cfg.Record), a.cfg.Ring)
	if err != nil {
		return nil, derive.Mend(fmt.Errorf("opening the record: %w", err))
	}
	return opened, nil
}

// read makes a state of what is on disk, nil for a record without rounds or whose index is not
// built yet.
func (a *Archive) read() (*State, error) {
	opened, err := a.open()
	if err != nil {
		return nil, err
	}
	rounds := opened.Rounds()
	if len(rounds) == 0 {
		return nil, nil
	}
	x, err := hostindex.Open(a.cfg.Index)
	if errors.Is(err, hostindex.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stale, err := x.Check(opened)
	if err != nil {
		return nil, err
	}
	if stale {
		a.cfg.Log.Warn("the index of the record is older than its newest round; build it", "index", x.Head().Sequence(),
			"rounds", len(rounds))
	}
	feed, err := a.feed(opened)
	if err != nil {
		return nil, derive.Mend(fmt.Errorf("reading observations: %w", err))
	}
	return newState(opened, x, rounds[:x.Head().Sequence()], feed), nil
}

// feed reads the observations: all of them at first, and then those behind the ones that are held,
// since files of the record never change.
func (a *Archive) feed(rec *record.Record) ([]record.Observation, error) {
	held := a.Now()
	if held == nil {
		return rec.Observations()
	}
	feed := slices.Clip(held.Feed)
	for {
		want := record.Observation{Number: int64(len(feed) + 1)}
		o, err := record.ReadObservation(os.DirFS(a.cfg.Record), want.Number, a.cfg.Ring)
		if errors.Is(err, fs.ErrNotExist) {
			return feed, nil
		}
		if err != nil {
			return nil, err
		}
		if o.Withdrawn != nil {
			feed = record.Forget(feed, o.Withdrawn.SHA256)
		}
		feed = append(feed, o)
	}
}
