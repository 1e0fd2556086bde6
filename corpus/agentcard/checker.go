package agentcard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/verdict"
)

// The kinds of request beside "get", "did" and "key". Their bodies are fixed.
const (
	KindTasksGet = "a2a-tasks-get"
	KindStream   = "a2a-stream"
)

// The bodies of the two live questions: a task that does not exist, and a message without a
// message. Neither makes an agent work.
const (
	BodyTasksGet = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"00000000-0000-4000-8000-000000000000"}}`
	BodyStream   = `{"jsonrpc":"2.0","id":2,"method":"message/stream","params":{}}`
)

// maxKeys bounds the documents fetched for signatures, maxSignatures the signatures looked at.
const (
	maxKeys       = 2
	maxSignatures = 8
)

// Checker judges the card at URL. Live asks for the two checks that send a POST to the agent's
// endpoint.
type Checker struct {
	URL  string
	Live bool
}

var _ probe.Checker[Report] = Checker{}

// Name is a2a/v1.
func (Checker) Name() string { return "a2a/v1" }

// MaxRequests is the card, two documents with keys and two questions to the agent.
func (Checker) MaxRequests() int { return 1 + maxKeys + 2 }

// Step implements probe.Checker.
func (c Checker) Step(recorded []exchange.Exchange) (Report, *probe.Next, error) {
	if len(recorded) == 0 {
		return Report{}, &probe.Next{Kind: "get", Request: exchange.Request{Method: http.MethodGet, URL: c.URL,
			Header: http.Header{"Accept": {"application/json"}}}}, nil
	}
	j := newJudge(c, recorded[0])
	j.read()
	wants := j.wants()
	if n := len(recorded) - 1; n < len(wants) {
		return Report{}, &wants[n], nil
	}
	j.answers(wants, recorded[1:])
	for i := range recorded {
		x := &recorded[i]
		j.Evidence.Requests = append(j.Evidence.Requests, Request{x.Request.Method,
			exchange.Bounded(x.Request.URL, 300), x.Response.Status})
	}
	j.conclude()
	return j.Report, nil, nil
}

// A judge is one judgement under way.
type judge struct {
	Report
	asked   Checker
	x       exchange.Exchange
	card    map[string]node // nil when there is none
	entries []signature
	answer  map[string]exchange.Exchange // of the further requests, by URL and kind
}

func newJudge(c Checker, x exchange.Exchange) *judge {
	j := &judge{asked: c, x: x, answer: map[string]exchange.Exchange{}}
	j.Report = Report{Version: Version, CardVersion: CardVersion, URL: c.URL, Dialect: DialectNone,
		Signatures: []Signature{}, Fixes: []Fix{}, Gaps: []string{},
		ObservedAt: x.StartedAt.Add(x.Duration).UTC().Truncate(time.Second), CannotTell: cannotTell}
	for i, r := range rows {
		j.Checks = append(j.Checks, Check{Number: i + 1, Name: r.name, State: NotChecked, Detail: "not reached",
			Source: r.source})
	}
	j.Evidence.Evidence = verdict.EvidenceOf(x)
	return j
}

// set answers the check with the number n.
func (j *judge) set(n int, s State, code, format string, args ...any) {
	c := &j.Checks[n-1]
	c.State, c.Code, c.Detail = s, code, exchange.Bounded(fmt.Sprintf(format, args...), 500)
}

func (j *judge) where(n int, problems []string) { j.Checks[n-1].Where = problems }

// conclude derives the verdict and the fixes.
func (j *judge) conclude() {
	j.Verdict = Pass
	for i, c := range j.Checks {
		j.Verdict = verdict.Worse(j.Verdict, c.State)
		if c.State == Fail || c.State == Warn || c.State == Absent || c.State == Unverifiable {
			j.Fixes = append(j.Fixes, Fix{Check: c.Name, Fix: rows[i].fix})
		}
	}
	if j.Dialect == Dialect10 {
		j.Own, j.Verdict = &Own{Dialect10, j.Verdict}, NotJudged
	}
}

// wants lists the further requests in the order in which they are made.
func (j *judge) wants() []probe.Next {
	var out []probe.Next
	seen := map[string]bool{}
	for _, s := range j.entries {
		if s.lies == "" || seen[s.lies] || len(out) == maxKeys {
			continue
		}
		seen[s.lies] = true
		out = append(out, probe.Next{Kind: s.kind, Request: exchange.Request{Method: http.MethodGet, URL: s.lies,
			Header: http.Header{"Accept": {"application/json"}}}})
	}
	if at := j.endpoint(); j.asked.Live && at != "" {
		post := func(kind, body string) {
			out = append(out, probe.Next{Kind: kind, Request: exchange.Request{Method: http.MethodPost, URL: at,
				Body: []byte(body),
				Header: http.Header{"Content-Type": {"application/json"},
					"Accept": {"application/json, text/event-stream"}}}})
		}
		post(KindTasksGet, BodyTasksGet)
		if object(j.card["capabilities"])["streaming"] == true {
			post(KindStream, BodyStream)
		}
	}
	return out
}

// endpoint is where the agent speaks JSON-RPC of 0.3, "" if it is not said or not on https.
func (j *judge) endpoint() string {
	if j.Dialect == Dialect10 || j.Dialect == DialectNone {
		return ""
	}
	if t := text(j.card["preferredTransport"]); t != "" && t != "JSONRPC" {
		return ""
	}
	u, err := url.Parse(text(j.card["url"]))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return ""
	}
	return u.String()
}

// answers judges what came back.
func (j *judge) answers(wants []probe.Next, recorded []exchange.Exchange) {
	for i, w := range wants {
		j.answer[w.Kind+" "+w.Request.URL] = recorded[i]
	}
	j.signatures()
	at := j.endpoint()
	switch {
	case j.card == nil:
		return
	case !j.asked.Live:
		j.set(13, NotChecked, "", "it would send a POST to the agent, and was not asked for")
		j.set(14, NotChecked, "", "it would send a POST to the agent, and was not asked for")
		return
	case at == "":
		j.set(13, NotChecked, "", "the card names no https URL for JSON-RPC of 0.3")
		j.set(14, NotChecked, "", "the card names no https URL for JSON-RPC of 0.3")
		return
	}
	j.live(13, j.answer[KindTasksGet+" "+at])
	if x, asked := j.answer[KindStream+" "+at]; asked {
		j.live(14, x)
	} else {
		j.set(14, Pass, "", "the card claims no streaming")
	}
}

// live judges the answer to a JSON-RPC question.
func (j *judge) live(n int, x exchange.Exchange) {
	switch s := x.Response.Status; {
	case s == 0 && x.Error.Stage == exchange.StageRefused:
		j.set(n, NotChecked, "", "the agent was not asked: %s", x.Error.Text)
	case s == 0 || s >= 500:
		j.set(n, Unreachable, "", "status %d: %s", s, x.Error.Text)
	case s == 401 || s == 402 || s == 403:
		j.set(n, Pass, "", "status %d: it asks for credentials or payment", s)
	case n == 14 && strings.HasPrefix(x.Response.Header.Get("Content-Type"), "text/event-stream"):
		j.set(n, Pass, "", "it answers with a stream")
	default:
		v, err := parse(x.Response.Body)
		o := object(v)
		if err != nil || text(o["jsonrpc"]) != "2.0" {
			j.set(n, Fail, "ENDPOINT_NOT_A2A", "status %d, no JSON-RPC envelope", s)
			return
		}
		code, _ := object(o["error"])["code"].(number)
		switch {
		case n == 14 && (code == "-32004" || code == "-32601"):
			j.set(n, Warn, "OVERCLAIM", "message/stream answers %s although the card claims streaming", code)
		case n == 13 && code == "-32601":
			j.set(n, Warn, "NO_TASKS_GET", "tasks/get is not found")
		default:
			j.set(n, Pass, "", "a JSON-RPC envelope, error code %q", string(code))
		}
	}
}
