package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

func next(ctx context.Context, db ledger.DB) error {
	return db.Update(ctx, func(tx ledger.Tx) error { _, err := ledger.Next(tx, "n"); return err })
}

func lastOf(t testing.TB, db ledger.DB) (n int64) {
	t.Helper()
	err := db.View(t.Context(), func(tx ledger.Tx) (err error) { n, err = ledger.Last(tx, "n"); return err })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// with adds settings to a connection string of either form.
func with(t *testing.T, dsn string, settings map[string]string) string {
	t.Helper()
	if !strings.Contains(dsn, "://") {
		for k, v := range settings {
			dsn += fmt.Sprintf(" %s=%s", k, v)
		}
		return dsn
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for k, v := range settings {
		switch k {
		case "host":
			u.Host = net.JoinHostPort(v, settings["port"])
			q.Del("host")
		case "port":
		default:
			q.Set(k, v)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func TestLooseCommitsAreRefused(t *testing.T) {
	loose := with(t, ledgertest.Postgres(t), map[string]string{"synchronous_commit": "off"})
	db, err := Open(t.Context(), loose, Options{})
	if err == nil {
		_ = db.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "synchronous_commit is off") {
		t.Errorf("Open with synchronous_commit off: %v", err)
	}
	if err := next(t.Context(), open(t, loose)); err != nil { // AllowNotDurable
		t.Error(err)
	}
}

// TestMissingSyncIsRefused turns fsync off and on again, while the ledger is
// opened as for production.
func TestMissingSyncIsRefused(t *testing.T) {
	if os.Getenv("TEST_POSTGRES_DSN") != "" {
		t.Skip("the server is not ours to configure")
	}
	dsn := ledgertest.Postgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	set := func(value string) {
		for _, s := range []string{"alter system set fsync = " + value, "select pg_reload_conf()"} {
			if _, err := conn.Exec(context.Background(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The server takes a moment to read its new configuration.
	opens := func(want bool) {
		t.Helper()
		for {
			db, err := Open(ctx, dsn, Options{})
			switch {
			case err == nil:
				err = errors.Join(next(ctx, db), db.Close())
				if err == nil && want {
					return
				}
			case strings.Contains(err.Error(), "fsync is off"):
				if !want {
					return
				}
				err = nil
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				t.Fatalf("opening, which should work: %v: %v", want, err)
			}
		}
	}
	opens(true)
	t.Cleanup(func() { set("on") })
	set("off")
	opens(false)
	set("on")
	opens(true)
}

// TestWhatIsNotReadyIsRefused opens what a restore that died has left, and what a newer release has
// written.
func TestWhatIsNotReadyIsRefused(t *testing.T) {
	for fact, c := range map[string]struct {
		value string
		want  error
	}{"restoring": {"", ledger.ErrRestoring}, "format": {strconv.Itoa(ledger.Format + 1), ledger.ErrNewer}} {
		dsn := ledgertest.Postgres(t)
		err := open(t, dsn).Update(t.Context(), func(tx ledger.Tx) error {
			return tx.Set(ledger.MetaKey(fact), []byte(c.value))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dsn, Options{AllowNotDurable: true}); !errors.Is(err, c.want) {
			t.Errorf("with meta/%s Open = %v, want %v", fact, err, c.want)
		}
	}
}

// TestManyProcesses lets several pools, each as of another process, make the
// table at once and then count together. Two begin before either has counted, so
// that there is a conflict on any machine.
func TestManyProcesses(t *testing.T) {
	const processes, workers, times = 4, 3, 10
	dsn := ledgertest.Postgres(t)
	var conflicts, begun atomic.Int64
	two := make(chan struct{})
	var g errgroup.Group
	for range processes {
		g.Go(func() error {
			db, err := Open(t.Context(), dsn, Options{AllowNotDurable: true})
			if err != nil {
				return err
			}
			var inner errgroup.Group
			for range workers {
				inner.Go(func() error {
					for range times {
						calls := -1
						err := db.Update(t.Context(), func(tx ledger.Tx) error {
							if _, err := ledger.Last(tx, "n"); err != nil {
								return err
							}
							if begun.Add(1) == 2 {
								close(two)
							}
							<-two
							calls++
							_, err := ledger.Next(tx, "n")
							return err
						})
						if err != nil {
							return err
						}
						conflicts.Add(int64(calls))
					}
					return nil
				})
			}
			return errors.Join(inner.Wait(), db.Close())
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := lastOf(t, open(t, dsn)); n != processes*workers*times {
		t.Errorf("counted to %d, want %d", n, processes*workers*times)
	}
	if conflicts.Load() == 0 {
		t.Error("nothing was run twice: there was no conflict to retry")
	}
}

// TestTableMadeAtOnce lets many processes start on a database without a table,
// again and again.
func TestTableMadeAtOnce(t *testing.T) {
	const processes, times = 8, 25
	dsn := ledgertest.Postgres(t)
	keeper := open(t, dsn)
	for range times {
		if _, err := keeper.pool.Exec(t.Context(), "drop table kv"); err != nil {
			t.Fatal(err)
		}
		var g errgroup.Group
		for range processes {
			g.Go(func() error {
				db, err := Open(t.Context(), dsn, Options{AllowNotDurable: true})
				if err != nil {
					return err
				}
				return db.Close()
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEndlessConflict makes every try conflict: Update goes on until its context
// ends, which is in the fifth, and then says so.
func TestEndlessConflict(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	db, other := open(t, dsn), open(t, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	err := db.Update(ctx, func(tx ledger.Tx) error {
		calls++
		if _, err := ledger.Next(tx, "n"); err != nil {
			return err
		}
		if calls == 5 {
			cancel()
		}
		return next(t.Context(), other)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update = %v, want that its context ended", err)
	}
	if n := lastOf(t, db); calls != 5 || n != int64(calls) {
		t.Errorf("%d calls and a counter of %d, want 5 and as many", calls, n)
	}
}

// TestConnectionLost kills the connection inside f.
func TestConnectionLost(t *testing.T) {
	db := open(t, ledgertest.Postgres(t))
	err := db.Update(t.Context(), func(tx ledger.Tx) error {
		_, err := ledger.Next(tx, "n")
		if err != nil {
			return err
		}
		conn, err := db.pool.Acquire(t.Context())
		if err != nil {
			return err
		}
		defer conn.Release()
		_, err = conn.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()`)
		if err != nil {
			return err
		}
		_, err = tx.Get([]byte("k"))
		if err == nil || errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("Get on a lost connection = %v", err)
		}
		return nil // f swallows the error
	})
	if err == nil || errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("Update = %v, want an error that says nothing was stored", err)
	}
	if n := lastOf(t, db); n != 0 {
		t.Errorf("counter = %d, want 0", n)
	}
}

// TestCommitLost cuts the connection at the commit, before or after the server
// has heard of it.
func TestCommitLost(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprint("arrives=", arrives), func(t *testing.T) {
			dsn := ledgertest.Postgres(t)
			p := newProxy(t, dsn, arrives)
			db := open(t, with(t, dsn, map[string]string{
				"host": "127.0.0.1", "port": p.port(), "sslmode": "disable", "pool_max_conns": "1",
			}))
			if err := next(t.Context(), db); err != nil { // prepares the statements
				t.Fatal(err)
			}
			err := db.Update(t.Context(), func(tx ledger.Tx) error {
				_, err := ledger.Next(tx, "n")
				p.armed.Store(true)
				return err
			})
			if !errors.Is(err, ledger.ErrUnknown) {
				t.Errorf("Update whose commit was lost = %v, want ErrUnknown", err)
			}
			<-p.cut
			want := int64(1)
			if arrives {
				want = 2
			}
			if n := lastOf(t, db); n != want {
				t.Errorf("counter = %d, want %d", n, want)
			}
		})
	}
}

// A proxy stands before a server and, once armed, cuts one connection at the
// next thing that the client says.
type proxy struct {
	l       net.Listener
	network string
	address string
	arrives bool // let the server hear it
	armed   atomic.Bool
	cut     chan struct{} // closed when the server has done with the cut connection
	wg      sync.WaitGroup
}

func newProxy(t *testing.T, dsn string, arrives bool) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, arrives: arrives, cut: make(chan struct{})}
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) port() string {
	_, port, _ := net.SplitHostPort(p.l.Addr().String())
	return port
}

// cancelRequest begins the one message of a connection that asks for a cancel: its length and its
// code.
var cancelRequest = []byte{0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e}

func (p *proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if _, err := io.Copy(client, server); err != nil {
			_, _ = io.Copy(io.Discard, server) // the client is gone
		}
		_ = client.Close()
	}()
	terminate := []byte{'X', 0, 0, 0, 4}
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		said := buf[:n]
		if bytes.Equal(said[:min(n, len(cancelRequest))], cancelRequest) {
			// Whoever lost a connection asks for a cancel, which may come before the server got to
			// the commit.
			return
		}
		armed := n > 0 && p.armed.CompareAndSwap(true, false)
		switch {
		case err != nil:
			said = terminate
		case armed && p.arrives:
			_ = client.Close()
			said = append(said, terminate...)
		case armed:
			_ = client.Close()
			said = terminate
		}
		_, werr := server.Write(said)
		if err != nil || armed || werr != nil {
			<-answered
			if armed {
				close(p.cut)
			}
			return
		}
	}
}

// BenchmarkUpdate measures updates of different keys, and of one.
func BenchmarkUpdate(b *testing.B) {
	for _, key := range []string{"apart", "same"} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprint(key, "/", callers), func(b *testing.B) {
				db := open(b, ledgertest.Postgres(b))
				turns := make(chan int)
				var g errgroup.Group
				for c := range callers {
					g.Go(func() error {
						name := key
						if key == "apart" {
							name = fmt.Sprint(key, c)
						}
						for range turns {
							err := db.Update(context.Background(), func(tx ledger.Tx) error {
								_, err := ledger.Next(tx, name)
								return err
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
}
