package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func nothing(*Doors, *request) (any, error) { return json.RawMessage(`{}`), nil }

func empty(name string) func(*Doors, *request) (any, error) {
	return func(_ *Doors, q *request) (any, error) {
		return json.RawMessage(`{"` + name + `":[]}`), q.onePage()
	}
}

// onePage refuses a cursor: every list is one page, so that none was given out.
func (q *request) onePage() error {
	if q.Cursor != nil && string(q.Cursor) != "null" {
		return fault(codeInvalidParams, "this list is one page: no cursor was given out")
	}
	return nil
}

// answer does what a request asks. A fault of ours is logged and told without detail; where a
// payment came with it, as one whose outcome is not known.
func (d *Doors) answer(q *request) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.Log.LogAttrs(q.http.Context(), slog.LevelError, "mcp call panicked", slog.String("door", q.place.Name),
				slog.String("err", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			result, err = nil, d.ours(q)
		}
	}()
	m := q.revision.methods[q.method]
	if err := q.revision.admit(q, m); err != nil {
		return nil, err
	}
	if m.call == nil {
		return nil, fault(codeMethodNotFound, "there is no method of this name here")
	}
	result, err = m.call(d, q)
	if _, said := err.(*jsonrpc.Error); err == nil || said {
		return result, err
	}
	d.Log.LogAttrs(q.http.Context(), slog.LevelError, "mcp call failed", slog.String("door", q.place.Name),
		slog.String("err", err.Error()))
	return nil, d.ours(q)
}

// ours is the answer where the fault is ours.
func (d *Doors) ours(q *request) *jsonrpc.Error {
	if q.method == "tools/call" && counter.Paying(q.Meta) {
		return d.outcomeUnknown()
	}
	return fault(codeInternal, "Something went wrong here. Nothing was charged by this call.")
}

func (d *Doors) initialize(q *request) (any, error) {
	return &sdk.InitializeResult{ProtocolVersion: q.revision.name, Capabilities: q.capabilities(),
		ServerInfo: q.place.implementation(), Instructions: q.instructions()}, nil
}

func (d *Doors) discover(q *request) (any, error) {
	caps := q.capabilities()
	if q.place.sells() {
		caps.Extensions = map[string]any{extensionPayment: struct{}{}}
	}
	return map[string]any{"supportedVersions": api.MCPRevisions, "capabilities": caps,
		"instructions": q.instructions()}, nil
}

// sells reports whether tools of a door are paid for.
func (p *endpoint) sells() bool { return p.Name == api.MCPDoors[0].Name }

func (p *endpoint) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: p.Name, Title: p.Title, Version: api.ContractVersion}
}

func (q *request) capabilities() *sdk.ServerCapabilities {
	caps := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
	if q.place.resources {
		caps.Resources = &sdk.ResourceCapabilities{}
	}
	if q.place.sells() {
		// draft-payment-transport-mcp: which payments the tools take.
		caps.Experimental = map[string]any{"payment": map[string]any{"methods": map[string]any{
			"evm": map[string]any{"intents": []string{"charge"}}}}}
	}
	return caps
}

func (q *request) instructions() string {
	return strings.Replace(instructions[q.place.Name], "{unpaid}", q.revision.unpaidWords, 1)
}
