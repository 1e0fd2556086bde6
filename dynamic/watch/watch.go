// Package watch keeps terms of readings that were bought: it has one thing read again and again,
// and has a report of each reading signed, one a slot.
//
// A watch begins in the transaction that promises it ([Queue.Want]). Each slot has a time, which
// counts from the start and never from the slot before, and a grace within which it may begin. That
// it begins is noted before anything is sent, so that any number of processes read it once; one
// that its process did not survive, that could not begin within its grace, or at which there was
// nothing to report, is told as missed, with its reason, in a signed report of its own. Nothing is
// made up for and nothing is back-dated. When the last slot is over the order is completed with a
// summary. One payment, and it is never renewed.
//
// What is read, and how, is package goods' (Readings): the guarded client, the opt-out of hosts and
// the budgets of the instruments hold here as everywhere.
//
//	watch/<order_id>   Record
package watch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Job is the name of the work in the ledger's queue.
const Job = "watch"

const (
	// noteFor bounds the writing down of what was read, however the process ends.
	noteFor = 15 * time.Second
	// again is when a slot is tried again at which the store's own budget was spent.
	again = time.Minute
)

// Slot is what became of one slot.
type Slot struct {
	Number  int64     `json:"number"`
	Due     time.Time `json:"due"`
	Audit   string    `json:"audit"`  // id of its report
	Digest  string    `json:"digest"` // sha256: of the report's signed payload
	Verdict string    `json:"verdict,omitzero"`
	Missed  string    `json:"missed,omitzero"`
}

// Record is a watch and what became of it so far.
type Record struct {
	goods.Watch
	Promise string    `json:"promise,omitzero"` // sha256: of the signed order as it was promised
	Slots   []Slot    `json:"slots"`
	Begun   time.Time `json:"begun,omitzero"` // when the reading of the next slot was about to begin
	Closed  bool      `json:"closed,omitzero"`
}

// next is the number of the slot that is due next.
func (r Record) next() int64 { return int64(len(r.Slots)) + 1 }

// Queue is the package as goods use it, inside their transactions.
type Queue struct{}

// Want implements goods.Watches.
func (Queue) Want(tx ledger.Tx, w goods.Watch) error {
	return errors.Join(ledger.SetJSON(tx, ledger.WatchKey(w.Order), Record{Watch: w, Slots: []Slot{}}),
		schedule.Put(tx, Job, w.Order, w.Starts))
}

// Drop implements goods.Watches.
func (Queue) Drop(tx ledger.Tx, order string) error {
	return errors.Join(tx.Delete(ledger.WatchKey(order)), schedule.Drop(tx, Job, order))
}

// Read is a watch; ledger.ErrNotFound where there is none.
func Read(tx ledger.Tx, order string) (Record, error) {
	return ledger.GetJSON[Record](tx, ledger.WatchKey(order))
}

// Config is what a Keeper stands on. All fields are required.
type Config struct {
	DB       ledger.DB
	Readings goods.Readings
	// Report signs a report for a purchase (till.Till.SignReport), Close completes its order
	// (till.Till.CloseWatch).
	Report func(ctx context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact, error)
	Close  func(ctx context.Context, purchase string, s goods.WatchSummary, at time.Time) error
	Log    *slog.Logger
}

// Keeper does the work.
type Keeper struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Keeper, error) {
	if cfg.DB == nil || cfg.Readings == nil || cfg.Report == nil || cfg.Close == nil || cfg.Log == nil {
		return nil, errors.New("watch: a ledger, readings, who signs and closes, and a log are required")
	}
	return &Keeper{cfg}, nil
}

// Row is the work as the scheduler does it.
func (k *Keeper) Row() schedule.Job {
	return schedule.Job{Name: Job, Workers: 8, Timeout: goods.ReadingTime + 2*noteFor, Do: k.do}
}

// do takes a watch one step on: a slot, or its closing.
func (k *Keeper) do(ctx context.Context, task schedule.Task) error {
	rec, missed, now, err := k.begin(ctx, task)
	if err != nil || rec.Order == "" {
		return err
	}
	// What is begun is ended: a process that stops waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goods.ReadingTime+noteFor)
	defer cancel()
	if rec.next() > rec.Of {
		return k.close(ctx, task, rec, now)
	}
	slot := Slot{Number: rec.next(), Due: rec.Due(rec.next()), Missed: missed}
	audit := attest.Audit{Class: attest.ClassServiceAudit, Item: rec.Item, Target: rec.Target}
	if slot.Missed == "" {
		if audit, err = k.read(ctx, rec); errors.Is(err, errLater) {
			return k.later(ctx, task, rec, now)
		}
		if unread, is := errors.AsType[*goods.Unread](err); is {
			slot.Missed, err = unread.Detail, nil
		}
		if err != nil {
			k.cfg.Log.Error("a slot could not be read", "order", rec.Order, "slot", slot.Number, "err", err)
			slot.Missed = "the reading went wrong at the store's own side"
		}
		if slot.Missed != "" {
			audit = attest.Audit{Class: attest.ClassServiceAudit, Item: rec.Item, Target: rec.Target}
		}
	}
	slot.Verdict = audit.Verdict
	audit.Slot = &attest.Slot{Number: slot.Number, Of: rec.Of, Due: slot.Due.Format(time.RFC3339), Missed: slot.Missed,
		Watch: rec.Promise}
	signed, err := k.cfg.Report(ctx, rec.Purchase, audit, now)
	if err != nil {
		return err
	}
	slot.Audit, slot.Digest = signed.ID, signed.Digest()
	return k.note(ctx, task, slot, signed)
}

// begin notes that a slot is about to be read, or says why it is missed. Nothing is to be done now
// for a record without an order.
func (k *Keeper) begin(ctx context.Context, task schedule.Task) (rec Record, missed string, now time.Time, err error) {
	err = k.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		missed = ""
		if err := task.Check(tx); err != nil {
			return err
		}
		if rec, err = Read(tx, task.ID); err != nil {
			return err
		}
		if rec.Promise == "" {
			if rec.Promise, err = till.PromiseDigest(tx, rec.Order, rec.Purchase); err != nil {
				return err
			}
		}
		now = tx.Now().UTC().Truncate(time.Second)
		stands, err := till.Stands(tx, rec.Purchase)
		due := rec.Due(min(rec.next(), rec.Of))
		switch {
		case err != nil:
			return err
		case !stands:
			err, rec.Order = Queue{}.Drop(tx, task.ID), ""
			return err
		case rec.next() > rec.Of:
			return nil
		case now.Before(due): // the clock was put back
			rec.Order = ""
			return schedule.Put(tx, Job, task.ID, due)
		case !rec.Begun.IsZero():
			missed = "the store was stopped while it read, at " + rec.Begun.Format(time.RFC3339)
			return nil
		case now.After(due.Add(rec.Grace())):
			missed = "the store stood still at the time"
			return nil
		}
		rec.Begun = now
		return ledger.SetJSON(tx, ledger.WatchKey(task.ID), rec)
	})
	return rec, missed, now, err
}

// errLater says that the store could not read now for reasons of its own that pass.
var errLater = errors.New("not now")

// read makes the reading of a slot.
func (k *Keeper) read(ctx context.Context, rec Record) (attest.Audit, error) {
	ctx, cancel := context.WithTimeout(ctx, goods.ReadingTime)
	defer cancel()
	r, err := k.cfg.Readings.Read(ctx, rec.Battery, rec.Inputs)
	if unread, is := errors.AsType[*goods.Unread](err); is && unread.Code == goods.CodeBudget {
		return attest.Audit{}, errLater
	}
	if err != nil {
		return attest.Audit{}, err
	}
	return r.Audit(attest.ClassServiceAudit, rec.Item)
}

// later puts a slot off that nothing was sent for.
func (k *Keeper) later(ctx context.Context, task schedule.Task, rec Record, now time.Time) error {
	return k.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		if err := task.Check(tx); err != nil {
			return err
		}
		rec.Begun = time.Time{}
		return errors.Join(ledger.SetJSON(tx, ledger.WatchKey(task.ID), rec),
			schedule.Put(tx, Job, task.ID, now.Add(again)))
	})
}

// note writes down what became of a slot, and when the next is due.
func (k *Keeper) note(ctx context.Context, task schedule.Task, slot Slot, signed *till.SignedArtifact) error {
	return k.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		rec, err := Read(tx, task.ID)
		if err != nil {
			return err
		}
		if rec.next() != slot.Number {
			return fmt.Errorf("watch: slot %d of %s is over already", slot.Number, task.ID)
		}
		rec.Slots, rec.Begun = append(rec.Slots, slot), time.Time{}
		at := rec.Due(rec.next())
		if rec.next() > rec.Of {
			at = tx.Now()
		}
		return errors.Join(till.KeepReport(tx, signed), ledger.SetJSON(tx, ledger.WatchKey(task.ID), rec),
			schedule.Put(tx, Job, task.ID, at))
	})
}

// close completes the order.
func (k *Keeper) close(ctx context.Context, task schedule.Task, rec Record, now time.Time) error {
	if err := k.cfg.Close(ctx, rec.Purchase, rec.Summary(), now); err != nil {
		return err
	}
	return k.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		rec.Closed = true
		return errors.Join(ledger.SetJSON(tx, ledger.WatchKey(task.ID), rec), schedule.Drop(tx, Job, task.ID))
	})
}

// Summary is what the slots that are over come to.
func (r Record) Summary() goods.WatchSummary {
	s := goods.WatchSummary{Readings: int64(len(r.Slots)), Verdicts: []goods.Verdict{}}
	h, before := sha256.New(), ""
	for _, slot := range r.Slots {
		fmt.Fprintf(h, "%s\n", slot.Digest)
		if slot.Missed != "" {
			s.Missed++
			continue
		}
		s.Read++
		if before != "" && slot.Verdict != before {
			s.Changes++
		}
		before = slot.Verdict
		i := 0
		for i < len(s.Verdicts) && s.Verdicts[i].Verdict != slot.Verdict {
			i++
		}
		if i == len(s.Verdicts) {
			s.Verdicts = append(s.Verdicts, goods.Verdict{Verdict: slot.Verdict})
		}
		s.Verdicts[i].Readings++
	}
	s.ReportsSHA256 = hex.EncodeToString(h.Sum(nil))
	return s
}
