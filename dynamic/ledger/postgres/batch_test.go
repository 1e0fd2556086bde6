package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// connect opens a connection of its own to a database.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func do(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// count asks for one number.
func count(t *testing.T, conn *pgx.Conn, question string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), question).Scan(&n); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return n
}

// queueUp lets many Updates wait for a turn that another session has, in their
// order, and returns when they do. The function of the first has begun then. Each
// takes a number and leaves a mark, and then does what each does.
func queueUp(t *testing.T, db *DB, other *pgx.Conn, many int, each func(i int, tx ledger.Tx) error,
	outcomes ...chan<- error) *errgroup.Group {
	t.Helper()
	do(t, other, "begin", "lock table kv_turn in exclusive mode")
	var g errgroup.Group
	entered := make(chan struct{}, 100)
	for i := range many {
		g.Go(func() error {
			err := db.Update(t.Context(), func(tx ledger.Tx) error {
				if i == 0 {
					entered <- struct{}{}
				}
				if _, err := ledger.Next(tx, "n"); err != nil {
					return err
				}
				return errors.Join(tx.Set(fmt.Appendf(nil, "by/%d", i), nil), each(i, tx))
			})
			for _, c := range outcomes {
				c <- err
			}
			return err
		})
		if i == 0 {
			<-entered
		}
		for db.queue.Len() < i {
			if t.Context().Err() != nil {
				t.Fatal("the queue does not fill")
			}
		}
	}
	return &g
}

const turnsHeld = `select count(*) from pg_locks where relation = 'kv_turn'::regclass and granted`

// TestBatch commits what has queued up behind the first in one transaction.
func TestBatch(t *testing.T) {
	const many = 20
	dsn := ledgertest.Postgres(t)
	db, other := open(t, dsn), connect(t, dsn)
	g := queueUp(t, db, other, many, func(int, ledger.Tx) error { return nil })
	do(t, other, "commit")
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := lastOf(t, db); n != many {
		t.Errorf("counted to %d, want %d", n, many)
	}
	if n := count(t, other, "select count(distinct xmin::text) from kv"); n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
}

// TestLateCallsReadWhileOthersRun: a call that has come while the server answered is asked what it
// reads before those that came first have all run, and is committed with them.
func TestLateCallsReadWhileOthersRun(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	other := connect(t, dsn)
	idle := &DB{pool: open(t, dsn).pool, queue: ledger.NewQueue()} // whose batch is run here
	var g errgroup.Group
	late := make(chan struct{})
	update := func(name string, then func()) {
		waits := idle.queue.Len()
		g.Go(func() error {
			return idle.queue.Update(t.Context(), func(tx ledger.Tx) error {
				if name == "late" {
					close(late)
				}
				ledger.Ahead(tx, ledger.At(ledger.CounterKey("n")))
				n, err := ledger.Next(tx, "n")
				then()
				return errors.Join(err, tx.Set([]byte(name), []byte{byte(n)}))
			})
		})
		for idle.queue.Len() == waits && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	update("first", func() {})
	update("second", func() { <-late })
	calls := []*ledger.Call{idle.queue.Next(nil), idle.queue.Next(nil)}
	update("late", func() {})
	b := &batch{db: idle, more: true, snapshot: newSnapshot(idle.pool, serializable)}
	b.all = b.overlay(nil)
	b.runAll(calls)
	if err := errors.Join(b.close(), b.commit(b.all.Writes())); err != nil {
		t.Fatal(err)
	}
	if len(b.calls) != 3 {
		t.Errorf("%d calls were taken, want 3", len(b.calls))
	}
	for _, c := range b.calls {
		c.End(nil)
	}
	b.release()
	if n := count(t, other, "select get_byte(val, 0) from kv where key = 'late'"); n != 3 {
		t.Errorf("the late one took number %d, want 3", n)
	}
	idle.work.Wait()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAheadRunsOnce lets many read what those before them write: who says so ahead runs once, who
// does not runs again, and neither misses a write.
func TestAheadRunsOnce(t *testing.T) {
	const many = 20
	for _, ahead := range []bool{true, false} {
		dsn := ledgertest.Postgres(t)
		db, other := open(t, dsn), connect(t, dsn)
		do(t, other, "begin", "lock table kv_turn in exclusive mode")
		var g errgroup.Group
		var runs atomic.Int64
		for range many {
			g.Go(func() error {
				return db.Update(t.Context(), func(tx ledger.Tx) error {
					runs.Add(1)
					if ahead {
						ledger.Ahead(tx, ledger.At(ledger.CounterKey("n")))
					}
					_, err := ledger.Next(tx, "n")
					return err
				})
			})
		}
		// One or a few have begun, and the others wait.
		for n := 0; int(runs.Load())+db.queue.Len() < many || n != int(runs.Load()); {
			if n = int(runs.Load()); t.Context().Err() != nil {
				t.Fatal("the queue does not fill")
			}
			runtime.Gosched()
		}
		do(t, other, "commit")
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := lastOf(t, db); n != many {
			t.Errorf("ahead %v: counted to %d, want %d", ahead, n, many)
		}
		if n := runs.Load(); ahead && n != many || !ahead && n == many {
			t.Errorf("ahead %v: the functions of %d calls ran %d times", ahead, many, n)
		}
	}
}

// TestRefusedWrite lets the server refuse what one of a batch writes.
func TestRefusedWrite(t *testing.T) {
	const many, bad = 10, 4
	dsn := ledgertest.Postgres(t)
	db, other := open(t, dsn), connect(t, dsn)
	do(t, other, `create function no() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`,
		fmt.Sprintf(`create trigger no before insert on kv for each row when (new.key = 'by/%d') execute function no()`,
			bad))
	err := func() error {
		g := queueUp(t, db, other, many, func(int, ledger.Tx) error { return nil })
		do(t, other, "commit")
		return g.Wait() // the first error, which is the only one if all others are counted
	}()
	if err == nil || !strings.Contains(err.Error(), "not this one") || errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("Update that writes what is refused: %v", err)
	}
	if n := lastOf(t, db); n != many-1 {
		t.Errorf("counted to %d, want %d", n, many-1)
	}
}

// TestFullBatch writes more than one transaction takes.
func TestFullBatch(t *testing.T) {
	const many = 5
	dsn := ledgertest.Postgres(t)
	db, other := open(t, dsn), connect(t, dsn)
	g := queueUp(t, db, other, many, func(i int, tx ledger.Tx) error {
		return tx.Set(fmt.Appendf(nil, "large/%d", i), make([]byte, mostBytes/2+1))
	})
	do(t, other, "commit")
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, other, `select max(n) from (select count(*) as n from kv where key >= 'large/' group by xmin::text) as each`); n > 2 {
		t.Errorf("%d of them in one transaction, want 2 at most", n)
	}
	if n := lastOf(t, db); n != many {
		t.Errorf("counted to %d, want %d", n, many)
	}
}

// TestSlowFunction needs another Update to come to an end while it runs: in its
// first turn, and in the one after it has read what another wrote.
func TestSlowFunction(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("again=", again), func(t *testing.T) {
			db, other := open(t, dsn), connect(t, dsn)
			before := lastOf(t, db)
			other2 := make(chan error, 1)
			turns := 0
			g := queueUp(t, db, other, 5, func(i int, tx ledger.Tx) error {
				if i != 4 {
					return nil
				}
				if turns++; again && turns == 1 {
					return nil // it has read the counter, which the others write
				}
				if turns == 1 || again && turns == 2 {
					other2 <- next(t.Context(), db)
				}
				return nil
			})
			do(t, other, "commit")
			if err := errors.Join(g.Wait(), <-other2); err != nil {
				t.Fatal(err)
			}
			if n := lastOf(t, db) - before; n != 6 {
				t.Errorf("counted to %d, want 6", n)
			}
		})
	}
}

// TestBatchLost loses the answer to the commit of many.
func TestBatchLost(t *testing.T) {
	const many = 10
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprint("arrives=", arrives), func(t *testing.T) {
			dsn := ledgertest.Postgres(t)
			p := newProxy(t, dsn, arrives)
			db := open(t, with(t, dsn, map[string]string{
				"host": "127.0.0.1", "port": p.port(), "sslmode": "disable", "pool_max_conns": "1",
			}))
			other := connect(t, dsn)
			if err := next(t.Context(), db); err != nil { // prepares the statements
				t.Fatal(err)
			}
			want := int64(1)
			if arrives {
				want += many
			}
			var turns atomic.Int64
			outcomes := make(chan error, many)
			g := queueUp(t, db, other, many, func(i int, tx ledger.Tx) error {
				if turns.Add(1) == 2*many-1 { // all, and those that came after the first once more
					p.armed.Store(true)
				}
				return nil
			}, outcomes)
			do(t, other, "commit")
			_ = g.Wait()
			unknown := 0
			for range many {
				if err := <-outcomes; errors.Is(err, ledger.ErrUnknown) {
					unknown++
				} else if err != nil {
					t.Error(err)
				}
			}
			if unknown != many {
				t.Errorf("%d of %d Updates are told that nobody knows", unknown, many)
			}
			<-p.cut
			if n := lastOf(t, db); n != want {
				t.Errorf("counter = %d, want %d", n, want)
			}
		})
	}
}

// TestTurnHeldForEver lets a session that does nothing have the turn.
func TestTurnHeldForEver(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	db, other := open(t, dsn), connect(t, dsn)
	do(t, other, "begin", "lock table kv_turn in exclusive mode")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := next(ctx, db); err != nil {
		t.Error(err)
	}
	if n := count(t, other, turnsHeld); n != 1 {
		t.Errorf("%d sessions have the turn, want the other one", n)
	}
}

// TestProcessStopped stops a process that has the turn, sees that another goes on,
// and that the turn is taken from it; then the same with one that is killed.
func TestProcessStopped(t *testing.T) {
	if dsn := os.Getenv("POSTGRES_TEST_COUNT"); dsn != "" {
		keepCounting(t, dsn)
		return
	}
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint("kill=", kill), func(t *testing.T) {
			dsn := ledgertest.Postgres(t)
			db, look := open(t, dsn), connect(t, dsn)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProcessStopped$")
			child.Env = append(os.Environ(), "POSTGRES_TEST_COUNT="+dsn)
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = child.Process.Kill()
				_ = child.Wait()
			}()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "counting\n" {
				t.Fatalf("the child says %q, %v", line, err)
			}
			// It has the turn most of the time.
			for {
				if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				if count(t, look, turnsHeld+" and pid in (select pid from pg_stat_activity where state = 'idle in "+
					"transaction')") == 1 {
					break
				}
				if err := errors.Join(child.Process.Signal(syscall.SIGCONT), ctx.Err()); err != nil {
					t.Fatal(err)
				}
			}
			if kill {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			before := lastOf(t, db)
			if err := next(ctx, db); err != nil {
				t.Errorf("Update while another process has the turn and does not move: %v", err)
			}
			if n := lastOf(t, db); n != before+1 {
				t.Errorf("counted from %d to %d", before, n)
			}
			for count(t, look, turnsHeld) > 0 {
				if ctx.Err() != nil {
					t.Fatal("the turn is not taken from a process that does not move")
				}
			}
		})
	}
}

// keepCounting makes one Update after another whose functions take a while.
func keepCounting(t *testing.T, dsn string) {
	db, err := Open(t.Context(), dsn, Options{AllowNotDurable: true})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("counting")
	for {
		err := db.Update(t.Context(), func(tx ledger.Tx) error {
			_, err := ledger.Next(tx, "child")
			for from := time.Now(); time.Since(from) < 16*time.Millisecond; {
				continue
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWithoutTurns is the conformance test for engines that know no LOCK.
func TestWithoutTurns(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.DB {
		db := open(t, ledgertest.Postgres(t))
		db.turns = false
		return db
	})
}

// TestReadsTogether counts the round trips for what is asked at once, said to be
// read, or asked again.
func TestReadsTogether(t *testing.T) {
	db := open(t, ledgertest.Postgres(t))
	const many = 10
	var reads []ledger.Range
	err := db.Update(t.Context(), func(tx ledger.Tx) error {
		reads = nil
		for i := range many {
			reads = append(reads, ledger.At(fmt.Appendf(nil, "key/%d", i)))
			if err := tx.Set(reads[i].From, fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	of := newSnapshot(db.pool, serializable)
	of.users = 1
	readTogether(t, of, reads) // of an Update
	readTogether(t, db.join(), reads)
}

// readTogether reads what TestReadsTogether wrote.
func readTogether(t *testing.T, s *snapshot, reads []ledger.Range) {
	t.Helper()
	defer s.leave()
	r := &reader{snapshot: s, ctx: t.Context()}
	from, to := ledger.Prefix([]byte("key/"))
	r.Ahead(append(reads, ledger.In(from, to)))
	want := func(what string, trips int) {
		t.Helper()
		if _, asked := s.progress(); asked != trips {
			t.Errorf("%s: %d round trips, want %d", what, asked, trips)
		}
	}
	var up, down []string
	for i, k := range reads {
		if v, err := r.Get(k.From); err != nil || string(v) != fmt.Sprint(i) {
			t.Errorf("Get = %q, %v, want %d", v, err, i)
		}
	}
	for e, err := range r.Scan(from, to) {
		if err != nil {
			t.Fatal(err)
		}
		up = append(up, string(e.Value))
	}
	for e, err := range r.ScanDown(from, to) {
		if err != nil {
			t.Fatal(err)
		}
		down = append(down, string(e.Value))
	}
	slices.Reverse(down)
	if len(up) != len(reads) || !slices.Equal(up, down) {
		t.Errorf("scanned %q and, turned round, %q", up, down)
	}
	want("what was said ahead", 1)
	for range 2 {
		if _, err := r.Get([]byte("another")); !errors.Is(err, ledger.ErrNotFound) {
			t.Error(err)
		}
	}
	want("one key more, twice", 2)
	if now := r.Now(); time.Since(now).Abs() > time.Minute {
		t.Errorf("the time is %s", now)
	}
	want("the time", 2)
}
