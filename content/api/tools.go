package api

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FreeTools are the names of the free tools, which are all that a route's Tool may be. They are the same at
// every door for agents.
var FreeTools = []string{
	"check_a2a_card", "check_purchase", "read_store_guide", "read_binder", "look_in_window", "preflight_endpoint", "look_at_door", "check_before_you_pay",
	"check_conformance", "verify_artifact", "check_order", "find_in_catalog",
}

// statusToken is what a tool calls the bearer token of its route.
const statusToken = "status_token"

// BuildTools renders the routes that are tools as definitions for function calling, in the order of FreeTools, and beside
// them how each is called over HTTP. Equal inputs give equal bytes.
func BuildTools(info Info, routes []Route, documents []Document) ([]byte, error) {
	var tools []any
	calls := object{}
	for _, name := range FreeTools {
		all := Published(routes, documents)
		i := slices.IndexFunc(all, func(r Route) bool { return r.Tool == name })
		if i < 0 {
			continue
		}
		parameters, where, err := arguments(all[i])
		if err != nil {
			return nil, fmt.Errorf("describing the tool %s: %w", name, err)
		}
		says := strings.TrimSuffix(all[i].Summary, ".") + "."
		if d := all[i].Description; d != "" {
			says += " " + d
		}
		tools = append(tools, object{{"type", "function"}, {"function", object{{"name", name}, {"description", says}, {"parameters", parameters}}}})
		accept := JSON
		if !slices.ContainsFunc(all[i].Responses, func(r Response) bool { return r.Status == 200 && r.ContentType == JSON }) {
			accept = ""
		}
		calls = append(calls, member{name, object{{"method", all[i].Method}, {"url", info.BaseURL + all[i].Pattern}, {"accept", accept}, {"arguments", where}}})
	}
	doc := object{
		{"note", "tools are the free instruments as function definitions; calls says how each is made over HTTP: where its arguments go, with the others in a JSON body. None needs an account or a payment."},
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
func arguments(r Route) (parameters, where object, err error) {
	properties, required := object{}, []string{}
	put := func(name string, schema any, in string, must bool) error {
		if slices.ContainsFunc(properties, func(m member) bool { return m.name == name }) {
			return fmt.Errorf("two inputs are called %s", name)
		}
		properties, where = append(properties, member{name, schema}), append(where, member{name, in})
		if must {
			required = append(required, name)
		}
		return nil
	}
	for _, p := range r.Params {
		name, in := p.Name, string(p.In)
		if p.In == Header {
			in = "header " + p.Name
			if strings.EqualFold(p.Name, "Authorization") {
				name, in = statusToken, "header Authorization, after the word Bearer"
				p.Description, p.MaxLength, p.Required = strings.TrimPrefix(p.Description, "Bearer and "), p.MaxLength-len("Bearer "), true
			}
		}
		if err := put(name, append(object{{"description", p.Description}}, limited(p)...), in, p.Required); err != nil {
			return nil, nil, err
		}
	}
	if b := r.Body; b != nil {
		if bare(b.ContentType) != JSON || b.Schema == nil {
			return nil, nil, fmt.Errorf("its body is %s", cmp.Or(b.ContentType, "without a schema"))
		}
		for _, name := range b.Schema.PropertyOrder {
			if err := put(name, b.Schema.Properties[name], "body", slices.Contains(b.Schema.Required, name)); err != nil {
				return nil, nil, err
			}
		}
	}
	parameters = object{{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}
	return parameters, where, nil
}
