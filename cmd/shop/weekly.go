package shop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// The names of the record's work in the ledger's queue. A task of sealJob is a week, one of
// proofJob a row of proofWork.
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

// sealHour is the hour of Sunday at which rounds are sealed; ok is false where that is left to
// store census.
func (c CensusConfig) sealHour() (hour int, ok bool, err error) {
	if c.SealHour == "" {
		return 0, false, nil
	}
	if hour, err = strconv.Atoi(c.SealHour); err != nil || hour < 0 || hour > 23 {
		return 0, false, fmt.Errorf("census.seal_hour is %q: it is an hour of Sunday in UTC, 0 to 23", c.SealHour)
	}
	return hour, true, nil
}

// proofWork is what is done for the record's proofs now and then, where it is configured.
var proofWork = []struct {
	name string
	has  func(*Config) bool
	do   func(context.Context, *Config, Outside) error
}{
	{"stamp", func(c *Config) bool { return len(c.Timestamps.Calendars) > 0 },
		func(ctx context.Context, c *Config, o Outside) error {
			_, err := Stamp(ctx, c, o) // what failed stands in the log
			return err
		}},
	{"witness", func(c *Config) bool { return len(c.Witnesses) > 0 },
		func(ctx context.Context, c *Config, o Outside) error {
			_, err := Witness(ctx, c, o) // likewise
			return err
		}},
}

// openWeekly has the week's round sealed on Sunday and the record's proofs made, by one of the
// processes that serve, where an hour is configured for it.
func (s *Shop) openWeekly(ctx context.Context) error {
	hour, ok, err := s.Config.Census.sealHour()
	if err != nil || !ok {
		return err
	}
	if _, err := RecordWriter(&s.Config); err != nil {
		return fmt.Errorf("census.seal_hour: %w", err)
	}
	s.jobs = append(s.jobs,
		schedule.Job{Name: sealJob, Timeout: sealFor, Pause: sealWait,
			Do: func(ctx context.Context, t schedule.Task) error { return s.sealWeek(ctx, t, hour) }},
		schedule.Job{Name: proofJob, Workers: len(proofWork), Timeout: proofFor, Pause: proofEvery, Do: s.prove})
	return s.putWeekly(ctx, hour)
}

// putWeekly makes this week's seal due, at once where its hour has passed while nobody served, and
// the proofs.
func (s *Shop) putWeekly(ctx context.Context, hour int) error {
	return s.DB.Update(ctx, func(tx ledger.Tx) error {
		errs := []error{putSeal(tx, tx.Now(), hour)}
		for _, w := range proofWork {
			if w.has(&s.Config) {
				errs = append(errs, schedule.PutOrLeave(tx, proofJob, w.name, tx.Now().Add(proofEvery), proofEvery))
			}
		}
		return errors.Join(errs...)
	})
}

// putSeal makes the seal of the week of a time due on its Sunday.
func putSeal(tx ledger.Tx, at time.Time, hour int) error {
	return schedule.Put(tx, sealJob, record.ISOWeek(at), sundayOf(at, hour))
}

// sundayOf is an hour of the Sunday of a time's week.
func sundayOf(at time.Time, hour int) time.Time {
	at = at.UTC()
	day := at.AddDate(0, 0, (7-int(at.Weekday()))%7)
	return time.Date(day.Year(), day.Month(), day.Day(), hour, 0, 0, 0, time.UTC)
}

// sealWeek has what is left of a week walked and its round sealed, and makes the next week's due. A
// week that could not be sealed until the next one's hour is left to store census, and told.
func (s *Shop) sealWeek(ctx context.Context, t schedule.Task, hour int) error {
	over := false
	err := s.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := t.Check(tx); err != nil {
			return err
		}
		now := tx.Now()
		over = record.ISOWeek(now) != t.ID && !now.Before(sundayOf(now, hour))
		if over {
			return schedule.Drop(tx, sealJob, t.ID)
		}
		if record.ISOWeek(now) == t.ID {
			now = now.AddDate(0, 0, 7)
		}
		return putSeal(tx, now, hour)
	})
	if err != nil {
		return err
	}
	if over {
		return fmt.Errorf("the round of %s was not sealed: store census -week %s may still do it, until a later one is",
			t.ID, t.ID)
	}
	report, err := runCensus(ctx, &s.Config, s.DB, CensusOptions{Week: t.ID, Log: s.Log, Reach: s.reach, Now: s.now})
	if err != nil {
		return err
	}
	s.Log.Info("the week's round", "week", report.Week, "outcome", report.Outcome, "sequence", report.Sequence,
		"rows", report.Rows, "next", "store build shows it on the site")
	return s.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := t.Check(tx); err != nil {
			return err
		}
		errs := []error{schedule.Drop(tx, sealJob, t.ID)}
		for _, w := range proofWork { // of a new round they are due at once
			if report.Outcome == census.OutcomeSealed && w.has(&s.Config) {
				errs = append(errs, schedule.Put(tx, proofJob, w.name, tx.Now()))
			}
		}
		return errors.Join(errs...)
	})
}

// prove does a row of proofWork.
func (s *Shop) prove(ctx context.Context, t schedule.Task) error {
	for _, w := range proofWork {
		if w.name != t.ID || !w.has(&s.Config) {
			continue
		}
		if err := w.do(ctx, &s.Config, Outside{Log: s.Log, Reach: s.reach}); err != nil {
			return err
		}
		return s.DB.Update(ctx, func(tx ledger.Tx) error {
			return errors.Join(t.Check(tx), schedule.Put(tx, proofJob, t.ID, tx.Now().Add(proofEvery)))
		})
	}
	return s.DB.Update(ctx, func(tx ledger.Tx) error { return schedule.Drop(tx, proofJob, t.ID) })
}
