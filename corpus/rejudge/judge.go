// Package rejudge reaches verdicts: it makes rows and refreshes of what a battery said of a walk,
// and makes them again of what a record keeps of it. It is all of the record that knows batteries;
// packages record, audit and bundle know its Batteries as a record.Judge alone, so that a check of
// signatures, counts and proofs can be read and built without them. It owns no format: rows are
// package record's, judgements package probe's.
//
//	report, err := verify.Record(ctx, fsys, ring, verify.RecordOptions{Judge: Batteries{}})
package rejudge

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// Batteries judges by the batteries of package probe. It implements record.Judge.
type Batteries struct{}

// Door implements record.Judge.
func (Batteries) Door(judgement []byte) (url string, err error) {
	j, err := probe.DecodeJudgement(judgement)
	return j.URL, rule.JudgementForm.By(err)
}

// Walk implements record.Judge.
func (Batteries) Walk(judgement []byte) (record.Walk, error) {
	j, err := probe.DecodeJudgement(judgement)
	if err != nil {
		return record.Walk{}, rule.JudgementForm.By(err)
	}
	report, err := j.Judge()
	return walkOf(j, report), err
}

// walkOf is what a report says. A door that could not be asked in its own way has no verdict.
func walkOf(j probe.Judgement, report probe.Report) record.Walk {
	w := record.Walk{URL: j.URL, Battery: j.Battery, Verdict: string(report.Verdict)}
	if report.Verdict == probe.MethodUnresolved {
		w.Verdict = record.VerdictNotProbed
	}
	if w.Verdict != record.VerdictNotProbed {
		for _, c := range report.Checks {
			if !c.OK {
				w.Failed = append(w.Failed, c.Name)
			}
		}
	}
	return w
}

// Row implements record.Judge.
func (Batteries) Row(row record.Row, raw, judgement []byte) error {
	fail := func(err error) error { return fmt.Errorf("judging %s again: %w", row.Host, err) }
	if row.Reason == record.ReasonOptedOut {
		o, err := probe.DecodeOptOut(judgement)
		err = rule.JudgementForm.By(err)
		if err == nil && !o.Of(row.Host) {
			err = rule.JudgementDoor.By(fmt.Errorf("it is the word of another host: %.200q", o.Evidence.URL))
		}
		if err != nil {
			return fail(err)
		}
		return nil
	}
	j, err := probe.DecodeJudgement(judgement)
	if err != nil {
		return fail(rule.JudgementForm.By(err))
	}
	if j.URL != row.URL || j.Battery != row.Battery {
		return fail(rule.JudgementDoor.Errorf("it is of the url %.200q by battery %s", j.URL, j.Battery))
	}
	report, err := j.Judge()
	if err != nil {
		return fail(err)
	}
	got := RowFrom(report, j)
	if v, ok := seenElsewhere(row, judgement); ok {
		if got.Verdict != v.Verdict || got.EvidenceDigest != v.EvidenceDigest {
			return fail(fmt.Errorf("what is kept of the walk from %s gives %s, the row says %s", v.ID, got.Verdict,
				v.Verdict))
		}
		return nil
	}
	got.Format, got.Origin, got.Sequence, got.Week, got.PreviousLeaf = row.Format, row.Origin, row.Sequence, row.Week,
		row.PreviousLeaf
	got.Host, got.Listed, got.Source, got.Catalog, got.Late, got.KID, got.Signature = row.Host, row.Listed, row.Source,
		row.Catalog, row.Late, row.KID, row.Signature
	got.Vantages = row.Vantages
	if slices.ContainsFunc(row.Vantages, func(v record.Vantage) bool { return v.Verdict != got.Verdict }) {
		got.Verdict, got.Fault = record.VerdictNotReady, record.FaultPath
	}
	again, err := attest.Canonical(got)
	if err != nil {
		return fail(err)
	}
	if !bytes.Equal(again, raw) {
		return fail(fmt.Errorf("what is kept of the walk gives %s", difference(again, raw)))
	}
	return nil
}

// seenElsewhere is the vantage that rests on a judgement, if that is not the row's own.
func seenElsewhere(row record.Row, judgement []byte) (record.Vantage, bool) {
	if len(row.Vantages) == 0 {
		return record.Vantage{}, false
	}
	digest := attest.Digest(sha256.Sum256(judgement)).String()
	i := slices.IndexFunc(row.Vantages, func(v record.Vantage) bool { return v.EvidenceDigest == digest })
	if i < 0 || digest == row.EvidenceDigest {
		return record.Vantage{}, false
	}
	return row.Vantages[i], true
}

// Refresh implements record.Judge.
func (Batteries) Refresh(r record.Refresh, at string, raw []byte) error {
	j, err := probe.DecodeJudgement(raw)
	if err != nil {
		return rule.JudgementForm.By(err)
	}
	if j.URL != r.URL || j.Battery != r.Battery {
		return rule.JudgementDoor.Errorf("it is of %.200q by battery %s", j.URL, j.Battery)
	}
	report, err := j.Judge()
	if err != nil {
		return err
	}
	again, err := RefreshFrom(r.Host, report, j)
	if err != nil {
		return err
	}
	if report.Evidence.ObservedAt > at {
		return fmt.Errorf("it was judged at %s, after it is dated", report.Evidence.ObservedAt)
	}
	want, err := attest.Canonical(again.Refresh)
	if err != nil {
		return err
	}
	if said, err := attest.Canonical(r); err != nil || string(said) != string(want) {
		return errors.Join(fmt.Errorf("it says %s, what it was judged by gives %s", said, want), err)
	}
	return nil
}

// difference names the first member in which two rows are not alike.
func difference(again, signed []byte) string {
	var a, b map[string]jsontext.Value
	if json.Unmarshal(again, &a) != nil || json.Unmarshal(signed, &b) != nil {
		return "another row"
	}
	var out []string
	for _, name := range []string{"url", "verdict", "reason", "reached_level", "failed", "advisories", "also_under",
		"protocols", "probe_method", "offer", "battery", "fault", "observed_at", "evidence_digest"} {
		if !bytes.Equal(a[name], b[name]) {
			out = append(out, fmt.Sprintf("%s %.200s, the row says %.200s", name, shown(a[name]), shown(b[name])))
		}
	}
	if len(out) == 0 {
		return "another row"
	}
	return strings.Join(out, "; ")
}

func shown(v jsontext.Value) string {
	if len(v) == 0 {
		return "nothing"
	}
	return string(v)
}

// Again judges what a judgement rests on by another battery. It returns that judgement, under a
// salt of its own, and what it gives.
func Again(judgement []byte, battery string) ([]byte, record.Walk, error) {
	raw, j, report, err := again(judgement, battery)
	if err != nil {
		return nil, record.Walk{}, err
	}
	return raw, walkOf(j, report), nil
}

func again(judgement []byte, battery string) (raw []byte, j probe.Judgement, report probe.Report, err error) {
	if j, err = probe.DecodeJudgement(judgement); err != nil {
		return nil, j, report, rule.JudgementForm.By(err)
	}
	j.Battery, j.Salt = battery, probe.NewSalt()
	if raw, err = j.Encode(); err == nil {
		report, err = j.Judge()
	}
	return raw, j, report, err
}
