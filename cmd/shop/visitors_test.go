package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/templates"
)

// TestTheKeeperReadsWhatVisitorsLeft: what is left at a store is listed, answered, reviewed, quoted
// and published through the process that serves it, and the ids verify.
func TestTheKeeperReadsWhatVisitorsLeft(t *testing.T) {
	dir := t.TempDir()
	c := &Config{BaseURL: "http://127.0.0.1:8402", Ledger: "bolt:" + filepath.Join(dir, "ledger"),
		Keys: KeysConfig{Identity: Specimen, Log: Specimen, Ring: Specimen}}
	ctx, stop := context.WithCancel(t.Context())
	s := &Shop{Config: *c, Log: slog.New(slog.DiscardHandler)}
	keys, err := s.Keys()
	if err != nil {
		t.Fatal(err)
	}
	if s.DB, err = OpenLedger(ctx, c); err != nil {
		t.Fatal(err)
	}
	site, err := LoadSite(c)
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := pages.Chrome(site, s.Ring)
	if err != nil {
		t.Fatal(err)
	}
	s.Site, s.chrome = site, func() *templates.Chrome { return chrome }
	s.Config.Stock = filepath.Join(dir, "stock")
	if err := s.openVisitors(keys[0]); err != nil {
		t.Fatal(err)
	}
	if s.Server, err = dynamic.New(dynamic.Config{Rows: s.Visitors.Rows(), BaseURL: c.BaseURL}); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.serveControl(ctx, c.Ledger) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(method, path, body string, status int) map[string]any {
		t.Helper()
		r := httptest.NewRequest(method, c.BaseURL+path, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		s.Server.ServeHTTP(w, r)
		var v map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != status {
			t.Fatalf("%s %s: %d %s, %v", method, path, w.Code, w.Body, err)
		}
		return v
	}
	keep := func(words ...string) ([]map[string]any, error) { return keep(t, c, words...) }
	for ok := false; !ok && ctx.Err() == nil; { // until it listens
		ok, _ = askServer(ctx, c.Ledger, "POST /keeper/waiting", strings.NewReader(`{}`),
			new(bytes.Buffer))
	}
	ask("POST", "/api/letter", `{"letter":"Dear keeper\n\u001b[2J"}`, 400)
	letter := ask("POST", "/api/letter", `{"letter":"Dear keeper"}`, 201)
	entry := ask("POST", "/api/guestbook", `{"name":"Ada","message":"=1+1"}`, 201)
	tip := ask("POST", "/api/tip", `{"tip":"Oil the hinge.","contributor_name":"Ada"}`, 201)
	request := ask("POST", "/api/request", `{"description":"Paint.","offer_usdc":"5","contact":"a@b.example"}`, 201)
	stamp := ask("POST", "/api/stamp", "", 201)["stamp"].(map[string]any)

	entryID := entry["entry"].(map[string]any)["id"].(string)
	letterID, tipID, requestID := letter["letter_id"].(string), tip["tip_id"].(string), request["request_id"].(string)
	page := []string{"publish-tip", tipID, "-slug", "the-hinge", "-title", "The hinge", "-summary", "How to oil it."}
	piles, err := keep("waiting")
	if err != nil || len(piles) != 4 {
		t.Fatalf("waiting: %v, %v", piles, err)
	}
	for _, p := range piles {
		if p["count"] != 1.0 || p["oldest"] == nil {
			t.Errorf("waiting: %v", p)
		}
	}
	for _, list := range []string{"letters", "guestbook", "tips", "requests"} {
		if l, err := keep(list); err != nil || len(l) != 1 || l[0]["state"] != "received" {
			t.Errorf("%s: %v, %v", list, l, err)
		}
	}
	rows := s.visitorRows()
	for _, row := range rows {
		if l, err := row.Read(ctx, nil); err != nil || len(l) != 1 || l[0].Says == "" || l[0].Since.IsZero() {
			t.Errorf("the desk's %s: %v, %v", row.Name, l, err)
		}
	}
	for _, words := range [][]string{{"read", letterID}, {"reply", letterID, "-text", "Quite."}, {"keep", entryID},
		{"hide", entryID}, page, {"quote", requestID, "-price", "12"},
		{"stamp-line", "2030-W01", "-text", "A new year."}} {
		for _, dry := range []string{"-dry-run", "-dry-run=false"} {
			if l, err := keep(append(slices.Clip(words), dry)...); err != nil || len(l) != 1 {
				t.Errorf("%s %s: %v, %v", words, dry, l, err)
			}
		}
	}
	for _, row := range rows {
		if l, err := row.Read(ctx, nil); err != nil || len(l) != 0 {
			t.Errorf("the desk's %s, when all is done: %v, %v", row.Name, l, err)
		}
	}
	for _, words := range [][]string{{"reply", letterID, "-text", "Twice."}, {"quote", requestID, "-price", "1"},
		{"decline", requestID}, {"read", "let_abcdefghij2345672345"}} {
		if l, err := keep(words...); err == nil {
			t.Errorf("%s: %v", words, l)
		}
	}
	file, err := os.ReadFile(filepath.Join(s.Config.Stock, "paid", "tips", "the-hinge.md"))
	if err != nil || !strings.HasSuffix(string(file), "Oil the hinge.\n\nTold by Ada.\n") {
		t.Errorf("the page: %s, %v", file, err)
	}
	if _, err := keep(page...); err != nil {
		t.Errorf("published again: %v", err)
	}
	sells := &counter.Counter{BaseURL: c.BaseURL, Ring: s.Ring}
	for _, class := range s.visitorClasses() {
		id := map[string]string{"let_": letter["letter_id"].(string), "req_": request["request_id"].(string),
			"stamp_": stamp["stamp_id"].(string)}[class.Prefix]
		v, err := class.Load(sells, ctx, id)
		if err != nil || v == nil || !v.Valid || v.Report == nil || v.SignedBy == nil {
			t.Errorf("%s: %+v, %v", id, v, err)
			continue
		}
		page, err := class.Page(id, *v)
		if err != nil || !bytes.Contains(page, []byte(id)) {
			t.Errorf("the page of %s: %s, %v", id, page, err)
		}
		if v, err := class.Load(sells, ctx, class.Prefix+"abcdefghij2345672345"); v != nil || err != nil {
			t.Errorf("%s: an unknown id: %+v, %v", class.Prefix, v, err)
		}
	}
	if v := ask("GET", "/api/letter/"+letter["letter_id"].(string), "", 200); v["reply"] != "Quite." {
		t.Errorf("the reply: %v", v)
	}
	if v := ask("GET", "/api/guestbook", "", 200); len(v["entries"].([]any)) != 0 {
		t.Errorf("a hidden entry is shown: %v", v)
	}
}
