package shop

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestErrata corrects rows of a record: one should have told of no observation, and what another
// was judged by gives something else by the other battery. What comes of it is exported, and passes
// the check of the record with every verdict judged again.
func TestErrata(t *testing.T) {
	s, w := openRecorded(t)
	recordtest.Seal(t, w, recordtest.JudgedBy(t, "v1", 1, recordtest.Hosts(len(practice.All()))...))
	correct := func(e erratumIn, dry bool) (feed.Corrected, error) { return s.correct(t.Context(), e, dry) }
	rec := recordtest.Open(t, w)
	other, alike := int64(-1), int64(-1) // leaves that the first battery judges in another way, and alike
	for leaf := range rec.Rounds()[0].Rows {
		out, err := correct(erratumIn{leaf, "asked wrongly", "v2", "", 0}, true)
		switch {
		case err != nil:
			alike = leaf
		case out.Evidence != "" && out.Now != out.Signed && out.Observation == 0:
			other = leaf
		}
	}
	if other < 0 || alike < 0 {
		t.Fatalf("leaves %d and %d", other, alike)
	}
	for name, c := range map[string]struct {
		e    erratumIn
		says string
	}{
		"a leaf that is no row": {erratumIn{rec.Rounds()[0].RoundLeaf(), "wrong", "", "", 0}, "is no row; hint:"},
		"a leaf before all":     {erratumIn{-1, "wrong", "", "", 0}, "is no row; hint:"},
		"an unknown battery":    {erratumIn{other, "wrong", "v9", "", 0}, "v9"},
		"the battery of before": {erratumIn{other, "wrong", "v1", "", 0}, feed.ErrNoErratum.Error()},
		"no reason":             {erratumIn{other, "", "", "", 0}, "without a reason"},
		"a cause and no proof":  {erratumIn{other, "wrong", "", "check", 0}, "shown by what is kept"},
		"a cause of nobody":     {erratumIn{other, "wrong", "v2", "moon", 0}, "cause"},
		"what v1 never asked":   {erratumIn{other, "wrong", "v2", "check", 0}, "that is no error"},
		"no such walk":          {erratumIn{other, "wrong", "", "", 7}, "the record has no such observation"},
	} {
		if _, err := correct(c.e, false); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	judged, err := correct(erratumIn{other, "asked wrongly", "v2", "", 0}, false)
	if err != nil || judged.Observation != 1 {
		t.Fatalf("%+v %v", judged, err)
	}
	if again, err := correct(erratumIn{other, "asked wrongly", "v2", "", 0}, false); err != nil || !again.Already {
		t.Errorf("once more: %+v %v", again, err)
	}
	out, err := correct(erratumIn{alike, "the path was down", "", "", 0}, false)
	if err != nil || out.Observation != 2 || out.Now != record.VerdictNotProbed || out.Evidence != "" {
		t.Fatalf("%+v %v", out, err)
	}
	var fresh []record.Observation
	if err := s.DB.View(t.Context(), func(tx ledger.Tx) (err error) {
		fresh, err = feed.Since(tx, 1, 10)
		return err
	}); err != nil || len(fresh) != 2 {
		t.Fatal(err, fresh)
	}
	lie := fresh[0]
	lie.Erratum = new(*lie.Erratum)
	lie.Erratum.VerdictNow = judged.Signed
	if _, err := w.Observe(t.Context(), lie); err == nil ||
		!strings.Contains(err.Error(), "what it was judged by gives") {
		t.Errorf("an erratum that is not what it was judged by gives: %v", err)
	}
	if _, err := w.Observe(t.Context(), fresh...); err != nil {
		t.Fatal(err)
	}
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || report.Between.Again != 1 {
		t.Errorf("%v %v, %+v", err, report.Problems, report.Between)
	}
	if _, err := os.Stat(w.Dir + "/" + record.ObservedEvidence(judged.Evidence)); err != nil {
		t.Errorf("what it was judged by: %v", err)
	}
}

// walkOf puts a paid walk at a host in the week of the first round on the record.
func walkOf(t *testing.T, w *seal.Writer, host string) int64 {
	t.Helper()
	told, err := w.Observe(t.Context(), record.Observation{At: "2026-09-13T12:00:00Z", Kind: record.ObservationPaidWalk,
		Walk: &record.PaidWalk{Host: host, URL: "https://" + host + "/paid", Network: "eip155:8453",
			Transaction: "0xab",
			USDC:        "0.01"}})
	if err != nil {
		t.Fatal(err)
	}
	return told[0].Number
}

// TestErratumByAPaidWalk corrects a row by a purchase at its door in its week.
func TestErratumByAPaidWalk(t *testing.T) {
	s, w := openRecorded(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(len(practice.All()))...))
	rec := recordtest.Open(t, w)
	row := int64(-1)
	var host string
	for r, err := range rec.Rows(1) {
		if err == nil && r.Verdict == record.VerdictNotReady {
			row, host = r.Leaf, r.Host
		}
	}
	walk, another := walkOf(t, w, host), walkOf(t, w, "other.example")
	if _, err := s.correct(t.Context(), erratumIn{row, "it sold", "", "", another}, true); err == nil ||
		!strings.Contains(err.Error(), "and the paid walk of") {
		t.Errorf("a walk of another door: %v", err)
	}
	if _, err := s.correct(t.Context(), erratumIn{row, "it sold", "v1", "", 0}, true); err == nil ||
		!strings.Contains(err.Error(), "by the older v1") {
		t.Errorf("a battery that asks for less: %v", err)
	}
	out, err := s.correct(t.Context(), erratumIn{row, "it sold", "", "", walk}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-09-14T00:00:00Z", Kind: record.ObservationErratum,
		Erratum: &record.Erratum{Leaf: row, Reason: "it sold", VerdictNow: out.Now,
			EvidenceDigest: out.Evidence}}); err != nil {
		t.Fatal(err)
	}
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || len(report.Errata) != 1 ||
		report.Errata[0].Rests != verify.RestsOnWalk {
		t.Errorf("%v %v, %+v", err, report.Problems, report.Errata)
	}
}

// dying is a context that ends after some looks at it, as a process that is killed.
type dying struct {
	context.Context
	looks *int
}

func (d dying) Err() error {
	if *d.looks--; *d.looks < 0 {
		return context.Canceled
	}
	return d.Context.Err()
}

// TestRejudge judges a record again in which bot walls were taken for doors: a run that is stopped
// and the next ones put each erratum once, a dry run none, and what is put passes the check.
func TestRejudge(t *testing.T) {
	s, w := openRecorded(t)
	d, kept, rows := recordtest.Draft(1), map[string][]byte{}, []record.Row(nil)
	d.Battery = "v1"
	for _, host := range recordtest.Hosts(20) {
		report, j := recordtest.LookBy(t, "v1", "https://"+host+"/paid", recordtest.Answered{Answer: practice.Answer{
			Status: 403, Header: http.Header{"Cf-Mitigated": {"challenge"}}}}, d.TakenAt.Add(-time.Hour))
		row := rejudge.RowFrom(report, j)
		row.Host, row.Listed, row.Source, row.Catalog = host, true, record.SourceDiscovery, "bazaar"
		raw, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		rows, kept[host] = append(rows, row), raw
	}
	d.Rows, d.Evidence = recordtest.Each(rows...), func(host, _ string) ([]byte, error) { return kept[host], nil }
	recordtest.Seal(t, w, d)
	looks := 18
	for i, want := range []struct {
		ctx                context.Context
		dry                bool
		corrected, already int64
	}{
		{t.Context(), true, 20, 0}, {dying{t.Context(), &looks}, false, 16, 0}, {t.Context(), true, 4, 16},
		{t.Context(), false, 4, 16}, {t.Context(), false, 0, 20},
	} {
		out, err := s.rejudge(want.ctx, rejudgeIn{}, want.dry)
		if (err != nil) != (i == 1) || out.Corrected != want.corrected || out.Already != want.already {
			t.Errorf("%d: %v %+v", i, err, out)
		}
	}
	if _, err := s.rejudge(t.Context(), rejudgeIn{Battery: "v9"}, true); err == nil ||
		!strings.Contains(err.Error(), "hint: the newest is") {
		t.Error(err)
	}
	var fresh []record.Observation
	err := s.DB.View(t.Context(), func(tx ledger.Tx) (err error) {
		fresh, err = feed.Since(tx, 1, 100)
		return err
	})
	if err != nil || len(fresh) != 20 {
		t.Fatal(err, len(fresh))
	}
	if _, err := w.Observe(t.Context(), fresh...); err != nil {
		t.Fatal(err)
	}
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || len(report.Errata) != 20 || report.Errata[0].Cause != "bot_wall" ||
		report.Errata[0].Rests != verify.RestsOnAgain {
		t.Errorf("%v %v, %+v", err, report.Problems, report.Errata)
	}
}
