package probe_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/corpus/criteria"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// TestPlantedBattery: a third version is one more row of the table, and its digest one of the
// record's. Rows name the verdicts of both others, a round of them is sealed and judged again, and
// criteria and defects know its check.
func TestPlantedBattery(t *testing.T) {
	asks := probe.Check{Name: "short-answer", Since: "2027-01-01", After: "status-402", Fix: "answer in fewer bytes",
		Doc: probe.Doc{Title: "The answer is short", Reason: "it is planted", Citation: "nowhere"},
		Run: func(v *probe.View) probe.Finding {
			if v.Evidence.Body.Bytes > 1 {
				return probe.Finding{State: probe.Fail, Detail: fmt.Sprintf("%d bytes", v.Evidence.Body.Bytes)}
			}
			return probe.Finding{State: probe.Pass, Detail: "short"}
		}}
	second := probe.Batteries()[1]
	probe.Plant(t, probe.Battery{Version: "v3", Since: "2027-01-01", Post: true, Checks: append(second.Checks, asks),
		About: "planted"})
	digest, err := probe.DocumentDigest("v3")
	if err != nil {
		t.Fatal(err)
	}
	record.Batteries["v3"] = digest.String()
	t.Cleanup(func() { delete(record.Batteries, "v3") })

	w := recordtest.Writer(t)
	d := recordtest.Judged(t, 1, recordtest.Hosts(60)...)
	d.Battery = probe.Current()
	var failed, apart int
	for row, err := range d.Rows {
		if err != nil {
			t.Fatal(err)
		}
		if row.Battery != "v3" {
			t.Fatalf("%s was walked with %s", row.Host, row.Battery)
		}
		if row.Verdict == record.VerdictNotProbed {
			continue
		}
		if len(row.AlsoUnder) != 2 || row.AlsoUnder[0].Version != probe.V1 || row.AlsoUnder[1].Version != probe.V2 {
			t.Fatalf("%s: %+v", row.Host, row.AlsoUnder)
		}
		if slices.Contains(row.Failed, asks.Name) {
			failed++
			if row.AlsoUnder[1].Verdict == record.VerdictReady {
				apart++
				if want := "short-answer fails under v3; v2 does not ask it"; row.AlsoUnder[1].Difference != want {
					t.Errorf("%s: %q", row.Host, row.AlsoUnder[1].Difference)
				}
			}
		}
	}
	if failed == 0 || apart == 0 {
		t.Errorf("%d rows fail the planted check, %d of which are ready without it", failed, apart)
	}
	round := recordtest.Seal(t, w, d)
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || round.Battery != "v3" || report.Verdicts.Again == 0 {
		t.Errorf("a round by %s: %+v, %v", round.Battery, report.Problems, err)
	}
	asked := criteria.Current().CriteriaBattery
	if last := asked[len(asked)-1]; last.Battery != "v3" || last.Name != asks.Name {
		t.Errorf("the criteria end with %+v", last)
	}
	for _, version := range probe.Versions() {
		p, err := probe.NewPreflight(version, "https://door.example/", probe.Declaration{})
		if err != nil || p.Name() != "preflight/"+version {
			t.Errorf("%s: %v", version, err)
		}
	}
	if len(probe.Versions()) > probe.MaxBatteries {
		t.Error("a row has no room for so many")
	}
}

// TestKeptBytesAreJudgedByALaterBattery: what was kept under the newest battery is judged by one
// that came later, and its report says what that one makes of the same bytes.
func TestKeptBytesAreJudgedByALaterBattery(t *testing.T) {
	p, err := probe.NewPreflight(probe.V2, "https://door.example/", probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	_, next, err := p.Step(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := exchange.Exchange{Request: next.Request, StartedAt: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	x.Response = exchange.Response{Status: 200, Proto: "HTTP/2.0", Body: []byte("hello")}
	j, err := p.Judgement([]exchange.Exchange{x}, probe.Salt{1})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := j.Encode()
	if err != nil {
		t.Fatal(err)
	}
	probe.Plant(t, probe.Battery{Version: "v3", Since: "2027-01-01", About: "planted",
		Checks: []probe.Check{{Name: "answers", Since: "2027-01-01",
			Run: func(*probe.View) probe.Finding { return probe.Finding{State: probe.Pass, Detail: "it does"} }}}})
	if j, err = probe.DecodeJudgement(raw); err != nil {
		t.Fatal(err)
	}
	r, err := j.Judge()
	if err != nil || r.Version != probe.V2 || r.Verdict != probe.NotReady || len(r.Others) != 2 ||
		r.Others[1].Version != "v3" || r.Others[1].Verdict != probe.Ready || r.Others[1].Difference == "" {
		t.Errorf("%s is %s under %s; others say %+v; %v", r.URL, r.Verdict, r.Version, r.Others, err)
	}
}
