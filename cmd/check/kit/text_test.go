package kit

import (
	"strings"
	"testing"
	"unicode"

	"store.example/agentstore/corpus/drift"
	"store.example/agentstore/corpus/probe"
)

// TestTextHidesNothing puts what a screen would obey into every text of a report but the words that
// are ours.
func TestTextHidesNothing(t *testing.T) {
	report := func(s string) probe.Report {
		var r probe.Report
		r.URL, r.Version, r.ReachedLevel, r.ReachedLevelMeaning = s, s, s, s
		r.AlsoUnder.Version, r.AlsoUnder.Difference = s, s
		r.Evidence.ObservedAt, r.Evidence.Digest = s, s
		r.Remediation = []probe.Remedy{{Check: s, Fix: s}}
		for _, state := range []probe.State{probe.Pass, probe.Fail, ""} {
			r.ChecksVector = append(r.ChecksVector, probe.VectorEntry{Name: s, State: state, Detail: s},
				probe.VectorEntry{Name: s, State: state, BlockedBy: s})
		}
		r.Advisories = []probe.Note{{Name: s, Detail: s}}
		r.Clients = []probe.ClientRow{{Client: s, Configured: s, Outcome: "would_throw", Why: s},
			{Outcome: "would_sign", Index: new(1), Network: s, Amount: s}}
		return r
	}
	compared := func(s string) *drift.Report {
		return &drift.Report{Compared: []string{s + s}, Unread: []drift.Unread{{Declaration: s, URL: s, Reason: s}},
			Findings: []drift.Finding{{Declaration: s, Member: s, Declared: s, Live: s, URL: s}}}
	}
	got := string(text([]found{{report: report("x\x1b[8m\nREADY\r\u202e\x9b"), private: true,
		drift: compared("x\x1b[8m\nREADY\r\u202e\x9b")}}))
	like := string(text([]found{{report: report("x"), private: true, drift: compared("x")}}))
	if strings.Count(got, "\n") != strings.Count(like, "\n") {
		t.Errorf("it has other lines than\n%s:\n%q", like, got)
	}
	if !strings.Contains(like, "  throws  x ") || !strings.Contains(like, "accepts[1], x on x\n") {
		t.Errorf("what clients do is not told:\n%s", like)
	}
	if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("what a screen obeys came through: %q", got)
	}
}
