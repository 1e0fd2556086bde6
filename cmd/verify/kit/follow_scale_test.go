package kit

import (
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/verify"
)

// TestFollowManyHosts steps over a round of more hosts than a part and a tile hold, and TestSoak…
// over as many as are promised. Of the hosts that are followed one has a row in every round, one
// lacks one, which has to be shown by the rows themselves, and one was never seen.
func TestFollowManyHosts(t *testing.T) { followMany(t, record.MaxPartRows+300) }

// TestSoakFollowAMillionHosts demands that a step takes a second at most.
func TestSoakFollowAMillionHosts(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	if took := followMany(t, 1_000_000); took > time.Second {
		t.Errorf("a step took %v", took)
	}
}

// followMany returns the time of the slowest step.
func followMany(t *testing.T, n int) (slowest time.Duration) {
	w := recordtest.Writer(t)
	lacking := ""
	rows := func(without bool, taken time.Time) iter.Seq2[record.Row, error] {
		return func(yield func(record.Row, error) bool) {
			i := 0
			for row, err := range recordtest.ManyRows(n, taken) {
				if i++; i == n/3 {
					if lacking = row.Host; without {
						continue
					}
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
	seal := func(sequence int64) {
		d := recordtest.Draft(sequence)
		d.Rows = rows(sequence > 1, d.TakenAt)
		recordtest.Seal(t, w, d)
	}
	seal(1)
	server := httptest.NewServer(http.FileServer(http.Dir(w.Dir)))
	defer server.Close()
	state := filepath.Join(t.TempDir(), "remembered")
	for sequence := range int64(3) {
		if sequence > 0 {
			seal(sequence + 1)
			recordtest.Observe(t, w, "synergy")
		}
		var out, errs strings.Builder
		began := time.Now()
		code := Run(t.Context(), Program{"verify", nil}, []string{"-follow", server.URL, "-remember", state, "-host",
			"h000000007.example", "-host", lacking, "-host", "never.example", "-json"}, &out, &errs)
		took := time.Since(began)
		report := decode[verify.FollowReport](t, out.String())
		t.Logf("round %d of %d hosts: a step of %v, %d requests, %d bytes", sequence+1, n, took, report.Requests,
			report.Bytes)
		slowest = max(slowest, took)
		if code != ExitVerified || report.Hosts[0].Rows != sequence+1 || report.Hosts[1].Rows != 1 ||
			report.Hosts[2].Rows != 0 || report.Rounds != sequence+1 {
			t.Fatalf("exit %d: %s%s", code, out.String(), errs.String())
		}
		if most := int64(110); report.Requests > most {
			t.Errorf("%d requests, more than %d", report.Requests, most)
		}
	}
	return slowest
}
