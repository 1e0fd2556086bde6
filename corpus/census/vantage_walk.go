package census

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// VantageReport says what came of a walker at another place.
type VantageReport struct {
	ID      string `json:"id"`               // of its key
	Walks   int64  `json:"walks"`            // that it hands over
	Counted int64  `json:"counted"`          // in rows of the round
	Control int64  `json:"control"`          // walks to the control door
	Problem string `json:"problem,omitzero"` // why nothing of it counts
}

// WalkElsewhere walks a roster as a walker at another place and writes what it saw, signed by its
// key. Nothing of a walk that was cut off is written: it is begun anew. cfg needs no store, no
// record and no sources; its control door is the one of the commission.
func WalkElsewhere(ctx context.Context, cfg Config, roster *VantageRoster, key *attest.Key, out io.Writer) (
	report VantageReport, err error) {
	cfg.Week, cfg.Owner, cfg.Writer, cfg.Raw = roster.Week, rand.Text(), nil, nil
	spill, err := os.CreateTemp("", "seen-")
	if err != nil {
		return report, fmt.Errorf("walking elsewhere: %w", err)
	}
	defer func() { err = errors.Join(err, spill.Close(), os.Remove(spill.Name())) }()
	s := &elsewhere{roster: roster, spill: spill}
	cfg.Store = s
	r, err := newRun(cfg)
	if err != nil {
		return report, err
	}
	r.elsewhere = true
	switch {
	case string(roster.Walker) != string(key.Public()):
		return report, fmt.Errorf("walking elsewhere: the roster is for another walker's key than %s", key.KID())
	case roster.Battery != probe.Current():
		return report, fmt.Errorf("walking elsewhere: the roster is judged by battery %.40q, this program judges by "+
			"%s: run the version that the store runs", roster.Battery, probe.Current())
	case r.Control.URL != roster.Control || r.Control.URL == "":
		return report, fmt.Errorf("walking elsewhere: the control door is %q, and not that of the roster",
			r.Control.URL)
	case r.over():
		return report, fmt.Errorf("walking elsewhere: the week %s is over", r.Week)
	}
	if err := r.walk(ctx); err != nil {
		return report, err
	}
	report = VantageReport{ID: key.KID(), Walks: int64(len(s.seen)), Control: int64(len(s.control))}
	return report, s.write(key, out)
}

// elsewhere is the store of one process that walks one roster and seals nothing: of the methods of
// Store it has those that walking takes.
type elsewhere struct {
	Store
	roster *VantageRoster

	mu      sync.Mutex // guards what follows
	given   bool       // the one shard
	done    int
	control []ControlWalk
	seen    []seenAt
	spill   *os.File // what was judged by, one behind the other
	at      int64
}

// seenAt is a walk whose judgement lies in the spill.
type seenAt struct {
	host, verdict string
	at, bytes     int64
}

// Week implements Store.
func (s *elsewhere) Week(context.Context, string) (Week, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Week{Week: s.roster.Week, Phase: PhaseOpen, Due: s.roster.Hosts, Done: int64(s.done)}, nil
}

// TakeShard implements Store: the whole roster is one.
func (s *elsewhere) TakeShard(_ context.Context, week, owner string, _ time.Duration) (Shard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done == len(s.roster.entries):
		return Shard{}, ErrDone
	case s.given:
		return Shard{}, ErrHeld
	}
	s.given = true
	return Shard{Week: week, Job: "elsewhere", Owner: owner, Todo: s.roster.entries}, nil
}

// Release implements Store.
func (s *elsewhere) Release(context.Context, Lease) error { return nil }

// Commit implements Store: it keeps what has a verdict and may be handed over.
func (s *elsewhere) Commit(_ context.Context, _ Shard, c Commit, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range c.Control {
		if len(w.Judgement) > 0 && len(w.Judgement) <= maxSeen {
			s.control = append(s.control, w)
		}
	}
	s.done += len(c.Results)
	for _, r := range c.Results {
		if r.Row.Verdict == record.VerdictNotProbed || r.Evidence == nil || len(r.Evidence) > maxSeen {
			continue
		}
		if _, err := s.spill.Write(r.Evidence); err != nil {
			return fmt.Errorf("keeping what was seen of %s: %w", r.Row.Host, err)
		}
		s.seen = append(s.seen, seenAt{r.Row.Host, r.Row.Verdict, s.at, int64(len(r.Evidence))})
		s.at += int64(len(r.Evidence))
	}
	return nil
}

// lines yields what is handed over, in its order.
func (s *elsewhere) lines(yield func(seenLine) error) error {
	for _, c := range s.control {
		if err := yield(seenLine{Judgement: c.Judgement}); err != nil {
			return err
		}
	}
	slices.SortFunc(s.seen, func(a, b seenAt) int { return cmp.Compare(a.host, b.host) })
	for _, w := range s.seen {
		l := seenLine{Host: w.host, Verdict: w.verdict, Judgement: make([]byte, w.bytes)}
		if _, err := s.spill.ReadAt(l.Judgement, w.at); err != nil {
			return err
		}
		if err := yield(l); err != nil {
			return err
		}
	}
	return nil
}

// write signs what was seen and writes it.
func (s *elsewhere) write(key *attest.Key, out io.Writer) error {
	said := statement{Format: VantageFormat, Commission: s.roster.line, Walks: int64(len(s.seen)), KID: key.KID()}
	sum := seenHash{sha256.New()}
	err := s.lines(func(l seenLine) error {
		if sum.add(l); l.Host == "" {
			said.Controls++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing what was seen: %w", err)
	}
	said.Seen = sum.sum()
	payload, err := said.payload()
	if err != nil {
		return fmt.Errorf("writing what was seen: %w", err)
	}
	said.Signature = key.Sign(payload)
	line, err := attest.Canonical(said)
	if err != nil {
		return fmt.Errorf("writing what was seen: %w", err)
	}
	b := bufio.NewWriter(out)
	for _, head := range [][]byte{s.roster.raw, line} {
		_, _ = b.Write(append(head, '\n')) // Flush tells
	}
	err = s.lines(func(l seenLine) error {
		line, err := attest.Canonical(l)
		if err == nil {
			_, err = b.Write(append(line, '\n'))
		}
		return err
	})
	if err = errors.Join(err, b.Flush()); err != nil {
		return fmt.Errorf("writing what was seen: %w", err)
	}
	return nil
}
