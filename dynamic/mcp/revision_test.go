package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
)

// A client that begins with initialize is told the revision that begins so, whatever it asks for; a
// revision that is not spoken is refused with those that are.
func TestInitialize(t *testing.T) {
	s := open(t, nil)
	for _, v := range []string{`"2025-06-18"`, `"2026-07-28"`, `"1999-01-01"`, `null`} {
		w := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+v+`}}`)
		var r reply
		if json.Unmarshal(w.Body.Bytes(), &r) != nil || r.Result.ProtocolVersion != "2025-06-18" ||
			r.Result.TTLMs != nil {
			t.Errorf("%s: %s", v, w.Body)
		}
	}
	for v, status := range map[string]int{"2025-06-18": 200, "2025-11-25": 400, "2027-01-01": 400} {
		w := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "MCP-Protocol-Version", v)
		if w.Code != status || status == 400 && !strings.Contains(w.Body.String(), `"id":1,"error":{"code":-32022`) ||
			status == 400 && !strings.Contains(w.Body.String(),
				`{"requested":"`+v+`","supported":["2026-07-28","2025-06-18"]}`) {
			t.Errorf("%s: %d %s", v, w.Code, w.Body)
		}
	}
}

// meta2026 are the members of _meta of a request of that revision, more of them given as JSON.
func meta2026(more string) string {
	return `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{}}` + more
}

const announced = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"org.x402/payment":{}}}`

// ask sends a request of revision 2026-07-28, params being without _meta and name the field
// Mcp-Name.
func (s *stand) ask(t *testing.T, door, method, name, params, meta string) (reply, *httptest.ResponseRecorder) {
	t.Helper()
	fields := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		fields = append(fields, "Mcp-Name", name)
	}
	w := s.post(door, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{%s}}}`, method, params, meta),
		fields...)
	var r reply
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || string(r.ID) != "7" {
		t.Fatalf("%s: %d, %v: %s", method, w.Code, err, w.Body)
	}
	return r, w
}

// Each result says of what type it is, who answers, and, where it is a list, for how long.
func TestResultsOf2026(t *testing.T) {
	s := open(t, nil)
	for method, ttl := range map[string]int{"server/discover": 300_000, "tools/list": 0, "resources/list": 300_000,
		"resources/templates/list": 300_000, "resources/read": 0, "tools/call": -1} {
		name, params := "", ""
		switch method {
		case "resources/read":
			name, params = "store://guide", `"uri":"store://guide",`
		case "tools/call":
			name, params = "=?base64?ZmluZF9pbl9jYXRhbG9n?=", `"name":"find_in_catalog",`
		}
		r, w := s.ask(t, "/mcp", method, name, params, meta2026(""))
		if kept := r.Result.TTLMs != nil; w.Code != 200 || r.Result.ResultType != "complete" ||
			kept != (ttl >= 0) || kept && (*r.Result.TTLMs != ttl || r.Result.CacheScope != "public") ||
			!strings.Contains(string(r.Result.Meta["io.modelcontextprotocol/serverInfo"]), `"name":"store"`) {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
		if pays := strings.Contains(w.Body.String(), `"extensions":{"org.x402/payment":{}}`); pays !=
			(method == "server/discover") {
			t.Errorf("%s: %s", method, w.Body)
		}
	}
	if _, w := s.ask(t, "/mcp/verifier", "server/discover", "", "", meta2026("")); strings.Contains(w.Body.String(),
		"payment") {
		t.Errorf("the verifier takes payments: %s", w.Body)
	}
	// The tools are those of the other revision, in the same order each time.
	old := s.post("/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`).Body.String()
	_, tools, _ := strings.Cut(strings.TrimSuffix(old, "}}"), `"result":{`)
	for range 3 {
		if _, w := s.ask(t, "/mcp", "tools/list", "", "", meta2026("")); !strings.Contains(w.Body.String(), tools) {
			t.Error("the tools are others")
		}
	}
	if strings.Contains(old, "outputSchema") {
		t.Error("a client would hold the terms against a schema of the goods")
	}
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "prompts/list", "subscriptions/listen"} {
		if r, w := s.ask(t, "/mcp", method, "", "", meta2026("")); w.Code != 404 || r.Error == nil ||
			r.Error.Code != -32601 {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	r, w := s.ask(t, "/mcp", "resources/read", "store://x", `"uri":"store://x",`, meta2026(""))
	if w.Code != 400 || r.Error == nil || r.Error.Code != -32602 || string(r.Error.Data) != `{"uri":"store://x"}` {
		t.Errorf("no resource: %d %s", w.Code, w.Body)
	}
}

// Terms are a result of their own kind for who announces to understand it, and for nobody else,
// whatever else was chosen.
func TestUnpaidOf2026(t *testing.T) {
	s := open(t, nil)
	for _, door := range []string{"/mcp", "/mcp?unpaid=error"} {
		if r, w := s.ask(t, door, "tools/call", "buy_hello", `"name":"buy_hello",`, meta2026("")); !r.Result.IsError ||
			r.Result.ResultType != "complete" || string(r.Result.StructuredContent) != `{"accepts":[],"x402Version":2}` ||
			r.Result.Meta["org.paymentauth/payment-required"] == nil || w.Code != 200 {
			t.Errorf("%s: %s", door, w.Body)
		}
	}
	for _, more := range []string{"", `,"store/unpaid":"result"`} {
		r, w := s.ask(t, "/mcp", "tools/call", "buy_hello", `"name":"buy_hello",`, announced+more)
		if r.Result.ResultType != "payment_required" || r.Result.IsError || r.Result.Content != nil ||
			string(r.Result.PaymentRequired) != `{"accepts":[],"x402Version":2}` ||
			r.Result.Meta["org.paymentauth/payment-required"] == nil {
			t.Errorf("%s: %s", more, w.Body)
		}
	}
	// A payment that was not taken is answered with terms in the same way.
	s.buy = func(counter.Request) (*counter.Answer, error) {
		return &counter.Answer{}, &problem.Error{Code: "payment_invalid", Payment: &problem.Payment{Billed: "no"}}
	}
	r, w := s.ask(t, "/mcp", "tools/call", "buy_hello", `"name":"buy_hello",`, announced+`,"x402/payment":{}`)
	if r.Result.ResultType != "payment_required" ||
		!strings.Contains(string(r.Result.PaymentRequired), `"billed":"no"`) {
		t.Errorf("not taken: %s", w.Body)
	}
	s.buy = func(counter.Request) (*counter.Answer, error) {
		return &counter.Answer{Status: 200, Body: []byte(`{"paid":1}`),
			Carrier: pay.Carrier{Meta: pay.Meta{"x402/payment-response": json.RawMessage(`{"success":true}`)}}}, nil
	}
	r, w = s.ask(t, "/mcp", "tools/call", "buy_hello", `"name":"buy_hello",`, announced+`,"x402/payment":{}`)
	if r.Result.ResultType != "complete" || string(r.Result.Meta["x402/payment-response"]) != `{"success":true}` ||
		string(r.Result.StructuredContent) != `{"paid":1}` {
		t.Errorf("paid: %s", w.Body)
	}
}

// A request that contradicts itself is refused before anything is bought, whatever its payment, and
// is told that it was not charged.
func TestContradictions(t *testing.T) {
	s := open(t, nil)
	paid := `,"x402/payment":{}`
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello","_meta":{` + meta + `}}}`
	}
	beside := func(meta, beside string) string {
		return strings.TrimSuffix(call(meta), "}") + `,"_meta":{` + beside + `}}`
	}
	const version, method, name = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
	good := []string{version, "2026-07-28", method, "tools/call", name, "buy_hello"}
	with := func(fields ...string) []string { return append(append([]string{}, good...), fields...) }
	for what, c := range map[string]struct {
		body   string
		fields []string
		code   int
	}{
		"another method":      {call(meta2026(paid)), with(method, "tools/list"), -32020},
		"another tool":        {call(meta2026(paid)), with(name, "find_in_catalog"), -32020},
		"a tool misspelt":     {call(meta2026(paid)), with(name, "BUY_HELLO"), -32020},
		"no base64":           {call(meta2026(paid)), with(name, "=?base64?buy_hello?="), -32020},
		"no ASCII":            {call(meta2026(paid)), with(name, "buy_hell\xc3\xb6"), -32020},
		"no method":           {call(meta2026(paid)), []string{version, "2026-07-28", name, "buy_hello"}, -32020},
		"no tool":             {call(meta2026(paid)), good[:4], -32020},
		"no version":          {call(meta2026(paid)), good[2:], -32020},
		"two versions":        {call(meta2026(paid)), with(version, "2025-06-18"), -32020},
		"two versions, again": {call(`"io.modelcontextprotocol/protocolVersion":"2025-06-18"` + paid), good, -32020},
		"no version in _meta": {call(`"io.modelcontextprotocol/clientCapabilities":{}` + paid), good, -32602},
		"a version of none":   {call(`"io.modelcontextprotocol/protocolVersion":null` + paid), good, -32602},
		"a version too long": {call(`"io.modelcontextprotocol/protocolVersion":"` + strings.Repeat("2", 41) + `"` + paid),
			good[2:], -32602},
		"no capabilities": {call(`"io.modelcontextprotocol/protocolVersion":"2026-07-28"` + paid), good, -32602},
		"capabilities of none": {call(`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":[]` + paid), good, -32602},
		"a client of no name": {call(announced + `,"io.modelcontextprotocol/clientInfo":{"version":"1"}` + paid), good,
			-32602},
		"a version of a future": {call(`"io.modelcontextprotocol/protocolVersion":"2027-01-01"` + paid),
			with(version, "2027-01-01"), -32022},
		"the same, in _meta alone": {call(`"io.modelcontextprotocol/protocolVersion":"2027-01-01"` + paid), nil, -32022},
		"another tool, of 2025":    {call(paid[1:]), []string{name, "find_in_catalog"}, -32020},
		"two payments":             {call(meta2026(paid + paid)), good, -32700},
		"two payments, beside":     {beside(meta2026(paid), paid[1:]), good, -32602},
		"two payments, of 2025":    {beside(paid[1:], paid[1:]), nil, -32602},
		"two versions, beside":     {beside(meta2026(paid), meta2026("")), good, -32602},
		"a _meta too long":         {call(meta2026(paid + `,"x":"` + strings.Repeat("x", 64<<10) + `"`)), good, -32602},
		"a payment unread": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1,"_meta":{"x402/payment":{}}}}`,
			nil, -32602},
		"another method of 2026": {strings.Replace(call(meta2026(paid)), "tools/call", "initialize", 1),
			[]string{version, "2026-07-28", method, "initialize"}, -32601},
	} {
		w := s.post("/mcp", c.body, c.fields...)
		var r reply
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || r.Error == nil || r.Error.Code != c.code ||
			len(c.fields) > 2 && w.Code != map[bool]int{true: 404, false: 400}[c.code == -32601] ||
			r.Error.Message == "" || !strings.Contains(string(r.Error.Data), `"billed":"no"`) ||
			c.code == -32022 && !strings.Contains(string(r.Error.Data), `"supported":["2026-07-28","2025-06-18"]`) {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	if len(s.orders)+len(s.served) > 0 {
		t.Errorf("%d orders and %d requests came of that", len(s.orders), len(s.served))
	}
	// What is required of the one revision is allowed in the other.
	if w := s.post("/mcp", call(`"io.modelcontextprotocol/protocolVersion":"2025-06-18"`), method, "tools/call", name,
		"buy_hello"); !strings.Contains(w.Body.String(), `"code":402`) {
		t.Errorf("2025-06-18 with what 2026-07-28 wants: %s", w.Body)
	}
}
