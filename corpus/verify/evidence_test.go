package verify

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

func cover(t testing.TB, w *seal.Writer) {
	t.Helper()
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
}

func TestEvidenceIsKeptAndJudgedAgain(t *testing.T) {
	w := recordtest.Writer(t)
	// The second round has two parts. Rows whose walks nobody has any more are sealed without a
	// verdict.
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(30)...))
	d := recordtest.Judged(t, 2, recordtest.Hosts(record.MaxPartRows+30)...)
	all := d.Evidence
	d.Evidence = func(host, digest string) ([]byte, error) {
		if strings.HasSuffix(strings.TrimSuffix(host, ".example"), "1") {
			return nil, nil
		}
		return all(host, digest)
	}
	recordtest.Seal(t, w, d)
	report := check(t, w)
	if len(report.Problems) > 0 {
		t.Fatal(report.Problems)
	}
	v := report.Verdicts
	if v.Again+v.Without != report.Rows || v.NotKept != 0 || v.Without < 300 || v.Again < 3000 || v.Unjudged != 0 {
		t.Errorf("%+v of %d rows", v, report.Rows)
	}
	unjudged, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
	if err != nil || unjudged.Verdicts.Unjudged != v.Again || unjudged.Verdicts.Again != 0 {
		t.Errorf("unjudged: %+v, %v", unjudged.Verdicts, err)
	}
	r := recordtest.Open(t, w)
	for host, want := range map[string]bool{"h00000.example": true, "h04100.example": true, "h00001.example": false,
		"nobody.example": false} {
		raw, err := r.RawEvidence(2, host)
		if err != nil || (raw != nil) != want {
			t.Errorf("%s: %d bytes, %v", host, len(raw), err)
		}
		if j, err := probe.DecodeJudgement(raw); want && (err != nil || j.URL != "https://"+host+"/paid") {
			t.Errorf("%s: %v, %v", host, j.URL, err)
		}
	}
	if _, err := r.RawEvidence(3, "h00000.example"); err == nil {
		t.Error("a round that is not there has evidence")
	}
	for _, name := range []string{"evidence/000000001/000001.jsonl.gz", "evidence/000000002/000002.index.json"} {
		if _, err := fs.Stat(os.DirFS(w.Dir), name); err != nil {
			t.Error(err)
		}
	}
}

// TestEvidenceIsExcusedByAWithdrawalAlone takes what rows were judged by out of packs, with and
// without an observation that says so.
func TestEvidenceIsExcusedByAWithdrawalAlone(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(10)...))
	recordtest.Seal(t, w, recordtest.Judged(t, 2, recordtest.Hosts(3)...))
	const pack, index = "evidence/000000001/000001.jsonl.gz", "evidence/000000001/000001.index.json"
	before := recordtest.MapFS(t, w.Dir)
	all := check(t, w).Verdicts.Again
	x, err := record.ParseEvidenceIndex(before[index].Data)
	if err != nil {
		t.Fatal(err)
	}
	withdraw := func(digest string) error {
		_, err := w.Observe(t.Context(), record.Observation{At: "2026-11-21T00:00:00Z",
			Kind:      record.ObservationWithdrawn,
			Withdrawn: &record.Withdrawn{SHA256: digest, Reason: "the door's owner asked for it"}})
		return err
	}
	if err := withdraw(x.Entries[4].SHA256); err != nil {
		t.Fatal(err)
	}
	report := check(t, w)
	if v := report.Verdicts; len(report.Problems) > 0 || v.Withdrawn != 1 || v.Again != all-1 || v.NotKept != 0 {
		t.Fatalf("%+v %v", v, report.Problems)
	}
	// The thinner pack in the record of before: nothing excuses what it lacks. The thicker one
	// behind the withdrawal: what was withdrawn is still there.
	thinner := recordtest.MapFS(t, w.Dir)
	for name, tree := range map[string]fstest.MapFS{"without": before, "put back": thinner} {
		tree = maps.Clone(tree)
		from := map[string]fstest.MapFS{"without": thinner, "put back": before}[name]
		tree[pack], tree[index] = from[pack], from[index]
		report, err := Record(t.Context(), tree, w.Ring, judging)
		want := map[string]Problem{"without": {Path: index, Kind: attest.ProblemMissing},
			"put back": {Path: pack, Kind: attest.ProblemAdded}}[name]
		if err != nil || len(report.Problems) != 1 || report.Problems[0].Path != want.Path ||
			report.Problems[0].Kind != want.Kind {
			t.Errorf("%s: %v, %v", name, report.Problems, err)
		}
	}
	// A crash between pack and index is made good by the next withdrawal's opening; the last member
	// takes both files.
	if err := os.WriteFile(filepath.Join(w.Dir, index), before[index].Data, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, e := range x.Entries {
		if i != 4 {
			if err := withdraw(e.SHA256); err != nil {
				t.Fatal(err)
			}
		}
	}
	report = check(t, w)
	if v := report.Verdicts; len(report.Problems) > 0 || v.Withdrawn != int64(len(x.Entries)) || v.Again == 0 {
		t.Errorf("%+v %v", v, report.Problems)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, pack)); err == nil {
		t.Error("an empty pack stands")
	}
}

// TestEvidenceIsWhatTheRowsName spoils packs in every way that leaves files whole, without a
// manifest.
func TestEvidenceIsWhatTheRowsName(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(10)...))
	recordtest.Seal(t, w, recordtest.Judged(t, 2, recordtest.Hosts(10)...))
	const pack, index, other = "evidence/000000001/000001.jsonl.gz", "evidence/000000001/000001.index.json",
		"evidence/000000002/000001.jsonl.gz"
	for name, c := range map[string]struct {
		file   string
		change func(tree fstest.MapFS)
	}{
		"no pack":  {pack, func(tree fstest.MapFS) { delete(tree, pack) }},
		"no index": {index, func(tree fstest.MapFS) { delete(tree, index) }},
		"more":     {pack, func(tree fstest.MapFS) { tree[pack].Data = append(tree[pack].Data, 0) }},
		"added": {"evidence/000000001/000002.jsonl.gz",
			func(tree fstest.MapFS) { tree["evidence/000000001/000002.jsonl.gz"] = tree[pack] }},
		"elsewhere": {"evidence/000000003/000001.jsonl.gz",
			func(tree fstest.MapFS) { tree["evidence/000000003/000001.jsonl.gz"] = tree[pack] }},
		"of another": {pack, func(tree fstest.MapFS) { tree[pack] = tree[other] }},
		"both of another": {index, func(tree fstest.MapFS) {
			tree[pack], tree[index] = tree[other], tree["evidence/000000002/000001.index.json"]
		}},
		"an entry less": {pack, func(tree fstest.MapFS) {
			x, err := record.ParseEvidenceIndex(tree[index].Data)
			if err != nil {
				t.Fatal(err)
			}
			x.Entries = x.Entries[:len(x.Entries)-1]
			raw, err := attest.Canonical(x)
			if err != nil {
				t.Fatal(err)
			}
			tree[index].Data = append(raw, '\n')
		}},
		"one that no row asks for": {index, func(tree fstest.MapFS) {
			x, err := record.ParseEvidenceIndex(tree[index].Data)
			if err != nil {
				t.Fatal(err)
			}
			x.Entries[len(x.Entries)-1].Host = "z.example"
			raw, err := attest.Canonical(x)
			if err != nil {
				t.Fatal(err)
			}
			tree[index].Data = append(raw, '\n')
		}},
		"a stranger": {index, func(tree fstest.MapFS) {
			tree[index].Data = bytes.Replace(tree[index].Data, []byte("h00003"), []byte("h0000x"), 1)
		}},
	} {
		tree := recordtest.MapFS(t, w.Dir)
		c.change(tree)
		report, err := Record(t.Context(), tree, w.Ring, judging)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == c.file }) {
			t.Errorf("%s: %v, want %s", name, report.Problems, c.file)
		}
	}
	// Packs that were taken away as a whole leave verdicts that nobody can reach again, and a
	// manifest that misses them.
	tree := recordtest.MapFS(t, w.Dir)
	delete(tree, pack)
	delete(tree, index)
	report, err := Record(t.Context(), tree, w.Ring, judging)
	if err != nil || len(report.Problems) > 0 || report.Verdicts.NotKept == 0 || report.Verdicts.Again == 0 {
		t.Errorf("%+v %v %v", report.Verdicts, report.Problems, err)
	}
	cover(t, w)
	tree = recordtest.MapFS(t, w.Dir)
	delete(tree, pack)
	delete(tree, index)
	if r := verify(t, tree, CloneOptions{}); !names(r, pack) || !names(r, index) {
		t.Errorf("a manifest does not miss it: %v", r.Problems)
	}
}

// TestMisjudgedRowsAreRefused signs rows that say something else than what is kept of their walks.
func TestMisjudgedRowsAreRefused(t *testing.T) {
	for name, lie := range map[string]func(*record.Row){
		"verdict": func(r *record.Row) {
			r.Verdict, r.Fault, r.Failed, r.ReachedLevel = record.VerdictReady, record.FaultNone, []string{}, "L4"
		},
		"level":        func(r *record.Row) { r.ReachedLevel = "L1" },
		"failed":       func(r *record.Row) { r.Failed = []string{"reachable"} },
		"advisories":   func(r *record.Row) { r.Advisories = append(r.Advisories, "large-body") },
		"also_under":   func(r *record.Row) { r.AlsoUnder[0].Verdict = record.VerdictUnreachable },
		"protocols":    func(r *record.Row) { r.Protocols = []string{"mpp-v1"} },
		"probe_method": func(r *record.Row) { r.ProbeMethod.Used = "POST" }, "offer": func(r *record.Row) {
			r.Offer = &record.RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []record.PayTo{}, MinUSDC: "7"}
		},
		"fault": func(r *record.Row) { r.Fault = record.FaultPath }, "battery": func(r *record.Row) {
			r.Battery,
				r.AlsoUnder[0].Version = "v1", "v2"
		}, "url": func(r *record.Row) { r.URL = "https://h00000.example/other" },
		"observed_at": func(r *record.Row) { r.ObservedAt = "2026-09-12T00:00:00Z" },
	} {
		w := recordtest.Writer(t)
		d := recordtest.Judged(t, 1, recordtest.Hosts(4)...)
		rows := slices.Collect(func(yield func(record.Row) bool) {
			for r := range d.Rows {
				yield(r)
			}
		})
		// The practice door of the first host fails a check, so that every lie is one.
		if rows[0].Verdict != record.VerdictNotReady {
			t.Fatalf("%+v", rows[0])
		}
		lie(&rows[0])
		d.Rows = recordtest.Each(rows...)
		recordtest.Seal(t, w, d)
		report := check(t, w)
		if len(report.Problems) != 1 || report.Problems[0].Kind != ProblemMisjudged ||
			report.Problems[0].Path != "rounds/1/part-0001.jsonl" || !strings.Contains(report.Problems[0].Detail,
			name+" ") {
			t.Errorf("%s: %v", name, report.Problems)
		}
	}
}
