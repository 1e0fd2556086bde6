package services

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// A journal is the work of a product in the ledger: a record for each order of it, and a task that
// is due while there is something left to do. A try is a row of steps, each written before what
// follows from it leaves the process:
//
//	begin ─► (a request, or none) ─► step: over, or due again
//
// What began and was never written down to its end was cut off by the death of its process.
type journal[R any] struct {
	job string                 // the name of the work in the ledger's queue
	key func(id string) []byte // of a record
	// of is the purchase that a record belongs to.
	of func(R) string
	// forget gives back what goes with a record when it is gone; nil: nothing does.
	forget func(tx ledger.Tx, rec R) error
}

// then says what becomes of a task once a step is written. The zero value leaves it under way.
type then struct {
	at   time.Time // when it is due again
	over bool      // nothing is left to do
	gone bool      // neither, and the record is forgotten
}

var (
	underWay = then{}
	over     = then{over: true}
	gone     = then{gone: true}
)

// again has a task done again at a time.
func again(at time.Time) then { return then{at: at} }

// put writes a record down, and when it is due.
func (j journal[R]) put(tx ledger.Tx, id string, rec R, due time.Time) error {
	return errors.Join(ledger.SetJSON(tx, j.key(id), rec), schedule.Put(tx, j.job, id, due))
}

// read is a record; ledger.ErrNotFound where there is none.
func (j journal[R]) read(tx ledger.Tx, id string) (R, error) { return ledger.GetJSON[R](tx, j.key(id)) }

// drop forgets a record, and what was due of it.
func (j journal[R]) drop(tx ledger.Tx, id string) error {
	return errors.Join(tx.Delete(j.key(id)), schedule.Drop(tx, j.job, id))
}

// row is the work as the scheduler does it.
func (j journal[R]) row(workers int, timeout time.Duration,
	do func(context.Context, schedule.Task) error) schedule.Job {
	return schedule.Job{Name: j.job, Workers: workers, Timeout: timeout, Do: do}
}

// step takes a record on in one transaction, while the task is held: what f changes of it is
// written, and the task lies as f says. f may run more than once.
func (j journal[R]) step(ctx context.Context, db ledger.DB, task schedule.Task,
	f func(tx ledger.Tx, rec *R) (then, error)) error {
	return db.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		rec, err := j.read(tx, task.ID)
		if err != nil {
			return err
		}
		next, err := f(tx, &rec)
		switch {
		case err != nil:
			return err
		case next.gone:
			if j.forget != nil {
				err = j.forget(tx, rec)
			}
			return errors.Join(err, j.drop(tx, task.ID))
		case next.over:
			err = schedule.Drop(tx, j.job, task.ID)
		case !next.at.IsZero():
			err = schedule.Put(tx, j.job, task.ID, next.at)
		}
		return errors.Join(err, ledger.SetJSON(tx, j.key(task.ID), rec))
	})
}

// begin is the first step of a try, and gives the record as it leaves it, with the time. ok is
// false where nothing is left to be done now: f said when it is, or the chain took the payment
// back.
func (j journal[R]) begin(ctx context.Context, db ledger.DB, task schedule.Task,
	f func(tx ledger.Tx, rec *R, now time.Time) (then, error)) (rec R, now time.Time, ok bool, err error) {
	err = j.step(ctx, db, task, func(tx ledger.Tx, r *R) (next then, err error) {
		now = tx.Now().UTC().Truncate(time.Second)
		stands, err := till.Stands(tx, j.of(*r))
		if err != nil || !stands {
			ok = false
			return gone, err
		}
		next, err = f(tx, r, now)
		rec, ok = *r, next == underWay
		return next, err
	})
	return rec, now, ok && err == nil, err
}

// missed says why what was due at a time is not done any more, "" where it may begin: it began, and
// its process did not survive that, or its grace is over.
func missed(begun, due time.Time, grace time.Duration, now time.Time, doing string) string {
	switch {
	case !begun.IsZero():
		return "the store was stopped while it " + doing + ", at " + begun.Format(time.RFC3339)
	case now.After(due.Add(grace)):
		return "the store stood still at the time"
	}
	return ""
}

// finishing is a context in which what has begun is ended, whoever stops meanwhile.
func finishing(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), most)
}
