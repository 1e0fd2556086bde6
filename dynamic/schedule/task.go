// Package schedule does what is due: one worker for everything that is to happen at a time, such as
// the look at a purchase that lies, a visit that was bought, or a report of a watch.
//
// A task is a job's name and an id. It is put into the ledger in the transaction that makes it
// necessary, and moved or dropped in the one that makes it needless, so that nothing due is
// forgotten and nothing done is repeated:
//
//	due/<job>/<unix seconds>/<id>   empty: the queue of a job, oldest first
//	task/<job>/<id>                 Task: when it is due, and who does it at present
//
// Any number of processes may run a [Scheduler] over one ledger. Each takes tasks for as long as
// one try may last, with a fencing number that is one more at each taking; every Update of a try
// calls [Task.Check], so that one who slept through its time changes nothing. A process may die at
// any moment: its tasks are taken by others when their time is over.
//
// Each job has workers of its own and none waits for another's: a thousand visits that time out
// hold up no settlement.
//
// It is no cron: what happens again puts itself again. It keeps no results and knows nothing of
// what it does.
package schedule

import (
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Task is one thing to do.
type Task struct {
	Job string    `json:"job"`
	ID  string    `json:"id"`
	Due time.Time `json:"due"` // whole seconds, UTC
	// Tries is how often it was tried since it was put or moved by its owner.
	Tries int `json:"tries,omitzero"`
	// Fence is one more at each taking. Until is when the present taking ends, zero while nobody
	// has it.
	Fence int64     `json:"fence,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// ErrLost says that a task was taken by another, or dropped, since it was taken.
var ErrLost = errors.New("schedule: the task is no longer held")

// Put makes a task due at a time, or moves it there. Who has it at present keeps it.
func Put(tx ledger.Tx, job, id string, at time.Time) error {
	t, err := read(tx, job, id)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if err != nil {
		t = Task{Job: job, ID: id}
	}
	t.Tries = 0
	return t.move(tx, at)
}

// PutOrLeave is Put for what may as well come a little early: a task that lies less than early
// before at is left there, and nothing is written.
func PutOrLeave(tx ledger.Tx, job, id string, at time.Time, early time.Duration) error {
	t, err := read(tx, job, id)
	if err == nil && t.Tries == 0 && !t.Due.After(at) && t.Due.After(at.Add(-early)) {
		return nil
	}
	return Put(tx, job, id, at)
}

// Drop takes a task away. It is no error if there is none.
func Drop(tx ledger.Tx, job, id string) error {
	t, err := read(tx, job, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(tx.Delete(ledger.DueKey(job, t.Due, id)), tx.Delete(ledger.TaskKey(job, id)))
}

// Tasks lists the tasks of a job, in the order of their ids.
func Tasks(tx ledger.Tx, job string) (all []Task, err error) {
	for t, err := range ledger.Values[Task](tx.Scan(ledger.Prefix(ledger.TaskKey(job)))) {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Check returns nil while the task is held as it was taken, and ErrLost otherwise. It belongs at
// the head of every Update that a try makes.
func (t Task) Check(tx ledger.Tx) error {
	now, err := read(tx, t.Job, t.ID)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if err != nil || !t.held(now, tx.Now()) {
		return fmt.Errorf("%w: %s of %s, fence %d", ErrLost, t.ID, t.Job, t.Fence)
	}
	return nil
}

// held reports whether the record is still of this taking.
func (t Task) held(record Task, now time.Time) bool {
	return t.Fence != 0 && record.Fence == t.Fence && now.Before(record.Until)
}

func read(tx ledger.Tx, job, id string) (Task, error) {
	return ledger.GetJSON[Task](tx, ledger.TaskKey(job, id))
}

// move writes the task at a new time. The queue's seconds are whole, and a time is reached when its
// second has begun.
func (t Task) move(tx ledger.Tx, at time.Time) error {
	at = at.UTC().Truncate(time.Second)
	if !t.Due.IsZero() && !t.Due.Equal(at) {
		if err := tx.Delete(ledger.DueKey(t.Job, t.Due, t.ID)); err != nil {
			return err
		}
	}
	if !t.Due.Equal(at) {
		t.Due = at
		if err := tx.Set(ledger.DueKey(t.Job, at, t.ID), nil); err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, ledger.TaskKey(t.Job, t.ID), t)
}
