package kit

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"net/url"
	"slices"
)

// An example is where OpenAPI has examples of a parameter (OpenAPI 3.1, section 4.8.12.2; JSON
// Schema 2020-12, validation, section 9).
type example struct {
	Example  jsontext.Value `json:"example"`
	Examples map[string]struct {
		Value jsontext.Value `json:"value"`
	} `json:"examples"`
	Schema struct {
		Example  jsontext.Value   `json:"example"`
		Examples []jsontext.Value `json:"examples"`
		Default  jsontext.Value   `json:"default"`
		Enum     []jsontext.Value `json:"enum"`
	} `json:"schema"`
}

// value is the first of them, nil where there is none.
func (e example) value() jsontext.Value {
	all := []jsontext.Value{e.Example}
	for _, name := range slices.Sorted(maps.Keys(e.Examples)) {
		all = append(all, e.Examples[name].Value)
	}
	all = append(append(append(all, e.Schema.Example), e.Schema.Examples...), e.Schema.Default)
	for _, v := range append(all, e.Schema.Enum...) {
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// exampleQuery returns the query that a description gives as an example of what an operation
// requires; shared are the parameters of all operations of its path. A body has none: a POST that
// nobody but a file speaks for sends an empty object.
func exampleQuery(operation, shared jsontext.Value) string {
	type parameter struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
	}
	var of struct {
		Parameters []jsontext.Value `json:"parameters"`
	}
	var all []jsontext.Value
	if json.Unmarshal(shared, &all) != nil {
		all = nil
	}
	if json.Unmarshal(operation, &of) == nil {
		all = append(all, of.Parameters...)
	}
	values := url.Values{}
	for _, raw := range all {
		var p parameter
		var e example
		if json.Unmarshal(raw, &p) != nil || json.Unmarshal(raw, &e) != nil || !p.Required || p.In != "query" {
			continue
		}
		v := e.value()
		text := string(v)
		if v.Kind() == '"' && json.Unmarshal(v, &text) != nil {
			continue
		}
		if text != "" {
			values.Set(p.Name, text)
		}
	}
	return values.Encode()
}
