package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/route"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// stateless are the scenarios of the conformance suite that no door without sessions, streams,
// prompts and completions can pass.
var stateless = map[string][]string{
	"2025-06-18": {"completion-complete", "tools-call-with-logging", "tools-call-with-progress",
		"tools-call-sampling", "tools-call-elicitation", "resources-subscribe", "resources-unsubscribe",
		"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"},
	"2026-07-28": {"completion-complete", "tools-call-with-progress", "prompts-list", "prompts-get-simple",
		"prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
		"caching", // for its list of prompts alone
		"input-required-result-missing-input-response", "input-required-result-ignore-extra-params",
		"input-required-result-basic-elicitation", "input-required-result-basic-sampling",
		"input-required-result-basic-list-roots", "input-required-result-request-state",
		"input-required-result-multiple-input-requests", "input-required-result-multi-round",
		"input-required-result-non-tool-request", "input-required-result-result-type",
		"input-required-result-tampered-state", "input-required-result-capability-check"},
}

// fixtures are the tools that the suite calls by name.
func fixtures() []*tool {
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s} }
	image := &sdk.ImageContent{Data: []byte("png"), MIMEType: "image/png"}
	embedded := &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://embedded", MIMEType: "text/plain",
		Text: "embedded"}}
	results := map[string]*sdk.CallToolResult{
		"test_simple_text":   {Content: []sdk.Content{text("This is a simple text response for testing.")}},
		"test_image_content": {Content: []sdk.Content{image}},
		"test_audio_content": {Content: []sdk.Content{&sdk.AudioContent{Data: []byte("wav"),
			MIMEType: "audio/wav"}}},
		"test_embedded_resource":      {Content: []sdk.Content{embedded}},
		"test_multiple_content_types": {Content: []sdk.Content{text("text"), image, embedded}},
		"test_streaming_elicitation":  {Content: []sdk.Content{text("There is nothing to ask.")}},
		"test_logging_tool":           {Content: []sdk.Content{text("There is nothing to log.")}},
		"test_error_handling":         {IsError: true, Content: []sdk.Content{text("This tool returns an error.")}},
	}
	var out []*tool
	for name, r := range results {
		out = append(out, &tool{Name: name, Description: name, InputSchema: schemaOf(nil),
			call: func(*Doors, *request) (any, error) { return r, nil }})
	}
	lacking := fault(-32021, "this tool wants to sample")
	lacking.Data = json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)
	return append(out, &tool{Name: "test_missing_capability", Description: "x", InputSchema: schemaOf(nil),
		call: func(*Doors, *request) (any, error) { return nil, lacking }})
}

// The conformance suite, with the names that it calls mounted, fails in what a door without
// sessions cannot have, and in nothing else.
func TestConformance(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	defer server.Close()
	d, err := New(Config{BaseURL: "http://" + server.Listener.Addr().String(), Site: site,
		Serve: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "text") },
		Buy:   func(context.Context, counter.Request) (*counter.Answer, error) { return nil, context.Canceled }})
	if err != nil {
		t.Fatal(err)
	}
	d.order = fixtures()
	read := readIt.call
	fixed := readIt
	fixed.call = func(d *Doors, q *request) (any, error) {
		c := &sdk.ResourceContents{URI: q.URI, MIMEType: "text/plain", Text: "text"}
		switch {
		case q.URI == "test://static-binary":
			c = &sdk.ResourceContents{URI: q.URI, MIMEType: "image/png", Blob: []byte("png")}
		case strings.HasPrefix(q.URI, "test://template/"):
			c.MIMEType, c.Text = "application/json", `{"id":"123"}`
		case q.URI != "test://static-text":
			return read(d, q)
		}
		return map[string]any{"contents": []*sdk.ResourceContents{c}}, nil
	}
	// No tool of ours wants a client to be able to do something.
	revision2026.status[-32021] = http.StatusBadRequest
	t.Cleanup(func() { delete(revision2026.status, -32021) })
	for _, r := range revisions {
		r.methods["resources/read"] = fixed
		t.Cleanup(func() { r.methods["resources/read"] = readIt })
	}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if err := d.serve(places[0], w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
			t.Error(err)
		}
	})
	server.Start()
	for _, r := range revisions {
		if said, err := clients.ConformMCP(t, r.name, server.URL+"/mcp", stateless[r.name]); err != nil {
			t.Errorf("%s: %v\n%s", r.name, err, said)
		}
	}
}

// FuzzMessage looks for a body that is answered with what is no JSON-RPC, or that ends the door.
func FuzzMessage(f *testing.F) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		f.Fatal(err)
	}
	d, err := New(Config{BaseURL: "https://store.example", Site: site,
		Serve: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") },
		Buy: func(context.Context, counter.Request) (*counter.Answer, error) {
			return &counter.Answer{Status: 402, Body: []byte(`{}`)}, nil
		}})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello",` +
		`"arguments":{"agent_name":"a"},"_meta":{"x402/payment":{}}}}`, `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`,
		`[]`, `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":-0,"method":"ping"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "https://store.example/mcp", strings.NewReader(body))
		if err := d.serve(places[0], w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if w.Code == http.StatusAccepted && w.Body.Len() == 0 {
			return
		}
		var m struct {
			JSONRPC       string
			ID            json.RawMessage
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || m.JSONRPC != "2.0" || m.ID == nil ||
			(m.Result == nil) == (m.Error == nil) {
			t.Fatalf("%q: %d %s: %v", body, w.Code, w.Body, err)
		}
	})
}
