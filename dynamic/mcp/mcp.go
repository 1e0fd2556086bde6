// Package mcp is the store's doors for agents that speak the Model Context Protocol over HTTP, in
// revision 2025-06-18 or 2026-07-28: every POST is one JSON-RPC message and its answer one JSON
// body. No session is kept and nothing is pushed. A thousand paid calls that wait for the chain
// take some 60 kB each, their clients' side included (TestManyOpenCalls).
//
//	POST /mcp            the free tools, the paid tools, seven resources
//	POST /mcp/verifier   the five free tools that check things
//	POST /mcp/docs       the resources, and get_document; also at /mcp.md
//
// A request names its revision in MCP-Protocol-Version, and in its _meta from 2026-07-28 on; who
// names none speaks 2025-06-18. What differs between the two is a row of revisions. Fields of the
// header that repeat the body are held against it in both.
//
// No tool is written by hand. A free tool is a route whose row names one: a call becomes a request
// to that route and is answered by the server in process, with its validation, budgets, limits and
// metrics. A paid tool is a good of the shelf, or a page that is paid for: a call goes to
// [store.example/agentstore/dynamic/counter.Counter.Buy], which is what the HTTP routes answer
// from, so that the two are one order at one till. None has an outputSchema, against which a client
// would hold the terms.
//
// A payment stands in params._meta and its receipt in the result's _meta, by the names of its
// protocol, whatever the revision. What an unpaid call is answered depends on it:
//
//	2025-06-18                       error 402, the terms in error.data (stock clients hand it to the
//	                                 application)
//	the same, at ?unpaid=result or   a result with isError, the terms in structuredContent and _meta
//	with _meta "store/unpaid"        (stock x402 and MPP clients pay on it)
//	2026-07-28                       the same result
//	2026-07-28, where the client     a result of type payment_required
//	announces org.x402/payment
//
// A settlement whose outcome is not known yet is error -32000 without terms, whatever the caller
// chose: who is given terms signs again. Every other error says that nothing was billed, where a
// payment came along.
//
// The transport is our own, and the types are those of the official Go SDK. The SDK's own handler
// with a tool that does nothing takes half as much processor time again as this door with the
// store's route behind it. In version 1.8.0 it also gives back other ids than it got where they are
// no int64, takes what follows the message and the last of two members of one name, answers what is
// no JSON in plain text, lists tools by name alone, has no result of another type, and lets a panic
// of a tool end the process, in both revisions.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/route"
)

// Config is what the doors stand on. All but the last group is required.
type Config struct {
	BaseURL string
	Site    content.Editions
	// Routes and Documents are those of the store; what is a tool among them is one here.
	Routes    []api.Route
	Documents []api.Document
	// Serve answers a request in process with every gate of the server.
	Serve http.HandlerFunc
	// Buy answers an order in process.
	Buy func(context.Context, counter.Request) (*counter.Answer, error)

	// Pages finds the offer of a page that is paid for by its path; nil: none is sold, and there is
	// no tool buy_page.
	Pages func(path string) (item string, ok bool)
	// Away says why a good cannot be made at present, "" for one that can; nil: every good can.
	Away func(item string) string
	// Timeout is of a whole call; 0: the server's.
	Timeout time.Duration
	Log     *slog.Logger // nil: nothing is logged
}

// Doors answer at all of them. All methods are safe for concurrent use.
type Doors struct {
	Config
	host, origin string // of BaseURL
	free         map[string]*tool
	order        []*tool // free, in the order of api.FreeTools
	shelf        atomic.Pointer[shelf]
}

// New derives the free tools and makes the doors.
func New(cfg Config) (*Doors, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.Site == nil || cfg.Serve == nil || cfg.Buy == nil {
		return nil, errors.New("mcp: a site, a server and a counter are required")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	d := &Doors{Config: cfg, host: base.Hostname(), origin: base.Scheme + "://" + base.Host}
	return d, d.deriveFree()
}

// bodyLimit holds the longest text that a good takes, each character escaped, and the longest
// payment, in bytes.
const bodyLimit = 256 << 10

// endpoint is one door: what is behind it.
type endpoint struct {
	api.MCPDoor
	route     string // name of its row
	path      string // where that differs from the door's own
	summary   string
	tools     func(*Doors, *shelf) []*tool
	resources bool
}

// places is the table of doors.
var places = []*endpoint{
	{MCPDoor: api.MCPDoors[0], route: "mcp_call", tools: (*Doors).everyTool, resources: true,
		summary: "Call the store over MCP"},
	{MCPDoor: api.MCPDoors[1], route: "mcp_verifier", tools: (*Doors).verifierTools,
		summary: "Call the verifier over MCP"},
	{MCPDoor: api.MCPDoors[2], route: "mcp_docs", tools: (*Doors).docsTools, resources: true,
		summary: "Read the store's documents over MCP"},
	{MCPDoor: api.MCPDoors[2], route: "mcp_docs_md", path: "/mcp.md", tools: (*Doors).docsTools, resources: true,
		summary: "Read the store's documents over MCP, at the address of its guide"},
}

// Rows are the doors' routes.
func (d *Doors) Rows() []route.Row {
	var out []route.Row
	for _, p := range places {
		row := route.Row{
			Name: p.route, Method: http.MethodPost, Pattern: cmp.Or(p.path, p.Path), Tag: "agents",
			Serve: api.Private, Summary: p.summary,
			Description: p.Purpose + " One JSON-RPC 2.0 message in, one out: streamable HTTP without sessions or " +
				"streams, MCP revisions " + strings.Join(api.MCPRevisions, " and ") +
				". /mcp.md says how tools are paid for.",
			Params: []api.Param{
				{Name: "unpaid", In: api.QueryP, Type: "string", MaxLength: 6, Enum: []string{"error", "result"},
					Description: "result answers an unpaid call with a result that stock x402 and MPP clients " +
						"pay " +
						"on, in place of error 402"},
				{Name: headerRevision, In: api.Header, Type: "string", MaxLength: maxRevision,
					Description: strings.Join(api.MCPRevisions, " or ") + "; left out it is " + api.MCP2025},
				{Name: headerMethod, In: api.Header, Type: "string", MaxLength: maxHeader,
					Description: "the method of the message, required by revision " + api.MCP2026},
				{Name: headerName, In: api.Header, Type: "string", MaxLength: maxHeader,
					Description: "the name of the tool that is called, or the uri of the resource that is read, " +
						"required by the same"},
			},
			Body: &api.Body{ContentType: api.JSON, Schema: messageSchema(), Limit: bodyLimit,
				Description: "one JSON-RPC message"},
			Responses: []api.Response{
				{Status: http.StatusOK, ContentType: api.JSON, Schema: answerSchema(),
					Description: "The answer, or a JSON-RPC error"},
				{Status: http.StatusAccepted, Description: "A notification was taken; there is no answer"},
				{Status: http.StatusBadRequest, ContentType: api.JSON, Schema: answerSchema(),
					Description: "No message of this protocol: a JSON-RPC error"},
				{Status: http.StatusBadRequest, ContentType: "application/problem+json",
					Description: "An input of the address is not valid"},
				{Status: http.StatusNotFound, ContentType: api.JSON, Schema: answerSchema(),
					Description: "No such method, in revision " + api.MCP2026 + ": a JSON-RPC error"},
				{Status: http.StatusForbidden, ContentType: api.JSON, Schema: answerSchema(),
					Description: "A page of another origin, or a foreign Host: a JSON-RPC error"},
				{Status: http.StatusRequestEntityTooLarge, ContentType: "application/problem+json",
					Description: "The message is too long"},
				{Status: http.StatusUnsupportedMediaType, ContentType: "application/problem+json",
					Description: "The message is not JSON"},
			},
			ValidateLate: true,
			Timeout:      d.Timeout,
		}
		described := row.Route
		row.Handle = func(w http.ResponseWriter, r *http.Request) error {
			if bad := route.Validate(r, &described); bad != nil {
				bad.Payment = &unused // where one is in the body, which nobody has read
				return bad
			}
			return d.serve(p, w, r)
		}
		out = append(out, row)
	}
	return out
}

// foreign says why a request is not answered at all: it comes from a page of another origin, or
// reached this machine under another's name, as by DNS rebinding (MCP, Transports, Security
// Warning). An address and localhost cannot be rebound.
func (d *Doors) foreign(r *http.Request) string {
	for _, o := range r.Header.Values("Origin") {
		if o != d.origin {
			return "pages of other origins do not call this door"
		}
	}
	u := url.URL{Host: r.Host}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err != nil && host != d.host && host != "localhost" {
		return "this door does not answer under this Host"
	}
	return ""
}
