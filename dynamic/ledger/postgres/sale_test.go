package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// saleRows are the lengths of what each step of a sale writes, as the till has them: the first of
// each is the purchase, which all steps write.
var saleRows = [][]int{{2115, 115, 34, 0, 100, 0}, {2115}, {2115, 39, 40}, {2115, 3039, 1897, 25}}

// saleKey names a row of a step.
func saleKey(id string, step, row int) []byte {
	if row == 0 {
		return ledger.Key("purchase", id)
	}
	return ledger.Key("row", strconv.Itoa(step), strconv.Itoa(row), id)
}

func saleValue(id string, length int) []byte {
	return []byte(strings.Repeat(id, 1+length/len(id))[:length])
}

// sale does with a ledger what a till does for one purchase.
func sale(ctx context.Context, db ledger.DB, id string) error {
	for step, rows := range saleRows {
		if step > 0 {
			err := db.View(ctx, func(tx ledger.Tx) error {
				_, err := tx.Get(saleKey(id, 0, 0))
				return err
			})
			if err != nil {
				return err
			}
		}
		err := db.Update(ctx, func(tx ledger.Tx) error {
			ledger.Ahead(tx, ledger.At(saleKey(id, 0, 0)), ledger.At(ledger.CounterKey("patron")))
			if _, err := tx.Get(saleKey(id, 0, 0)); err != nil && !errors.Is(err, ledger.ErrNotFound) {
				return err
			}
			if step == 2 {
				if _, err := ledger.Next(tx, "patron"); err != nil {
					return err
				}
			}
			for row, length := range rows {
				if err := tx.Set(saleKey(id, step, row), saleValue(id, length)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bareSales writes the rows of some sales by a connection of its own, so many sales a commit.
func bareSales(ctx context.Context, conn *pgx.Conn, ids []string) error {
	for step, rows := range saleRows {
		var keys, values [][]byte
		for _, id := range ids {
			for row, length := range rows {
				keys, values = append(keys, saleKey(id, step, row)), append(values, saleValue(id, length))
			}
		}
		var b pgx.Batch
		b.Queue("begin")
		b.Queue("select key, val from kv where key = any($1)", keys)
		b.Queue(`insert into kv (key, val) select * from unnest($1::bytea[], $2::bytea[])
			on conflict (key) do update set val = excluded.val`, keys, values)
		b.Queue("commit")
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkSale measures what the ledger's part of a purchase costs, 128 at once, in processor time
// of this process and of the server, which says more than time does where they share processors:
// bbolt, one and three processes on a server, and, as a bound, three connections that commit the
// rows of 20 sales at a time and do nothing besides.
func BenchmarkSale(b *testing.B) {
	b.Run("bolt", func(b *testing.B) {
		db, err := bolt.Open(b.Context(), filepath.Join(b.TempDir(), "ledger"))
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		sales(b, "", 128, 1, func(w int, ids []string) error { return sale(b.Context(), db, ids[0]) })
	})
	for _, processes := range []int{1, 3} {
		b.Run(fmt.Sprint("postgres/", processes), func(b *testing.B) {
			dsn := ledgertest.Postgres(b)
			var dbs []ledger.DB
			for range processes {
				dbs = append(dbs, open(b, dsn))
			}
			sales(b, dsn, 128, 1, func(w int, ids []string) error {
				return sale(b.Context(), dbs[w%processes], ids[0])
			})
		})
	}
	b.Run("bare/3", func(b *testing.B) {
		dsn := ledgertest.Postgres(b)
		open(b, dsn)
		var conns []*pgx.Conn
		for range 3 {
			conn, err := pgx.Connect(b.Context(), dsn)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			conns = append(conns, conn)
		}
		sales(b, dsn, len(conns), 20, func(w int, ids []string) error { return bareSales(b.Context(), conns[w], ids) })
	})
}

// sales makes b.N sales by some workers, each so many at a time, and reports what they cost.
func sales(b *testing.B, dsn string, workers, atATime int, do func(worker int, ids []string) error) {
	own, server := processorTime(b), serverTime(b, dsn)
	var next atomic.Int64
	var g errgroup.Group
	b.ResetTimer()
	for w := range workers {
		g.Go(func() error {
			for {
				from := int(next.Add(int64(atATime))) - atATime
				var ids []string
				for i := from; i < min(from+atATime, b.N); i++ {
					ids = append(ids, fmt.Sprintf("pur_%016d", i))
				}
				if len(ids) == 0 {
					return nil
				}
				if err := do(w, ids); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((processorTime(b)-own).Microseconds())/float64(b.N), "own-µs/op")
	b.ReportMetric(float64((serverTime(b, dsn)-server).Microseconds())/float64(b.N), "server-µs/op")
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverTime is what a server of ours has used, with its processes, to the hundredth of a second; 0
// where there is none, or nothing is known of processes.
func serverTime(b *testing.B, dsn string) (sum time.Duration) {
	u, err := url.Parse(dsn)
	if err != nil {
		b.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(u.Query().Get("host"), "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	server, _, _ := strings.Cut(string(lock), "\n")
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(after) // from the third field of proc(5) on: state, parent, …
		pid := filepath.Base(filepath.Dir(name))
		used := 0
		for i := 11; i < 15; i++ { // own and, of the server, that of processes which ended
			n, err := strconv.Atoi(f[i])
			if err != nil {
				b.Fatal(err)
			}
			if pid == server || i < 13 && f[1] == server {
				used += n
			}
		}
		sum += time.Duration(used) * 10 * time.Millisecond
	}
	return sum
}
