package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// compared builds the older and the newer description and returns what breaks.
func compared(t *testing.T, change func([]Route) []Route) []string {
	t.Helper()
	found, err := Compatible(build(t, testRoutes()), build(t, change(testRoutes())))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, b := range found {
		lines = append(lines, b.String())
	}
	return lines
}

func TestAdditionsAreCompatible(t *testing.T) {
	for name, change := range map[string]func([]Route) []Route{
		"nothing": func(r []Route) []Route { return r },
		"a route": func(r []Route) []Route {
			return append(r, Route{Name: "new", Method: "GET", Pattern: "/new", Summary: "New.", Serve: File})
		},
		"an optional parameter": func(r []Route) []Route {
			r[0].Params = append(r[0].Params, Param{Name: "tag", In: QueryP, Type: "string", MaxLength: 10})
			return r
		},
		"a member of an answer": func(r []Route) []Route {
			r[0].Responses[0].Schema.Properties["more"] = &jsonschema.Schema{Type: "string"}
			return r
		},
		"a longer limit": func(r []Route) []Route { r[0].Params[1].MaxLength = 1000; return r },
		"an optional member of a body": func(r []Route) []Route {
			r[1].Body.Schema.Properties["more"] = &jsonschema.Schema{Type: "string"}
			return r
		},
		"another refusal": func(r []Route) []Route {
			r[0].Responses = append(r[0].Responses, Response{Status: 451, ContentType: "application/problem+json"})
			return r
		},
	} {
		if found := compared(t, change); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestBreaksAreFound(t *testing.T) {
	one := 1.0
	for want, change := range map[string]func([]Route) []Route{
		"GET /api/buy/{item_id}: removed":                                  func(r []Route) []Route { return r[1:] },
		"GET /api/buy/{item_id}: operationId changed from buy_item to buy": func(r []Route) []Route { r[0].Name = "buy"; return r },
		"query parameter detail: removed":                                  func(r []Route) []Route { r[0].Params = slices.Delete(r[0].Params, 1, 2); return r },
		"query parameter detail: became required":                          func(r []Route) []Route { r[0].Params[1].Required = true; return r },
		"query parameter detail: type changed from string to integer":      func(r []Route) []Route { r[0].Params[1].Type = "integer"; return r },
		"query parameter detail: maxLength changed from 600 to 500":        func(r []Route) []Route { r[0].Params[1].MaxLength = 500; return r },
		"query parameter detail: minLength 1 is new":                       func(r []Route) []Route { r[0].Params[1].MinLength = 1; return r },
		"query parameter detail: pattern changed to ^a$":                   func(r []Route) []Route { r[0].Params[1].Pattern = "^a$"; return r },
		"query parameter detail: is limited to certain values":             func(r []Route) []Route { r[0].Params[1].Enum = []string{"a"}; return r },
		"query parameter max_usd: minimum changed from 0 to 1":             func(r []Route) []Route { r[0].Params[2].Minimum = &one; return r },
		"query parameter tag: is new and required": func(r []Route) []Route {
			r[0].Params = append(r[0].Params, Param{Name: "tag", In: QueryP, Type: "string", Required: true})
			return r
		},
		"response 200 application/json: verdict: removed":                func(r []Route) []Route { delete(r[0].Responses[0].Schema.Properties, "verdict"); return r },
		"application/json: verdict: type changed from string to integer": func(r []Route) []Route { r[0].Responses[0].Schema.Properties["verdict"].Type = "integer"; return r },
		"application/json: verdict: is no longer always there":           func(r []Route) []Route { r[0].Responses[0].Schema.Required = []string{"checks"}; return r },
		"application/json: checks[]: type changed from string to integer": func(r []Route) []Route {
			r[0].Responses[0].Schema.Properties["checks"].Items.Type = "integer"
			return r
		},
		"response 200: header PAYMENT-RESPONSE: removed":                        func(r []Route) []Route { r[0].Responses[0].Headers = nil; return r },
		"response 200 application/json: removed":                                func(r []Route) []Route { r[0].Responses[0].ContentType = "text/plain"; return r },
		"response 200: removed":                                                 func(r []Route) []Route { r[0].Responses[0].Status = 201; return r },
		"POST /api/preflight/v1: body application/json: since: became required": func(r []Route) []Route { r[1].Body.Schema.Required = []string{"url", "since"}; return r },
		"body application/json: since: removed":                                 func(r []Route) []Route { delete(r[1].Body.Schema.Properties, "since"); return r },
		"POST /api/preflight/v1: body: removed":                                 func(r []Route) []Route { r[1].Body = nil; return r },
		"POST /api/preflight/v1: now asks for a payment":                        func(r []Route) []Route { r[1].Paid = true; return r },
	} {
		found := compared(t, change)
		if !slices.ContainsFunc(found, func(s string) bool { return strings.HasSuffix(s, want) }) {
			t.Errorf("want %q, found %q", want, found)
		}
	}
}

func TestRemovedEnumValues(t *testing.T) {
	with := func(values ...string) []byte {
		r := testRoutes()
		r[0].Params[1].Enum = values
		r[0].Responses[0].Schema.Properties["verdict"].Enum = nil
		for _, v := range values {
			r[0].Responses[0].Schema.Properties["verdict"].Enum = append(r[0].Responses[0].Schema.Properties["verdict"].Enum, v)
		}
		return build(t, r)
	}
	found, err := Compatible(with("a", "b"), with("a", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 {
		t.Errorf("found %v, want the value b removed from the input and from the answer", found)
	}
}
