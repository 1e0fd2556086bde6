package roster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// The names of the record's work in the ledger's queue. A task of sealJob is a week, one of
// proofJob the name of a proof.
const (
	sealJob  = "seal"
	proofJob = "proof"
)

const (
	// sealFor is how long one try of a seal lasts; the next goes on from there. A replica that dies
	// over it is followed by another after that time.
	sealFor  = time.Hour
	sealWait = 10 * time.Minute // between two tries at most
	// proofEvery is how often proofs are asked for, and proofFor how long that may last.
	proofEvery = 6 * time.Hour
	proofFor   = 10 * time.Minute
)

// Proof is what is done for the record's proofs now and then.
type Proof struct {
	Name string
	Do   func(context.Context) error
}

// Weekly has a week's round sealed on Sunday and the record's proofs made, by one of the processes
// that serve.
type Weekly struct {
	DB   ledger.DB
	Hour int // of Sunday, in UTC
	// Seal walks what is left of a week and seals its round.
	Seal   func(ctx context.Context, week string) (census.Report, error)
	Proofs []Proof // those that are configured
	Log    *slog.Logger
}

// Jobs are its jobs.
func (w *Weekly) Jobs() []schedule.Job {
	return []schedule.Job{
		{Name: sealJob, Timeout: sealFor, Pause: sealWait, Do: w.seal},
		{Name: proofJob, Workers: 2, Timeout: proofFor, Pause: proofEvery, Do: w.prove},
	}
}

// Put makes this week's seal due, at once where its hour has passed while nobody served, and the
// proofs.
func (w *Weekly) Put(ctx context.Context) error {
	return w.DB.Update(ctx, func(tx ledger.Tx) error {
		errs := []error{w.putSeal(tx, tx.Now())}
		for _, p := range w.Proofs {
			errs = append(errs, schedule.PutOrLeave(tx, proofJob, p.Name, tx.Now().Add(proofEvery), proofEvery))
		}
		return errors.Join(errs...)
	})
}

// putSeal makes the seal of the week of a time due on its Sunday.
func (w *Weekly) putSeal(tx ledger.Tx, at time.Time) error {
	return schedule.Put(tx, sealJob, record.ISOWeek(at), w.sundayOf(at))
}

// sundayOf is the hour on the Sunday of a time's week.
func (w *Weekly) sundayOf(at time.Time) time.Time {
	at = at.UTC()
	day := at.AddDate(0, 0, (7-int(at.Weekday()))%7)
	return time.Date(day.Year(), day.Month(), day.Day(), w.Hour, 0, 0, 0, time.UTC)
}

// seal has what is left of a week walked and its round sealed, and makes the next week's due. A
// week that could not be sealed until the next one's hour is left to store census, and told.
func (w *Weekly) seal(ctx context.Context, t schedule.Task) error {
	over := false
	err := w.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := t.Check(tx); err != nil {
			return err
		}
		now := tx.Now()
		over = record.ISOWeek(now) != t.ID && !now.Before(w.sundayOf(now))
		if over {
			return schedule.Drop(tx, sealJob, t.ID)
		}
		if record.ISOWeek(now) == t.ID {
			now = now.AddDate(0, 0, 7)
		}
		return w.putSeal(tx, now)
	})
	if err != nil {
		return err
	}
	if over {
		return fmt.Errorf("the round of %s was not sealed: store census -week %s may still do it, until a later one is",
			t.ID, t.ID)
	}
	report, err := w.Seal(ctx, t.ID)
	if err != nil {
		return err
	}
	w.Log.Info("the week's round", "week", report.Week, "outcome", report.Outcome, "sequence", report.Sequence,
		"rows", report.Rows, "next", "store build shows it on the site")
	return w.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := t.Check(tx); err != nil {
			return err
		}
		errs := []error{schedule.Drop(tx, sealJob, t.ID)}
		for _, p := range w.Proofs { // of a new round they are due at once
			if report.Outcome == census.OutcomeSealed {
				errs = append(errs, schedule.Put(tx, proofJob, p.Name, tx.Now()))
			}
		}
		return errors.Join(errs...)
	})
}

// prove makes one of the proofs.
func (w *Weekly) prove(ctx context.Context, t schedule.Task) error {
	for _, p := range w.Proofs {
		if p.Name != t.ID {
			continue
		}
		if err := p.Do(ctx); err != nil {
			return err
		}
		return w.DB.Update(ctx, func(tx ledger.Tx) error {
			return errors.Join(t.Check(tx), schedule.Put(tx, proofJob, t.ID, tx.Now().Add(proofEvery)))
		})
	}
	return w.DB.Update(ctx, func(tx ledger.Tx) error { return schedule.Drop(tx, proofJob, t.ID) })
}
