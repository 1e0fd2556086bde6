package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// planted are the errors of the twenty weeks by week: the cause, and what the door answered.
var planted = map[int64]struct {
	cause string
	a     recordtest.Answered
}{
	2: {record.CauseBotWall, wall}, 5: {record.CauseBotWall, wall},
	3:  {"own_timeout", recordtest.Answered{Failure: exchange.Error{Stage: exchange.StageHeaders, Text: "8 seconds"}}},
	7:  {"own_network", recordtest.Answered{Failure: exchange.Error{Stage: exchange.StageResolve, Text: "no answer"}}},
	12: {record.CauseClient, recordtest.Answered{Answer: practice.Answer{Status: http.StatusPermanentRedirect}}},
	15: {"parser", recordtest.Answered{Answer: practice.Answer{Status: http.StatusPaymentRequired}}},
	19: {"parser", recordtest.Answered{Answer: practice.Answer{Status: http.StatusPaymentRequired}}},
}

var wall = recordtest.Answered{Answer: practice.Answer{Status: http.StatusForbidden,
	Header: http.Header{"Cf-Mitigated": {"challenge"}}}}

// TestTwentyWeeksOfErrors: errors of five kinds that were planted are each found, by judging again
// what is kept or by a purchase, corrected, counted and shown; the program on the page counts the
// same from the files alone, a note lifts nothing, and nothing that was counted is taken back.
func TestTwentyWeeksOfErrors(t *testing.T) {
	w := recordtest.Writer(t)
	observe := func(o record.Observation) record.Observation {
		t.Helper()
		out, err := w.Observe(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	correct := func(at time.Time, leaf int64, g rejudge.Ground) (err error) {
		_, e, judgement, err := rejudge.Correct(recordtest.Open(t, w), leaf, g)
		if err == nil {
			observe(record.Observation{At: at.Format(time.RFC3339), Kind: record.ObservationErratum, Erratum: &e,
				Judgement: string(judgement)})
		}
		return err
	}
	var last time.Time
	for week := int64(1); week <= 20; week++ {
		p, is := planted[week]
		d := yearOf(t, week, p.a, is)
		round := recordtest.Seal(t, w, d)
		last = d.TakenAt.Add(time.Hour)
		if !is || p.cause == record.CauseBotWall {
			continue
		}
		leaf := round.FirstLeaf + 2 // c.example
		observe(record.Observation{At: last.Format(time.RFC3339), Kind: record.ObservationStandingNote,
			Note: &record.StandingNote{Host: "c.example", Lane: "host", SignedAt: last.Format(time.RFC3339),
				Statement: *recordtest.Said("It was up.")}})
		if err := correct(last, leaf, rejudge.Ground{Reason: "A note.", Cause: p.cause}); err == nil {
			t.Error("a note alone corrects a row")
		}
		sold := record.PaidWalk{Host: "c.example", URL: "https://c.example/paid", Network: "eip155:8453",
			Transaction: "0x1", USDC: "0.01", By: record.BoughtBySeller, Claim: &record.WalkClaim{Status: 200}}
		silent := sold
		silent.By, silent.Claim = record.BoughtByStore, nil
		for name, o := range map[string]record.Observation{
			"the seller's own purchase":        {Kind: record.ObservationPaidWalk, Walk: &sold},
			"a purchase that was not answered": {Kind: record.ObservationPaidWalk, Walk: &silent},
			"a purchase in which no money moved": {Kind: record.ObservationUnpaidWalk, Unpaid: &record.UnpaidWalk{
				Host: sold.Host, URL: sold.URL, Network: sold.Network, USDC: sold.USDC, Claim: sold.Claim}},
		} {
			o.At = last.Format(time.RFC3339)
			if err := correct(last, leaf, rejudge.Ground{Reason: "It sold.", Cause: p.cause,
				Walk: observe(o).Number}); err == nil {
				t.Errorf("%s corrects a row", name)
			}
		}
		walk := observe(record.Observation{At: last.Format(time.RFC3339), Kind: record.ObservationPaidWalk,
			Walk: &record.PaidWalk{Host: "c.example", URL: "https://c.example/paid", Network: "eip155:8453",
				Transaction: fmt.Sprintf("0x%d", week), USDC: "0.01"}})
		by := rejudge.Ground{Reason: "It sold.", Cause: p.cause, Walk: walk.Number}
		if err := correct(last, leaf, by); err != nil {
			t.Fatalf("week %d: %v", week, err)
		}
	}
	put := func(f rejudge.False) error {
		observe(record.Observation{At: last.Format(time.RFC3339), Kind: record.ObservationErratum,
			Erratum: &f.Erratum, Judgement: string(f.Judgement)})
		return nil
	}
	tally, err := rejudge.Whole(t.Context(), recordtest.Open(t, w), probe.V2, "Judged again.", put)
	if err != nil || tally.Rows != 24 || tally.False != 2 || tally.More != 8 || tally.Same != 14 {
		t.Errorf("%+v %v", tally, err)
	}
	view := errorsOf(t, w)
	for i, got := range view.Weeks {
		p, is := planted[got.Sequence]
		if want := int64(0); got.Verdicts != 3 || (got.Corrected > want) != is || is &&
			(got.Corrected != 1 || len(got.ByCause) != 1 || got.ByCause[0].Name != p.cause || *got.Rate != 3333) {
			t.Errorf("week %d: %+v", i+1, got)
		}
	}
	if view.All.Verdicts != 60 || view.All.Corrected != 7 || *view.All.Rate != 1166 || len(view.All.ByCause) != 5 ||
		len(view.Corrections) != 7 {
		t.Errorf("all: %+v", view.All)
	}
	countedByThePage(t, w.Dir, marshalled(t, view))
	// The keeper says that one was none after all: it stays counted. And one is taken back without
	// a word of why: it is counted too.
	for _, leaf := range []int64{view.Corrections[0].Leaf, 0} {
		observe(record.Observation{At: last.Format(time.RFC3339), Kind: record.ObservationErratum,
			Erratum: &record.Erratum{Leaf: leaf, Reason: "Not so.", VerdictNow: record.VerdictNotProbed}})
	}
	if now := errorsOf(t, w); now.All.Corrected != 8 || len(now.All.ByCause) != 6 || now.All.Verdicts != 60 {
		t.Errorf("taken back: %+v", now.All)
	} else {
		countedByThePage(t, w.Dir, marshalled(t, now))
	}
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || len(report.Errata) != 9 {
		t.Errorf("%v %v %+v", err, report.Problems, report.Errata)
	}
}

// TestAnErrorOfALookThatIsGone has a keeper withdraw what an honest row was judged by, and then
// call it an error of the instrument on a look that he made up: nobody can hold that against the
// row's own any more, and it is refused. Withdrawn behind the erratum it is not.
func TestAnErrorOfALookThatIsGone(t *testing.T) {
	trees := map[string]fstest.MapFS{}
	for _, before := range []bool{true, false} {
		w := recordtest.Writer(t)
		d := yearOf(t, 5, wall, true)
		d.Sequence = 1
		round, at := recordtest.Seal(t, w, d), d.TakenAt.Add(time.Hour).Format(time.RFC3339)
		raw, err := recordtest.Open(t, w).Log.Entry(round.FirstLeaf + 2)
		if err != nil {
			t.Fatal(err)
		}
		row, err := record.ParseRow(raw)
		if err != nil {
			t.Fatal(err)
		}
		_, j := recordtest.LookBy(t, probe.V2, row.URL, recordtest.Answered{Answer: doorOf(t, "ready", row.URL)},
			d.TakenAt.Add(-time.Hour))
		if raw, err = j.Encode(); err != nil {
			t.Fatal(err)
		}
		gone := record.Observation{At: at, Kind: record.ObservationWithdrawn,
			Withdrawn: &record.Withdrawn{SHA256: row.EvidenceDigest, Reason: "The host asked for it."}}
		sum := sha256.Sum256(raw)
		lie := record.Observation{At: at, Kind: record.ObservationErratum, Judgement: string(raw),
			Erratum: &record.Erratum{Leaf: round.FirstLeaf + 2, Reason: "A wall.", VerdictNow: record.VerdictReady,
				Kind: record.ErratumError, Cause: record.CauseBotWall, EvidenceDigest: hex.EncodeToString(sum[:]),
				Checks: row.Failed}}
		if !before {
			_, e, again, err := rejudge.Correct(recordtest.Open(t, w), round.FirstLeaf+2, rejudge.Ground{
				Reason: "A wall.", Cause: record.CauseBotWall, Battery: probe.V2})
			if err != nil {
				t.Fatal(err)
			}
			lie.Erratum, lie.Judgement = &e, string(again)
		}
		all := []record.Observation{gone, lie}
		if !before {
			all = []record.Observation{lie, gone}
		}
		for _, o := range all {
			if _, err := w.Observe(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		r, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
		if err != nil || (len(r.Problems) == 1 && r.Problems[0].Rule == rule.ErratumBasis) != before ||
			!before && len(r.Problems) > 0 {
			t.Errorf("withdrawn before it %v: %v, %+v", before, err, r.Problems)
		}
		trees[fmt.Sprint(before)] = recordtest.MapFS(t, w.Dir)
	}
	needsPython(t)
	if says := verdicts(t, t.TempDir(), trees); len(says) != 1 || !strings.Contains(says["true"], "erratum.basis") {
		t.Errorf("the verifier from the page says %q", says)
	}
}

// yearOf is a week of three hosts: one that is ready, one that v2 alone calls not ready, and one in
// which an error is planted.
func yearOf(t *testing.T, week int64, a recordtest.Answered, plant bool) seal.Draft {
	t.Helper()
	d, kept := recordtest.Draft(week), map[string][]byte{}
	if d.Battery = probe.V1; week > 8 {
		d.Battery = probe.V2
	}
	var rows []record.Row
	for i, host := range []string{"a.example", "b.example", "c.example"} {
		url := "https://" + host + "/paid"
		answer := recordtest.Answered{Answer: doorOf(t, "ready", url)}
		if i == 1 {
			answer.Answer = doorOf(t, "not-v2", url)
		}
		if i == 2 && plant {
			answer = a
		}
		report, j := recordtest.LookBy(t, d.Battery, url, answer, d.TakenAt.Add(-time.Hour))
		raw, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		row := rejudge.RowFrom(report, j)
		row.Host, row.Listed, row.Source, row.Catalog = host, true, record.SourceDiscovery, "bazaar"
		rows, kept[host] = append(rows, row), raw
	}
	d.Rows, d.Roster.Listed, d.Roster.Sources[0].Hosts = recordtest.Each(rows...), 3, 3
	d.Evidence = func(host, _ string) ([]byte, error) { return kept[host], nil }
	return d
}

// doorOf is what a practice door answers that both batteries call ready, or v1 alone.
func doorOf(t *testing.T, which, url string) practice.Answer {
	t.Helper()
	for _, p := range practice.All() {
		v1, _ := recordtest.LookBy(t, probe.V1, url, recordtest.Answered{Answer: p.Answer(url)}, recordtest.LookedAt)
		if v1.Verdict == probe.Ready && (p.Verdict == probe.Ready) == (which == "ready") {
			return p.Answer(url)
		}
	}
	t.Fatal("no such door")
	return practice.Answer{}
}

// errorsOf is the series of a record.
func errorsOf(t *testing.T, w *seal.Writer) derive.ErrorsView {
	t.Helper()
	r := recordtest.Open(t, w)
	feed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	b := &derive.Book{Rounds: r.Rounds(), Feed: feed}
	b.Roll, b.Figures, err = derive.CallRoll("", b.Rounds, func(string) []record.Observation { return nil },
		derive.Corrected(r.Histories(), record.ErrataOf(feed)))
	if err != nil {
		t.Fatal(err)
	}
	return b.Errors()
}

func marshalled(t *testing.T, view derive.ErrorsView) []byte {
	t.Helper()
	raw, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestErrorsOfTheSpecimen counts those of the specimen from its record, as they are published.
func TestErrorsOfTheSpecimen(t *testing.T) {
	published, err := os.ReadFile(filepath.FromSlash("../../public/corpus/errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	countedByThePage(t, filepath.FromSlash("../../corpus"), published)
}

// countedByThePage has the program that stands on /corpus/errors count a record, and compares every
// week.
func countedByThePage(t *testing.T, dir string, published []byte) {
	t.Helper()
	needsPython(t)
	page, err := os.ReadFile(filepath.FromSlash("../../content/pages/record/errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)[1]
	out, err := exec.Command(python, "-c", string(program), dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var theirs []map[string]any
	var ours struct {
		Weeks []map[string]any `json:"weeks"`
	}
	if err := errors.Join(json.Unmarshal(out, &theirs), json.Unmarshal(published, &ours)); err != nil {
		t.Fatal(err)
	}
	for _, week := range ours.Weeks { // the program lists checks by name
		checks := map[string]any{}
		for _, c := range week["by_check"].([]any) {
			c := c.(map[string]any)
			checks[c["check"].(string)] = c
			delete(c, "check")
		}
		week["by_check"] = checks
		delete(week, "sequence")
		delete(week, "digest")
	}
	if len(theirs) == 0 || !reflect.DeepEqual(theirs, ours.Weeks) {
		t.Errorf("the page counts %v\nours %v", theirs, ours.Weeks)
	}
}
