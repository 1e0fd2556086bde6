package verify

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// fewRows is how many rows the last of the rounds has, whose host index is nearly all of the round
// before.
const fewRows = 3

// sealAndVerify seals a round of n rows, one more of the same hosts and one of a few of them,
// verifies and reads them, and returns the peak of memory and the time that verifying took.
func sealAndVerify(t *testing.T, n int) (uint64, time.Duration) {
	w := recordtest.Writer(t)
	var verifying time.Duration
	most := recordtest.Peak(func() {
		for i, rows := range []int{n, n, fewRows} {
			d := recordtest.Draft(int64(i) + 1)
			d.Rows = recordtest.ManyRows(rows, d.TakenAt)
			began := time.Now()
			recordtest.Seal(t, w, d)
			t.Logf("%d rows of %d hosts sealed in %v", rows, n, time.Since(began))
		}
		began := time.Now()
		report := check(t, w)
		verifying = time.Since(began)
		if len(report.Problems) > 0 || report.Rows != int64(2*n+fewRows) {
			t.Errorf("%d rows, %v", report.Rows, report.Problems)
		}
		r := recordtest.Open(t, w)
		last := len(r.Rounds()[1].Parts) - 1
		rows, err := r.Part(2, last)
		if err != nil {
			t.Fatal(err)
		}
		row, err := record.ParseRow(rows[len(rows)-1])
		p, proved := r.ProveHost(3, row.Host)
		if _, wrong := p.Verify(w.Ring); proved != nil || wrong != nil {
			t.Error(proved, wrong)
		}
		if e, _ := p.Entry(); p.Size != int64(n) || e.Rows != 2 || e.FirstSequence != 1 {
			t.Errorf("of %d hosts, the last has the entry %+v", p.Size, e)
		}
		if want := fmt.Sprintf("h%09d.example", n-1); err != nil || row.Host != want || row.PreviousLeaf == nil ||
			*row.PreviousLeaf != int64(n-1) {
			t.Errorf("the last row is of %s, want %s: %v", row.Host, want, err)
		}
	})
	return most, verifying
}

// TestLongMemoryDoesNotFollowRows seals and verifies six times as many rows in about the same
// memory. It follows the cores, each of which holds a part, as do three more steps: there is one
// core here. The heap is read behind a collection, so that what is dead does not count. Buffers
// that are not full with one part take some 20 MiB more; the rows of two rounds, of 900 bytes each,
// would take 35 MiB besides.
func TestLongMemoryDoesNotFollowRows(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	few, many := record.MaxPartRows+1, 6*record.MaxPartRows
	small, _ := sealAndVerify(t, few)
	large, _ := sealAndVerify(t, many)
	t.Logf("%d rows: %d MiB; %d rows: %d MiB", few, small>>20, many, large>>20)
	if large > small+(36<<20) {
		t.Errorf("memory follows the rows: %d MiB for %d, %d MiB for %d", small>>20, few, large>>20, many)
	}
}

// TestSoakMillionRows does it at the size that is promised.
func TestSoakMillionRows(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	most, took := sealAndVerify(t, 1_000_000)
	t.Logf("a million rows: peak %d MiB, verified in %v", most>>20, took)
	if most > 512<<20 {
		t.Errorf("peak of %d MiB", most>>20)
	}
}
