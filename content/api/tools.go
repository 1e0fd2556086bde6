package api

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
)

// FreeTools are the names of the free tools, which are all that a route's Tool may be. They are the
// same at every door for agents.
var FreeTools = []string{
	"check_a2a_card", "check_purchase", "read_store_guide", "read_binder", "look_in_window", "preflight_endpoint",
	"look_at_door", "check_before_you_pay", "check_conformance", "verify_artifact", "check_order", "find_in_catalog",
}

// statusToken is what a tool calls the bearer token of its route.
const statusToken = "status_token"

// A Tool is a free instrument as a function: what it is called, what it takes, and where in a
// request to its route each argument goes.
type Tool struct {
	Name, Title, Description string
	Route                    Route
	Parameters               []byte // JSON Schema of the arguments, an object
	Arguments                []Argument
	Accept                   string // what to ask for, "" for whatever there is
	parameters               object
}

// Argument is one argument of a tool.
type Argument struct {
	Name     string
	In       In // Path, QueryP, Header, or InBody
	Header   string
	Bearer   bool // in the header after the word Bearer, as the one header that a tool sends
	Required bool
}

// InBody is where an argument goes that is a member of the JSON body.
const InBody In = "body"

// where says it in words.
func (a Argument) where() string {
	if a.Bearer {
		return "header " + a.Header + ", after the word Bearer"
	}
	return string(a.In)
}

// Tools are the routes that are tools, in the order of FreeTools.
func Tools(routes []Route, documents []Document) ([]Tool, error) {
	var tools []Tool
	all := Published(routes, documents)
	for _, name := range FreeTools {
		i := slices.IndexFunc(all, func(r Route) bool { return r.Tool == name })
		if i < 0 {
			continue
		}
		t := Tool{Name: name, Title: strings.TrimSuffix(all[i].Summary, "."), Route: all[i]}
		t.Description = t.Title + "."
		if d := all[i].Description; d != "" {
			t.Description += " " + d
		}
		var err error
		if t.parameters, t.Arguments, err = arguments(all[i]); err != nil {
			return nil, fmt.Errorf("describing the tool %s: %w", name, err)
		}
		if t.Parameters, err = json.Marshal(t.parameters, json.Deterministic(true)); err != nil {
			return nil, fmt.Errorf("describing the tool %s: %w", name, err)
		}
		if slices.ContainsFunc(all[i].Responses, func(r Response) bool {
			return r.Status == 200 && r.ContentType == JSON
		}) {
			t.Accept = JSON
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// BuildTools renders the tools as definitions for function calling, and beside them how each is
// called over HTTP. Equal inputs give equal bytes.
func BuildTools(info Info, routes []Route, documents []Document) ([]byte, error) {
	all, err := Tools(routes, documents)
	if err != nil {
		return nil, err
	}
	var tools []any
	calls := object{}
	for _, t := range all {
		tools = append(tools, object{{"type", "function"},
			{"function", object{{"name", t.Name}, {"description", t.Description}, {"parameters", t.parameters}}}})
		where := object{}
		for _, a := range t.Arguments {
			where = append(where, member{a.Name, a.where()})
		}
		calls = append(calls, member{t.Name, object{{"method", t.Route.Method}, {"url", info.BaseURL + t.Route.Pattern},
			{"accept", t.Accept}, {"arguments", where}}})
	}
	doc := object{
		{"note", "tools are the free instruments as function definitions; calls says how each is made over HTTP: " +
			"where its arguments go, with the others in a JSON body. None needs an account or a payment."},
		{"tools", tools}, {"calls", calls},
	}
	var buf bytes.Buffer
	if err := json.MarshalWrite(&buf, doc, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("describing the tools: %w", err)
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}

// arguments are the inputs of a route as one object, and where each goes.
func arguments(r Route) (parameters object, where []Argument, err error) {
	properties, required := object{}, []string{}
	put := func(schema any, a Argument) error {
		if slices.ContainsFunc(where, func(b Argument) bool { return a.Name == b.Name }) {
			return fmt.Errorf("two inputs are called %s", a.Name)
		}
		properties, where = append(properties, member{a.Name, schema}), append(where, a)
		if a.Required {
			required = append(required, a.Name)
		}
		return nil
	}
	for _, p := range r.Params {
		a := Argument{Name: p.Name, In: p.In, Required: p.Required}
		if p.In == Header && !strings.EqualFold(p.Name, "Authorization") {
			continue // a wallet signs in by HTTP, and a tool has the token
		}
		if p.In == Header {
			a.Header, a.Name, a.Bearer, a.Required = p.Name, statusToken, true, true
			p.Description, p.MaxLength = strings.TrimPrefix(p.Description, "Bearer and "), p.MaxLength-len("Bearer ")
		}
		if err := put(append(object{{"description", p.Description}}, limited(p)...), a); err != nil {
			return nil, nil, err
		}
	}
	if b := r.Body; b != nil {
		if bare(b.ContentType) != JSON || b.Schema == nil {
			return nil, nil, fmt.Errorf("its body is %s", cmp.Or(b.ContentType, "without a schema"))
		}
		for _, name := range b.Schema.PropertyOrder {
			if err := put(b.Schema.Properties[name], Argument{Name: name, In: InBody,
				Required: slices.Contains(b.Schema.Required, name)}); err != nil {
				return nil, nil, err
			}
		}
	}
	parameters = object{{"type", "object"}, {"properties", properties}, {"required", required},
		{"additionalProperties", false}}
	return parameters, where, nil
}
