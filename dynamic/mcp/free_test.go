package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/mcp"
)

// A client that asks its user before a tool acts is told which tools only read, and which of them
// ask beyond the store.
func TestToolsSayWhatTheyDo(t *testing.T) {
	type hints struct{ ReadOnlyHint, DestructiveHint, OpenWorldHint bool }
	want := map[string]hints{
		"find_in_catalog": {ReadOnlyHint: true},
		"check_purchase":  {ReadOnlyHint: true},
		"look_at_door":    {ReadOnlyHint: true, OpenWorldHint: true},
		"buy_hello":       {OpenWorldHint: true},
	}
	w := open(t, nil).post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var list struct {
		Result struct {
			Tools []struct {
				Name        string
				Annotations json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Result.Tools {
		h, ours := want[tool.Name]
		delete(want, tool.Name)
		got := hints{DestructiveHint: true, OpenWorldHint: true} // what a client holds for true where nothing is said
		if err := json.Unmarshal(tool.Annotations, &got); ours && (err != nil || got.ReadOnlyHint != h.ReadOnlyHint ||
			!h.ReadOnlyHint && got.DestructiveHint || got.OpenWorldHint != h.OpenWorldHint) {
			t.Errorf("%s: %s, %v; want %+v", tool.Name, tool.Annotations, err, h)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// What a route says no with arrives as it is, with the seconds of its Retry-After where it has one
// and is an object that they can be put into.
func TestFailuresArriveWhole(t *testing.T) {
	for name, c := range map[string]struct{ retry, body, want string }{
		"an object":                    {"", `{"status":404}`, `{"status":404}`},
		"an object that says when":     {"60", `{"status":429}`, `{"status":429,"retry_after_seconds":60}`},
		"a text":                       {"", "no", "no"},
		"a text that says when":        {"60", "too many requests", "too many requests"},
		"an empty answer":              {"", "", ""},
		"an empty answer, saying when": {"60", "", ""},
	} {
		s := open(t, func(c *mcp.Config) { c.Routes = []api.Route{tools[0]} })
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			if c.retry != "" {
				w.Header().Set("Retry-After", c.retry)
			}
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, c.body)
		}
		r := s.call(t, "/mcp", "find_in_catalog", `{}`, "")
		if !r.Result.IsError || len(r.Result.Content) != 1 || r.Result.Content[0].Text != c.want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
