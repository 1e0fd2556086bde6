// Package drift compares what a host declares of a door in its own files with what the door itself
// answers: network, price, payTo, method and inputs. Buyers pay by the answer, so where the two
// disagree it is the declaration that is wrong. It judges recorded exchanges and makes no request
// itself.
//
//	live, ok := drift.ReadLive(recording.Exchanges) // of a walk to the door
//	report, _, err := fetch.Walk(ctx, client, drift.Checker{Door: door, Live: live}, fetch.WalkStart{URL: door})
package drift

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// The bounds of a look at the declarations of a host.
const (
	MaxDocument = 2 << 20 // bytes of one document
	maxEntries  = 10_000  // of one list that are looked at
	maxShown    = 200     // bytes of a value that a finding repeats
)

// The declarations.
const (
	X402    = "x402"    // the file at /.well-known/x402
	OpenAPI = "openapi" // an operation of /openapi.json, and its x-payment-info
	MPP     = "mpp"     // the offers of an x-payment-info (draft-payment-discovery-00)
	MCP     = "mcp"     // a server card, and the tools of the endpoint that it names
	A2A     = "a2a"     // an agent card
	Listed  = "listing" // what a facilitator lists of who is paid: not the host's own
)

// The members that are compared.
const (
	Network = "network" // of MPP, the payment method
	Price   = "price"
	PayTo   = "payTo"
	Method  = "method"
	Inputs  = "inputs"
)

// Declarations lists the declarations in the order in which they are told.
func Declarations() []string { return []string{X402, OpenAPI, MPP, MCP, A2A, Listed} }

// A Finding is a declaration that contradicts its door in one member. Its texts are a stranger's.
type Finding struct {
	Declaration string `json:"declaration"` // one of Declarations
	Member      string `json:"member"`      // one of Members
	Declared    string `json:"declared"`
	Live        string `json:"live"` // what the door says
	URL         string `json:"url"`  // of the document
	Line        int    `json:"line"` // of the document as it came, from 1
}

// An Unread is a document, or a value in one, that is there and cannot be read: nothing is said of
// the door by it, and nothing against it.
type Unread struct {
	Declaration string `json:"declaration"`
	URL         string `json:"url"`
	Line        int    `json:"line"` // 0 for the whole document
	Reason      string `json:"reason"`
}

// Report is what came of comparing.
type Report struct {
	Compared []string  `json:"compared"` // the declarations that say something of the door
	Findings []Finding `json:"findings"` // at most one of each declaration and member
	Unread   []Unread  `json:"unread"`
	Listings []Listing `json:"listings,omitempty"` // by which facilitators were asked
	Reason   string    `json:"reason,omitzero"`    // why nothing was compared
}

// Has reports whether a declaration contradicted its door in a member before.
func (r *Report) Has(f Finding) bool {
	return r != nil && slices.ContainsFunc(r.Findings, func(o Finding) bool {
		return o.Declaration == f.Declaration && o.Member == f.Member
	})
}

// KindTools is the kind of request that lists the tools of an MCP endpoint.
const KindTools = "mcp-tools-list"

// BodyTools is the body of that request.
const BodyTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// The documents that are read, beside that of declarations.FilePath.
const (
	openAPIPath = "/openapi.json"
	agentPath   = "/.well-known/agent-card.json"
)

// serverCards are the places of a server card, of which the first that is there counts.
var serverCards = []string{"/.well-known/mcp/server-card.json", "/mcp/server-card"}

// Checker reads the declarations of the host of a door and compares them with the door. Which
// requests it asks for depends on the host alone, so a recording made for one door of a host can
// be replayed for another.
type Checker struct {
	Door string // its URL, in the form in which it is requested
	Live Live
}

var _ probe.Checker[Report] = Checker{}

// Name is drift/v1.
func (Checker) Name() string { return "drift/v1" }

// MaxRequests is six: the file, the description, the agent card, two places of a server card, and
// the tools of the endpoint that it names.
func (Checker) MaxRequests() int { return 6 }

// Step implements probe.Checker.
func (c Checker) Step(recorded []exchange.Exchange) (Report, *probe.Next, error) {
	door, err := url.Parse(c.Door)
	if err != nil || door.Host == "" {
		return Report{}, nil, fmt.Errorf("comparing declarations: %.200q is no door", c.Door)
	}
	r := reading{door: door, left: recorded}
	for _, s := range []struct {
		by, path string
		read     func(*document, *url.URL) []claim
	}{{X402, declarations.FilePath, listed}, {OpenAPI, openAPIPath, described}, {A2A, agentPath, agentCard}} {
		d, ok := r.get(s.by, s.path)
		if !ok {
			return Report{}, r.next, nil
		}
		r.add(d, s.read)
	}
	for _, path := range serverCards {
		d, ok := r.get(MCP, path)
		if !ok {
			return Report{}, r.next, nil
		}
		if d.absent {
			continue
		}
		r.add(d, tools)
		if at := endpoint(d, door); at != "" {
			x, ok := r.take(probe.Next{Kind: KindTools, Request: exchange.Request{Method: http.MethodPost, URL: at,
				Header: http.Header{"Accept": {"application/json, text/event-stream"},
					"Content-Type": {"application/json"}}, Body: []byte(BodyTools)}})
			if !ok {
				return Report{}, r.next, nil
			}
			list := readDocument(MCP, x)
			if list.value.get("error").there() || list.absent {
				list.absent, list.problem = false, "the endpoint that the server card names does not list its tools"
			}
			r.add(list, tools)
		}
		break
	}
	return r.report(c.Live), nil, nil
}

// reading goes through the recorded exchanges in the order in which they were asked for.
type reading struct {
	door   *url.URL
	left   []exchange.Exchange
	next   *probe.Next
	claims []claim
	unread []Unread
}

func (r *reading) take(next probe.Next) (exchange.Exchange, bool) {
	if len(r.left) == 0 {
		r.next = &next
		return exchange.Exchange{}, false
	}
	x := r.left[0]
	r.left = r.left[1:]
	return x, true
}

func (r *reading) get(by, path string) (*document, bool) {
	at := url.URL{Scheme: r.door.Scheme, Host: r.door.Host, Path: path}
	x, ok := r.take(probe.Next{Kind: probe.KindGet, Request: exchange.Request{Method: http.MethodGet, URL: at.String(),
		Header: http.Header{"Accept": {"application/json"}}}})
	if !ok {
		return nil, false
	}
	return readDocument(by, x), true
}

// add reads what a document says of the door.
func (r *reading) add(d *document, read func(*document, *url.URL) []claim) {
	switch {
	case d.problem != "":
		r.unread = append(r.unread, Unread{Declaration: d.by, URL: d.url, Reason: d.problem})
	case !d.absent:
		r.claims = append(r.claims, read(d, r.door)...)
	}
}

// report compares what was claimed, one finding for each declaration and member.
func (r *reading) report(live Live) Report {
	out := Report{Compared: []string{}, Findings: []Finding{}, Unread: append([]Unread{}, r.unread...)}
	for _, by := range Declarations() {
		claims := forMethod(slices.DeleteFunc(slices.Clone(r.claims), func(c claim) bool { return c.by != by }), live)
		claims = claims[:min(len(claims), probe.MaxEntries)]
		if len(claims) > 0 {
			out.Compared = append(out.Compared, by)
		}
		for _, m := range comparisons {
			for _, c := range claims {
				if declared, says := m.differs(c, live); says != "" {
					out.Findings = append(out.Findings, Finding{by, m.member, exchange.Bounded(declared.text, maxShown),
						exchange.Bounded(says, maxShown), c.doc.url, c.doc.line(declared.at)})
					break
				}
			}
		}
		if c, t, ok := unreadable(claims); ok {
			out.Unread = append(out.Unread, Unread{by, c.doc.url, c.doc.line(t.price.at), t.problem})
		}
	}
	return out
}

// unreadable finds the first price that cannot be read.
func unreadable(claims []claim) (claim, term, bool) {
	for _, c := range claims {
		for _, t := range c.terms {
			if t.problem != "" {
				return c, t, true
			}
		}
	}
	return claim{}, term{}, false
}

// forMethod leaves the claims that are about the door's own method, where there are any.
func forMethod(claims []claim, live Live) []claim {
	other := func(c claim) bool { return c.method.text != "" && c.method.text != live.method() }
	if mine := slices.DeleteFunc(slices.Clone(claims), other); len(mine) > 0 {
		return mine
	}
	return claims
}
