package shop

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
	"store.example/agentstore/dynamic/schedule"
)

// measureEvery is how often nodes, ledger and queues are measured.
const measureEvery = 15 * time.Second

// measure measures until ctx ends what no request measures: nodes, ledger, queues, and what waits
// for the keeper.
func (s *Shop) measure(m *dynamic.Metrics) func(context.Context) error {
	version, revision := Built()
	m.Build(version, revision, runtime.Version())
	return func(ctx context.Context) error {
		return schedule.Every(ctx, measureEvery, func(ctx context.Context) { s.measureOnce(ctx, m) })
	}
}

func (s *Shop) measureOnce(ctx context.Context, m *dynamic.Metrics) {
	ctx, cancel := context.WithTimeout(ctx, measureEvery)
	defer cancel()
	for _, r := range s.Rails {
		begun := time.Now()
		head, err := r.Head(ctx)
		m.Node(r.Info().Network, err == nil, time.Since(begun), max(0, time.Since(head.Time)))
	}
	s.measureLedger(ctx, m)
	if today, err := s.Keeper.Today(ctx); err == nil {
		for _, w := range today.Waiting {
			if w.Error == "" {
				m.Waiting(w.Name, w.Count, w.Late)
			}
		}
	}
}

// measureLedger measures what the ledger says: its queues, and how far the week's round is.
func (s *Shop) measureLedger(ctx context.Context, m *dynamic.Metrics) {
	begun := time.Now()
	type queue struct {
		length int
		oldest uint64
	}
	var queues map[string]queue
	var now time.Time
	err := s.DB.View(ctx, func(tx ledger.Tx) error {
		queues, now = map[string]queue{}, tx.Now()
		for e, err := range tx.Scan(ledger.DueAll()) {
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			q := queues[parts[1]]
			if q.length++; q.length == 1 { // they lie in the order of their times
				if q.oldest, err = ledger.ParseNumber(parts[2]); err != nil {
					return err
				}
			}
			queues[parts[1]] = q
		}
		return nil
	})
	if err != nil {
		return // the ledger being away is told by /readyz
	}
	m.Ledger(time.Since(begun))
	all := make(map[string]dynamic.Backlog)
	for job, q := range queues {
		all[job] = dynamic.Backlog{Length: q.length, Late: max(0, now.Sub(time.Unix(int64(q.oldest), 0)))}
	}
	m.Queues(all)
	if w, err := roster.New(s.DB).Week(ctx, record.ISOWeek(now)); err == nil {
		m.Census(w.Due, w.Done, w.Sequence != 0)
	}
}

// ledgerReady says why the ledger cannot be read.
func (s *Shop) ledgerReady(ctx context.Context) error {
	return s.DB.View(ctx, func(ledger.Tx) error { return nil })
}

// sellsSomewhere says that no network takes payments.
func (s *Shop) sellsSomewhere(ctx context.Context) error {
	shut, _, err := s.Till.Closed(ctx)
	if err != nil {
		return err
	}
	guard := s.Till.Config().Gas
	for _, r := range s.Rails {
		if id := r.Info().Network; !slices.Contains(shut, id) && guard.Offer(ctx, id, math.MaxInt64) == nil {
			return nil
		}
	}
	return errors.New("no network takes payments at present")
}

// Built is what the program was built from: the module's version, and the commit, with a mark where
// files were changed beside it.
func Built() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "unknown"
	}
	version, revision = info.Main.Version, "unknown"
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.modified" && s.Value == "true" {
			revision += "+changed"
		}
	}
	return version, revision
}
