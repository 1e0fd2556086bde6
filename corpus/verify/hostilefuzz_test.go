package verify_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// hostileRounds walks so many hostile doors, seals them as rounds of a record and verifies it:
// every door has a row, and what is kept of it gives that row again.
func hostileRounds(t *testing.T, seed uint64, doors, rounds int) *seal.Writer {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	verdicts, cut, unjudged := map[string]int{}, 0, 0
	for round := range rounds {
		at := corpustest.Monday.AddDate(0, 0, 7*round+6)
		h := corpustest.NewHostile(seed+uint64(round), at.Add(-time.Hour))
		sealed, err := w.Seal(t.Context(), h.Draft(int64(round+1), doors))
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round+1, err)
		}
		if sealed.Rows != int64(doors) {
			t.Errorf("%d rows of %d doors", sealed.Rows, doors)
		}
	}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range r.Rounds() {
		for row, err := range r.Rows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			if n := len(row.Raw); n > record.MaxRow {
				t.Errorf("%s: %d bytes", row.Host, n)
			}
			if strings.ContainsFunc(string(row.Raw), func(c rune) bool { return !unicode.IsPrint(c) }) ||
				strings.Contains(string(row.Raw), `\u`) {
				t.Errorf("%s: %.400q", row.Host, row.Raw)
			}
			verdicts[row.Verdict]++
			if row.Offer != nil && row.Offer.PayToLeftOut+row.Offer.NetworksLeftOut > 0 {
				cut++
			}
			if row.Reason == record.ReasonNotJudged {
				unjudged++
			}
		}
	}
	t.Logf("%v, %d cut, %d not judged", verdicts, cut, unjudged)
	if verdicts[record.VerdictNotReady] == 0 || verdicts[record.VerdictUnreachable] == 0 || cut == 0 || unjudged == 0 {
		t.Error("the doors are not as many kinds of hostile as they should be")
	}
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%v %.2000v", err, report.Problems)
	}
	if v := report.Verdicts; v.NotKept != 0 || v.Unjudged != 0 {
		t.Errorf("%+v", v)
	}
	return w
}

// TestHostileExchanges is the short form of TestSoakHostileExchanges.
func TestHostileExchanges(t *testing.T) { hostileRounds(t, 1, 300, 2) }

// TestSoakHostileExchanges walks 100,000 hostile doors: each becomes a row that seals, in rounds
// that verify.
func TestSoakHostileExchanges(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	for i := range 10 {
		hostileRounds(t, uint64(100*i+2), 5000, 2)
	}
}
