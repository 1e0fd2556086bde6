package declarations

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// The places where a host says which doors it has.
const (
	FilePath = "/.well-known/x402"
	CardPath = "/.well-known/agent.json"
)

// The words of a reading.
const (
	Doors      = "doors"      // a file was read; whether a door of it is the host's, Own says
	None       = "none"       // no file at either path
	Unreadable = "unreadable" // a file could not be read: no finding about the host
)

// The ways to a file.
const (
	ViaFile = "x402"
	ViaCard = "agent-card"
)

// Report is what was read of a host.
type Report struct {
	Kind   string // Doors, None, Unreadable
	Reason string // of Unreadable and None
	Via    string // Via…, of the file that was read or could not be
	URL    string // where the file stood
	File   File   // its shape also where it was unreadable
}

// Start is the address of a host's own file.
func Start(host string) string { return "https://" + host + FilePath }

// Checker reads the declaration of one host. Its host is in the form in which it is requested.
type Checker struct{ Host string }

var _ probe.Checker[Report] = Checker{}

// Name is declaration/v1.
func (Checker) Name() string { return "declaration/v1" }

// MaxRequests is six: the file, the card and the file that it names, each with one redirect within
// the host.
func (Checker) MaxRequests() int { return 6 }

// Step implements probe.Checker.
func (c Checker) Step(recorded []exchange.Exchange) (Report, *probe.Next, error) {
	r := reading{left: recorded}
	at := Start(c.Host)
	body, found, problem := r.get(at)
	switch {
	case r.next != nil:
		return Report{}, r.next, nil
	case problem != "":
		return Report{Kind: Unreadable, Reason: problem, Via: ViaFile, URL: at, File: File{Shape: ShapeUnknown}}, nil,
			nil
	case found:
		return read(body, ViaFile, at), nil, nil
	}
	card := "https://" + c.Host + CardPath
	body, found, problem = r.get(card)
	switch {
	case r.next != nil:
		return Report{}, r.next, nil
	case problem != "":
		return Report{Kind: Unreadable, Reason: "the agent card: " + problem, Via: ViaCard, URL: card,
			File: File{Shape: ShapeUnknown}}, nil, nil
	case !found:
		return Report{Kind: None, Reason: "there is no file at " + FilePath + " and no agent card at " + CardPath}, nil,
			nil
	}
	ref, err := discoveryOf(body)
	if err != nil {
		return Report{Kind: Unreadable, Reason: "the agent card: " + err.Error(), Via: ViaCard, URL: card,
			File: File{Shape: ShapeUnknown}}, nil, nil
	}
	if ref == "" {
		return Report{Kind: None, Reason: "there is no file at " + FilePath +
			", and the agent card has no x402Discovery"}, nil, nil
	}
	base, err := url.Parse(card)
	if err != nil {
		return Report{}, nil, err
	}
	to, err := base.Parse(ref)
	if err != nil || to.Scheme != "https" || to.Host != base.Host || to.User != nil {
		return Report{Kind: Unreadable, Reason: "the agent card's x402Discovery names no file on the host itself",
			Via: ViaCard, URL: card, File: File{Shape: ShapeUnknown}}, nil, nil
	}
	to.Fragment, to.RawFragment = "", ""
	at = to.String()
	body, found, problem = r.get(at)
	switch {
	case r.next != nil:
		return Report{}, r.next, nil
	case problem != "" || !found:
		if problem == "" {
			problem = "it is not there"
		}
		return Report{Kind: Unreadable, Reason: "the file that the agent card names: " + problem, Via: ViaCard, URL: at,
			File: File{Shape: ShapeUnknown}}, nil, nil
	}
	return read(body, ViaCard, at), nil, nil
}

func read(body []byte, via, at string) Report {
	f, err := Parse(body, at)
	r := Report{Kind: Doors, Via: via, URL: at, File: f}
	if err != nil {
		r.Kind, r.Reason = Unreadable, err.Error()
	}
	return r
}

// discoveryOf finds the address in an agent card's x402Discovery: a text, or an object with url.
func discoveryOf(body []byte) (string, error) {
	var card map[string]any
	if err := json.Unmarshal(body, &card); err != nil {
		return "", errors.New("it is not a JSON object, or holds a name twice or text that is not UTF-8")
	}
	switch v := card["x402Discovery"].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case map[string]any:
		if s, ok := v["url"].(string); ok {
			return s, nil
		}
	}
	return "", errors.New("its x402Discovery is no address")
}

// reading goes through the recorded exchanges in the order in which they were asked for.
type reading struct {
	left []exchange.Exchange
	next *probe.Next
}

func (r *reading) take(req exchange.Request) (exchange.Exchange, bool) {
	if len(r.left) == 0 {
		r.next = &probe.Next{Request: req, Kind: "get"}
		return exchange.Exchange{}, false
	}
	x := r.left[0]
	r.left = r.left[1:]
	return x, true
}

// get reads a file, over one redirect within its host. found is false where there is none; problem
// says why one could not be read.
func (r *reading) get(at string) (body []byte, found bool, problem string) {
	accept := http.Header{"Accept": {"application/json"}}
	x, ok := r.take(exchange.Request{Method: http.MethodGet, URL: at, Header: accept})
	if !ok {
		return nil, false, ""
	}
	if s := x.Response.Status; x.Error.Stage == "" && s >= 300 && s < 400 {
		hop, ok := fetch.Hop(x)
		if !ok {
			return nil, false, "it redirects to another host, or to nowhere"
		}
		hop.Header = accept
		if x, ok = r.take(hop); !ok {
			return nil, false, ""
		}
		if s := x.Response.Status; x.Error.Stage == "" && s >= 300 && s < 400 {
			return nil, false, "it redirects more than once"
		}
	}
	switch status := x.Response.Status; {
	case x.Error.Stage != "":
		return nil, false, "the host did not answer whole (" + x.Error.Stage + ")"
	case status == http.StatusNotFound || status == http.StatusGone:
		return nil, false, ""
	case status != http.StatusOK:
		return nil, false, fmt.Sprintf("it answers with status %d", status)
	case x.Response.Truncated:
		return nil, false, "it is larger than 256 KiB"
	}
	return x.Response.Body, true, ""
}
