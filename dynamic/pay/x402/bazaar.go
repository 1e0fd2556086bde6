package x402

import (
	"encoding/json"
	"net/http"
	"slices"

	"store.example/agentstore/dynamic/pay"
)

// bazaar declares the true input contract of an offer (x402 extension bazaar), as short as it can
// be said: in the query of a GET, or in the JSON body of a POST. Where a buyer heard of the store
// is asked for in the API description alone.
func bazaar(inputs []pay.Input, post bool) Extension {
	type property struct {
		Type      string `json:"type"`
		MaxLength int    `json:"maxLength,omitempty"`
	}
	props := make(map[string]property)
	var required []string
	example := make(map[string]any)
	for _, in := range inputs {
		if in.Name == "source" {
			continue
		}
		props[in.Name] = property{in.Type, in.Max}
		if in.Required {
			required = append(required, in.Name)
			example[in.Name] = value(in)
		}
	}
	// Where none is required by itself, one of several may be: the first shows how it is asked.
	i := slices.IndexFunc(inputs, func(in pay.Input) bool { return in.Example != "" })
	if len(required) == 0 && i >= 0 {
		example[inputs[i].Name] = value(inputs[i])
	}
	contract := map[string]any{"type": "object", "properties": props}
	input := map[string]any{"type": "http", "method": http.MethodGet}
	described := map[string]any{
		"type": map[string]string{"const": "http"}, "method": map[string]any{"enum": []string{http.MethodGet}},
		"queryParams": contract,
	}
	inputRequired := []string{"type", "method"}
	if len(required) > 0 {
		contract["required"] = required
	}
	switch {
	case post:
		input["method"], input["bodyType"], input["body"] = http.MethodPost, "json", example
		described["method"], described["bodyType"],
			described["body"] = map[string]any{"enum": []string{http.MethodPost}}, map[string]string{"const": "json"},
			contract
		delete(described, "queryParams")
		inputRequired = append(inputRequired, "bodyType", "body")
	case len(required) > 0:
		inputRequired = append(inputRequired, "queryParams")
		fallthrough
	case len(example) > 0:
		input["queryParams"] = example
	}
	// These marshal: they hold strings, maps and lists only.
	info, _ := json.Marshal(map[string]any{"input": input})
	schema, _ := json.Marshal(map[string]any{
		"type": "object", "required": []string{"input"},
		"properties": map[string]any{"input": map[string]any{
			"type": "object", "required": inputRequired, "properties": described,
		}},
	})
	return Extension{Info: info, Schema: schema}
}

// value is the example of an input as JSON has it.
func value(in pay.Input) any {
	if in.Type == "string" || in.Example == "" {
		return in.Example
	}
	return json.RawMessage(in.Example)
}
