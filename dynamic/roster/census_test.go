package roster_test

import (
	"testing"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
)

func TestCensusOfTheStreet(t *testing.T) {
	w := newWorld(t)
	cfg := w.config(lists(w.doors()...)...)
	cfg.Client = w.paced()
	report := w.run(cfg)
	if report.Outcome != census.OutcomeSealed || report.Sequence != 1 {
		t.Fatalf("report %+v", report)
	}
	w.verify()
	rows := w.rows(1)
	walked := 0
	for _, d := range w.street.Doors() {
		row, ok := rows[d.Host]
		switch {
		case d.Plain:
			if ok {
				t.Errorf("%s has a row, but is not https", d.Name)
			}
			continue
		case !ok:
			t.Errorf("%s has no row", d.Name)
			continue
		case d.Want.Refused != "":
			if row.Verdict != record.VerdictNotProbed || row.Reason != d.Want.Refused {
				t.Errorf("%s: %s (%s), want not_probed (%s)", d.Name, row.Verdict, row.Reason, d.Want.Refused)
			}
			continue
		}
		walked++
		want := string(d.Want.V2)
		if want == "method_unresolved" {
			want = record.VerdictNotProbed
		}
		if row.Verdict != want {
			t.Errorf("%s: %s (%s %v), want %s", d.Name, row.Verdict, row.Reason, row.Failed, want)
		}
		if len(row.AlsoUnder) > 0 && row.AlsoUnder[0].Verdict != string(d.Want.V1) {
			t.Errorf("%s: %s under v1, want %s", d.Name, row.AlsoUnder[0].Verdict, d.Want.V1)
		}
	}
	if walked < 40 {
		t.Errorf("%d doors walked", walked)
	}
	round := w.round(1)
	if round.Control.Walks < 2 || round.Control.Failed != 0 {
		t.Errorf("control %+v", round.Control)
	}
	again := w.run(w.config(lists(w.doors()...)...))
	if again.Outcome != census.OutcomeStood || again.Sequence != 1 || again.Walked != 0 {
		t.Errorf("a second run of the week: %+v", again)
	}
}
