package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

const base = "https://store.example"

// stand is a door with a route of two tools behind it and a counter that does as it is told.
type stand struct {
	*mcp.Doors
	served []*http.Request // by the route
	answer http.HandlerFunc
	orders []counter.Request
	buy    func(counter.Request) (*counter.Answer, error)
}

var tools = []api.Route{
	{Name: "catalog", Method: "GET", Pattern: "/api/catalog/v1", Tool: "find_in_catalog", Summary: "Find.",
		Serve: api.Ledger, Params: []api.Param{{Name: "q", In: api.QueryP, Type: "string", MaxLength: 9}},
		Responses: []api.Response{{Status: 200, ContentType: api.JSON}}},
	{Name: "status", Method: "GET", Pattern: "/api/purchase-status/{purchase_id}", Tool: "check_purchase",
		Summary: "Status.", Params: []api.Param{{Name: "purchase_id", In: api.Path, Required: true, MaxLength: 9},
			{Name: "Authorization", In: api.Header, MaxLength: 80}},
		Responses: []api.Response{{Status: 200, ContentType: api.JSON}}},
	{Name: "look", Method: "POST", Pattern: "/api/look/v1", Tool: "look_at_door", Summary: "Look.",
		Serve: api.Metered, Body: &api.Body{ContentType: api.JSON, Limit: 999, Schema: api.StrictSchemaFor[struct {
			URL string `json:"url"`
		}]()}, Responses: []api.Response{{Status: 200, ContentType: api.JSON}}},
}

func open(t testing.TB, change func(*mcp.Config)) *stand {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{
		answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", api.JSON)
			io.WriteString(w, `{"ok":true}`)
		},
		buy: func(counter.Request) (*counter.Answer, error) {
			return &counter.Answer{Status: 402, Type: problem.ContentType, Body: []byte(`{"accepts":[],"x402Version":2}`),
				Carrier: pay.Carrier{Meta: pay.Meta{"org.paymentauth/payment-required": json.RawMessage(`{}`)}}}, nil
		},
	}
	cfg := mcp.Config{BaseURL: base, Site: site, Routes: tools,
		Serve: func(w http.ResponseWriter, r *http.Request) { s.served = append(s.served, r); s.answer(w, r) },
		Buy: func(_ context.Context, r counter.Request) (*counter.Answer, error) {
			s.orders = append(s.orders, r)
			return s.buy(r)
		}}
	if change != nil {
		change(&cfg)
	}
	if s.Doors, err = mcp.New(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a body to a door.
func (s *stand) post(path, body string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, base+path, strings.NewReader(body))
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	if h := r.Header.Get("Host"); h != "" {
		r.Host = h
	}
	w := httptest.NewRecorder()
	for _, row := range s.Rows() {
		if row.Pattern == r.URL.Path {
			if err := row.Handle(w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
				w.Code = -1
				w.Body.WriteString(err.Error())
			}
		}
	}
	return w
}

// reply is an answer as a client reads it.
type reply struct {
	ID     json.RawMessage
	Result struct {
		IsError           bool
		StructuredContent json.RawMessage
		Content           []struct{ Type, Text, Data, MIMEType string }
		Meta              map[string]json.RawMessage `json:"_meta"`
		Tools             []struct{ Name, Title, Description string }
		ProtocolVersion   string
		ResultType        string
		PaymentRequired   json.RawMessage
		TTLMs             *int
		CacheScope        string
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (s *stand) call(t *testing.T, path, tool, arguments, meta string) reply {
	t.Helper()
	params := fmt.Sprintf(`{"name":%q,"arguments":%s`, tool, arguments)
	if meta != "" {
		params += `,"_meta":` + meta
	}
	w := s.post(path, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":`+params+`}}`)
	var r reply
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != 200 || string(r.ID) != "7" {
		t.Fatalf("%s: %d, %v: %s", tool, w.Code, err, w.Body)
	}
	return r
}

// What is no message of the protocol is refused, what needs no answer gets none, and an id comes
// back byte for byte.
func TestMessages(t *testing.T) {
	s := open(t, nil)
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for name, c := range map[string]struct {
		body, want string
		status     int
	}{
		"integer id":        {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, 200},
		"greatest id":       {`{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}`, `"id":9223372036854775807,`, 200},
		"id beyond doubles": {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `"id":9007199254740993,`, 200},
		"text id":           {`{"jsonrpc":"2.0","id":"\u00e9\"","method":"ping"}`, `"id":"\u00e9\"",`, 200},
		"id of a fraction":  {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":null,"error":{"code":-32600`, 400},
		"id of 1e30":        {`{"jsonrpc":"2.0","id":1e30,"method":"ping"}`, `"id":null,"error":{"code":-32600`, 400},
		"id null":           {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"id":null,"error":{"code":-32600`, 400},
		"id an object":      {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `-32600`, 400},
		"long id":           {`{"jsonrpc":"2.0","id":"` + strings.Repeat("a", 300) + `","method":"ping"}`, `-32600`, 400},
		"batch":             {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `batches`, 400},
		"empty batch":       {`[]`, `-32600`, 400},
		"empty":             {``, `-32700`, 400},
		"no JSON":           {`{"jsonrpc"`, `-32700`, 400},
		"a text":            {`"ping"`, `-32700`, 400},
		"what follows":      {`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, `-32700`, 400},
		"a name twice":      {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `-32700`, 400},
		"a name twice below": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`,
			`-32700`, 400},
		"deep":             {deep, `-32700`, 400},
		"version 1":        {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `-32600`, 400},
		"no version":       {`{"id":1,"method":"ping"}`, `-32600`, 400},
		"method a number":  {`{"jsonrpc":"2.0","id":1,"method":1}`, `-32600`, 400},
		"no method":        {`{"jsonrpc":"2.0","id":1}`, `"id":1,"error":{"code":-32600`, 200},
		"unknown method":   {`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `"id":1,"error":{"code":-32601`, 200},
		"params a list":    {`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, `-32602`, 200},
		"name a number":    {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`, `-32602`, 200},
		"unknown tool":     {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_it"}}`, `-32602`, 200},
		"call without all": {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `-32602`, 200},
		"a cursor":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, `-32602`, 200},
		"a cursor there":   {`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"x"}}`, `-32602`, 200},
		"no cursor":        {`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":null}}`, `"resources":[`, 200},
		"no resource": {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"store://x"}}`,
			`-32002,"message":"there is no such resource: resources/list has those that there are","data":{"uri":"store://x"}`,
			200},
		"prompts":         {`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, `"result":{"prompts":[]}`, 200},
		"notification":    {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``, 202},
		"call unanswered": {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"buy_hello"}}`, ``, 202},
		"a response":      {`{"jsonrpc":"2.0","id":1,"result":{}}`, ``, 202},
	} {
		w := s.post("/mcp", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || c.want == "" && w.Body.Len() > 0 {
			t.Errorf("%s: %d %s, want %d %s", name, w.Code, w.Body, c.status, c.want)
		}
		if c.want != "" && w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%s: length %s of %d", name, w.Header().Get("Content-Length"), w.Body.Len())
		}
	}
	if len(s.orders)+len(s.served) > 0 {
		t.Errorf("%d orders and %d requests came of that", len(s.orders), len(s.served))
	}
}

// A page of another origin, or a name that was rebound to this machine, is answered nothing.
func TestForeignCallers(t *testing.T) {
	s := open(t, nil)
	for field, want := range map[[2]string]int{
		{"Origin", "https://evil.example"}: 403, {"Origin", "null"}: 403, {"Origin", "http://store.example"}: 403,
		{"Origin", "https://store.example:444"}: 403, {"Origin", base}: 200,
		{"Host", "evil.example"}: 403, {"Host", "store.example.evil"}: 403, {"Host", "127.0.0.1:80"}: 200,
		{"Host", "[::1]:80"}: 200, {"Host", "localhost:8080"}: 200, {"Host", "store.example:443"}: 200,
	} {
		w := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_in_catalog"}}`,
			field[0], field[1])
		if w.Code != want || want == 403 && !strings.Contains(w.Body.String(), `"error":{"code":-32600`) {
			t.Errorf("%s %s: %d %s", field[0], field[1], w.Code, w.Body)
		}
	}
	if len(s.served) != 5 {
		t.Errorf("%d calls reached the store, want 5", len(s.served))
	}
}

// Each argument of a free tool goes where its route has it, and nothing else does.
func TestFreeTools(t *testing.T) {
	s := open(t, nil)
	if r := s.call(t, "/mcp", "find_in_catalog", `{"q":"a b&c"}`, ""); r.Result.IsError ||
		string(r.Result.StructuredContent) != `{"ok":true}` || r.Result.Content[0].Text != `{"ok":true}` {
		t.Errorf("%+v", r)
	}
	s.call(t, "/mcp", "check_purchase", `{"purchase_id":"p1","status_token":"secret"}`, "")
	r := s.call(t, "/mcp/verifier", "look_at_door", `{"url":"https://x.example/"}`, "")
	if string(r.Result.Meta["store/untrusted"]) != "true" || !strings.Contains(r.Result.Content[0].Text, "data") ||
		r.Result.Content[1].Text != `{"ok":true}` {
		t.Errorf("a stranger's words are not marked: %+v", r)
	}
	got := s.served
	if got[0].URL.String() != "/api/catalog/v1?q=a+b%26c" || got[0].Method != "GET" ||
		got[1].URL.Path != "/api/purchase-status/p1" ||
		got[1].Header.Get("Authorization") != "Bearer secret" || got[2].Method != "POST" ||
		got[2].Header.Get("Content-Type") != api.JSON {
		t.Errorf("%v %v %v", got[0].URL, got[1], got[2])
	}
	if b, _ := io.ReadAll(got[2].Body); string(b) != `{"url":"https://x.example/"}` || got[2].ContentLength != int64(len(b)) {
		t.Errorf("body %s", b)
	}
	s.served = nil
	long := strings.Repeat("ä", 40)
	for text, want := range map[string]string{long: long + `"`, long + "ä": long + `…"`} {
		if r := s.call(t, "/mcp", "find_in_catalog", `{"`+text+`":1}`, ""); !strings.Contains(
			string(r.Result.StructuredContent), `"field":"`+want) {
			t.Errorf("%+v", r)
		}
	}
	for name, c := range map[string][2]string{
		"a list":            {"find_in_catalog", `[]`},
		"unknown":           {"find_in_catalog", `{"w":1}`},
		"an object":         {"find_in_catalog", `{"q":{}}`},
		"without the path":  {"check_purchase", `{"status_token":"s"}`},
		"without the token": {"check_purchase", `{"purchase_id":"p"}`},
		"another path":      {"check_purchase", `{"purchase_id":"../x","status_token":"s"}`},
		"another field":     {"check_purchase", `{"purchase_id":"p","status_token":"s\r\nX: y"}`},
	} {
		if r := s.call(t, "/mcp", c[0], c[1], ""); !r.Result.IsError ||
			!strings.Contains(string(r.Result.StructuredContent), "invalid_input") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if len(s.served) > 0 {
		t.Errorf("%d requests were made all the same", len(s.served))
	}
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(429)
		io.WriteString(w, `{"status":429}`)
	}
	if r := s.call(t, "/mcp", "find_in_catalog", `{}`, ""); !r.Result.IsError ||
		string(r.Result.StructuredContent) != `{"status":429,"retry_after_seconds":60}` {
		t.Errorf("out of budget: %+v", r)
	}
	s.answer = func(http.ResponseWriter, *http.Request) {}
	if r := s.call(t, "/mcp", "find_in_catalog", `{}`, ""); r.Result.IsError || len(r.Result.Content) != 1 {
		t.Errorf("an empty answer: %+v", r)
	}
	if r := s.call(t, "/mcp/verifier", "find_in_catalog", `{}`, ""); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("the verifier has the catalogue: %+v", r)
	}
}
