package corpus

import (
	"bytes"
	"crypto/sha256"
	"os"
	"testing"
)

// sealLies seals a second round that is signed, chained and logged as it should be, but says what lie makes it say.
func sealLies(t *testing.T, lie func(rows []Row, r *Round)) *Writer {
	t.Helper()
	w := testWriter(t)
	seal(t, w, draft(1, walked("a.example", VerdictReady), walked("b.example", VerdictReady)))
	dir, r, err := w.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	d := draft(2)
	round := Round{Origin: w.Origin, Sequence: 2, Week: d.Week, TakenAt: d.TakenAt.Format(secondLayout), Battery: "v2", Roster: d.Roster, Inflows: d.Inflows,
		FirstLeaf: r.Log.head.Size, PreviousDigest: r.rounds[0].Digest, Coverage: Coverage{Probed: 2, PreviousProbed: 2}, Rows: 2}
	round.count(nil)
	first, second := int64(0), int64(1)
	rows := []Row{walked("a.example", VerdictReady), walked("b.example", VerdictReady)}
	rows[0].PreviousLeaf, rows[1].PreviousLeaf = &first, &second
	for i := range rows {
		rows[i].Origin, rows[i].Sequence, rows[i].Week = round.Origin, 2, round.Week
	}
	lie(rows, &round)
	signed, err := w.signRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	// EncodePart would refuse what is out of order.
	raw := append(bytes.Join(signed, []byte{'\n'}), '\n')
	round.Parts = []Part{{Rows: 2, SHA256: sha256.Sum256(raw)}}
	round, header, err := SignRound(round, w.Identity)
	if err != nil {
		t.Fatal(err)
	}
	index := &tower{}
	for i, b := range signed {
		h, err := round.hostEntry(int64(i), rows[i].Host, b).hash()
		if err != nil {
			t.Fatal(err)
		}
		if err := index.add(nil, h); err != nil {
			t.Fatal(err)
		}
	}
	for _, edge := range index.edge {
		if err := dir.put(hostsPath(2, "tile/0/000.p/2"), joinHashes(edge)); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.once(partPath(2, 0), raw); err != nil {
		t.Fatal(err)
	}
	if err := dir.once(headerPath(2), header); err != nil {
		t.Fatal(err)
	}
	r.rounds = append(r.rounds, round)
	if err := w.catchUp(t.Context(), dir, r); err != nil {
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

func FuzzOpenCheckpoint(f *testing.F) {
	w := smallRecord(f)
	log, err := OpenLog(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log.Head().Raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, others, err := OpenCheckpoint(raw, w.Ring)
		if err == nil && len(raw) != len(c.Raw)+len(others) {
			t.Errorf("%q opens, and is not its parts", raw)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	w := smallRecord(f)
	log, err := OpenLog(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		f.Fatal(err)
	}
	p, err := log.Prove(3, 15, w.Ring)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Text())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, err := ParseProof(raw); err == nil && !bytes.Equal(p.Text(), raw) {
			t.Errorf("%q is written %q", raw, p.Text())
		}
	})
}

func FuzzSplitBundle(f *testing.F) {
	f.Add([]byte("\x00\x01a\x00\x02bc"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := splitBundle(raw)
		if err != nil {
			return
		}
		var again []byte
		for _, e := range entries {
			if again, err = bundleEntry(again, e); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(again, raw) || bundleLength(raw, len(entries)) != len(raw) {
			t.Errorf("%x is written %x", raw, again)
		}
	})
}
