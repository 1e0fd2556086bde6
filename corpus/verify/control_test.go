package verify

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// controlled is a round with three walks to the control door, of which the last was not answered.
// lie may change what its header says.
func controlled(t *testing.T, lie func(*record.Control)) *seal.Writer {
	t.Helper()
	const door = "https://store.example/paid"
	ready := slices.IndexFunc(practice.All(), func(p practice.Door) bool {
		report, _ := recordtest.Look(t, door, p.Answer(door), exchange.Error{}, recordtest.LookedAt)
		return report.Verdict == probe.Ready
	})
	w := recordtest.Writer(t)
	d := recordtest.Judged(t, 1, recordtest.Hosts(4)...)
	var walks [][]byte
	for i := range 3 {
		var failure exchange.Error
		if i == 2 {
			failure.Stage = exchange.StageConnect
		}
		_, j := recordtest.Look(t, door, practice.All()[ready].Answer(door), failure, d.TakenAt.Add(-1))
		j.Salt[1] = byte(i)
		raw, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		walks = append(walks, raw)
	}
	slices.SortFunc(walks, func(a, b []byte) int {
		return cmp.Compare(recordtest.Digest(string(a)),
			recordtest.Digest(string(b)))
	})
	d.Control = record.Control{Walks: 3, Failed: 1}
	if lie != nil {
		lie(&d.Control)
	}
	d.ControlWalks = recordtest.Each(walks...)
	recordtest.Seal(t, w, d)
	return w
}

func TestControlWalksAreJudgedAgain(t *testing.T) {
	const pack, index = "evidence/000000001/control.jsonl.gz", "evidence/000000001/control.index.json"
	w := controlled(t, nil)
	report := check(t, w)
	if len(report.Problems) > 0 || report.Control != (Rejudged{Again: 3}) {
		t.Fatalf("%+v %v", report.Control, report.Problems)
	}
	named := recordtest.Open(t, w).Rounds()[0].Control
	if named.Walks != 3 || named.Failed != 1 || len(named.Evidence) != 3 || named.EvidenceLeftOut != 0 {
		t.Errorf("%+v", named)
	}
	for name, lie := range map[string]func(*record.Control){
		"none failed":    func(c *record.Control) { c.Failed = 0 },
		"another failed": func(c *record.Control) { c.Failed = 2 },
	} {
		report := check(t, controlled(t, lie))
		if len(report.Problems) != 1 || report.Problems[0].Kind != ProblemMisjudged ||
			report.Problems[0].Path != record.HeaderPath(1) {
			t.Errorf("%s: %v", name, report.Problems)
		}
	}
	before := recordtest.MapFS(t, w.Dir)
	tree := recordtest.MapFS(t, w.Dir)
	delete(tree, pack)
	delete(tree, index)
	report, err := Record(t.Context(), tree, w.Ring, judging)
	if err != nil || len(report.Problems) > 0 || report.Control != (Rejudged{NotKept: 3}) {
		t.Errorf("without its pack: %+v %v %v", report.Control, report.Problems, err)
	}
	_, err = w.Observe(t.Context(), record.Observation{At: "2026-11-21T00:00:00Z", Kind: record.ObservationWithdrawn,
		Withdrawn: &record.Withdrawn{SHA256: named.Evidence[1], Reason: "a mistake of ours"}})
	if err != nil {
		t.Fatal(err)
	}
	if report = check(t, w); len(report.Problems) > 0 || report.Control != (Rejudged{Again: 2, Withdrawn: 1}) {
		t.Errorf("%+v %v", report.Control, report.Problems)
	}
	thin := recordtest.MapFS(t, w.Dir)
	for name, c := range map[string]struct {
		tree, from fstest.MapFS
		problem    Problem
	}{
		"missing":  {before, thin, Problem{Path: index, Kind: attest.ProblemMissing}},
		"put back": {recordtest.MapFS(t, w.Dir), before, Problem{Path: pack, Kind: attest.ProblemAdded}},
	} {
		whole := fstest.MapFS{}
		maps.Copy(whole, c.tree)
		whole[pack], whole[index] = c.from[pack], c.from[index]
		report, err := Record(t.Context(), whole, w.Ring, judging)
		if err != nil || len(report.Problems) != 1 || report.Problems[0].Path != c.problem.Path ||
			report.Problems[0].Kind != c.problem.Kind {
			t.Errorf("%s: %v, %v", name, report.Problems, err)
		}
	}
}

func TestControlFiguresAddUp(t *testing.T) {
	digest := recordtest.Digest("a")
	for name, bad := range map[string]record.Control{
		"more failed than walked":  {Walks: 1, Failed: 2, EvidenceLeftOut: 1},
		"a walk that is not named": {Walks: 2, Evidence: []string{digest}},
		"one twice":                {Walks: 2, Evidence: []string{digest, digest}},
		"no digest":                {Walks: 1, Evidence: []string{"A" + digest[1:]}},
		"less than none":           {Walks: 1, Evidence: []string{digest, recordtest.Digest("b")}, EvidenceLeftOut: -1},
	} {
		r := recordtest.Round(record.Part{Rows: 1})
		r.Control = bad
		if _, _, err := record.SignRound(r, attest.SpecimenKey()); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
}
