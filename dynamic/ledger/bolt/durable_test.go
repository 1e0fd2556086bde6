package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
)

func next(ctx context.Context, db ledger.DB, name string) error {
	return db.Update(ctx, func(tx ledger.Tx) error { _, err := ledger.Next(tx, name); return err })
}

func lastOf(t testing.TB, db ledger.DB, name string) (n int64) {
	t.Helper()
	err := db.View(context.Background(), func(tx ledger.Tx) (err error) { n, err = ledger.Last(tx, name); return err })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBatch holds the writer inside one Update until ten more have queued up
// behind it, and counts the commits that they all need.
func TestBatch(t *testing.T) {
	db := open(t)
	before := db.synced
	mine := errors.New("mine")
	var g errgroup.Group
	entered, leave := make(chan struct{}), make(chan struct{})
	g.Go(func() error {
		return db.Update(t.Context(), func(tx ledger.Tx) error {
			close(entered)
			<-leave
			_, err := ledger.Next(tx, "n")
			return err
		})
	})
	<-entered
	for i := range 10 {
		g.Go(func() error {
			err := db.Update(t.Context(), func(tx ledger.Tx) error {
				if err := tx.Set(fmt.Appendf(nil, "by/%d", i), nil); err != nil {
					return err
				}
				if _, err := ledger.Next(tx, "n"); err != nil {
					return err
				}
				if i%2 == 0 {
					return mine
				}
				return nil
			})
			if i%2 == 0 && err == mine {
				return nil
			}
			return err
		})
	}
	for db.queue.Len() < 10 {
		// The goroutines are on their way into the queue.
		if t.Context().Err() != nil {
			t.Fatal("the queue does not fill")
		}
	}
	close(leave)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := db.synced - before; got != 1 {
		t.Errorf("11 updates took %d commits, want 1", got)
	}
	if n := lastOf(t, db, "n"); n != 6 {
		t.Errorf("counter = %d after 6 good and 5 failed updates, want 6", n)
	}
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		for i := range 10 {
			_, err := tx.Get(fmt.Appendf(nil, "by/%d", i))
			if stored := err == nil; stored != (i%2 == 1) {
				t.Errorf("update %d stored its write: %v", i, stored)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestViewWaitsForTheDisk shows a View a commit that is not synced.
func TestViewWaitsForTheDisk(t *testing.T) {
	db := open(t)
	if err := next(t.Context(), db, "n"); err != nil {
		t.Fatal(err)
	}
	db.mu.Lock()
	synced := db.synced
	db.synced = synced - 1 // as if the last commit were still on its way
	db.mu.Unlock()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := db.View(short, func(ledger.Tx) error {
		t.Error("a View saw a commit before it was on the disk")
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("View = %v, want it to wait until its context ends", err)
	}
	seen := make(chan error, 1)
	go func() { seen <- db.View(t.Context(), func(ledger.Tx) error { return nil }) }()
	db.mu.Lock()
	db.synced = synced
	close(db.settle)
	db.settle = make(chan struct{})
	db.mu.Unlock()
	if err := <-seen; err != nil {
		t.Errorf("View after the commit had ended: %v", err)
	}
}

// forbidWrites exchanges every descriptor that this process has of the file for
// one that can only be read.
func forbidWrites(t *testing.T, path string) {
	t.Helper()
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = readOnly.Close() }()
	const dir = "/proc/self/fd"
	open, err := os.ReadDir(dir)
	if err != nil {
		t.Skip("needs a system that lists its open files: ", err)
	}
	for _, e := range open {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil || target != path {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if fd == int(readOnly.Fd()) {
			continue
		}
		if err := syscall.Dup3(int(readOnly.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedCommit lets a commit fail by forbidding to write.
func TestFailedCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := next(t.Context(), db, "n"); err != nil {
		t.Fatal(err)
	}
	forbidWrites(t, path)
	err = next(t.Context(), db, "n")
	if !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("Update whose commit failed = %v, want ErrUnknown", err)
	}
	for what, err := range map[string]error{
		"Update": next(t.Context(), db, "n"),
		"View":   db.View(t.Context(), func(ledger.Tx) error { return nil }),
	} {
		if err == nil || errors.Is(err, ledger.ErrUnknown) || !strings.Contains(err.Error(), "stopped") {
			t.Errorf("%s after a failed commit = %v, want that the ledger has stopped", what, err)
		}
	}
	select {
	case <-db.Stopped():
	default:
		t.Error("whoever serves with the ledger is not told that it has stopped")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	again := openAt(t, path)
	if n := lastOf(t, again, "n"); n != 1 {
		t.Errorf("counter = %d after the commit failed, want 1", n)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	openAt(t, path)
	db, err := Open(t.Context(), path)
	if err == nil {
		_ = db.Close()
		t.Fatal("a file was opened twice")
	}
	if !strings.Contains(err.Error(), "another process") {
		t.Errorf("opening twice: %v", err)
	}
}

// TestKill kills a process that counts, again and again, and demands that every
// number it was told is stored was.
func TestKill(t *testing.T) {
	if path := os.Getenv("BOLT_TEST_COUNT"); path != "" {
		count(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "ledger")
	var told int64
	for range 10 {
		child := exec.Command(os.Args[0], "-test.run=^TestKill$")
		child.Env = append(os.Environ(), "BOLT_TEST_COUNT="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			v, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				continue // what package testing prints
			}
			told = max(told, v)
			if n == 20 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // killed, as intended
		db := openAt(t, path)
		if got := lastOf(t, db, "n"); got < told {
			t.Fatalf("%d is stored, but %d was reported", got, told)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if told < 100 {
		t.Errorf("the children counted to %d only", told)
	}
}

func count(t *testing.T, path string) {
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				var n int64
				err := db.Update(t.Context(),
					func(tx ledger.Tx) (err error) { n, err = ledger.Next(tx, "n"); return err })
				if err != nil {
					return
				}
				fmt.Println(n)
			}
		})
	}
	wg.Wait()
}

// BenchmarkUpdate measures durable updates with so many callers at once.
func BenchmarkUpdate(b *testing.B) {
	for _, callers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			db := open(b)
			value := make([]byte, 1000)
			var g errgroup.Group
			turns := make(chan int)
			for range callers {
				g.Go(func() error {
					for i := range turns {
						err := db.Update(b.Context(), func(tx ledger.Tx) error {
							return tx.Set(ledger.PurchaseKey(strconv.Itoa(i*7919%1000003)), value)
						})
						if err != nil {
							return err
						}
					}
					return nil
				})
			}
			n := 0
			for b.Loop() {
				turns <- n
				n++
			}
			close(turns)
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}

// BenchmarkView measures reads of one record.
func BenchmarkView(b *testing.B) {
	db := open(b)
	if err := next(b.Context(), db, "n"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		lastOf(b, db, "n")
	}
}

// TestWhatIsNotReadyIsRefused opens what a restore that died has left, and what a newer release has
// written.
func TestWhatIsNotReadyIsRefused(t *testing.T) {
	for fact, c := range map[string]struct {
		value string
		want  error
	}{"restoring": {"", ledger.ErrRestoring}, "format": {strconv.Itoa(ledger.Format + 1), ledger.ErrNewer}} {
		path := filepath.Join(t.TempDir(), "ledger")
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx ledger.Tx) error {
			return tx.Set(ledger.MetaKey(fact), []byte(c.value))
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path); !errors.Is(err, c.want) {
			t.Errorf("with meta/%s Open = %v, want %v", fact, err, c.want)
		}
	}
}
