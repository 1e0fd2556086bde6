package derive

import (
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tier"
)

// TestFromASealedRecord reads the same figures from a sealed record as from the rows it was sealed
// from.
func TestFromASealedRecord(t *testing.T) {
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	evidence := strings.Repeat("0", 64)
	weeks := []string{"RR.", "R-N", "RRR", "RNR", "RR-"} // a column a host
	live := &world{}
	for i, week := range weeks {
		rows := map[string]record.Row{}
		for h, c := range week {
			row := record.Row{Sequence: int64(i + 1), Host: string(rune('a'+h)) + ".example",
				URL:    "https://" + string(rune('a'+h)) + ".example/",
				Source: record.SourceDiscovery, Listed: true, Battery: "v2",
				Fault: record.FaultNone, Failed: []string{}, Advisories: []string{}, Protocols: []string{}}
			switch c {
			case 'R':
				row.Verdict, row.ReachedLevel, row.ObservedAt, row.EvidenceDigest = record.VerdictReady, "L4",
					at(i).Format(second), evidence
			case 'N':
				row.Verdict, row.ReachedLevel, row.ObservedAt, row.EvidenceDigest, row.Fault = record.VerdictNotReady,
					"L1", at(i).Format(second), evidence, record.FaultDoor
			case '-':
				row.Verdict, row.Reason = record.VerdictNotProbed, "interrupted"
			default:
				continue
			}
			rows[row.Host] = row
		}
		live.rows = append(live.rows, rows)
		var stream iter.Seq2[record.Row, error] = func(yield func(record.Row, error) bool) {
			for row := range live.stream(i) {
				if !yield(row.Row, nil) {
					return
				}
			}
		}
		round, err := w.Seal(t.Context(), seal.Draft{Sequence: int64(i + 1), Week: record.ISOWeek(at(i)),
			TakenAt: at(i), Battery: "v2", Rows: stream})
		if err != nil {
			t.Fatal(err)
		}
		live.rounds = append(live.rounds, round)
	}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, tier.StandingOf(tier.HistoryOf(r.Rounds(), h, nil)).Label)
		if want := live.slowTier(h.Host); labels[len(labels)-1] != want {
			t.Errorf("%s: %q, recomputed %q", h.Host, labels[len(labels)-1], want)
		}
	}
	if want := []string{"established — 4 of 4, W37–W40", "observed — 2 of 4, W37–W40",
		"indeterminate — 2 of 4, W37–W40"}; !slices.Equal(labels, want) {
		// Told by hand: b was ready, missed, ready, not ready, ready; c not ready, ready, ready,
		// missed, which is three verdicts.
		t.Errorf("labels %q, want %q", labels, want)
	}
}
