package shop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/generator"
)

// TestTheTwelveFreeTools lists the names of the specification, holds the table of routes against
// them, and /openapi-tools.json against the table.
func TestTheTwelveFreeTools(t *testing.T) {
	// Interface specification, MCP door.
	twelve := strings.Split("check_a2a_card, check_purchase, read_store_guide, read_binder, look_in_window, "+
		"preflight_endpoint, look_at_door, check_before_you_pay, "+
		"check_conformance, verify_artifact, check_order, find_in_catalog", ", ")
	if !slices.Equal(twelve, api.FreeTools) || len(twelve) != 12 {
		t.Fatalf("the free tools are %v, want %v", api.FreeTools, twelve)
	}
	routes := map[string]string{}
	for _, r := range api.Published(API(), api.Documents) {
		if r.Tool == "" {
			continue
		}
		if !slices.Contains(twelve, r.Tool) || routes[r.Tool] != "" {
			t.Errorf("%s is the tool %s, after %q", r.Name, r.Tool, routes[r.Tool])
		}
		routes[r.Tool] = r.Method + " " + r.Pattern
	}
	want := map[string]string{
		"check_a2a_card": "POST /api/a2a/check", "check_purchase": "GET /api/purchase-status/{purchase_id}",
		"read_store_guide": "GET /guide", "read_binder": "GET /corpus/brief", "look_in_window": "GET /api/window/v1",
		"preflight_endpoint": "POST /api/preflight/v2", "look_at_door": "POST /api/look/v1",
		"check_before_you_pay": "POST /api/before-you-pay/v1", "check_conformance": "POST /api/conformance/v1",
		"verify_artifact": "GET /api/verify/{id}", "find_in_catalog": "GET /api/catalog/v1",
		"check_order": "GET /api/order/{order_id}",
	}
	for _, name := range twelve {
		if routes[name] != want[name] || want[name] == "" {
			t.Errorf("%s is %q, want %q", name, routes[name], want[name])
		}
	}
	in, err := BuildInput(&Config{BaseURL: "https://store.example", Public: filepath.Join(t.TempDir(), "public"),
		Keys: KeysConfig{Identity: "specimen", Ring: "specimen", Log: "specimen"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generator.Build(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(in.OutDir, "openapi-tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tools []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        struct {
					Type       string
					Properties map[string]any
					Required   []string
					Additional *bool `json:"additionalProperties"`
				}
			}
		}
		Calls map[string]struct {
			Method, URL string
			Arguments   map[string]string
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil || len(doc.Tools) != len(routes) || len(doc.Calls) != len(routes) {
		t.Fatalf("%d tools and %d calls of %d: %v", len(doc.Tools), len(doc.Calls), len(routes), err)
	}
	arguments := map[string]string{"check_a2a_card": "url live", "check_purchase": "purchase_id status_token",
		"read_store_guide": "topic", "read_binder": "", "look_at_door": "url since",
		"check_conformance": "artifact kind public_key_hex signer_address", "verify_artifact": "id",
		"find_in_catalog": "q max_price_usdc item_id", "preflight_endpoint": "url",
		"check_before_you_pay": "url client_profile clients", "check_order": "order_id"}
	for _, tool := range doc.Tools {
		f, call := tool.Function, doc.Calls[tool.Function.Name]
		method, pattern, _ := strings.Cut(routes[f.Name], " ")
		if tool.Type != "function" || f.Description == "" || f.Parameters.Type != "object" ||
			f.Parameters.Additional == nil || *f.Parameters.Additional || call.Method != method ||
			call.URL != "https://store.example"+pattern {
			t.Errorf("%s: %+v by %+v", f.Name, tool, call)
		}
		names := strings.Fields(arguments[f.Name])
		for _, n := range names {
			if f.Parameters.Properties[n] == nil || call.Arguments[n] == "" {
				t.Errorf("%s has no argument %s: %v", f.Name, n, f.Parameters.Properties)
			}
		}
		if len(f.Parameters.Properties) != len(names) || len(call.Arguments) != len(names) {
			t.Errorf("%s takes %v", f.Name, f.Parameters.Properties)
		}
	}
}
