package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// TestVantagesAreRefused signs what a keeper may not say of walkers at other places, keys in hand:
// both verifiers refuse it by the same rule, but for a verdict, which takes the battery.
func TestVantagesAreRefused(t *testing.T) {
	at, host := time.Date(2026, 9, 12, 0, 0, 0, 0, time.UTC), "door000.example"
	doors := practice.All()
	ready := doors[slices.IndexFunc(doors, func(d practice.Door) bool {
		report, _ := walkOne(t, "https://"+host+"/", d, at, 1)
		return report.Verdict == "ready"
	})]
	report, j := walkOne(t, "https://"+host+"/", ready, at, 1)
	trees, want := map[string]fstest.MapFS{}, map[string]rule.Rule{}
	for _, lie := range []struct {
		name   string
		broken rule.Rule
		change func(row *record.Row, kept map[string][]byte)
	}{
		{"as it was seen", "", func(*record.Row, map[string][]byte) {}},
		{"a verdict that was not seen there", rule.JudgementVerdict, func(row *record.Row, _ map[string][]byte) {
			row.Vantages[0].Verdict, row.Verdict, row.Fault = record.VerdictUnreachable, record.VerdictNotReady,
				record.FaultPath
		}},
		{"what another door answered", rule.JudgementDoor, func(row *record.Row, kept map[string][]byte) {
			other := record.Row{Verdict: row.Verdict, URL: "https://other.example/"}
			seenFrom(t, &other, kept, ready, at)
			row.Vantages[0].EvidenceDigest = other.Vantages[0].EvidenceDigest
		}},
		{"what is not kept", rule.EvidenceMissing, nil},
		{"a walker that nobody knows", rule.RowVantage, func(row *record.Row, _ map[string][]byte) {
			row.Vantages[1].ID = strings.Repeat("z", 43)
		}},
		{"two that rest on one judgement", rule.RowVantage, func(row *record.Row, _ map[string][]byte) {
			row.Vantages[1].EvidenceDigest = row.Vantages[0].EvidenceDigest
		}},
	} {
		w, kept := storeOf(t), map[string][]byte{}
		row := rejudge.RowFrom(report, j)
		row.Host, row.Listed, row.Source = host, true, record.SourceDiscovery
		raw, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		kept[row.EvidenceDigest] = raw
		seenFrom(t, &row, kept, ready, at)
		if lie.change != nil {
			lie.change(&row, kept)
		}
		d := seal.Draft{Sequence: 1, Week: record.ISOWeek(at), TakenAt: at.Add(time.Hour), Battery: "v2",
			Rows:     func(yield func(record.Row, error) bool) { yield(row, nil) },
			Evidence: func(_, digest string) ([]byte, error) { return kept[digest], nil }}
		if _, err := w.Seal(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", lie.name, err)
		}
		if lie.change == nil {
			// The pack of a round of the same row that nobody saw from elsewhere.
			alone := storeOf(t)
			row.Vantages = nil
			if _, err := alone.Seal(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			pack := recordtest.MapFS(t, alone.Dir)
			trees[lie.name] = recordtest.MapFS(t, w.Dir)
			maps.Copy(trees[lie.name], fstest.MapFS{record.EvidencePack(1, 0): pack[record.EvidencePack(1, 0)],
				record.EvidenceIndexPath(1, 0): pack[record.EvidenceIndexPath(1, 0)]})
		} else {
			trees[lie.name] = recordtest.MapFS(t, w.Dir)
		}
		// As git brings it: nothing covers the files but what is signed in them.
		trees[lie.name][".git/HEAD"] = &fstest.MapFile{Data: []byte("ref: refs/heads/main\n")}
		want[lie.name] = lie.broken
	}
	says := verdicts(t, t.TempDir(), trees)
	for name, tree := range trees {
		r, err := verify.Clone(t.Context(), tree,
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil {
			t.Fatal(err)
		}
		refused := len(r.Problems) > 0
		if refused != (want[name] != "") || refused && r.Problems[0].Rule != want[name] {
			t.Errorf("%s: %v, want %q", name, r.Problems, want[name])
		}
		named, _, _ := strings.Cut(says[name], ": ")
		if want[name] != rule.JudgementVerdict && named != string(want[name]) {
			t.Errorf("%s: the verifier made from the page says %q, want %q", name, says[name], want[name])
		}
	}
}
