package schedule_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/schedule"
)

// week is how long the clock of a bubble runs in TestEveryHour.
const week = 7 * 24 * time.Hour

// start runs a scheduler over a ledger until the returned function is called, which waits for its
// end.
func start(t *testing.T, db ledger.DB, jobs ...schedule.Job) (stop func()) {
	t.Helper()
	return startWith(t, schedule.Config{DB: db, Jobs: jobs, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
}

func startWith(t *testing.T, cfg schedule.Config) (stop func()) {
	t.Helper()
	s, err := schedule.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func update(t *testing.T, db ledger.DB, f func(ledger.Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, db ledger.DB, job, id string, in time.Duration) {
	t.Helper()
	update(t, db, func(tx ledger.Tx) error { return schedule.Put(tx, job, id, tx.Now().Add(in)) })
}

// entries counts what is left of all tasks.
func entries(t *testing.T, db ledger.DB) (n int) {
	t.Helper()
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		n = 0
		for _, prefix := range [][]byte{ledger.Key("due"), ledger.Key("task")} {
			for _, err := range tx.Scan(ledger.Prefix(prefix)) {
				if err != nil {
					return err
				}
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// drop is the Do of a job whose task is done when it was counted.
func drop(db ledger.DB, count func(id string)) func(context.Context, schedule.Task) error {
	return func(ctx context.Context, task schedule.Task) error {
		err := db.Update(ctx, func(tx ledger.Tx) error {
			return errors.Join(task.Check(tx), schedule.Drop(tx, task.Job, task.ID))
		})
		if err == nil {
			count(task.ID)
		}
		return err
	}
}

// An hourly visit happens 168 times in a week, on time, on a real file, with two processes that
// share it.
func TestEveryHourOfAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "ledger"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		begin := time.Now()
		var visits atomic.Int64
		var latest atomic.Int64
		job := schedule.Job{Name: "visit", Workers: 4, Do: func(ctx context.Context, task schedule.Task) error {
			return db.Update(ctx, func(tx ledger.Tx) error {
				if err := task.Check(tx); err != nil {
					return err
				}
				latest.Store(max(latest.Load(), int64(tx.Now().Sub(task.Due))))
				visits.Add(1)
				return schedule.Put(tx, task.Job, task.ID, task.Due.Add(time.Hour))
			})
		}}
		put(t, db, "visit", "watch", time.Hour)
		cfg := schedule.Config{DB: db, Jobs: []schedule.Job{job}, Log: slog.New(slog.DiscardHandler),
			Poll: 10 * time.Second}
		stop := []func(){startWith(t, cfg), startWith(t, cfg)}
		time.Sleep(time.Until(begin.Add(week + time.Minute)))
		for _, stop := range stop {
			stop()
		}
		if n := visits.Load(); n != 168 {
			t.Errorf("%d visits in a week, want 168", n)
		}
		if late := time.Duration(latest.Load()); late > 11*time.Second {
			t.Errorf("the latest was %v late", late)
		}
	})
}

// A job that hangs with all its workers does not hold up another.
func TestJobsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		for i := range 100 {
			put(t, db, "slow", fmt.Sprint(i), 0)
		}
		done := make(chan string, 1)
		start(t, db,
			schedule.Job{Name: "slow", Workers: 3, Timeout: time.Hour,
				Do: func(ctx context.Context, _ schedule.Task) error { <-ctx.Done(); return ctx.Err() }},
			schedule.Job{Name: "settle", Do: drop(db, func(id string) { done <- id })})
		time.Sleep(10 * time.Second)
		put(t, db, "settle", "one", 0)
		at := time.Now()
		<-done
		if late := time.Since(at); late > 2*time.Second {
			t.Errorf("done after %v", late)
		}
	})
}

// What fails is tried again later and later, at the end of the queue: many of its kind do not keep
// the rest from being done.
func TestFailuresGoToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		var tries []time.Time
		var mu sync.Mutex
		good := make(chan string, 1)
		counted := drop(db, func(id string) { good <- id })
		for i := range 50 {
			put(t, db, "work", fmt.Sprintf("bad%02d", i), -time.Hour)
		}
		put(t, db, "work", "good", 0)
		start(t, db, schedule.Job{Name: "work", Workers: 2, Timeout: time.Hour,
			Do: func(ctx context.Context, task schedule.Task) error {
				if task.ID == "good" {
					return counted(ctx, task)
				}
				if task.ID == "bad07" {
					mu.Lock()
					tries = append(tries, time.Now())
					mu.Unlock()
				}
				return errors.New("planted")
			}})
		at := time.Now()
		<-good
		if took := time.Since(at); took > 30*time.Second {
			t.Errorf("the good one waited for %v", took)
		}
		time.Sleep(2 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if n := len(tries); n < 20 || n > 40 {
			t.Errorf("a bad one was tried %d times in two hours", n)
		}
		if last := tries[len(tries)-1].Sub(tries[len(tries)-2]); last < 4*time.Minute || last > 6*time.Minute {
			t.Errorf("the last pause was %v, want about 5m", last)
		}
	})
}

// Who sleeps through the time of a try changes nothing, takes nothing away from who does the work
// now, and is told so.
func TestALateTryChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		put(t, db, "work", "one", 0)
		check := func(task schedule.Task) error {
			return db.Update(context.Background(), func(tx ledger.Tx) error { return task.Check(tx) })
		}
		var mu sync.Mutex
		var begun []time.Duration
		begin := time.Now()
		awake, said := make(chan struct{}), make(chan error, 2)
		job := func(do func(schedule.Task) error) schedule.Job {
			return schedule.Job{Name: "work", Timeout: time.Minute,
				Do: func(_ context.Context, task schedule.Task) error {
					mu.Lock()
					defer mu.Unlock()
					begun = append(begun, time.Since(begin).Round(10*time.Second))
					mu.Unlock()
					err := do(task)
					mu.Lock()
					return err
				}}
		}
		start(t, db, job(func(task schedule.Task) error { // deaf to its context
			time.Sleep(66 * time.Second) // nobody else has it, and its time is over
			said <- check(task)
			<-awake // another has it
			said <- check(task)
			return nil
		}))
		time.Sleep(67 * time.Second)
		if err := <-said; !errors.Is(err, schedule.ErrLost) {
			t.Errorf("after its time, Check = %v, want ErrLost", err)
		}
		ends := make(chan struct{})
		holder := func(task schedule.Task) error { <-ends; return nil }
		start(t, db, job(holder))
		time.Sleep(5 * time.Second)
		close(awake)
		if err := <-said; !errors.Is(err, schedule.ErrLost) {
			t.Errorf("while another has it, Check = %v, want ErrLost", err)
		}
		start(t, db, job(holder))
		time.Sleep(30 * time.Second)
		mu.Lock()
		if want := []time.Duration{0, 70 * time.Second}; !slices.Equal(begun, want) {
			t.Errorf("tries began after %v, want %v", begun, want)
		}
		mu.Unlock()
		close(ends)
	})
}

// Tasks that others hold stand at the head of the queue and keep nobody from those behind them.
func TestHeldTasksAreNoObstacle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		for i := range 20 {
			put(t, db, "work", fmt.Sprintf("held%02d", i), -time.Hour)
		}
		ends := make(chan struct{})
		defer close(ends)
		start(t, db, schedule.Job{Name: "work", Workers: 20, Timeout: time.Hour,
			Do: func(context.Context, schedule.Task) error { <-ends; return nil }})
		time.Sleep(2 * time.Second)
		put(t, db, "work", "free", 0)
		done := make(chan string, 1)
		at := time.Now()
		start(t, db, schedule.Job{Name: "work", Workers: 2, Do: drop(db, func(id string) { done <- id })})
		if id := <-done; id != "free" || time.Since(at) > 2*time.Second {
			t.Errorf("%s after %v", id, time.Since(at))
		}
	})
}

// A process that has the ledger for itself takes up at once what it left behind; another waits.
func TestExclusiveTakesUpAtOnce(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		t.Run(fmt.Sprint(exclusive), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := ledger.NewMem(ledger.MemOptions{})
				put(t, db, "work", "one", 0)
				left := schedule.Task{Job: "work", ID: "one", Fence: 7, Tries: 1}
				update(t, db, func(tx ledger.Tx) error { // as a process leaves it that was killed
					left.Due, left.Until = tx.Now().Truncate(time.Second), tx.Now().Add(time.Hour)
					return ledger.SetJSON(tx, ledger.TaskKey("work", "one"), left)
				})
				done := make(chan string, 1)
				at := time.Now()
				startWith(t, schedule.Config{DB: db, Log: slog.New(slog.DiscardHandler), Exclusive: exclusive,
					Jobs: []schedule.Job{{Name: "work", Do: drop(db, func(id string) { done <- id })}}})
				<-done
				if took := time.Since(at); exclusive != (took < time.Second) {
					t.Errorf("taken up after %v", took)
				}
			})
		})
	}
}

// Every task of many is done once by several processes, over a ledger that fails now and then, and
// stores and says that it failed.
func TestEachOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ops atomic.Int64
		faulty := atomic.Bool{}
		db := ledger.NewMem(ledger.MemOptions{Fault: func(op string) (bool, error) {
			n := ops.Add(1)
			if !faulty.Load() || n%7 != 0 {
				return false, nil
			}
			if op == "commit" {
				return n%2 == 0, ledger.ErrUnknown
			}
			return false, errors.New("planted")
		}})
		const n = 500
		for i := range n {
			put(t, db, "work", fmt.Sprint(i), time.Duration(i%7)*time.Second)
		}
		faulty.Store(true)
		var stops []func()
		for range 3 {
			stops = append(stops, start(t, db,
				schedule.Job{Name: "work", Workers: 8, Do: func(ctx context.Context, task schedule.Task) error {
					return db.Update(ctx, func(tx ledger.Tx) error {
						if err := task.Check(tx); err != nil {
							return err
						}
						_, err := ledger.Next(tx, "done "+task.ID)
						return errors.Join(err, schedule.Drop(tx, task.Job, task.ID))
					})
				}}))
		}
		time.Sleep(time.Hour)
		for _, stop := range stops {
			stop()
		}
		faulty.Store(false)
		update(t, db, func(tx ledger.Tx) error {
			for i := range n {
				if times, err := ledger.Last(tx, "done "+fmt.Sprint(i)); err != nil || times != 1 {
					t.Errorf("%d was done %d times, %v", i, times, err)
				}
			}
			return nil
		})
		if n := entries(t, db); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

// A task that is moved while it is tried is done again at its new time, and one that is dropped
// never.
func TestMovedWhileTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		put(t, db, "work", "one", 0)
		var at []time.Duration
		begin := time.Now()
		stop := start(t, db, schedule.Job{Name: "work", Do: func(ctx context.Context, task schedule.Task) error {
			at = append(at, time.Since(begin).Round(time.Minute))
			if len(at) == 1 {
				put(t, db, "work", "one", 10*time.Minute) // by its owner, who does not hold it
				return errors.New("planted")
			}
			return db.Update(ctx, func(tx ledger.Tx) error { return schedule.Drop(tx, task.Job, task.ID) })
		}})
		time.Sleep(time.Hour)
		stop()
		if len(at) != 2 || at[1] != 10*time.Minute {
			t.Errorf("tried at %v, want at once and after 10m", at)
		}
		if n := entries(t, db); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

// A task that cannot be read is not written over.
func TestPutLeavesWhatItCannotRead(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	damaged := []byte("{")
	update(t, db, func(tx ledger.Tx) error { return tx.Set(ledger.TaskKey("job", "id"), damaged) })
	if err := db.Update(t.Context(), func(tx ledger.Tx) error {
		return schedule.Put(tx, "job", "id", tx.Now())
	}); err == nil {
		t.Error("put over what could not be read")
	}
	update(t, db, func(tx ledger.Tx) error {
		got, err := tx.Get(ledger.TaskKey("job", "id"))
		if string(got) != string(damaged) {
			t.Errorf("it is %q now", got)
		}
		return err
	})
}

// What is not there is dropped without complaint.
func TestDropOfNothing(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	update(t, db, func(tx ledger.Tx) error { return schedule.Drop(tx, "work", "none") })
}

// away is a ledger that cannot be reached: it says so at once, or when nobody waits any more.
type away struct {
	ledger.DB
	hangs bool
}

func (l away) Update(ctx context.Context, _ func(ledger.Tx) error) error {
	if !l.hangs {
		return errors.New("no route to the ledger")
	}
	<-ctx.Done()
	return ctx.Err()
}

func (l away) View(ctx context.Context, read func(ledger.Tx) error) error { return l.Update(ctx, read) }

// That the ledger cannot be read is logged, and that a scheduler was ended is not.
func TestAnUnreadableLedgerIsLogged(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			stop := startWith(t, schedule.Config{DB: away{hangs: hangs}, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Jobs: []schedule.Job{{Name: "work", Do: func(context.Context, schedule.Task) error { return nil }}}})
			time.Sleep(3 * time.Second)
			stop()
			if said := strings.Contains(log.String(), "what is due could not be read"); said == hangs {
				t.Errorf("hangs %v: logged %q", hangs, log.String())
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	do := func(context.Context, schedule.Task) error { return nil }
	for name, jobs := range map[string][]schedule.Job{
		"no name": {{Do: do}}, "nothing to do": {{Name: "a"}}, "twice": {{Name: "a", Do: do}, {Name: "a", Do: do}},
	} {
		if _, err := schedule.New(schedule.Config{DB: ledger.NewMem(ledger.MemOptions{}),
			Log: slog.New(slog.DiscardHandler), Jobs: jobs}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Tasks that are skipped, however many, stay where they are and keep none behind them from being
// done.
func TestSkippedTasksAreNoObstacle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		update(t, db, func(tx ledger.Tx) (err error) {
			for i := range 5000 {
				err = errors.Join(err, schedule.Put(tx, "work", fmt.Sprintf("shut%04d", i), tx.Now().Add(-time.Hour)))
			}
			return err
		})
		put(t, db, "work", "open", 0)
		var shut atomic.Bool
		shut.Store(true)
		var done atomic.Int64
		start(t, db, schedule.Job{Name: "work", Workers: 2, Do: drop(db, func(string) { done.Add(1) }),
			Skip: func(_ ledger.Tx, id string) (bool, error) {
				return shut.Load() && strings.HasPrefix(id, "shut"),
					nil
			}})
		time.Sleep(10 * time.Second)
		if n := done.Load(); n != 1 {
			t.Errorf("%d were done, want the one that is not skipped", n)
		}
		shut.Store(false)
		time.Sleep(time.Hour)
		if n := done.Load(); n != 5001 {
			t.Errorf("%d were done of those that are skipped no more", n-1)
		}
	})
}

// A try that ends its goroutine is over like any other, and is tried again no later than the job
// says.
func TestATryThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		put(t, db, "work", "one", 0)
		var tries atomic.Int64
		start(t, db, schedule.Job{Name: "work", Pause: 10 * time.Second,
			Do: func(context.Context, schedule.Task) error {
				tries.Add(1)
				runtime.Goexit()
				return nil
			}})
		time.Sleep(time.Hour)
		if n := tries.Load(); n < 300 || n > 400 {
			t.Errorf("tried %d times in an hour, want every ten seconds", n)
		}
	})
}
