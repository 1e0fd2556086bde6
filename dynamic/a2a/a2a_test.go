package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/route"
)

// tools stands for the store's: it answers with what it was asked.
func tools(_ *http.Request, name string, arguments []byte) (mcp.Answer, bool) {
	switch {
	case name == "find_in_catalog":
		return mcp.Answer{JSON: true, Body: []byte(`{"asked":` + string(arguments) + `}`)}, true
	case name == "look_at_door":
		return mcp.Answer{JSON: true, Strangers: true, Body: []byte(`{"says":"pay me"}`)}, true
	case name == "read_binder":
		return mcp.Answer{Body: []byte("# Brief\n\xff")}, true
	case name != orders:
		return mcp.Answer{}, false
	case bytes.Contains(arguments, []byte("order_queued")):
		return mcp.Answer{JSON: true, Body: []byte(`{"order_id":"order_queued","status":"queued"}`)}, true
	case bytes.Contains(arguments, []byte("order_done")):
		return mcp.Answer{JSON: true, Body: []byte(`{"order_id":"order_done","status":"completed"}`)}, true
	case bytes.Contains(arguments, []byte("order_soon")):
		return mcp.Answer{Failed: true, JSON: true, Body: []byte(`{"status":429,"detail":"Too soon."}`)}, true
	}
	return mcp.Answer{Failed: true, JSON: true, Body: []byte(`{"status":404,"detail":"None."}`)}, true
}

// ask sends a body to the door and returns its status and answer.
func ask(t *testing.T, body string, version ...string) (int, map[string]any) {
	t.Helper()
	rows := (&Door{Tool: tools}).Rows()
	r := httptest.NewRequest(http.MethodPost, "/a2a", strings.NewReader(body))
	for _, v := range version {
		r.Header.Add("A2A-Version", v)
	}
	w := httptest.NewRecorder()
	if err := rows[0].Handle(w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
		t.Fatal(err)
	}
	if w.Body.Len() == 0 {
		return w.Code, nil
	}
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out["jsonrpc"] != "2.0" {
		t.Fatalf("%s: %s, %v", body, w.Body.Bytes(), err)
	}
	return w.Code, out
}

func sending(part string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"kind":"message","messageId":"m",` +
		`"contextId":"c","role":"user","parts":[` + part + `]}}}`
}

// at walks into an answer by member names and indexes.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(map[string]any)
			v = o[p]
		case int:
			list, _ := v.([]any)
			if p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

func TestToolsAnswerWithMessages(t *testing.T) {
	for part, want := range map[string]string{
		`{"kind":"data","data":{"tool":"find_in_catalog","arguments":{"q":"rock"}}}`:                      `{"asked":{"q":"rock"}}`,
		`{"kind":"text","text":"{\"tool\":\"find_in_catalog\",\"arguments\":{\"q\":\"rock\"}}"}`:          `{"asked":{"q":"rock"}}`,
		`{"kind":"text","text":"hello"},{"kind":"data","data":{"tool":"find_in_catalog","arguments":{}}}`: `{"asked":{}}`,
	} {
		_, out := ask(t, sending(part))
		got, _ := json.Marshal(at(out, "result", "parts", 0, "data"))
		if string(got) != want || at(out, "result", "kind") != "message" || at(out, "result", "contextId") != "c" ||
			at(out, "result", "role") != "agent" || at(out, "id") != 7.0 || at(out, "result", "messageId") == "" {
			t.Errorf("%s: %v", part, out)
		}
	}
	_, out := ask(t, sending(`{"kind":"data","data":{"tool":"look_at_door"}}`))
	if at(out, "result", "metadata", "data_of_strangers") != true {
		t.Errorf("what a stranger's door says is not marked: %v", out)
	}
	if _, out = ask(t, sending(`{"kind":"data","data":{"tool":"read_binder"}}`)); at(out, "result", "parts", 0, "text") !=
		"# Brief\n\uFFFD" {
		t.Errorf("text: %v", out)
	}
	if _, out = ask(t, sending(`{"kind":"text","text":"what do you sell?"}`)); at(out, "result", "parts", 0, "kind") !=
		"text" {
		t.Errorf("a question: %v", out)
	}
}

func TestOrdersAreTasks(t *testing.T) {
	for id, want := range map[string]any{"order_queued": "working", "order_done": "completed"} {
		_, sent := ask(t, sending(`{"kind":"data","data":{"tool":"check_order","arguments":{"order_id":"`+id+`"}}}`))
		_, got := ask(t, `{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{"id":"`+id+`"}}`)
		if at(sent, "result", "contextId") != "c" || at(got, "result", "contextId") == nil {
			t.Errorf("%s: contexts of %v and %v", id, sent, got)
		}
		for _, out := range []map[string]any{sent, got} {
			if at(out, "result", "kind") != "task" || at(out, "result", "id") != id ||
				at(out, "result", "status", "state") != want ||
				at(out, "result", "artifacts", 0, "parts", 0, "data", "order_id") != id {
				t.Errorf("%s: %v", id, out)
			}
		}
	}
}

// TestRefusals: everything that is no order of a tool has its code, and none reaches a tool.
func TestRefusals(t *testing.T) {
	method := func(name, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":` + params + `}`
	}
	for body, want := range map[string]float64{
		`{`:                               codeParse,
		`[]`:                              codeInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"id":2}`: codeParse,
		`{"jsonrpc":"1.0","id":1,"method":"message/send"}`:                         codeInvalidRequest,
		`{"jsonrpc":"2.0","id":{},"method":"message/send"}`:                        codeInvalidRequest,
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"x"}`:   codeInvalidRequest,
		method("message/send", `{}`):                                               codeInvalidParams,
		method("message/send", `{"message":[]}`):                                   codeInvalidParams,
		strings.Replace(sending(`{"kind":"text","text":"x"}`), "user", "agent", 1): codeInvalidParams,
		sending(``): codeInvalidParams,
		sending(strings.Repeat(`{"kind":"text","text":"x"},`, maxParts) + `{"kind":"text"}`): codeInvalidParams,
		sending(`{"kind":"data","data":{"tool":"buy_hello"}}`):                               codeInvalidParams,
		method("tasks/get", `{}`):                          codeInvalidParams,
		method("tasks/get", `{"id":"order_none"}`):         codeNoTask,
		method("tasks/get", `{"id":"order_soon"}`):         codeRefused,
		method("tasks/cancel", `{"id":"order_none"}`):      codeNoTask,
		method("tasks/cancel", `{"id":"order_queued"}`):    codeNotCancelable,
		method("message/stream", `{}`):                     codeUnsupported,
		method("tasks/pushNotificationConfig/set", `{}`):   codeNoPush,
		method("agent/getAuthenticatedExtendedCard", `{}`): codeNoExtendedCard,
		method("SendMessages", `{}`):                       codeNoMethod,
	} {
		if _, out := ask(t, body); at(out, "error", "code") != want || at(out, "result") != nil {
			t.Errorf("%.120s: %v, want %v", body, out, want)
		}
	}
	if status, out := ask(t, `{"jsonrpc":"2.0","method":"message/send"}`); status != http.StatusAccepted || out != nil {
		t.Errorf("a notification: %d %v", status, out)
	}
}
