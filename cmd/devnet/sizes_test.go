package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What a model reads before it buys is short: the terms of a plain good on five networks, by two
// protocols and by voucher, what a tool answers with them, and the list of all tools. What is left
// out of the terms is behind their link.
func TestAModelReadsLittle(t *testing.T) {
	s := openStall(t)
	if s.solana == nil {
		t.Skip("without Solana, which needs Node.js, the terms are shorter than they may be")
	}
	status, body := s.get(t, "/api/buy/hello", false)
	var terms struct {
		Accepts   []json.RawMessage `json:"accepts"`
		Offers    []json.RawMessage `json:"offers"`
		OffersURL string            `json:"offers_url"`
	}
	if err := json.Unmarshal([]byte(body), &terms); err != nil || status != 402 || len(terms.Accepts) != 6 ||
		len(terms.Offers) != 1 || len(body) > 5000 {
		t.Errorf("%d %v: terms of %d bytes, with %d offers for %d", status, err, len(body), len(terms.Offers),
			len(terms.Accepts))
	}
	var all struct {
		Accepts []json.RawMessage `json:"accepts"`
		Offers  []json.RawMessage `json:"offers"`
	}
	status, body = s.get(t, strings.TrimPrefix(terms.OffersURL, s.url), false)
	if err := json.Unmarshal([]byte(body), &all); err != nil || status != 200 || len(all.Accepts) != 6 ||
		len(all.Offers) != 6 || !bytes.Equal(all.Offers[0], terms.Offers[0]) {
		t.Errorf("the offers: %d %v %s", status, err, body)
	}
	asks := func(door, call string, fields ...string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+door, strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		_, body := s.fetch(t, r)
		return body
	}
	for _, list := range []string{asks("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
		asks("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")} {
		if n := strings.Count(list, `"inputSchema"`); n < 38 || len(list) > 24_000 {
			t.Errorf("%d tools in %d bytes", n, len(list))
		}
	}
	var unpaid struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
	}
	answer := asks("/mcp?unpaid=result",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello","arguments":{}}}`)
	if err := json.Unmarshal([]byte(answer), &unpaid); err != nil || len(unpaid.Result.Content) != 1 ||
		len(unpaid.Result.Content[0].Text) > 1000 || strings.Count(answer, `"payTo"`) != 6 {
		t.Errorf("%v: %s", err, answer)
	}
}
