package a2a

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/route"
)

func sendingOne(part string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m",` +
		`"role":"ROLE_USER","parts":[` + part + `]},"configuration":{"returnImmediately":true}}}`
}

func TestToolsAnswerOne(t *testing.T) {
	for part, want := range map[string]string{
		`{"data":{"tool":"find_in_catalog","arguments":{"q":"rock"}}}`:                      `{"asked":{"q":"rock"}}`,
		`{"text":"{\"tool\":\"find_in_catalog\",\"arguments\":{\"q\":\"rock\"}}"}`:          `{"asked":{"q":"rock"}}`,
		`{"url":"https://x.example/a"},{"data":{"tool":"find_in_catalog","arguments":{}}}`:  `{"asked":{}}`,
		`{"text":"hello"},{"data":{"tool":"find_in_catalog","arguments":{}},"metadata":{}}`: `{"asked":{}}`,
	} {
		_, out := ask(t, sendingOne(part), "1.0")
		m := at(out, "result", "message")
		got, _ := json.Marshal(at(m, "parts", 0, "data"))
		context, _ := at(m, "contextId").(string)
		if string(got) != want || at(m, "parts", 0, "mediaType") != "application/json" ||
			at(m, "role") != "ROLE_AGENT" || context == "" || at(m, "messageId") == "" || at(m, "kind") != nil ||
			at(out, "result", "task") != nil {
			t.Errorf("%s: %v", part, out)
		}
	}
	_, out := ask(t, sendingOne(`{"data":{"tool":"look_at_door"}}`))
	if at(out, "result", "message", "metadata", "data_of_strangers") != true {
		t.Errorf("what a stranger's door says is not marked: %v", out)
	}
	for part, want := range map[string]string{`{"data":{"tool":"read_binder"}}`: "# Brief\n\uFFFD",
		`{"text":"what do you sell?"}`: usage, `{"raw":"AAAA"}`: usage} {
		_, out = ask(t, sendingOne(part), "1.0.1")
		if p := at(out, "result", "message", "parts", 0); at(p, "text") != want || at(p, "mediaType") != "text/plain" {
			t.Errorf("%s: %v", part, out)
		}
	}
}

func TestOrdersAreTasksOfOne(t *testing.T) {
	for id, want := range map[string]any{"order_queued": "TASK_STATE_WORKING", "order_done": "TASK_STATE_COMPLETED"} {
		_, sent := ask(t, sendingOne(`{"data":{"tool":"check_order","arguments":{"order_id":"`+id+`"}}}`))
		_, got := ask(t, `{"jsonrpc":"2.0","id":"x","method":"GetTask","params":{"id":"`+id+`","historyLength":0}}`)
		for _, task := range []any{at(sent, "result", "task"), at(got, "result")} {
			part := at(task, "artifacts", 0, "parts", 0)
			if at(task, "id") != id || at(task, "status", "state") != want || at(task, "contextId") == nil ||
				at(task, "kind") != nil || at(part, "data", "order_id") != id || at(part, "kind") != nil {
				t.Errorf("%s: %v", id, task)
			}
		}
	}
}

// TestRefusalsOfOne: codes have the words of 1.0 beside them, and what a tool says of an order is
// there whole.
func TestRefusalsOfOne(t *testing.T) {
	method := func(name, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":` + params + `}`
	}
	for body, want := range map[string]float64{
		method("SendMessage", `{}`):                                            codeInvalidParams,
		method("SendMessage", `{"message":[]}`):                                codeInvalidParams,
		sendingOne(``):                                                         codeInvalidParams,
		strings.Replace(sendingOne(`{}`), "ROLE_USER", "user", 1):              codeInvalidParams,
		sendingOne(strings.Repeat(`{"text":"x"},`, maxParts) + `{"text":"x"}`): codeInvalidParams,
		sendingOne(`{"data":{"tool":"buy_hello"}}`):                            codeInvalidParams,
		method("GetTask", `{}`):                                                codeInvalidParams,
		method("GetTask", `{"id":"order_none"}`):                               codeNoTask,
		method("GetTask", `{"id":"order_soon"}`):                               codeRefused,
		method("CancelTask", `{"id":"order_none"}`):                            codeNoTask,
		method("CancelTask", `{"id":"order_queued"}`):                          codeNotCancelable,
		method("ListTasks", `{}`):                                              codeUnsupported,
		method("SendStreamingMessage", `{}`):                                   codeUnsupported,
		method("SubscribeToTask", `{}`):                                        codeUnsupported,
		method("CreateTaskPushNotificationConfig", `{}`):                       codeNoPush,
		method("GetExtendedAgentCard", `{}`):                                   codeNoExtendedCard,
	} {
		_, out := ask(t, body, "1.0")
		if at(out, "error", "code") != want || at(out, "result") != nil {
			t.Errorf("%.120s: %v, want %v", body, out, want)
		}
		info := at(out, "error", "data", 0)
		switch reason := reasons[int(want)]; {
		case reason != "" && (at(info, "reason") != reason || at(info, "domain") != "a2a-protocol.org"):
			t.Errorf("%.120s: %v, want the reason %s", body, out, reason)
		case want == codeRefused && at(info, "value", "status") != 429.0:
			t.Errorf("%.120s: %v lacks the problem", body, out)
		}
	}
	// In the form of 0.3.0 the data of a refusal is the problem itself.
	if _, out := ask(t, method("tasks/get", `{"id":"order_soon"}`), "0.3"); at(out, "error", "data", "status") != 429.0 {
		t.Errorf("0.3.0: %v", out)
	}
}

// TestVersions: the field chooses among the names, and a version that is not spoken is refused with
// those that are.
func TestVersions(t *testing.T) {
	old, one := sending(`{"kind":"text","text":"x"}`), sendingOne(`{"text":"x"}`)
	for _, c := range []struct {
		body, version string
		code          any
	}{
		{old, "", nil}, {old, "0.3", nil}, {old, "0.3.0", nil}, {old, " 0.3 ", nil}, {one, "", nil}, {one, "1.0", nil},
		{one, "1.0.7", nil}, {old, "1.0", float64(codeNoMethod)}, {one, "0.3", float64(codeNoMethod)},
		{one, "1.1", float64(codeNoVersion)}, {one, "10.0", float64(codeNoVersion)},
		{old, "0.30", float64(codeNoVersion)},
		{old, "0.2", float64(codeNoVersion)}, {one, "x", float64(codeNoVersion)},
	} {
		if _, out := ask(t, c.body, c.version); at(out, "error", "code") != c.code {
			t.Errorf("%q: %v, want %v", c.version, out, c.code)
		}
	}
	if _, out := ask(t, one, "1.0", "0.3"); at(out, "error", "data", 0, "reason") != "VERSION_NOT_SUPPORTED" ||
		!strings.Contains(at(out, "error", "message").(string), "0.3.0 and 1.0") {
		t.Errorf("two versions: %v", out)
	}
}

// FuzzMessage looks for a body that is answered with what is no JSON-RPC, or that ends the door.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{sendingOne(`{"data":{"tool":"check_order","arguments":{"order_id":"order_done"}}}`),
		sending(`{"kind":"data","data":{"tool":"read_binder"}}`), `[]`, `{"jsonrpc":"2.0","method":"GetTask"}`,
		`{"jsonrpc":"2.0","id":-0,"method":"GetTask","params":{"id":"order_soon"}}`} {
		f.Add(s, "1.0")
	}
	rows := (&Door{Tool: tools}).Rows()
	f.Fuzz(func(t *testing.T, body, version string) {
		r := httptest.NewRequest(http.MethodPost, "/a2a", strings.NewReader(body))
		r.Header["A2a-Version"] = []string{version}
		w := httptest.NewRecorder()
		if err := rows[0].Handle(w, r.WithContext(route.With(r.Context(), &route.Request{}))); err != nil {
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
