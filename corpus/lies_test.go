package corpus

import (
	"os"
	"testing"
)

// sealLies seals a second round that is signed, chained and logged as it should be, but says what lie makes it say.
func sealLies(t *testing.T, lie func(rows []Row, r *Round)) *Writer {
	t.Helper()
	w := testWriter(t)
	seal(t, w, draft(1, walked("a.example", VerdictReady), walked("b.example", VerdictReady)))
	rows := []Row{walked("a.example", VerdictReady), walked("b.example", VerdictReady)}
	rows[0].PreviousLeaf, rows[1].PreviousLeaf = new(int64(0)), new(int64(1))
	if err := w.SealLies(t.Context(), draft(2), rows, lie); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLiesOfTheStoreItself shows what no signature excuses.
func TestLiesOfTheStoreItself(t *testing.T) {
	for name, test := range map[string]struct {
		file string // "" for the truth
		lie  func([]Row, *Round)
	}{
		"nothing":            {"", func([]Row, *Round) {}},
		"a forgotten row":    {partPath(2, 0), func(rows []Row, _ *Round) { rows[1].PreviousLeaf = nil }},
		"another row before": {partPath(2, 0), func(rows []Row, _ *Round) { rows[1].PreviousLeaf = rows[0].PreviousLeaf }},
		"an invented row":    {partPath(2, 0), func(rows []Row, _ *Round) { rows[1].Host = "c.example" }},
		"rows out of order":  {partPath(2, 0), func(rows []Row, _ *Round) { rows[0], rows[1] = rows[1], rows[0] }},
		"a host twice":       {partPath(2, 0), func(rows []Row, _ *Round) { rows[1] = rows[0] }},
		"a row of last week": {partPath(2, 0), func(rows []Row, _ *Round) { rows[1].Sequence = 1 }},
		"more probed":        {headerPath(2), func(_ []Row, r *Round) { r.Coverage.Probed++ }},
		"no gap":             {headerPath(2), func(rows []Row, r *Round) { r.Coverage.NotProbed-- }},
		"fewer before":       {headerPath(2), func(_ []Row, r *Round) { r.Coverage.PreviousProbed = 1 }},
		"not suspect":        {headerPath(2), func(_ []Row, r *Round) { r.Roster.Capped = true }},
		"walked":             {headerPath(2), func(_ []Row, r *Round) { r.Roster.Walked = 7 }},
	} {
		w := sealLies(t, test.lie)
		report, err := VerifyRecord(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if test.file == "" && len(report.Problems) > 0 || test.file != "" && (len(report.Problems) != 1 || report.Problems[0].Path != test.file) {
			t.Errorf("%s: %v", name, report.Problems)
		}
	}
}
