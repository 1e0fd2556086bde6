package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"store.example/agentstore/cmd/devnet/lint"
)

// ordersByHand buys what the keeper makes by hand over MCP: the answer is the order, which A2A has
// as a task that is being worked on, and which nobody reads twice in a minute.
func (s *stall) ordersByHand(t *testing.T, c *sdk.ClientSession) {
	call := &sdk.CallToolParams{Name: "buy_quick_judgment", Arguments: map[string]any{"detail": "Tea or coffee?"}}
	call.Meta = sdk.Meta{"x402/payment": s.pay(t, s.net.Buyers[0], asked(t, c, call))}
	var order struct {
		ID      string `json:"order_id"`
		Status  string `json:"status"`
		Receipt string `json:"receipt"`
	}
	if got := s.earned(func() {
		r, err := c.CallTool(t.Context(), call)
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		said, err := json.Marshal(r.StructuredContent)
		if err != nil || json.Unmarshal(said, &order) != nil || order.Status != "queued" || order.Receipt == "" ||
			!strings.Contains(string(said), `"next_check_after"`) {
			t.Fatalf("the answer is no order: %s", said)
		}
	}); got != 3_000_000 {
		t.Errorf("a judgment earned %d", got)
	}
	for _, want := range []string{`"TASK_STATE_WORKING"`, `"status":429`} {
		resp, err := http.Post(s.url+"/a2a", "application/json", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+order.ID+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("the task: %s, %v, want %s", said, err, want)
		}
	}
}

// lints has the description that the running store serves read by kin-openapi, spectral and
// redocly.
func (s *stall) lints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, []byte(s.page(t, "/openapi.json")), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Errorf("kin-openapi: %v", err)
	}
	lint.OpenAPI(t, file)
}
