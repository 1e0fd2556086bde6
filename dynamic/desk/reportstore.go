package desk

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/schedule"
)

// keptReport is the ledger's record of a reading that has an address.
type keptReport struct {
	Made time.Time     `json:"made"` // whole seconds, UTC, of the ledger's clock
	Told probe.Reading `json:"told"` // what the caller was told
	// Judgement is the published form of what the door answered, in its one spelling.
	Judgement string `json:"judgement"`
}

// The id of a report is the day on which it was made and 130 random bits: nobody guesses it, and a
// report that is long gone is told from one that never was without a memory of it.
const dayForm = "20060102"

const reportJob = "report"

// keepReport stores a report, and when it ends, in one transaction.
func (d *Desk) keepReport(ctx context.Context, kept keptReport) (id string, until time.Time, err error) {
	random := strings.ToLower(rand.Text())
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		kept.Made = tx.Now().UTC().Truncate(time.Second)
		id, until = kept.Made.Format(dayForm)+"-"+random, kept.Made.Add(ReportsKept)
		if err := ledger.SetJSON(tx, ledger.ReportKey(id), kept); err != nil {
			return err
		}
		return schedule.Put(tx, reportJob, id, until)
	})
	return id, until, err
}

// report reads a report back.
func (d *Desk) report(ctx context.Context, id string) (kept keptReport, err error) {
	var now time.Time
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		now = tx.Now().UTC()
		kept, err = ledger.GetJSON[keptReport](tx, ledger.ReportKey(id))
		return err
	})
	unknown := errors.Is(err, ledger.ErrNotFound)
	day, badID := time.Parse(dayForm, strings.SplitN(id, "-", 2)[0])
	switch {
	case err != nil && !unknown:
		return keptReport{}, ledgerDown(err)
	case !unknown && now.Before(kept.Made.Add(ReportsKept)):
		return kept, nil
	case !unknown || badID == nil && !now.Before(day.Add(ReportsKept)):
		return keptReport{}, &problem.Error{Code: "gone", Detail: "A report is kept for 30 days, and those of this " +
			"one are over. What is signed and kept for good is the weekly record.",
			Next: "POST the door's URL to " + d.cfg.BaseURL + "/api/preflight/" + probe.Current() + " reads it anew."}
	}
	return keptReport{}, &problem.Error{Code: "not_found", Detail: "There is no report at this address. It is " +
		"made of the day and 26 letters and digits, and is known to nobody but whom it was given."}
}

// ReportsRow forgets reports when their time is over.
func (d *Desk) ReportsRow() schedule.Job {
	return schedule.Job{Name: reportJob, Do: func(ctx context.Context, t schedule.Task) error {
		return d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
			if err := t.Check(tx); err != nil {
				return err
			}
			return errors.Join(tx.Delete(ledger.ReportKey(t.ID)), schedule.Drop(tx, reportJob, t.ID))
		})
	}}
}
