// Walk reads live doors: it makes the requests that a checker asks for through the guarded
// client, hands the checker what was recorded, and returns its report with the recording. It judges
// nothing itself. A recording has a file form and can be judged again, by the same checker or a
// newer one, without a network.
//
//	report, recording, err := Walk(ctx, client, checker, WalkStart{URL: "https://door.example/paid"})
//	again, err := probe.Replay(recording.Exchanges, checker)

package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"

	"store.example/agentstore/corpus/probe"
)

// The bounds of one walk.
const (
	DefaultWalkTime = 20 * time.Second
	MaxBytes        = 2 << 20 // of all bodies and headers that are held
)

// Asker makes requests; *fetch.Client is one.
type Asker interface {
	Do(ctx context.Context, req exchange.Request, rule Rule) (exchange.Exchange, error)
	Parse(raw string, rule Rule) (string, error)
	Private() bool
}

// WalkStart says where a walk begins and what it may do.
type WalkStart struct {
	// URL is the door's, in the form that Client.Parse gives it, which is the form in which
	// exchanges are recorded: checkers are made with that one. Its host is the one that requests
	// stay on, but for the kinds that may leave it. It is "" for a checker that has no door, only a
	// document to resolve; then no other kinds may be asked for.
	URL string
	// Kinds are the kinds of request that may be made, of those that Kinds lists; nil allows them
	// all.
	Kinds []string
	// PlainHTTP allows http on port 80, for phantom_check alone.
	PlainHTTP bool
	// PostBody is what a declared POST sends in the place of an empty object, on the machine of
	// whoever owns the door alone.
	PostBody string
	// Nodes are those of the networks, by their CAIP-2 names, that are asked for accounts.
	Nodes Nodes
	// Time bounds the whole walk; 0 is DefaultTime. What is asked for later is recorded as not
	// made.
	Time time.Duration
}

// Nodes answer questions of JSON-RPC, each of one network by its CAIP-2 name, or fail.
type Nodes map[string]func(ctx context.Context, question []byte) (answer []byte, err error)

// Networks are those that have a node.
func (n Nodes) Networks() []string { return slices.Sorted(maps.Keys(n)) }

// A Kind is a kind of request that a checker may ask for.
type Kind struct {
	Name   string
	Method string
	Leaves bool // may go to another host than the door's
	Body   string
	Path   string // what the path must end with, "" for anything
}

// Kinds lists the kinds of request. A body of a POST is fixed here, so that a checker's data, which
// strangers wrote, never reaches another door.
func Kinds() []Kind {
	return []Kind{
		{Name: "get", Method: http.MethodGet},
		{Name: "declared-post", Method: http.MethodPost, Body: "{}"},
		{Name: "redirect", Method: http.MethodGet},
		{Name: "own-file", Method: http.MethodGet},
		{Name: "did", Method: http.MethodGet, Leaves: true, Path: "/did.json"},
		{Name: "key", Method: http.MethodGet, Leaves: true},
		// It goes to no door, but to the node of whoever walks, which reads accounts alone.
		{Name: probe.KindAccounts, Method: http.MethodPost, Leaves: true},
		// Two questions to an agent that set it no work: a task that does not exist, and a message
		// without a message.
		{Name: "a2a-tasks-get", Method: http.MethodPost,
			Body: `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"00000000-0000-4000-8000-000000000000"}}`},
		{Name: "a2a-stream", Method: http.MethodPost,
			Body: `{"jsonrpc":"2.0","id":2,"method":"message/stream","params":{}}`},
		// It lists the tools of an MCP endpoint, and calls none.
		{Name: "mcp-tools-list", Method: http.MethodPost,
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`},
	}
}

// Walk walks with a checker until it has its report. The recording is returned whatever happens.
// The error is a *fetch.Refusal when the door was refused, which says nothing about it; ctx's when
// it
// ended; otherwise it is the checker's own. What is refused later is recorded, and the checker goes
// on.
func Walk[R any](ctx context.Context, client Asker, checker probe.Checker[R], start WalkStart) (R, Recording, error) {
	var none R
	recording := Recording{Checker: checker.Name(), Start: start.URL, Private: client.Private()}
	rule := Rule{PlainHTTP: start.PlainHTTP}
	if start.URL != "" {
		var err error
		if recording.Start, err = client.Parse(start.URL, rule); err != nil {
			return none, recording, err
		}
	}
	door := recording.Start
	start.Time = cmp.Or(start.Time, DefaultWalkTime)
	walking, cancel := context.WithTimeout(ctx, start.Time)
	defer cancel()
	held := 0
	for {
		report, next, err := checker.Step(recording.Exchanges)
		if err != nil {
			return none, recording, fmt.Errorf("judging by %s: %w", checker.Name(), err)
		}
		if next == nil {
			return report, recording, nil
		}
		made := len(recording.Exchanges)
		if made >= checker.MaxRequests() {
			return none, recording, fmt.Errorf("%s asks for more than its %d requests", checker.Name(),
				checker.MaxRequests())
		}
		var x exchange.Exchange
		switch why := start.forbids(client, door, *next); {
		case why != "":
			x = notMade(recording, next.Request, exchange.StageRefused, why)
		case held > MaxBytes:
			x = notMade(recording, next.Request, exchange.StageRefused, "the walk holds as many bytes as it may")
		case walking.Err() != nil && ctx.Err() == nil:
			x = notMade(recording, next.Request, exchange.StageDeadline, "the walk's time was over")
		case next.Kind == probe.KindAccounts:
			x = start.ask(walking, recording, next.Request)
		default:
			x, err = client.Do(walking, next.Request, rule)
		}
		recording.Exchanges = append(recording.Exchanges, x)
		held += size(x)
		if err != nil {
			if _, refused := errors.AsType[*Refusal](err); !refused || made == 0 && door != "" {
				return none, recording, err
			}
		}
		if err := ctx.Err(); err != nil {
			return none, recording, err
		}
	}
}

// forbids says why a request may not be made, "" if it may.
func (s WalkStart) forbids(client Asker, door string, next probe.Next) string {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == next.Kind })
	if i < 0 || s.Kinds != nil && !slices.Contains(s.Kinds, next.Kind) {
		return fmt.Sprintf("a walk makes no request of kind %q", next.Kind)
	}
	k := kinds[i]
	if k.Name == probe.KindAccounts {
		if s.Nodes[probe.NodeOf(next.Request)] == nil || next.Request.Method != k.Method {
			return "no node is asked"
		}
		return ""
	}
	if k.Name == probe.KindDeclaredPost {
		k.Body = cmp.Or(s.PostBody, k.Body)
	}
	if next.Request.Method != k.Method || string(next.Request.Body) != k.Body {
		return fmt.Sprintf("a request of kind %q is a %s with the body %q", k.Name, k.Method, k.Body)
	}
	to, err := client.Parse(next.Request.URL, Rule{PlainHTTP: s.PlainHTTP})
	if err != nil {
		return "" // the client says it better
	}
	if door == "" && !k.Leaves {
		return fmt.Sprintf("a request of kind %q needs a door", k.Name)
	}
	a, errA := url.Parse(door)
	b, errB := url.Parse(to)
	if errA != nil || errB != nil || !k.Leaves && (a.Host != b.Host || a.Scheme != b.Scheme) {
		return fmt.Sprintf("a request of kind %q stays on the door's host", k.Name)
	}
	if k.Leaves && b.Scheme != "https" || !strings.HasSuffix(b.Path, k.Path) {
		return fmt.Sprintf("a request of kind %q does not go there", k.Name)
	}
	return ""
}

// maxNodeAnswer is how much of a node's answer is held: some accounts of some hundred bytes.
const maxNodeAnswer = 16 << 10

// ask puts a question to a node. Why it has no answer is the business of whoever keeps the node,
// and would tell its address.
func (s WalkStart) ask(ctx context.Context, r Recording, req exchange.Request) exchange.Exchange {
	x := notMade(r, req, exchange.StageConnect, "no node answered")
	answer, err := s.Nodes[probe.NodeOf(req)](ctx, req.Body)
	if err != nil {
		return x
	}
	x.Error = exchange.Error{}
	x.Response = exchange.Response{Status: http.StatusOK, Proto: "HTTP/1.1", Body: answer}
	if len(answer) > maxNodeAnswer {
		x.Response.Body, x.Response.Truncated = answer[:maxNodeAnswer], true
	}
	return x
}

// notMade records a request that was not made. Its time is that of the exchange before it, so that
// a report does not depend on when the walk gave up.
func notMade(r Recording, req exchange.Request, stage, why string) exchange.Exchange {
	x := exchange.Exchange{Request: req, Error: exchange.Error{Stage: stage, Text: why}}
	if len(x.Request.URL) > exchange.MaxURL {
		x.Request.URL = x.Request.URL[:exchange.MaxURL]
	}
	x.Request.URL = strings.ToValidUTF8(x.Request.URL, "")
	if len(x.Request.Body) > exchange.MaxBody {
		x.Request.Body = nil
	}
	if n := len(r.Exchanges); n > 0 {
		x.StartedAt = r.Exchanges[n-1].StartedAt
	}
	return x
}

func size(x exchange.Exchange) int {
	n := len(x.Request.Body) + len(x.Response.Body)
	for name, values := range x.Response.Header {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}
