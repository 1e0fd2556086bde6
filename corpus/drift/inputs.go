package drift

import (
	"encoding/json/jsontext"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// inputs are the names of what a door is asked with.
type inputs struct {
	known    []string
	required []string
	at       jsontext.Pointer
}

// parts are the places of inputs in a description of the bazaar, in both of its versions.
var parts = []string{"queryParams", "body", "bodyFields"}

// inputsOf reads what an entry says of its inputs, nil where it says nothing.
func inputsOf(n node) *inputs {
	if bazaar := n.get("extensions", "bazaar"); bazaar.there() {
		in := &inputs{at: bazaar.at}
		for _, part := range parts {
			in.add(keys(bazaar.get("info", "input", part)), nil)
			in.schema(bazaar.get("schema", "properties", "input", "properties", part))
		}
		return in
	}
	places := []node{n.get("outputSchema", "input"), n.get("input")}
	for _, entry := range n.accepts() {
		places = append(places, entry.get("outputSchema", "input"))
	}
	for _, place := range places {
		in := &inputs{at: place.at}
		for _, part := range parts {
			for _, field := range place.get(part).members() {
				var required []string
				if field.get("required").value == true {
					required = []string{field.at.LastToken()}
				}
				in.add([]string{field.at.LastToken()}, required)
			}
		}
		if len(in.known) > 0 {
			return in
		}
	}
	if s := n.get("inputSchema"); s.there() {
		in := &inputs{at: s.at}
		if in.schema(s) {
			return in
		}
	}
	return nil
}

// schema adds the properties of a JSON Schema, and reports whether it lists them all: one that is
// composed of others does not.
func (in *inputs) schema(s node) bool {
	for _, composed := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if"} {
		if s.get(composed).there() {
			return false
		}
	}
	var required []string
	for _, name := range s.get("required").items() {
		required = append(required, name.said().text)
	}
	in.add(keys(s.get("properties")), required)
	return true
}

func (in *inputs) add(known, required []string) {
	in.known = append(append(in.known, known...), required...)
	in.required = append(in.required, required...)
}

func keys(n node) []string {
	var out []string
	for _, m := range n.members() {
		out = append(out, m.at.LastToken())
	}
	return out
}

// lacking are those that one side requires and the other does not know.
func lacking(required, known []string) []string {
	var out []string
	for _, name := range required {
		if !slices.Contains(known, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

// maxInputs bounds the names that are compared: what lists more is not compared.
const maxInputs = 1000

func (in *inputs) comparable() bool { return in != nil && len(in.known) <= maxInputs }

// maxRefs bounds the references of an OpenAPI description that are followed one after another.
const maxRefs = 8

// resolve follows the references of a description within it; what leads elsewhere is not followed.
func (n node) resolve(root node) node {
	for range maxRefs {
		ref, ok := n.get("$ref").value.(string)
		if !ok || len(ref) > exchange.MaxURL {
			return n
		}
		path, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			return n
		}
		n = root
		for token := range jsontext.Pointer("/" + path).Tokens() {
			n = n.get(token)
		}
	}
	return n
}

// operationInputs reads the query and the JSON body of an operation, nil where they are not listed
// whole.
func operationInputs(root, path, operation node) *inputs {
	in := &inputs{at: operation.at}
	for _, p := range slices.Concat(path.get("parameters").items(), operation.get("parameters").items()) {
		p = p.resolve(root)
		name := p.get("name").said().text
		switch {
		case p.get("$ref").there() || name == "":
			return nil
		case p.get("in").said().text != "query":
		case p.get("required").value == true:
			in.add(nil, []string{name})
		default:
			in.add([]string{name}, nil)
		}
	}
	body := operation.get("requestBody").resolve(root)
	if !body.there() {
		return in
	}
	if !in.schema(body.get("content", "application/json", "schema").resolve(root)) {
		return nil
	}
	return in
}
