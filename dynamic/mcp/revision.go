package mcp

import (
	jsonx "encoding/json/v2"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/pay"
)

// revision is a revision of the protocol: all in which it differs from the others.
type revision struct {
	name    string // its date
	methods map[string]method
	// beside are the members that stand in a result beside what its method gave.
	beside func(q *request, value any) []pay.Member
	// unpaid answers a call with the terms in body.
	unpaid func(q *request, body []byte, beside pay.Meta) (any, error)
	// noResource is the code for a resource that there is not.
	noResource int64
}

// method is what a request has done.
type method struct {
	call func(*Doors, *request) (any, error)
}

// oldest is the revision of who names none.
var oldest = &revision2025

// revision2025 is that of clients that begin with initialize. Methods of features that the doors do
// not have are there for clients that ask all the same.
var revision2025 = revision{
	name: api.MCPRevision,
	methods: map[string]method{
		"initialize":               {call: (*Doors).initialize},
		"ping":                     {call: nothing},
		"logging/setLevel":         {call: nothing},
		"tools/list":               {call: (*Doors).listTools},
		"tools/call":               {call: (*Doors).callTool},
		"resources/list":           {call: (*Doors).listResources},
		"resources/read":           {call: (*Doors).readResource},
		"resources/templates/list": {call: empty("resourceTemplates")},
		"prompts/list":             {call: empty("prompts")},
	},
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
	noResource: -32002,
}

func member(name string, value any) pay.Member {
	b, _ := jsonx.Marshal(value, jsonx.Deterministic(true)) // texts, and what was JSON already
	return pay.Member{Name: name, Value: b}
}
