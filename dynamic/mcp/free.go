package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one tool: what is said of it, and what a call does. The error of call is a *jsonrpc.Error
// or a fault of ours.
type tool struct {
	sdk.Tool
	call func(*Doors, *request) (any, error)
	free *api.Tool // nil for one that is no route
}

// verifier are the tools of the door that only checks.
var verifier = []string{"verify_artifact", "check_conformance", "preflight_endpoint", "look_at_door",
	"check_before_you_pay"}

// deriveFree makes a tool of every route that names one.
func (d *Doors) deriveFree() error {
	tools, err := api.Tools(d.Routes, d.Documents)
	if err != nil {
		return err
	}
	d.free = make(map[string]*tool, len(tools))
	for _, t := range tools {
		abroad := t.Route.Serve == api.Metered
		free := &tool{free: &t, call: func(d *Doors, q *request) (any, error) { return d.callFree(&t, q) }}
		free.Name, free.Title = t.Name, t.Title
		// A client shows the title beside it.
		said := strings.TrimSpace(strings.TrimPrefix(t.Description, t.Title+"."))
		free.Description = strings.TrimSpace("Free. " + cmp.Or(said, t.Description))
		free.InputSchema = json.RawMessage(t.Parameters)
		free.Annotations = reads(abroad)
		d.free[t.Name], d.order = free, append(d.order, free)
	}
	return nil
}

// reads are what a client is told of a tool that only reads: whether it asks beyond the store. What
// is left out has the value that it has by MCP.
func reads(abroad bool) *sdk.ToolAnnotations {
	out := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	if !abroad {
		out.OpenWorldHint = &abroad
	}
	return out
}

func (d *Doors) verifierTools(s *shelf) []*tool {
	var out []*tool
	for _, t := range d.freeTools(s) {
		if slices.Contains(verifier, t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// callFree sends the arguments to the tool's route and gives its answer.
func (d *Doors) callFree(t *api.Tool, q *request) (any, error) {
	a := d.answerOf(t, q)
	if a.Failed {
		return failed(a.Body), nil
	}
	out := &result{text: a.Body}
	if a.Strangers {
		out.before, out.meta = strangers, pay.Meta{metaStrangers: json.RawMessage("true")}
	}
	if a.JSON {
		out.structured = a.Body
	}
	return out, nil
}

// Answer is what a free tool answered.
type Answer struct {
	Failed    bool // Body is a problem document
	Strangers bool // it shows what was read at somebody's door
	JSON      bool // of Body
	Body      []byte
}

// Call answers a free tool by its name for the client of a request, with the arguments as one JSON
// object, for doors of other protocols. It reports false where there is no tool of the name.
func (d *Doors) Call(r *http.Request, name string, arguments []byte) (Answer, bool) {
	t := d.free[name]
	if t == nil {
		return Answer{}, false
	}
	return d.answerOf(t.free, &request{Name: name, Arguments: arguments, http: r}), true
}

func (d *Doors) answerOf(t *api.Tool, q *request) Answer {
	r, fields := requestOf(t, q)
	if len(fields) > 0 {
		_, doc := problem.Document(t.Route.Pattern, d.BaseURL, route.Invalid(fields...))
		return Answer{Failed: true, JSON: true, Body: doc}
	}
	a := d.ask(q, r)
	if a.status >= 400 {
		return Answer{Failed: true, JSON: true, Body: withRetry(a.body.Bytes(), a.header.Get("Retry-After"))}
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return Answer{Strangers: t.Route.Serve == api.Metered, JSON: kind == api.JSON, Body: a.body.Bytes()}
}

// requestOf is the request that a call makes of the tool's route, or what is wrong with the
// arguments as far as the route itself could not tell.
func requestOf(t *api.Tool, q *request) (*http.Request, []problem.Field) {
	var args map[string]jsontext.Value
	if q.Arguments != nil && (q.Arguments.Kind() != '{' || jsonx.Unmarshal(q.Arguments, &args) != nil) {
		return nil, []problem.Field{{Field: "arguments", Problem: "must be one object"}}
	}
	r := &http.Request{Method: t.Route.Method, Header: make(http.Header), URL: &url.URL{Path: t.Route.Pattern}}
	if t.Accept != "" {
		r.Header["Accept"] = []string{t.Accept}
	}
	var bad []problem.Field
	query, body := make(url.Values), make(map[string]jsontext.Value)
	for _, a := range t.Arguments {
		v, given := args[a.Name]
		delete(args, a.Name)
		given = given && v.Kind() != 'n' // null is left out
		if a.In == api.InBody {
			if given {
				body[a.Name] = v
			}
			continue
		}
		text, ok := plain(v)
		switch {
		case !ok:
			bad = append(bad, problem.Field{Field: a.Name, Problem: "must be a text, a number or a boolean"})
		case text == "" && a.Required:
			bad = append(bad, problem.Field{Field: a.Name, Problem: "is required"})
		case text == "" && !given:
		case a.In == api.Path && strings.ContainsAny(text, `/\`):
			bad = append(bad, problem.Field{Field: a.Name, Problem: "holds a slash"})
		case a.In == api.Path:
			r.URL.Path = strings.Replace(r.URL.Path, "{"+a.Name+"}", text, 1)
		case a.In == api.QueryP:
			query.Set(a.Name, text)
		case a.Bearer:
			r.Header.Set(a.Header, "Bearer "+text)
		default:
			r.Header.Set(a.Header, text)
		}
	}
	for name := range args {
		bad = append(bad, problem.Field{Field: screen.Clip(name, 40), Problem: "is not an argument of " + t.Name})
	}
	r.URL.RawQuery = query.Encode()
	if t.Route.Body != nil {
		b, _ := jsonx.Marshal(body, jsonx.Deterministic(true)) // its values were read as JSON
		r.Header["Content-Type"] = []string{api.JSON}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	}
	return r, bad
}

// plain is a scalar as a query spells it; null and what is absent are empty.
func plain(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		var s string
		err := jsonx.Unmarshal(v, &s)
		return s, err == nil && !strings.ContainsAny(s, "\r\n\x00")
	case '0', 't', 'f':
		return string(v), true
	case 'n', 0:
		return "", true
	}
	return "", false
}

// answered is what a request in process was answered with.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

// Write implements http.ResponseWriter.
func (a *answered) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// ask has the server answer a request for the client that called, within the time of the call.
func (d *Doors) ask(q *request, r *http.Request) *answered {
	a := &answered{header: make(http.Header)}
	r.Proto, r.ProtoMajor, r.ProtoMinor, r.Host = "HTTP/1.1", 1, 1, q.http.Host
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = q.http.RemoteAddr
	if client := route.Of(q.http).Client; client.IsValid() {
		r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	d.Serve(a, r.WithContext(q.http.Context()))
	a.WriteHeader(http.StatusOK)
	return a
}

// problem answers with a problem document, as a result that a model can read and act on.
func (d *Doors) problem(path string, e *problem.Error) (any, error) {
	_, doc := problem.Document(path, d.BaseURL, e)
	return failed(doc), nil
}

// failed is a result that says what went wrong.
func failed(doc []byte) *result {
	out := &result{failed: true, text: doc}
	if jsontext.Value(doc).Kind() == '{' {
		out.structured = doc
	}
	return out
}

// withRetry adds to a problem document what HTTP says in Retry-After, in seconds.
func withRetry(doc []byte, seconds string) []byte {
	if seconds == "" || !bytes.HasSuffix(doc, []byte("}")) {
		return doc
	}
	return fmt.Appendf(bytes.Clone(doc[:len(doc)-1]), `,"retry_after_seconds":%s}`, seconds)
}
