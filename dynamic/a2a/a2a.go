// Package a2a is the store's door for agents that speak A2A, version 0.3.0 or 1.0, over JSON-RPC:
// the free tools as skills. It sells nothing and keeps nothing.
//
//	POST /a2a   message/send, SendMessage: a data part {"tool": "find_in_catalog", "arguments":
//	            {"q": "rock"}}, or a text part that holds the same as JSON
//	            tasks/get, GetTask: an order, by its id
//
// The two versions have no method's name in common, so a name says which one is spoken; what comes
// in the form of 1.0 is turned into that of 0.3.0, answered there, and turned back.
//
// A tool is answered at once with a message, as the protocol has it for what needs no tracking (A2A
// 0.3.0, section 7.1). The one thing that goes on after an answer is an order that a human works
// on: it is a task under its own order id. So no task is kept here, any process answers for every
// other, and nothing can be crowded out. Calls go through the same gates as the tools' own routes.
package a2a

import (
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/route"
)

// Door answers A2A. Its methods are safe for concurrent use.
type Door struct {
	// Tool answers a free tool for the client of a request, and reports whether there is one of the
	// name.
	Tool func(r *http.Request, name string, arguments []byte) (mcp.Answer, bool)
	// Timeout is of a whole call; 0: the server's.
	Timeout time.Duration
}

// Limits of a message: bytes of it, and parts that are looked at.
const (
	bodyLimit = 64 << 10
	maxParts  = 16
	maxID     = 256
)

// Codes of errors: those of JSON-RPC, and of A2A 0.3.0, section 8.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeNoTask         = -32001
	codeNotCancelable  = -32002
	codeNoPush         = -32003
	codeUnsupported    = -32004
	codeNoExtendedCard = -32007
	codeNoVersion      = -32009 // of 1.0
	codeRefused        = -32000 // a tool's own refusal of a task's order; data is its problem document
)

// orders is the tool whose answers are tasks.
const orders = "check_order"

// Rows are the routes of the door.
func (d *Door) Rows() []route.Row {
	return []route.Row{{
		Name: "a2a_call", Method: http.MethodPost, Pattern: api.A2APath, Tag: "agents",
		Serve: api.Private, Summary: "Call the free tools over A2A",
		Description: "JSON-RPC 2.0, A2A " + api.A2AVersion + " and " + api.A2AVersionOne + ": message/send, or " +
			"SendMessage, with a data part `{\"tool\", \"arguments\"}` is answered with a message, check_order " +
			"with a task; tasks/get, or GetTask, takes an order id. /.well-known/agent-card.json has the skills.",
		Params: []api.Param{{Name: versionField, In: api.Header, Type: "string", MaxLength: maxVersion,
			Description: "the version that is spoken; without it the method's name says"}},
		Body: &api.Body{ContentType: api.JSON, Schema: api.SchemaFor[call](), Limit: bodyLimit,
			Description: "one JSON-RPC message"},
		Responses: []api.Response{{Status: http.StatusOK, ContentType: api.JSON, Schema: api.SchemaFor[reply](),
			Description: "The answer, or a JSON-RPC error"}},
		Handle: d.serve, Timeout: d.Timeout,
	}}
}

// call is a JSON-RPC request.
type call struct {
	JSONRPC string         `json:"jsonrpc" jsonschema:"2.0"`
	ID      jsontext.Value `json:"id" jsonschema:"a string or an integer, which the answer repeats"`
	Method  string         `json:"method" jsonschema:"message/send, tasks/get; SendMessage, GetTask"`
	Params  jsontext.Value `json:"params,omitempty"`
}

// reply is its answer.
type reply struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  any            `json:"result,omitempty" jsonschema:"a Message or a Task of A2A 0.3.0, or what 1.0 has in their place"`
	Error   *fault         `json:"error,omitempty"`
}

// fault is a JSON-RPC error.
type fault struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitempty"`
}

func refuse(code int, format string, args ...any) *fault {
	return &fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// message, part and task are as A2A 0.3.0, section 6, has them.
type message struct {
	Kind      string         `json:"kind"`
	MessageID string         `json:"messageId"`
	ContextID string         `json:"contextId,omitempty"`
	TaskID    string         `json:"taskId,omitempty"`
	Role      string         `json:"role"`
	Parts     []part         `json:"parts"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type part struct {
	Kind string         `json:"kind"`
	Text string         `json:"text,omitempty"`
	Data jsontext.Value `json:"data,omitempty"`
}

type task struct {
	Kind      string     `json:"kind"`
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    taskStatus `json:"status"`
	Artifacts []artifact `json:"artifacts"`
}

type taskStatus struct {
	State string `json:"state"`
}

type artifact struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name"`
	Parts      []part `json:"parts"`
}

// methods is every method that is answered.
var methods = map[string]func(*Door, *http.Request, jsontext.Value) (any, *fault){
	"message/send":                        (*Door).send,
	"tasks/get":                           (*Door).get,
	"tasks/cancel":                        (*Door).cancel,
	"message/stream":                      never(codeUnsupported, "nothing is streamed: the card says so"),
	"tasks/resubscribe":                   never(codeUnsupported, "nothing is streamed: the card says so"),
	"tasks/pushNotificationConfig/set":    never(codeNoPush, "nothing is pushed: buy with callback_url over HTTP"),
	"tasks/pushNotificationConfig/get":    never(codeNoPush, "nothing is pushed"),
	"tasks/pushNotificationConfig/list":   never(codeNoPush, "nothing is pushed"),
	"tasks/pushNotificationConfig/delete": never(codeNoPush, "nothing is pushed"),
	"agent/getAuthenticatedExtendedCard":  never(codeNoExtendedCard, "there is one card, for everybody"),
}

func never(code int, why string) func(*Door, *http.Request, jsontext.Value) (any, *fault) {
	return func(*Door, *http.Request, jsontext.Value) (any, *fault) { return nil, refuse(code, "%s", why) }
}

// serve answers one message. A notification is answered with nothing, since nothing is done for
// one.
func (d *Door) serve(w http.ResponseWriter, r *http.Request) error {
	body, err := route.ReadBody(r)
	if err != nil {
		return err
	}
	c, bad := read(body)
	out := reply{JSONRPC: "2.0", ID: c.ID, Error: bad}
	if bad == nil {
		if c.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return nil
		}
		out.Result, out.Error = d.answer(r, c)
	}
	if out.ID == nil {
		out.ID = jsontext.Value("null")
	}
	b, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", api.JSON)
	_, _ = w.Write(b) // a client that left asks again
	return nil
}

// answer has the method of a message answered, in the version that the request or else the name
// says.
func (d *Door) answer(r *http.Request, c call) (any, *fault) {
	spoken, known := version(r.Header.Values(versionField))
	if !known {
		return nil, refuse(codeNoVersion, "this door speaks A2A %s and %s: send %s with one of the two, or without it",
			api.A2AVersion, api.A2AVersionOne, versionField).typed()
	}
	if answer := methods[c.Method]; answer != nil && spoken != api.A2AVersionOne {
		return answer(d, r, c.Params)
	}
	if answer := methodsOne[c.Method]; answer != nil && spoken != api.A2AVersion {
		out, bad := answer(d, r, c.Params)
		return out, bad.typed()
	}
	return nil, refuse(codeNoMethod, "there is no method of this name here")
}

// read takes a message apart, strictly.
func read(body []byte) (c call, bad *fault) {
	if jsontext.Value(body).Kind() == '[' {
		return c, refuse(codeInvalidRequest, "batches are not taken: send one message")
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return call{}, refuse(codeParse, "the body is not one JSON-RPC message in which no member stands twice")
	}
	switch kind := c.ID.Kind(); {
	case c.JSONRPC != "2.0" || c.Method == "":
		bad = refuse(codeInvalidRequest, `jsonrpc must be "2.0", and method is required`)
	case len(c.ID) > maxID || c.ID != nil && kind != '"' && kind != '0' && kind != 'n':
		c.ID, bad = nil, refuse(codeInvalidRequest, "id must be a string of at most %d bytes or an integer", maxID)
	}
	return c, bad
}

// order is what a message asks for.
type order struct {
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
}

// send answers message/send.
func (d *Door) send(r *http.Request, raw jsontext.Value) (any, *fault) {
	var p struct {
		Message message `json:"message"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		p.Message = message{} // which is refused
	}
	return d.sent(r, &p.Message)
}

// sent answers a message, with a message or a task.
func (d *Door) sent(r *http.Request, m *message) (any, *fault) {
	if m.Role != "user" || len(m.Parts) == 0 || len(m.Parts) > maxParts || m.MessageID == "" {
		return nil, refuse(codeInvalidParams,
			"params.message must be a message of the user with a messageId and 1 to %d parts", maxParts)
	}
	if len(m.ContextID) > maxID {
		return nil, refuse(codeInvalidParams, "contextId is longer than %d bytes", maxID)
	}
	o := asked(m.Parts)
	if o.Tool == "" {
		return say(m, part{Kind: "text", Text: usage}, nil), nil
	}
	a, known := d.Tool(r, o.Tool, o.Arguments)
	if !known {
		return nil, refuse(codeInvalidParams, "there is no tool of this name: the skills of the card are %s",
			strings.Join(api.FreeTools, ", "))
	}
	if o.Tool == orders && !a.Failed {
		return taskOf(a, m.ContextID)
	}
	meta := map[string]any{"tool": o.Tool, "failed": a.Failed}
	if a.Strangers {
		meta["data_of_strangers"] = true // what was read at somebody's door is never an instruction
	}
	return say(m, partOf(a), meta), nil
}

const usage = `This door answers the skills of its card. Send a data part {"tool": "find_in_catalog", "arguments": ` +
	`{"q": "rock"}}, or the same as the JSON of a text part. Goods are bought over HTTP or MCP.`

// asked finds the order in the parts: the first data part, or text part that is JSON, that names a
// tool.
func asked(parts []part) order {
	for _, p := range parts {
		raw := p.Data
		if p.Kind == "text" {
			raw = jsontext.Value(p.Text)
		}
		var o order
		if raw.Kind() == '{' && json.Unmarshal(raw, &o) == nil && o.Tool != "" {
			return o
		}
	}
	return order{}
}

func say(to *message, p part, meta map[string]any) *message {
	return &message{Kind: "message", MessageID: rand.Text(), ContextID: to.ContextID, Role: "agent", Parts: []part{p},
		Metadata: meta}
}

func partOf(a mcp.Answer) part {
	if a.JSON && jsontext.Value(a.Body).Kind() == '{' {
		return part{Kind: "data", Data: slices.Clone(a.Body)}
	}
	return part{Kind: "text", Text: strings.ToValidUTF8(string(a.Body), "\uFFFD")}
}

// states are the states of a task by those of an order.
var states = map[string]string{"queued": "working", "completed": "completed", "reversed": "canceled"}

// taskOf is an order as a task.
func taskOf(a mcp.Answer, context string) (any, *fault) {
	var o struct {
		ID     string `json:"order_id"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(a.Body, &o); err != nil || states[o.Status] == "" {
		return nil, refuse(codeRefused, "the order cannot be read as a task: ask GET /api/order")
	}
	if context == "" {
		context = o.ID
	}
	return &task{Kind: "task", ID: o.ID, ContextID: context, Status: taskStatus{states[o.Status]},
		Artifacts: []artifact{{ArtifactID: o.ID, Name: "order", Parts: []part{partOf(a)}}}}, nil
}

// get answers tasks/get with the order of that id.
func (d *Door) get(r *http.Request, raw jsontext.Value) (any, *fault) {
	var p struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(raw, &p); err != nil || p.ID == "" || len(p.ID) > maxID {
		return nil, refuse(codeInvalidParams, "params.id must be the id of a task, which is that of an order")
	}
	arguments, err := json.Marshal(map[string]string{"order_id": p.ID})
	if err != nil {
		return nil, refuse(codeInvalidParams, "params.id is no text")
	}
	a, known := d.Tool(r, orders, arguments)
	if !known || !a.Failed {
		return taskOf(a, "")
	}
	var doc struct {
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(a.Body, &doc); err != nil || doc.Status == http.StatusNotFound ||
		doc.Status == http.StatusBadRequest {
		return nil, refuse(codeNoTask, "there is no such task: tasks here are orders, by their order_id")
	}
	return nil, &fault{Code: codeRefused, Message: doc.Detail, Data: slices.Clone(a.Body)}
}

// cancel answers tasks/cancel: an order that was paid for is not called off from outside.
func (d *Door) cancel(r *http.Request, raw jsontext.Value) (any, *fault) {
	if _, bad := d.get(r, raw); bad != nil && bad.Code != codeRefused {
		return nil, bad
	}
	return nil, refuse(codeNotCancelable, "an order that was paid for is not called off")
}
