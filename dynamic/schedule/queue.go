package schedule

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// taken is a task that this process has for the time of one try.
type taken struct {
	Task
	job  *job
	late time.Duration
}

// take finds what is due and free, as much of each job as it has workers for, and takes it; what
// ended meanwhile is written down in the same Update. A look that finds nothing writes nothing.
func (s *Scheduler) take(ctx context.Context) ([]taken, error) {
	found, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	idle := len(found) == 0 && len(s.over) == 0
	s.mu.Unlock()
	if idle {
		return nil, nil
	}
	return found, s.settle(ctx, &found)
}

// find looks at every queue.
func (s *Scheduler) find(ctx context.Context) (found []taken, err error) {
	err = s.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		found = nil
		for _, j := range s.jobs {
			list, err := s.findOf(tx, j)
			if err != nil {
				return err
			}
			found = append(found, list...)
		}
		return nil
	})
	return found, err
}

// findOf lists the tasks of a job that are due and that nobody has, as many as it has workers for.
func (s *Scheduler) findOf(tx ledger.Tx, j *job) (list []taken, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free, now := j.Workers-len(j.running)+s.endedOf(j), tx.Now()
	j.more = false
	var ids []string
	for e, err := range tx.Scan(ledger.Due(j.Name, now)) {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		id := parts[3]
		if j.running[id] {
			continue
		}
		if j.Skip != nil {
			if skip, err := j.Skip(tx, id); err != nil {
				return nil, err
			} else if skip {
				continue
			}
		}
		ids = append(ids, id)
		if len(list) == free || len(ids) > free+heldBefore {
			if err := j.add(tx, ids, free, &list); err != nil || j.more {
				return list, err
			}
			ids = nil
		}
	}
	return list, j.add(tx, ids, free, &list)
}

// heldBefore is how many tasks are asked for together beyond those that are wanted, because others
// may have them.
const heldBefore = 16

// add adds those of some tasks to a list that nobody has, up to so many; that there are more is
// noted. Holds the scheduler's mu.
func (j *job) add(tx ledger.Tx, ids []string, most int, list *[]taken) error {
	var ahead []ledger.Range
	for _, id := range ids {
		ahead = append(ahead, ledger.At(ledger.TaskKey(j.Name, id)))
	}
	if len(*list) < most {
		ledger.Ahead(tx, ahead...)
	}
	for _, id := range ids {
		if len(*list) == most {
			j.more = true
			break
		}
		t, err := read(tx, j.Name, id)
		if err != nil {
			return err
		}
		if !tx.Now().Before(t.Until) {
			*list = append(*list, taken{Task: t, job: j})
		}
	}
	return nil
}

// endedOf is how many of a job's workers are free although their tries are not written down. Holds
// s.mu.
func (s *Scheduler) endedOf(j *job) (n int) {
	for _, e := range s.over {
		if e.job == j {
			n++
		}
	}
	return n
}

// settle writes down what ended, and takes what was found, if it is still free. found is narrowed
// to what was taken.
func (s *Scheduler) settle(ctx context.Context, found *[]taken) error {
	s.mu.Lock()
	over := s.over
	s.over = nil
	s.mu.Unlock()
	var reads []ledger.Range
	for _, e := range over {
		reads = append(reads, ledger.At(ledger.TaskKey(e.Job, e.ID)))
	}
	if found != nil {
		for _, t := range *found {
			reads = append(reads, ledger.At(ledger.TaskKey(t.Job, t.ID)))
		}
	}
	var got []taken
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryFor)
	defer cancel()
	err := s.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		got = nil
		ledger.Ahead(tx, reads...)
		for _, e := range over {
			if err := e.write(tx); err != nil {
				return err
			}
		}
		if found == nil {
			return nil
		}
		for _, t := range *found {
			ok, err := t.hold(tx)
			if err != nil {
				return err
			}
			if ok {
				got = append(got, t)
			}
		}
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.over = append(over, s.over...)
		if found != nil {
			*found = nil
		}
		return err
	}
	for _, e := range over {
		delete(e.job.running, e.ID)
	}
	if found != nil {
		*found = got
		for _, t := range got {
			t.job.running[t.ID] = true
		}
	}
	return nil
}

// hold takes a task for one try, unless it was moved, dropped or taken since it was found.
func (t *taken) hold(tx ledger.Tx) (bool, error) {
	now := tx.Now()
	record, err := read(tx, t.Job, t.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	if err != nil || now.Before(record.Until) || record.Due.After(now) {
		return false, err
	}
	t.late = now.Sub(record.Due)
	record.Fence++
	record.Tries++
	record.Until = now.Add(t.job.Timeout + margin)
	t.Task = record
	return true, ledger.SetJSON(tx, ledger.TaskKey(t.Job, t.ID), record)
}

// write gives a task back whose try has ended. One that lies where it lay is put off.
func (t taken) write(tx ledger.Tx) error {
	record, err := read(tx, t.Job, t.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil || record.Fence != t.Fence {
		return err // dropped, or taken by another
	}
	record.Until = time.Time{}
	at := record.Due
	if at.Equal(t.Due) {
		at = tx.Now().Add(min(time.Second<<min(record.Tries, 12), t.job.Pause))
	}
	return record.move(tx, at)
}

// release gives back what a process of ours held when it died.
func (s *Scheduler) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	return s.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		for _, j := range s.jobs {
			all, err := Tasks(tx, j.Name)
			if err != nil {
				return err
			}
			for _, t := range all {
				if t.Until.IsZero() {
					continue
				}
				t.Until = time.Time{}
				if err := ledger.SetJSON(tx, ledger.TaskKey(t.Job, t.ID), t); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
