package audit

import (
	"crypto/ed25519"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// alone is how long ed25519 takes for so many signatures of rows, on all cores and with nothing
// else to do.
func alone(rows int) time.Duration {
	k := recordtest.PrivateHalf(1)
	message := make([]byte, 900)
	signature := ed25519.Sign(k, message)
	pub := k.Public().(ed25519.PublicKey)
	cores := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	began := time.Now()
	for range cores {
		wg.Go(func() {
			for range rows / cores {
				ed25519.Verify(pub, message, signature)
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// TestSoakRateOfVerification verifies records in turn with ed25519 alone and compares the middle of
// the ratios: of signatures and places, and, beside it, of judging every walk again.
func TestSoakRateOfVerification(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	bare, kept := recordtest.Writer(t), recordtest.Writer(t)
	const rounds, rows = 2, 4 * record.MaxPartRows
	for n := range int64(rounds) {
		d := recordtest.Draft(n + 1)
		d.Rows = recordtest.ManyRows(rows)
		recordtest.Seal(t, bare, d)
	}
	recordtest.Seal(t, kept, recordtest.Judged(t, 1, recordtest.Hosts(2*record.MaxPartRows)...))
	verified := func(w *seal.Writer, o RecordOptions) time.Duration {
		t.Helper()
		began := time.Now()
		r, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, o)
		if err != nil || len(r.Problems) > 0 {
			t.Fatal(err, r.Problems)
		}
		return time.Since(began)
	}
	var signatures, again []float64
	for range 7 {
		before := alone(rounds * rows)
		took := verified(bare, judging)
		after := alone(rounds * rows)
		signatures = append(signatures, (before+after).Seconds()/2/took.Seconds())
		judging := verified(kept, judging) - verified(kept, RecordOptions{})
		again = append(again, judging.Seconds()/(2*record.MaxPartRows)*1e6)
	}
	slices.Sort(signatures)
	slices.Sort(again)
	t.Logf("%.2f of the rate of ed25519 alone (%.2f to %.2f); judging a walk again takes %.0f µs more of all cores "+
		"(%.0f to %.0f)",
		signatures[3], signatures[0], signatures[6], again[3], again[0], again[6])
	if signatures[3] < 0.7 {
		t.Errorf("%.2f of the rate of ed25519 alone, want 0.7", signatures[3])
	}
}
