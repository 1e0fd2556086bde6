package mcp

import (
	"cmp"
	jsonx "encoding/json/v2"
	"maps"
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/pay"
)

// revision is a revision of the protocol: all in which it differs from the others.
type revision struct {
	name    string // its date
	methods map[string]method
	// admit says what is wrong with the header and the _meta of a request, whose method may be the
	// zero value.
	admit func(*request, method) error
	// status is the HTTP status of an error by its code, where it is not 200.
	status map[int64]int
	// beside are the members that stand in a result beside what its method gave.
	beside func(q *request, value any) []pay.Member
	// unpaid answers a call with the terms in body, and unpaidWords tell a model of it.
	unpaid      func(q *request, body []byte, beside pay.Meta) (any, error)
	unpaidWords string
	// noResource is the code for a resource that there is not.
	noResource int64
}

// method is what a request has done.
type method struct {
	call func(*Doors, *request) (any, error)
	// named is what the field Mcp-Name repeats, nil where it repeats nothing.
	named func(*request) string
	// keep is for how long clients may keep its result, nil for a result that is never kept.
	keep *time.Duration
}

// How long results are kept: what tells of prices and stock not at all, and what only a release
// changes as long as a document over HTTP.
var notAtAll, aWhile = new(time.Duration), new(5 * time.Minute)

// revisions are those that are spoken, the newest first, and oldest that of who names none.
var (
	revisions = []*revision{&revision2026, &revision2025}
	oldest    = &revision2025
)

var (
	callTool = method{call: (*Doors).callTool, named: func(q *request) string { return q.Name }}
	readIt   = method{call: (*Doors).readResource, named: func(q *request) string { return q.URI }, keep: notAtAll}
	listIt   = method{call: (*Doors).listTools, keep: notAtAll}
	listRead = method{call: (*Doors).listResources, keep: aWhile}
	// There are none, for clients that ask all the same.
	templates = method{call: empty("resourceTemplates"), keep: aWhile}
)

// revision2025 begins with initialize, of which this door keeps nothing. Methods of features that
// the doors do not have are there for clients that ask all the same.
var revision2025 = revision{
	name: api.MCP2025,
	methods: map[string]method{
		"initialize":               {call: (*Doors).initialize},
		"ping":                     {call: nothing},
		"logging/setLevel":         {call: nothing},
		"tools/list":               listIt,
		"tools/call":               callTool,
		"resources/list":           listRead,
		"resources/read":           readIt,
		"resources/templates/list": templates,
		"prompts/list":             {call: empty("prompts")},
	},
	admit:  func(q *request, m method) error { return q.repeats(m, false) },
	status: map[int64]int{codeHeaders: http.StatusBadRequest, codeWrongRevision: http.StatusBadRequest},
	beside: func(_ *request, value any) []pay.Member {
		r, _ := value.(*result)
		if r == nil || len(r.meta) == 0 {
			return nil
		}
		return []pay.Member{member("_meta", r.meta)}
	},
	unpaid: func(q *request, body []byte, beside pay.Meta) (any, error) {
		if !q.asResult {
			return nil, termsAsError(body, beside)
		}
		return termsAsResult(body, beside)
	},
	unpaidWords: "error 402 with the terms in error.data (x402 version 2, and MPP under " +
		"org.paymentauth/payment-required); connect to /mcp?unpaid=result to get them as a result with isError " +
		"instead",
	noResource: -32002,
}

// revision2026 has no beginning: each request says in _meta who asks and what it understands, and
// repeats in its header what it is about.
var revision2026 = revision{
	name: api.MCP2026,
	methods: map[string]method{
		"server/discover":          {call: (*Doors).discover, keep: aWhile},
		"tools/list":               listIt,
		"tools/call":               callTool,
		"resources/list":           listRead,
		"resources/read":           readIt,
		"resources/templates/list": templates,
	},
	admit: func(q *request, m method) error { return cmp.Or(q.repeats(m, true), q.declares()) },
	status: map[int64]int{codeHeaders: http.StatusBadRequest, codeWrongRevision: http.StatusBadRequest,
		codeInvalidParams: http.StatusBadRequest, codeMethodNotFound: http.StatusNotFound},
	beside: func(q *request, value any) []pay.Member {
		kind, meta := "complete", pay.Meta{metaServer: member("", q.place.implementation()).Value}
		if r, ok := value.(*result); ok {
			kind = cmp.Or(r.kind, kind)
			maps.Copy(meta, r.meta)
		}
		out := []pay.Member{member("resultType", kind), member("_meta", meta)}
		if keep := q.revision.methods[q.method].keep; keep != nil {
			out = append(out, member("ttlMs", keep.Milliseconds()), member("cacheScope", "public"))
		}
		return out
	},
	// Stock clients read a kind of result that they do not know as an empty success, or throw.
	unpaid: func(q *request, body []byte, beside pay.Meta) (any, error) {
		if !q.paysByExtension {
			return termsAsResult(body, beside)
		}
		return &result{kind: kindPayment, structured: body, meta: beside}, nil
	},
	unpaidWords: "a result with isError, the terms of x402 version 2 in structuredContent and those of MPP in " +
		"_meta under org.paymentauth/payment-required; a client that announces " + extensionPayment +
		" gets resultType " + kindPayment + " instead",
	noResource: codeInvalidParams,
}

func member(name string, value any) pay.Member {
	b, _ := jsonx.Marshal(value, jsonx.Deterministic(true)) // texts, and what was JSON already
	return pay.Member{Name: name, Value: b}
}
