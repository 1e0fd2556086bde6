package pagecheck

import (
	"net/http"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/verdict"
)

// Version is that of the battery.
const Version = "v1"

// State is what became of one check.
type State = verdict.State

// The states. A warning breaks a custom; NotReached says that there was nothing to judge.
const (
	Pass        = verdict.Pass
	Warn        = verdict.Warn
	Fail        = verdict.Fail
	NotReached  = verdict.NotReached
	Unreachable = verdict.Unreachable
)

// Report is the judgement of one page.
type Report struct {
	Version    string    `json:"version"`
	URL        string    `json:"url"`
	Verdict    State     `json:"verdict"` // the worst of the checks, or Unreachable
	Checks     []Check   `json:"checks"`  // the twelve, in order
	Fixes      []Fix     `json:"suggested_fixes"`
	Evidence   Evidence  `json:"evidence"`
	ObservedAt time.Time `json:"observed_at"`
	CannotTell []string  `json:"what_this_cannot_tell_you"`
}

// Check is one named question and its answer.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
}

// Fix says what to change.
type Fix = verdict.Fix

// Evidence is what the judgement rests on.
type Evidence struct {
	verdict.Evidence
	Truncated bool `json:"truncated"`
}

var cannotTell = []string{
	"what scripts make of the page in a browser",
	"whether anybody links to it, and where it ranks",
	"whether other readers are served the same page",
}

// Judge judges what was served.
func Judge(x exchange.Exchange) Report {
	r := Report{Version: Version, URL: x.Request.URL, Verdict: Pass, Fixes: []Fix{},
		ObservedAt: x.StartedAt.Add(x.Duration).UTC().Truncate(time.Second),
		CannotTell: cannotTell, Evidence: Evidence{verdict.EvidenceOf(x), x.Response.Truncated}}
	if s := x.Response.Status; s == 0 || x.Error.Stage != "" || s >= 500 {
		r.Verdict = Unreachable
		for _, row := range rows {
			r.Checks = append(r.Checks, Check{row.Name, NotReached, "the page could not be read"})
		}
		r.Checks[0].Detail = bounded("the page could not be read: "+x.Error.Text, 300)
		return r
	}
	p := read(x.Response.Body)
	reached := true
	for i, row := range rows {
		c := Check{Name: row.Name, State: NotReached, Detail: "there is no page to judge"}
		if reached {
			c.State, c.Detail = row.run(x, p)
		}
		if i == 0 && c.State == Fail {
			reached = false
		}
		r.Checks = append(r.Checks, c)
		r.Verdict = verdict.Worse(r.Verdict, c.State)
		if c.State == Fail || c.State == Warn {
			r.Fixes = append(r.Fixes, Fix{Check: row.Name, Fix: row.Fix})
		}
	}
	return r
}

// Checker asks for the page once, with GET.
type Checker struct{ URL string }

var _ probe.Checker[Report] = Checker{}

// Name is onpage/v1.
func (Checker) Name() string { return "onpage/v1" }

// MaxRequests is 1.
func (Checker) MaxRequests() int { return 1 }

// Step implements probe.Checker.
func (c Checker) Step(recorded []exchange.Exchange) (Report, *probe.Next, error) {
	if len(recorded) == 0 {
		return Report{}, &probe.Next{Kind: "get", Request: exchange.Request{Method: http.MethodGet, URL: c.URL,
			Header: http.Header{"Accept": {"text/html, application/xhtml+xml;q=0.9"}}}}, nil
	}
	return Judge(recorded[0]), nil, nil
}
