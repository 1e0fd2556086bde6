package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Job is one kind of work: a row in the table of who wires the scheduler.
type Job struct {
	Name    string // permanent: it is part of ledger keys
	Workers int    // how many tasks are done at once in each process; 0 means 1
	// Timeout is how long one try may last; 0 means 15 s. A process that dies is followed by
	// another after that time.
	Timeout time.Duration
	// Pause is the longest time between two tries of what stays lying; 0 means 5 min.
	Pause time.Duration
	// Skip leaves tasks alone that this process has in hand already, or that must not be touched
	// now; they keep none behind them from being done. It is called in the View that looks for what
	// is due. nil skips none.
	Skip func(tx ledger.Tx, id string) (bool, error)
	// Do does one task. It moves it (Put) or drops it in the Update that makes it done, after
	// t.Check. What it leaves lying, with an error or without one, is tried again later and later.
	Do func(ctx context.Context, t Task) error
}

// Config is what a Scheduler stands on. DB, Jobs and Log are required.
type Config struct {
	DB   ledger.DB
	Jobs []Job
	Log  *slog.Logger
	// Poll is the time between two looks at the queues; 0 means 1 s.
	Poll time.Duration
	// Exclusive says that no other process uses the ledger, so that what is held at start was left
	// by us.
	Exclusive bool
	// Started is told of each task that is begun, and how late; nil tells nobody.
	Started func(t Task, late time.Duration)
}

// Scheduler does what is due.
type Scheduler struct {
	cfg  Config
	jobs []*job
	wake chan struct{} // a worker is free and there may be more for it

	mu   sync.Mutex
	over []taken // tries that ended and are not written down yet; guarded by mu
}

// job is a Job at work.
type job struct {
	Job
	running map[string]bool // ids under way here; guarded by Scheduler.mu
	more    bool            // the last look found more than there were workers for; guarded by Scheduler.mu
}

const (
	// tryFor is the usual Timeout. The taking lasts a little longer, so that a try that uses it all
	// can still write.
	tryFor = 15 * time.Second
	margin = 5 * time.Second
	// pause is the usual Pause.
	pause = 5 * time.Minute
)

// New checks the table of jobs.
func New(cfg Config) (*Scheduler, error) {
	if cfg.DB == nil || cfg.Log == nil {
		return nil, errors.New("schedule: a ledger and a log are required")
	}
	if cfg.Poll == 0 {
		cfg.Poll = time.Second
	}
	if cfg.Started == nil {
		cfg.Started = func(Task, time.Duration) {}
	}
	s := &Scheduler{cfg: cfg, wake: make(chan struct{}, 1)}
	names := make(map[string]bool)
	for _, j := range cfg.Jobs {
		if j.Name == "" || j.Do == nil || names[j.Name] {
			return nil, fmt.Errorf("schedule: job %q needs a name of its own and something to do", j.Name)
		}
		names[j.Name] = true
		if j.Workers == 0 {
			j.Workers = 1
		}
		if j.Timeout == 0 {
			j.Timeout = tryFor
		}
		if j.Pause == 0 {
			j.Pause = pause
		}
		s.jobs = append(s.jobs, &job{Job: j, running: make(map[string]bool)})
	}
	return s, nil
}

// Run does what is due until ctx ends, and returns when the tries under way have ended. What they
// left is done by the next process.
func (s *Scheduler) Run(ctx context.Context) error {
	if s.cfg.Exclusive {
		if err := s.release(ctx); err != nil {
			return fmt.Errorf("schedule: giving back what was left held: %w", err)
		}
	}
	var work sync.WaitGroup
	tick := time.NewTicker(s.cfg.Poll)
	defer tick.Stop()
	for {
		taken, err := s.take(ctx)
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Error("what is due could not be read", "err", err)
		}
		for _, t := range taken {
			work.Go(func() { s.do(ctx, t.job, t.Task, t.late) })
		}
		select {
		case <-ctx.Done():
			work.Wait()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), margin)
			defer cancel()
			if err := s.settle(last, nil); err != nil {
				s.cfg.Log.Warn("tasks not given back", "err", err)
			}
			return nil
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// do tries one task. The try is over however it ends.
func (s *Scheduler) do(ctx context.Context, j *job, t Task, late time.Duration) {
	defer s.end(j, t)
	s.cfg.Started(t, late)
	tctx, cancel := context.WithTimeout(ctx, j.Timeout)
	defer cancel()
	if err := j.Do(tctx, t); err != nil && ctx.Err() == nil && !errors.Is(err, ErrLost) {
		s.cfg.Log.Error("task not done", "job", t.Job, "id", t.ID, "try", t.Tries, "err", err)
	}
}

// end notes that a try is over, which is written down at the next look.
func (s *Scheduler) end(j *job, t Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = append(s.over, taken{Task: t, job: j})
	if j.more {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}
