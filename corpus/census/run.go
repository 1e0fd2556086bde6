package census

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"store.example/agentstore/corpus/record"
)

// run is one process's part in a week.
type run struct {
	Config
	report Report
	// elsewhere is a walker at another place: of it nothing counts while its control door fails.
	elsewhere bool
}

func newRun(cfg Config) (*run, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("census: %w", err)
	}
	r := &run{Config: cfg}
	r.Workers, r.Shard = cmp.Or(r.Workers, DefaultWorkers), cmp.Or(r.Shard, DefaultShard)
	r.Batch = cmp.Or(r.Batch, DefaultBatch)
	r.Lease, r.SourceTime = cmp.Or(r.Lease, DefaultLease), cmp.Or(r.SourceTime, DefaultSourceTime)
	r.HeaderTime = cmp.Or(r.HeaderTime, DefaultHeaderTime)
	r.Random, r.Lists = cmp.Or(r.Random, rand.Reader), cmp.Or(r.Lists, r.Client)
	r.Log = cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	if r.Domain == nil {
		r.Domain = func(host string) string { domain, _ := registrable(host); return domain }
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Week == "" {
		r.Week = record.ISOWeek(r.Now())
	}
	monday, err := Monday(r.Week)
	if err != nil {
		return nil, fmt.Errorf("census: %w", err)
	}
	if monday.After(r.Now()) {
		return nil, fmt.Errorf("census: the week %s has not begun", r.Week)
	}
	r.report.Week = r.Week
	return r, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause is how long a process waits before it looks again what the others did.
func (r *run) pause() time.Duration { return min(time.Second, r.Lease/4) }

// Run takes its part in the census of a week, beside whoever else does, and returns when every host
// is finished: with a Writer, when the round of the week stands in the record, whoever sealed it.
// When ctx ends it begins no further walk, finishes those under way, and returns ctx's error;
// another Run goes on from there.
func Run(ctx context.Context, cfg Config) (Report, error) {
	r, err := newRun(cfg)
	if err != nil {
		return Report{}, err
	}
	for {
		stood, err := r.stands(ctx)
		if err != nil || stood {
			return r.report, err
		}
		if err := r.list(ctx); err != nil {
			return r.report, err
		}
		if err := r.walk(ctx); err != nil {
			return r.report, err
		}
		if r.Writer == nil {
			r.report.Outcome = OutcomeWalked
			return r.report, r.count(ctx)
		}
		if w, err := r.Store.Week(ctx, r.Week); err != nil || w.Due == 0 && !r.SealEmpty {
			return r.report, cmp.Or(err, ErrNobody)
		}
		again, err := r.seal(ctx)
		if err != nil || !again {
			return r.report, err
		}
	}
}

// Hourly puts the hosts that declared themselves since onto the roster of a round that is still
// open, and walks what is to be walked. Where the week's round is not begun it begins it, so that
// who declared himself waits for nobody. It seals none.
func Hourly(ctx context.Context, cfg Config) (Report, error) {
	r, err := newRun(cfg)
	if err != nil {
		return Report{}, err
	}
	if r.over() {
		return r.report, fmt.Errorf("census: the week %s is over", r.Week)
	}
	r.report.Outcome = OutcomeNotOpen
	w, err := r.Store.Week(ctx, r.Week)
	if err != nil {
		return r.report, err
	}
	if w.Phase == PhaseNone || w.Phase == PhaseListed {
		// A ledger may be younger than the record.
		stood, err := r.stands(ctx)
		if err == nil && !stood {
			err = r.list(ctx)
		}
		if err != nil || stood {
			return r.report, err
		}
	}
	err = r.append(ctx)
	if errors.Is(err, ErrNotOpen) {
		return r.report, r.count(ctx)
	}
	if err != nil && !errors.Is(err, ErrHeld) {
		return r.report, err
	}
	if err := r.walk(ctx); err != nil {
		return r.report, err
	}
	r.report.Outcome = OutcomeWalked
	return r.report, r.count(ctx)
}

// over reports whether the week has ended, so that nothing more is walked for it.
func (r *run) over() bool { return record.ISOWeek(r.Now()) > r.Week }

// record opens the record as it stands, nil for a process that has none.
func (r *run) record() (*record.Record, error) {
	if r.Record == nil {
		return nil, nil
	}
	record, err := r.Record()
	if err != nil {
		return nil, fmt.Errorf("opening the record: %w", err)
	}
	return record, nil
}

// stands reports whether the week's round is sealed, and notes it in the store where a crash kept
// that from being done.
func (r *run) stands(ctx context.Context) (bool, error) {
	rec, err := r.record()
	if err != nil || rec == nil {
		return false, err
	}
	rounds := rec.Rounds()
	i := slices.IndexFunc(rounds, func(o record.Round) bool { return o.Week == r.Week })
	if i < 0 {
		if n := len(rounds); n > 0 && rounds[n-1].Week > r.Week {
			return false, fmt.Errorf("census: round %d of %s is sealed, and %s lies before it", rounds[n-1].Sequence,
				rounds[n-1].Week, r.Week)
		}
		return false, nil
	}
	if r.Writer != nil {
		// Whoever sealed it may have died before the log held it.
		if _, err := r.Writer.CatchUp(ctx); err != nil {
			return false, err
		}
	}
	return true, r.sealed(ctx, rounds[i], OutcomeStood)
}

// sealed notes a round that stands.
func (r *run) sealed(ctx context.Context, round record.Round, outcome string) error {
	w, err := r.Store.Week(ctx, r.Week)
	if err != nil {
		return err
	}
	r.report.Outcome, r.report.Sequence, r.report.Digest = outcome, round.Sequence, round.Digest.String()
	r.report.Listed, r.report.Due, r.report.Rows, r.report.Control = round.Roster.Listed, round.Coverage.Due,
		round.Rows, record.Control{Walks: round.Control.Walks, Failed: round.Control.Failed}
	r.report.Capped, r.report.Suspect, r.report.Dropped = round.Roster.Capped, round.Coverage.Suspect,
		round.Coverage.Dropped
	switch {
	case round.Lot.IsOwn():
		r.report.Lot = LotOwn
	case round.Lot != nil:
		r.report.Lot = LotBlock
	}
	if w.Phase == PhaseSealed || w.Phase == PhaseNone {
		return nil
	}
	return r.Store.Sealed(ctx, round)
}

// count completes the report of a run that sealed nothing.
func (r *run) count(ctx context.Context) error {
	w, err := r.Store.Week(context.WithoutCancel(ctx), r.Week)
	r.report.Listed, r.report.Due, r.report.Control, r.report.Capped, r.report.Sequence = w.Listed, w.Due, w.Control,
		w.Capped, w.Sequence
	return err
}

// list waits until the week's roster is closed and its order drawn, and does what of that nobody
// else does.
func (r *run) list(ctx context.Context) error {
	for {
		w, err := r.Store.Week(ctx, r.Week)
		if err != nil {
			return err
		}
		if w.Phase == PhaseDropped {
			return fmt.Errorf("census: %s was begun and not sealed in time, and nothing is kept of it", r.Week)
		}
		work := r.writeRoster
		switch w.Phase {
		case PhaseNone:
		case PhaseListed:
			work = r.deal
		default:
			return nil
		}
		lease, err := r.Store.Take(ctx, r.Week, JobRoster, r.Owner, r.Lease)
		if err == nil {
			err = r.under(ctx, lease, func(ctx context.Context) error { return work(ctx, lease) })
		}
		if err != nil && !errors.Is(err, ErrHeld) && !errors.Is(err, ErrLost) {
			return fmt.Errorf("listing the hosts of %s: %w", r.Week, err)
		}
		if err != nil {
			if err := r.Sleep(ctx, r.pause()); err != nil {
				return err
			}
		}
	}
}

func (r *run) writeRoster(ctx context.Context, lease Lease) error {
	// Whoever had the lease before may have finished.
	if w, err := r.Store.Week(ctx, r.Week); err != nil || w.Phase != PhaseNone {
		return err
	}
	record, err := r.record()
	if err != nil {
		return err
	}
	roster, err := r.readSources(ctx, r.Sources, record, r.Week)
	if err != nil {
		return err
	}
	salt, err := r.ownValue()
	if err != nil {
		return err
	}
	known, placed := roster.known(salt, newQuota(r.Cap, false, 0), false)
	if len(placed) == 0 && r.Writer != nil && !r.SealEmpty {
		return r.nobody(known)
	}
	w := Week{Week: r.Week, Listed: int64(len(roster.places)), Sources: roster.report, Most: -1}
	if r.Cap > 0 {
		w.Most, w.Capped = r.Cap, len(placed) > r.Cap
	}
	if w.Closed, w.Own, err = r.close(ctx, placed); err != nil {
		return err
	}
	w.OpenedAt = r.Now().UTC().Truncate(time.Second)
	r.Log.Info("roster closed", "week", r.Week, "listed", w.Listed, "due", w.Closed.Hosts, "capped", w.Capped, "digest",
		w.Closed.Digest, "height", w.Closed.Height)
	return r.Store.List(ctx, lease, w, known, r.Lease)
}

// append adds newly declared hosts to an open week.
func (r *run) append(ctx context.Context) error {
	w, err := r.Store.Week(ctx, r.Week)
	if err != nil {
		return err
	}
	if w.Phase != PhaseOpen {
		return ErrNotOpen
	}
	lease, err := r.Store.Take(ctx, r.Week, JobRoster, r.Owner, r.Lease)
	if err != nil {
		return err
	}
	return r.under(ctx, lease, func(ctx context.Context) error {
		rec, err := r.record()
		if err != nil {
			return err
		}
		declared := slices.DeleteFunc(slices.Clone(r.Sources),
			func(s Source) bool { return s.Kind != record.SourceDeclared })
		roster, err := r.readSources(ctx, declared, rec, r.Week)
		if err != nil {
			return err
		}
		// They have a quota of their own beside the cap, so that a roster which is full from its
		// beginning shuts nobody out.
		q := newQuota(r.Cap, true, int(w.Late))
		if err := r.onlyFresh(ctx, roster, q); err != nil {
			return err
		}
		salt, err := r.ownValue()
		if err != nil {
			return err
		}
		known, _ := roster.known(salt, q, true)
		r.report.Added, err = r.Store.Append(ctx, lease, Week{Week: r.Week, Sources: roster.report},
			slices.Collect(known), r.Shard)
		return err
	})
}

// onlyFresh takes those off a roster that have their place in the week, and counts them into the
// quotas of their domains.
func (r *run) onlyFresh(ctx context.Context, roster *roster, q *quota) error {
	for host := range roster.places {
		why, err := r.Store.Why(ctx, r.Week, host)
		if err != nil {
			return err
		}
		switch why.ThisWeek.State {
		case StateDue, StateWalking, StateWalked, StateNotWalked:
			delete(roster.places, host)
			if selfDeclared(why.Sources) {
				q.count(host)
			}
		}
	}
	return nil
}

// under does a job while its lease is renewed, and gives the lease back. The job's context ends
// when the lease is lost.
func (r *run) under(ctx context.Context, lease Lease, job func(context.Context) error) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		tick := time.NewTicker(r.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-tick.C:
			}
			if err := r.Store.Renew(working, lease, r.Lease); err != nil {
				stop(err)
				return
			}
		}
	}()
	err := job(working)
	if lost := context.Cause(working); err != nil && lost != nil && ctx.Err() == nil {
		err = lost
	}
	stop(nil)
	<-renewed
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.Lease, patience))
	defer cancel()
	return errors.Join(err, r.Store.Release(releasing, lease))
}
