package visitors_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/visitors"
)

// BenchmarkWrites sets letters and guestbook entries, sent by many at once to the handler, against
// the ledger's own writes: of one value, and of equal entries under keys as random. Compare writes
// a second, on a machine with nothing else to do: visitors' writes cost the processor more.
func BenchmarkWrites(b *testing.B) {
	b.Run("bolt", func(b *testing.B) {
		db, err := bolt.Open(b.Context(), filepath.Join(b.TempDir(), "ledger"))
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		benchmarkWrites(b, db)
	})
	b.Run("postgres", func(b *testing.B) {
		db, err := postgres.Open(b.Context(), ledgertest.Postgres(b), postgres.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		benchmarkWrites(b, db)
	})
}

func benchmarkWrites(b *testing.B, db ledger.DB) {
	s := open(b, db, func(c *visitors.Config) {
		for _, l := range visitors.Limits {
			l.Place, l.Everyone = 1e9, 1e9
			c.Limits = append(c.Limits, l)
		}
	})
	bodies := map[string]string{
		visitors.KindLetter:    text(b, map[string]any{"letter": strings.Repeat("Dear keeper. ", 50)}),
		visitors.KindGuestbook: text(b, map[string]any{"name": "Ada", "message": strings.Repeat("Came by. ", 30)}),
	}
	var n atomic.Int64
	b.Run("ledger", func(b *testing.B) {
		b.SetParallelism(64)
		value := make([]byte, 2000)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				err := db.Update(context.Background(), func(tx ledger.Tx) error {
					return tx.Set(ledger.VisitKey("bench", fmt.Sprint(n.Add(1))), value)
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
	b.Run("ledger-equal", func(b *testing.B) {
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				i := n.Add(1)
				sum := sha256.Sum256(fmt.Append(nil, i))
				id := hex.EncodeToString(sum[:16])
				err := db.Update(context.Background(), func(tx ledger.Tx) error {
					return errors.Join(tx.Set(ledger.VisitKey("bench", "post", id), make([]byte, 2000)),
						tx.Set(ledger.VisitKey("bench", "once", id), []byte("1")),
						tx.Set(ledger.VisitKey("bench", "all"), []byte("1")), tx.Set(ledger.VisitKey("bench",
							"place"), []byte("1")),
						tx.Set(ledger.VisitKey("bench", "pile", ledger.Number(uint64(i/1000)), id), nil))
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
	for _, kind := range []string{visitors.KindLetter, visitors.KindGuestbook} {
		b.Run(kind, func(b *testing.B) {
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					who := from{address: "198.51.100.1", agent: fmt.Sprint(n.Add(1))}
					if res := s.do(who, "POST", "/api/"+kind, bodies[kind]); res.StatusCode != 201 {
						b.Error(res.StatusCode)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
