package api

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

type probeRequest struct {
	URL   string `json:"url" jsonschema:"the address to read"`
	Since string `json:"since,omitempty" jsonschema:"an ISO week"`
}

type probeAnswer struct {
	Verdict string   `json:"verdict" jsonschema:"ready or not_ready"`
	Checks  []string `json:"checks" jsonschema:"names of the checks"`
}

var testInfo = Info{
	BaseURL: "https://store.example", Title: "Store", Summary: "A store.", Description: "A general store.",
	Guidance: "Read /llms.txt.", Contact: "mailto:keeper@store.example", License: "Apache-2.0",
	Prices: []int64{20_000_000, 5000, 2_500_000, 5000},
}

func testRoutes() []Route {
	zero := 0.0
	return []Route{
		{
			Name: "buy_item", Method: "GET", Pattern: "/api/buy/{item_id}", Summary: "Buy.", Tag: "purchase",
			Serve: Paid, Paid: true, Params: []Param{ItemID,
				{Name: "detail", In: QueryP, Type: "string", MaxLength: 600, Description: "Details."},
				{Name: "max_usd", In: QueryP, Type: "number", Minimum: &zero, Description: "A ceiling."}},
			Responses: []Response{{Status: 200, ContentType: "application/json", Schema: SchemaFor[probeAnswer](),
				Headers: []string{"PAYMENT-RESPONSE"}, Description: "Delivered."}},
		},
		{
			Name: "preflight_v1", Method: "POST", Pattern: "/api/preflight/v1", Summary: "Read a door.",
			Tag: "purchase", Serve: Metered, Budget: "preflight",
			Body: &Body{ContentType: JSON, Schema: StrictSchemaFor[probeRequest](), Limit: 4096,
				Description: "The door."},
			Responses: []Response{{Status: 200, ContentType: JSON, Schema: SchemaFor[probeAnswer](),
				Description: "The reading."}},
			Deprecated: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		},
		{
			Name: "purchase_status", Method: "GET", Pattern: "/api/purchase-status/{id}", Summary: "Status.",
			Tag: "purchase", Serve: Private,
			Params: []Param{{Name: "id", In: Path, Type: "string", Required: true, MaxLength: 64,
				Description: "An id."},
				{Name: "Authorization", In: Header, Type: "string", MaxLength: 80, Description: "Bearer."}},
			Responses: []Response{{Status: 200, ContentType: JSON, Schema: SchemaFor[probeAnswer]()}},
		},
		{Name: "desk", Method: "GET", Pattern: "/desk", Summary: "Hidden.", Serve: Private, Internal: true},
	}
}

func build(t *testing.T, routes []Route) []byte {
	t.Helper()
	b, err := BuildOpenAPI(testInfo, routes, Documents)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpenAPIIsValid(t *testing.T) {
	raw := build(t, testRoutes())
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != ContractVersion {
		t.Errorf("openapi %s, contract %s", doc.OpenAPI, doc.Info.Version)
	}
	paid := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "" || op.Security == nil || op.Summary == "" || len(op.Tags) != 1 || op.Tags[0] == "" {
				t.Errorf("%s %s: operationId, security, summary or tags missing", method, path)
			}
			if op.Extensions["x-payment-info"] != nil {
				paid++
				if got := fmt.Sprint(op.Extensions["x-price-options"]); got != "[0.005 2.5 20]" {
					t.Errorf("%s %s asks %s", method, path, got)
				}
				if op.Responses.Value("402") == nil {
					t.Errorf("%s %s is paid and has no 402", method, path)
				}
			}
		}
	}
	if paid != 1 {
		t.Errorf("%d operations are paid, want 1", paid)
	}
	if doc.Paths.Value("/desk") != nil || doc.Paths.Value("/style.css") != nil {
		t.Error("an internal route is described")
	}
	metered := doc.Paths.Value("/api/preflight/v1").Post
	for _, status := range []string{"200", "429"} {
		if metered.Responses.Value(status).Value.Headers["RateLimit-Policy"] == nil {
			t.Errorf("metered answer %s has no RateLimit fields", status)
		}
	}
	if !metered.Deprecated {
		t.Error("a deprecated route is not marked")
	}
	if s := doc.Paths.Value("/api/purchase-status/{id}").Get; len(*s.Security) != 1 ||
		(*s.Security)[0]["bearer"] == nil || len(s.Parameters) != 1 {
		t.Error("Authorization is not described as a security scheme")
	}
}

func TestOpenAPIIsDeterministic(t *testing.T) {
	if !bytes.Equal(build(t, testRoutes()), build(t, testRoutes())) {
		t.Error("equal inputs gave different bytes")
	}
}

func TestOpenAPIRefusesTheSameTwice(t *testing.T) {
	r := testRoutes()
	for name, routes := range map[string][]Route{"operation": append(r, r[0]),
		"name": append(r, Route{Name: "home", Method: "GET", Pattern: "/x", Summary: "x"})} {
		if _, err := BuildOpenAPI(testInfo, routes, Documents); err == nil {
			t.Errorf("the same %s twice was taken", name)
		}
	}
}

func TestSchemas(t *testing.T) {
	var s struct {
		AdditionalProperties any            `json:"additionalProperties"`
		Required             []string       `json:"required"`
		Properties           map[string]any `json:"properties"`
	}
	for _, c := range []struct {
		schema any
		closed bool
	}{{SchemaFor[probeRequest](), false}, {StrictSchemaFor[probeRequest](), true}} {
		raw, err := json.Marshal(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		s.AdditionalProperties = nil
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if (s.AdditionalProperties == false) != c.closed || len(s.Required) != 1 || s.Required[0] != "url" {
			t.Errorf("schema %s", raw)
		}
		if !strings.Contains(string(raw), "the address to read") {
			t.Errorf("no description in %s", raw)
		}
	}
}

func TestMarkdownNamesEveryRoute(t *testing.T) {
	text := string(BuildMarkdown(testInfo, testRoutes(), Documents))
	for _, r := range Published(testRoutes(), Documents) {
		if n := strings.Count(text, "### "+r.Method+" "+r.Pattern+"\n"); n != 1 {
			t.Errorf("%s %s stands %d times in the Markdown", r.Method, r.Pattern, n)
		}
	}
	for _, want := range []string{"at most 600 characters", "| url | string | required. the address to read |",
		"Deprecated from 2027-01-01", "Paid: answers 402"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Markdown does not say %q", want)
		}
	}
}

func TestUSD(t *testing.T) {
	for atomic, want := range map[int64]string{5000: "0.005", 1_000_000: "1", 990_000: "0.99", 12_345_678: "12.345678",
		0: "0"} {
		if got := usd(atomic); got != want {
			t.Errorf("usd(%d) = %q, want %q", atomic, got, want)
		}
	}
}

// TestRefusalsAreDescribedAsTheyAre: a refusal of another media type is no problem object, and
// whatever judges its inputs can refuse one.
func TestRefusalsAreDescribedAsTheyAre(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(build(t, []Route{{
		Name: "badge", Method: "GET", Pattern: "/badge", Summary: "A badge.", Tag: "purchase", Serve: Ledger,
		Responses: []Response{{Status: 404, ContentType: "image/svg+xml"}, {Status: 402, ContentType: JSON},
			{Status: 410, ContentType: "application/problem+json"}},
	}, {
		Name: "picture", Method: "GET", Pattern: "/picture", Summary: "A picture.", Tag: "purchase",
		Serve: Ledger, Responses: []Response{{Status: 200, ContentType: SVG}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if r := doc.Paths.Value("/picture").Get.Responses.Value("400"); r == nil || r.Value.Content[SVG] == nil {
		t.Error("who asks for a picture is refused by another thing than a picture")
	}
	answers := doc.Paths.Value("/badge").Get.Responses
	for status, want := range map[string]string{"400": "#/components/schemas/Problem", "404": "string", "402": "",
		"410": "#/components/schemas/Problem"} {
		got := "no such answer"
		if r := answers.Value(status); r != nil {
			for _, media := range r.Value.Content {
				got = ""
				if s := media.Schema; s != nil && s.Ref != "" {
					got = s.Ref
				} else if s != nil {
					got = strings.Join(*s.Value.Type, "|")
				}
			}
		}
		if got != want {
			t.Errorf("%s is described as %q, want %q", status, got, want)
		}
	}
}
