package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
)

// The list is the routes that are tools and then the shelf, in an answer that every client can
// take.
func TestToolsAreTheShelf(t *testing.T) {
	s := open(t, func(c *mcp.Config) { c.Pages = func(string) (string, bool) { return "", false } })
	w := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var r reply
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range r.Result.Tools {
		got = append(got, tool.Name)
		if tool.Title == "" || tool.Description == "" {
			t.Errorf("%s says nothing", tool.Name)
		}
	}
	want := []string{"check_purchase", "look_at_door", "find_in_catalog"}
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range site.Goods {
		if !slices.Contains(mcp.Observations, g.ID) {
			want = append(want, "buy_"+g.ID)
		}
	}
	if want = append(want, "buy_observation", "buy_page"); !slices.Equal(got, want) {
		t.Errorf("tools %v, want %v", got, want)
	}
	// A good more is a tool more, and the goods that observe share one.
	more := *site
	plain := slices.DeleteFunc(slices.Clone(site.Goods),
		func(g content.Good) bool { return slices.Contains(mcp.Observations, g.ID) })
	more.Goods = append(slices.Clone(plain), content.Good{ID: "new_thing", Name: "New thing", Price: 5000},
		content.Good{ID: "spot_check", Name: "Spot check", Price: 5000, Inputs: []content.Input{{Name: "host",
			Type: "string", Max: 9, Required: true},
			{Name: "max_usd", Type: "number", Max: 5}}},
		content.Good{ID: "launch_check", Name: "Launch check", Price: 7000})
	away := map[string]string{"new_thing": "new_thing lacks a wheel.", "launch_check": "launch_check lacks a wallet."}
	s = open(t, func(c *mcp.Config) { c.Site, c.Away = &more, func(item string) string { return away[item] } })
	list := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body.String()
	for _, want := range []string{`"buy_new_thing"`, `"buy_observation"`, `spot_check (0.005 USDC, host, max_usd); launch_check`,
		`"Not available: new_thing lacks a wheel. `, `. Not available: launch_check lacks a wallet. Free first`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	clear(away)
	if now := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body.String(); strings.Contains(now,
		"Not available") {
		t.Error("what can be made again is not available")
	}
	if strings.Contains(list, `"buy_spot_check"`) {
		t.Error("an observation is a tool of its own")
	}
	var schemas struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct {
					Required   []string
					Properties map[string]map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(list), &schemas); err != nil {
		t.Fatal(err)
	}
	for _, tool := range schemas.Result.Tools {
		if p := tool.InputSchema.Properties; tool.Name == "buy_observation" &&
			(p["host"]["maxLength"] != 9.0 || p["max_usd"]["type"] != "number" || p["max_usd"]["maxLength"] != nil ||
				!slices.Equal(tool.InputSchema.Required, []string{"item_id"})) {
			t.Errorf("an observation takes %+v", tool.InputSchema)
		}
	}
	s.call(t, "/mcp", "buy_observation", `{"item_id":"spot_check","host":"x.example"}`, "")
	if o := s.orders[0]; o.Item != "spot_check" || string(o.Inputs.Body) != `{"host":"x.example"}` {
		t.Errorf("ordered %s with %s", o.Item, o.Inputs.Body)
	}
	one := more
	one.Goods = more.Goods[len(plain)+1 : len(plain)+2]
	alone := open(t, func(c *mcp.Config) { c.Site = &one })
	if said := alone.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body.String(); !strings.Contains(said,
		`"buy_observation"`) {
		t.Error("one observation is none")
	}
	if r := s.call(t, "/mcp", "buy_observation", `{"item_id":"hello"}`, ""); !r.Result.IsError {
		t.Errorf("hello as an observation: %+v", r)
	}
}

// tools/list is one answer of at most 32 kB also where every good is as long as the longest.
func TestTheWholeListIsShort(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	whole := *site
	long := site.Goods[0]
	for _, g := range site.Goods {
		if len(g.Description)+len(fmt.Sprint(g.Inputs)) > len(long.Description)+len(fmt.Sprint(long.Inputs)) {
			long = g
		}
	}
	for i := len(whole.Goods); i < 24; i++ {
		long.ID = fmt.Sprintf("a_good_of_some_length_%d", i)
		whole.Goods = append(whole.Goods, long)
	}
	for _, id := range mcp.Observations {
		long.ID = id
		whole.Goods = append(whole.Goods, long)
	}
	s := open(t, func(c *mcp.Config) {
		c.Site, c.Pages = &whole, func(string) (string, bool) { return "", false }
	})
	const free = 9000 // bytes of the twelve free tools as they are
	if n := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body.Len() + free; n > 32<<10 {
		t.Errorf("tools/list would have %d bytes", n)
	}
}

// An unpaid order is answered in the way that the caller chose, by the address or by the call.
func TestUnpaid(t *testing.T) {
	s := open(t, nil)
	if r := s.call(t, "/mcp", "buy_hello", `{}`, ""); r.Error == nil || r.Error.Code != 402 ||
		string(r.Error.Data) != `{"accepts":[],"x402Version":2,"org.paymentauth/payment-required":{}}` {
		t.Errorf("%+v", r)
	}
	for _, c := range [][2]string{{"/mcp?unpaid=result", ""}, {"/mcp", `{"store/unpaid":"result"}`}} {
		r := s.call(t, c[0], "buy_hello", `{}`, c[1])
		if !r.Result.IsError || string(r.Result.StructuredContent) != `{"accepts":[],"x402Version":2}` ||
			!strings.Contains(r.Result.Content[0].Text, "x402/payment") || len(r.Result.Content) != 1 ||
			r.Result.Meta["org.paymentauth/payment-required"] == nil {
			t.Errorf("%v: %+v", c, r)
		}
	}
}

// A payment and its key reach the counter as they came; the inputs in one spelling.
func TestPayments(t *testing.T) {
	s := open(t, nil)
	s.buy = func(counter.Request) (*counter.Answer, error) {
		return &counter.Answer{Status: 200, Type: api.JSON, Body: []byte(`{"deliverable":{"svg":"<svg/>"},"paid":1}`),
			Carrier: pay.Carrier{Meta: pay.Meta{"x402/payment-response": json.RawMessage(`{"success":true}`)}}}, nil
	}
	const payment = `{"payload":{"n":12345678901234567890},"x402Version":2}`
	r := s.call(t, "/mcp", "buy_hello", ` { "source" : "s", "agent_name":"\u0041da" } `,
		`{"x402/payment":`+payment+`,"x402/idempotency-key":"0123456789abcdef"}`)
	o := s.orders[0]
	if string(o.Inputs.Body) != `{"agent_name":"Ada","source":"s"}` || o.Method != "POST" || !o.Meta ||
		!slices.Equal(o.Payment.Values("x402/payment"), []string{payment}) ||
		!slices.Equal(o.Keys, []string{"0123456789abcdef"}) || o.Item != "hello" {
		t.Errorf("ordered %+v with %s", o, o.Inputs.Body)
	}
	if r.Result.IsError || string(r.Result.Meta["x402/payment-response"]) != `{"success":true}` ||
		len(r.Result.Content) != 2 || r.Result.Content[1].Type != "image" ||
		r.Result.Content[1].Data != base64.StdEncoding.EncodeToString([]byte("<svg/>")) {
		t.Errorf("%+v", r)
	}
	s.call(t, "/mcp", "buy_hello", `{}`, `{"x402/idempotency-key":7}`)
	if !slices.Equal(s.orders[1].Keys, []string{""}) || s.orders[1].Inputs.Body != nil {
		t.Errorf("ordered %+v", s.orders[1])
	}
	// MPP allows the credential beside params.
	s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello"},`+
		`"_meta":{"org.paymentauth/credential":{"a":1}}}`)
	if got := s.orders[2].Payment.Values("org.paymentauth/credential"); !slices.Equal(got, []string{`{"a":1}`}) {
		t.Errorf("the credential is %v", got)
	}
}

// A page that is paid for is bought by its path, at the till's name for it.
func TestPages(t *testing.T) {
	s := open(t, func(c *mcp.Config) {
		c.Pages = func(path string) (string, bool) { return "almanac_first", path == "/almanac/first" }
	})
	if r := s.call(t, "/mcp", "buy_page", `{"path":"/almanac/first","source":"s"}`, ""); r.Error == nil ||
		r.Error.Code != 402 || s.orders[0].Item != "almanac_first" || string(s.orders[0].Inputs.Body) != `{"source":"s"}` {
		t.Errorf("%+v, ordered %+v", r, s.orders)
	}
	for _, bad := range []string{`{"path":"/almanac/second"}`, `{"path":7}`, `{}`, `[]`} {
		if r := s.call(t, "/mcp", "buy_page", bad, ""); !r.Result.IsError || len(s.orders) != 1 {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}

// Doors without a store behind them are refused.
func TestNewWantsAStore(t *testing.T) {
	if _, err := mcp.New(mcp.Config{BaseURL: base}); err == nil {
		t.Error("doors without a site")
	}
}

// A payment for what is not on the shelf any more is looked up all the same; no other call is.
func TestWhatIsNoLongerSold(t *testing.T) {
	s := open(t, nil)
	s.call(t, "/mcp", "buy_retired", `{"a":1}`, `{"x402/payment":{}}`)
	if len(s.orders) != 1 || s.orders[0].Item != "retired" {
		t.Errorf("ordered %+v", s.orders)
	}
	for _, door := range []string{"/mcp", "/mcp/docs"} {
		meta := map[string]string{"/mcp": "", "/mcp/docs": `{"x402/payment":{}}`}[door]
		if r := s.call(t, door, "buy_retired", `{}`, meta); r.Error == nil || r.Error.Code != -32602 || len(s.orders) > 1 {
			t.Errorf("%s: %+v", door, r)
		}
	}
}

// After a payment, terms stand in an answer only where nothing is billed; what is not known is
// -32000 without terms, also where the fault is ours.
func TestWhatIsNotKnown(t *testing.T) {
	paid := `{"x402/payment":{},"store/unpaid":"result"}`
	unknown := &problem.Payment{Billed: "unknown", Retry: "same_payment", NextStep: "Again."}
	for name, c := range map[string]struct {
		buy  func(counter.Request) (*counter.Answer, error)
		code int // 0: a result with isError
	}{
		"settling": {func(counter.Request) (*counter.Answer, error) {
			return &counter.Answer{Carrier: pay.Carrier{Meta: pay.Meta{"x402/payment-response": json.RawMessage(`{}`)}}},
				&problem.Error{Code: "payment_unknown", Payment: unknown, Retry: 5e9}
		}, -32000},
		"in flight": {func(counter.Request) (*counter.Answer, error) {
			return nil, &problem.Error{Code: "idempotency_in_flight", Payment: unknown}
		}, -32000},
		"a fault": {func(counter.Request) (*counter.Answer, error) { return nil, errors.New("ledger") }, -32000},
		"a panic": {func(counter.Request) (*counter.Answer, error) { panic("kind") }, -32000},
		"sold out": {func(counter.Request) (*counter.Answer, error) {
			return nil, &problem.Error{Code: "sold_out", Payment: &problem.Payment{Billed: "no"}}
		}, 0},
		"not taken": {func(counter.Request) (*counter.Answer, error) {
			return &counter.Answer{}, &problem.Error{Code: "payment_invalid", Payment: &problem.Payment{Billed: "no"},
				Extra: map[string]any{"accepts": []int{}}}
		}, 0},
	} {
		s := open(t, nil)
		s.buy = c.buy
		r := s.call(t, "/mcp", "buy_hello", `{}`, paid)
		switch {
		case c.code == 0 && (!r.Result.IsError || r.Error != nil):
			t.Errorf("%s: %+v", name, r)
		case c.code != 0 && (r.Error == nil || r.Error.Code != c.code ||
			!strings.Contains(string(r.Error.Data), `"billed":"unknown"`) ||
			strings.Contains(string(r.Error.Data), "accepts")):
			t.Errorf("%s: %+v", name, r)
		case name == "settling" && (!strings.Contains(string(r.Error.Data), `"retry_after_seconds":5`) ||
			!strings.Contains(string(r.Error.Data), `"x402/payment-response":{}`)):
			t.Errorf("%s: %s", name, r.Error.Data)
		}
		if c.code != 0 {
			continue
		}
		r = s.call(t, "/mcp", "buy_hello", `{}`, `{"x402/payment":{}}`)
		if name == "not taken" && (r.Error == nil || r.Error.Code != 402) {
			t.Errorf("%s, with errors: %+v", name, r)
		}
	}
	// Without a payment a fault is a fault.
	s := open(t, nil)
	s.buy = func(counter.Request) (*counter.Answer, error) { panic("kind") }
	if r := s.call(t, "/mcp", "buy_hello", `{}`, ""); r.Error == nil || r.Error.Code != -32603 {
		t.Errorf("%+v", r)
	}
	s.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	if r := s.call(t, "/mcp", "find_in_catalog", `{}`, ""); r.Error == nil || r.Error.Code != -32603 {
		t.Errorf("%+v", r)
	}
	if r := s.call(t, "/mcp", "buy_hello", `[]`, `{"x402/payment":{}}`); !r.Result.IsError ||
		!strings.Contains(string(r.Result.StructuredContent), `"billed":"no"`) {
		t.Errorf("arguments that are a list: %+v", r)
	}
}

// The documents are given out by name and by address, and the door that has them has nothing else.
func TestDocuments(t *testing.T) {
	s := open(t, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "# "+r.URL.Path) }
	for _, door := range []string{"/mcp/docs", "/mcp.md"} {
		w := s.post(door, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"store://pricing"}}`)
		if !strings.Contains(w.Body.String(), `"text":"# /pricing.md"`) {
			t.Errorf("%s", w.Body)
		}
		w = s.post(door, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_document","arguments":{"name":"guide"}}}`)
		if !strings.Contains(w.Body.String(), `"resource":{"uri":"store://guide","mimeType":"text/plain","text":"# /llms.txt"}`) {
			t.Errorf("%s", w.Body)
		}
		if r := s.call(t, door, "get_document", `{"name":"cellar"}`, ""); !r.Result.IsError {
			t.Errorf("%+v", r)
		}
		if r := s.call(t, door, "buy_hello", `{}`, ""); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%+v", r)
		}
	}
	w := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	if n := strings.Count(w.Body.String(), `"uri":"store://`); n != 7 {
		t.Errorf("%d resources", n)
	}
	s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }
	w = s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"store://guide"}}`)
	if !strings.Contains(w.Body.String(), `-32002`) {
		t.Errorf("%s", w.Body)
	}
}
