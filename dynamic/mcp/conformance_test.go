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
var stateless = []string{"completion-complete", "tools-call-with-logging", "tools-call-with-progress",
	"tools-call-sampling", "tools-call-elicitation", "resources-subscribe", "resources-unsubscribe",
	"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"}

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
		"test_error_handling":         {IsError: true, Content: []sdk.Content{text("This tool returns an error.")}},
	}
	var out []*tool
	for name, r := range results {
		out = append(out, &tool{Name: name, Description: name, InputSchema: schemaOf(nil),
			call: func(*Doors, *request) (any, error) { return r, nil }})
	}
	return out
}

// The conformance suite, with the names that it calls mounted, fails in what a door without
// sessions cannot have, and in nothing else.
func TestConformance(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Config{BaseURL: "http://127.0.0.1", Site: site,
		Serve: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "text") },
		Buy:   func(context.Context, counter.Request) (*counter.Answer, error) { return nil, context.Canceled }})
	if err != nil {
		t.Fatal(err)
	}
	d.order = fixtures()
	read := revision2025.methods["resources/read"]
	revision2025.methods["resources/read"] = method{call: func(d *Doors, q *request) (any, error) {
		c := &sdk.ResourceContents{URI: q.URI, MIMEType: "text/plain", Text: "text"}
		switch {
		case q.URI == "test://static-binary":
			c = &sdk.ResourceContents{URI: q.URI, MIMEType: "image/png", Blob: []byte("png")}
		case strings.HasPrefix(q.URI, "test://template/"):
			c.MIMEType, c.Text = "application/json", `{"id":"123"}`
		case q.URI != "test://static-text":
			return read.call(d, q)
		}
		return map[string]any{"contents": []*sdk.ResourceContents{c}}, nil
	}}
	t.Cleanup(func() { revision2025.methods["resources/read"] = read })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if err := d.serve(places[0], w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	if said, err := clients.ConformMCP(t, server.URL+"/mcp", stateless, "--spec-version", "2025-06-18"); err != nil {
		t.Errorf("%v\n%s", err, said)
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
