package api

import (
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/lint"

	"github.com/google/jsonschema-go/jsonschema"
)

// All that may be added within a version, at once.
func TestLongAdditionsAreCompatible(t *testing.T) {
	r := testRoutes()
	r[0].Params[1].MaxLength = 1000
	r[0].Params = append(r[0].Params, Param{Name: "tag", In: QueryP, Type: "string", MaxLength: 10})
	r[0].Responses[0].Schema.Properties["more"] = &jsonschema.Schema{Type: "string"}
	r[0].Responses = append(r[0].Responses, Response{Status: 451, ContentType: "application/problem+json"})
	r[1].Body.Schema.Properties["more"] = &jsonschema.Schema{Type: "string"}
	r = append(r, Route{Name: "new", Method: "GET", Pattern: "/new", Summary: "New.", Serve: File})
	if found := lint.Breaking(t, build(t, testRoutes()), build(t, r)); len(found) > 0 {
		t.Errorf("additions break: %q", found)
	}
}

// A row for each way in which the comparison is asked for more than it does by itself, and some for
// what it does.
func TestLongBreaksAreFound(t *testing.T) {
	for want, change := range map[string]func([]Route) []Route{
		"api operation id `buy_item` removed": func(r []Route) []Route { r[0].Name = "buy"; return r },
		"the optional response header `payment-response`": func(
			r []Route) []Route {
			r[0].Responses[0].Headers = nil
			return r
		},
		"POST /api/preflight/v1: now asks for a payment": func(r []Route) []Route { r[1].Paid = true; return r },
		"GET /api/buy/{item_id}: api path removed":       func(r []Route) []Route { return r[1:] },
		"deleted the `query` request parameter `detail`": func(r []Route) []Route {
			r[0].Params = slices.Delete(
				r[0].Params, 1, 2)
			return r
		},
		"removed the request property `since`": func(r []Route) []Route {
			delete(r[1].Body.Schema.Properties,
				"since")
			return r
		},
		"removed the required property `verdict` from the response": func(r []Route) []Route {
			delete(r[0].Responses[0].Schema.Properties, "verdict")
			return r
		},
	} {
		found := lint.Breaking(t, build(t, testRoutes()), build(t, change(testRoutes())))
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("want %q, found %q", want, found)
		}
	}
}
