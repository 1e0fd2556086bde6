package record_test

import (
	"os"
	"testing"

	"agentstore/corpus/audit"
	"agentstore/corpus/record"
	"agentstore/corpus/record/recordtest"
)

// sealLies seals a second round that is signed, chained and logged as it should be, but says what lie makes it say.
func sealLies(t *testing.T, lie func(rows []record.Row, r *record.Round)) *record.Writer {
	t.Helper()
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady), recordtest.Walked("b.example", record.VerdictReady)))
	rows := []record.Row{recordtest.Walked("a.example", record.VerdictReady), recordtest.Walked("b.example", record.VerdictReady)}
	rows[0].PreviousLeaf, rows[1].PreviousLeaf = new(int64(0)), new(int64(1))
	if err := w.SealLies(t.Context(), recordtest.Draft(2), rows, lie); err != nil {
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
		"nothing":            {"", func([]record.Row, *record.Round) {}},
		"a forgotten row":    {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[1].PreviousLeaf = nil }},
		"another row before": {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[1].PreviousLeaf = rows[0].PreviousLeaf }},
		"an invented row":    {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[1].Host = "c.example" }},
		"rows out of order":  {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[0], rows[1] = rows[1], rows[0] }},
		"a host twice":       {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[1] = rows[0] }},
		"a row of last week": {record.PartPath(2, 0), func(rows []record.Row, _ *record.Round) { rows[1].Sequence = 1 }},
		"more probed":        {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Coverage.Probed++ }},
		"no gap":             {record.HeaderPath(2), func(rows []record.Row, r *record.Round) { r.Coverage.NotProbed-- }},
		"fewer before":       {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Coverage.PreviousProbed = 1 }},
		"not suspect":        {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Roster.Capped = true }},
		"walked":             {record.HeaderPath(2), func(_ []record.Row, r *record.Round) { r.Roster.Walked = 7 }},
	} {
		w := sealLies(t, test.lie)
		report, err := audit.Record(t.Context(), os.DirFS(w.Dir), w.Ring, audit.RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if test.file == "" && len(report.Problems) > 0 || test.file != "" && (len(report.Problems) != 1 || report.Problems[0].Path != test.file) {
			t.Errorf("%s: %v", name, report.Problems)
		}
	}
}
