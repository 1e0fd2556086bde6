package record_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// sealLies seals a second round that is signed, chained and logged as it should be, but says what
// lie makes it say.
func sealLies(t *testing.T, lie func(rows []record.Row, r *record.Round)) *seal.Writer {
	t.Helper()
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictReady)))
	rows := []record.Row{recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictReady)}
	recordtest.Draft(2, rows...)
	rows[0].PreviousLeaf, rows[1].PreviousLeaf = new(int64(0)), new(int64(1))
	if err := liar(w).Seal(t.Context(), second(), rows, lie, nil, false); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLiesOfTheStoreItself shows what no signature excuses.
func TestLiesOfTheStoreItself(t *testing.T) {
	for name, test := range map[string]struct {
		file string // "" for the truth
		lie  func([]record.Row, *record.Round)
	}{
		"nothing": {"", func([]record.Row, *record.Round) {}},
		"a forgotten row": {record.PartPath(2, 0),
			func(rows []record.Row, _ *record.Round) { rows[1].PreviousLeaf = nil }},
		"another row before": {record.PartPath(2, 0),
			func(rows []record.Row, _ *record.Round) { rows[1].PreviousLeaf = rows[0].PreviousLeaf }},
		"an invented row": {record.PartPath(2, 0),
			func(rows []record.Row, _ *record.Round) {
				rows[1].Host, rows[1].URL = "c.example", "https://c.example/"
			}},
		"rows out of order": {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) {
			rows[0],
				rows[1] = rows[1], rows[0]
		}},
		"a host twice": {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[1] = rows[0] }},
		"a row of last week": {record.PartPath(2, 0),
			func(rows []record.Row, _ *record.Round) { rows[1].Sequence = 1 }},
		"more probed": {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Coverage.Probed++ }},
		"no gap": {record.HeaderPath(2),
			func(rows []record.Row, r *record.Round) { r.Coverage.NotProbed++ }},
		"fewer before": {record.HeaderPath(2),
			func(_ []record.Row, r *record.Round) { r.Coverage.PreviousProbed = 1 }},
		"not suspect": {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Roster.Capped = true }},
		"walked":      {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Roster.Walked = 7 }},
	} {
		w := sealLies(t, test.lie)
		report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring,
			verify.RecordOptions{Judge: rejudge.Batteries{}})
		if err != nil {
			t.Fatal(err)
		}
		if test.file == "" && len(report.Problems) > 0 || test.file != "" &&
			(len(report.Problems) != 1 || report.Problems[0].Path != test.file) {
			t.Errorf("%s: %v", name, report.Problems)
		}
	}
}

// TestLiesOfTheHostIndex has the store log a host index that is not what its rows give: in its
// files as well as in the log, and in the log alone.
func TestLiesOfTheHostIndex(t *testing.T) {
	at := func(i int, change func(*record.HostEntry)) func([]record.HostEntry) []record.HostEntry {
		return func(all []record.HostEntry) []record.HostEntry {
			change(&all[i])
			return all
		}
	}
	for name, lie := range map[string]func(all []record.HostEntry) []record.HostEntry{
		"nothing":               nil,
		"an entry left out":     func(all []record.HostEntry) []record.HostEntry { return all[1:] },
		"the last one left out": func(all []record.HostEntry) []record.HostEntry { return all[:3] },
		"an older entry left out": func(all []record.HostEntry) []record.HostEntry {
			return slices.Delete(all, 2,
				3)
		},
		"the hosts of this week alone": func(all []record.HostEntry) []record.HostEntry { return all[:2] },
		"an entry twice": func(all []record.HostEntry) []record.HostEntry {
			return slices.Insert(all, 1,
				all[0])
		},
		"a host that never was": func(all []record.HostEntry) []record.HostEntry {
			return append(all, record.HostEntry{}.Next("z.example", 2, 5, all[0].Head))
		},
		"entries out of order": func(all []record.HostEntry) []record.HostEntry {
			all[0], all[1] = all[1],
				all[0]
			return all
		},
		"the head of another fold": at(0,
			func(e *record.HostEntry) { e.Head = record.HostEntry{}.Next(e.Host, 2, e.LastLeaf, e.Head).Head }),
		"one row more":      at(0, func(e *record.HostEntry) { e.Rows++ }),
		"one row less":      at(1, func(e *record.HostEntry) { e.Rows-- }),
		"seen later":        at(0, func(e *record.HostEntry) { e.FirstSequence++ }),
		"another last leaf": at(0, func(e *record.HostEntry) { e.LastLeaf-- }),
		"the entry of the round before": at(0,
			func(e *record.HostEntry) { *e = record.HostEntry{}.Next(e.Host, 1, 0, e.Head) }),
		"an older entry's head":         at(2, func(e *record.HostEntry) { e.Head[5] ^= 1 }),
		"an older entry's rows":         at(2, func(e *record.HostEntry) { e.Rows++ }),
		"an older entry's first round":  at(3, func(e *record.HostEntry) { e.FirstSequence = 2 }),
		"an older entry's last leaf":    at(3, func(e *record.HostEntry) { e.LastLeaf++ }),
		"an older entry seen this week": at(2, func(e *record.HostEntry) { *e = e.Next(e.Host, 2, 8, e.Head) }),
		"an older entry under its twin's": func(all []record.HostEntry) []record.HostEntry {
			all[2].Head, all[3].Head = all[3].Head, all[2].Head
			return all
		},
	} {
		for _, inFiles := range []bool{true, false} {
			w := recordtest.Writer(t)
			var rows, again []record.Row
			for _, host := range []string{"a.example", "b.example", "c.example", "d.example"} {
				rows = append(rows, recordtest.Walked(host, record.VerdictReady))
			}
			recordtest.Seal(t, w, recordtest.Draft(1, rows...))
			again = slices.Clone(rows[:2])
			recordtest.Draft(2, again...)
			again[0].PreviousLeaf, again[1].PreviousLeaf = new(int64(0)), new(int64(1))
			truth := func(_ []record.Row, r *record.Round) {
				r.Coverage.PreviousProbed, r.Coverage.Suspect = 4, true
			}
			if err := liar(w).Seal(t.Context(), second(), again, truth, lie, inFiles); err != nil {
				t.Fatal(err)
			}
			report := audited(t, w)
			if lie == nil && len(report.Problems) > 0 || lie != nil && len(report.Problems) == 0 {
				t.Errorf("%s, in files: %v: %v", name, inFiles, report.Problems)
			}
			for _, p := range report.Problems {
				if inFiles && !strings.HasPrefix(p.Path, record.HostsPath(2, "")) || !inFiles &&
					!strings.HasPrefix(p.Path, "log/") {
					t.Errorf("%s, in files: %v: it is said of %s", name, inFiles, p.Path)
				}
			}
		}
	}
}

// liar seals with a writer's keys.
func liar(w *seal.Writer) record.Liar {
	return record.Liar{Dir: w.Dir, Origin: w.Origin, Identity: w.Identity, LogKey: w.LogKey, Ring: w.Ring}
}

// second is what a second round says of itself.
func second() record.Round {
	d := recordtest.Draft(2)
	return record.Round{Week: d.Week, TakenAt: d.TakenAt.Format(time.RFC3339), Roster: d.Roster, Inflows: d.Inflows}
}

// TestWhatAnErratumRestsOn: on a look at the row's door in its week, by its battery or a later one.
func TestWhatAnErratumRestsOn(t *testing.T) {
	row := record.Row{URL: "https://a.example/paid", Week: "2026-W46", Battery: "v2"}
	for name, c := range map[string]struct {
		url, battery, began string
		ok                  bool
	}{
		"as the row":    {row.URL, "v2", "2026-11-12T11:00:00Z", true},
		"later battery": {row.URL, "v10", "2026-11-12T11:00:00Z", true},
		"older battery": {row.URL, "v1", "2026-11-12T11:00:00Z", false},
		"other door":    {"https://b.example/paid", "v2", "2026-11-12T11:00:00Z", false},
		"other week":    {row.URL, "v2", "2026-11-01T11:00:00Z", false},
		"after it":      {row.URL, "v2", "2026-11-12T13:00:00Z", false},
	} {
		look := record.Look{URL: c.url, Battery: c.battery, Started: []string{c.began}}
		if err := look.Corrects(row, "2026-11-12T12:00:00Z"); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
