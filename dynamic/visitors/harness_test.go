package visitors_test

import (
	"context"
	"encoding/json/v2"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/visitors"
	"store.example/agentstore/templates"
)

const base = "https://store.test"

// shop is a desk behind a server.
type shop struct {
	t    testing.TB
	desk *visitors.Service
	srv  *dynamic.Server
	db   ledger.DB
}

// open makes a desk over a ledger; change may change its configuration.
func open(t testing.TB, db ledger.DB, change func(*visitors.Config)) shop {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	site.Config.Keeper, site.Config.Title = "The keeper", "The store"
	chrome, err := templates.NewChrome(templates.Chrome{Title: "The store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	cfg := visitors.Config{BaseURL: base, DB: db, Key: attest.SpecimenKey(), Site: site,
		Chrome: func() *templates.Chrome { return chrome }}
	if change != nil {
		change(&cfg)
	}
	d, err := visitors.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	callers, err := dynamic.NewCallers(dynamic.CallersConfig{BaseURL: base,
		Read:    func(context.Context, string) (x exchange.Exchange, _ error) { return x, io.EOF },
		Refused: func(error) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := dynamic.New(dynamic.Config{Rows: d.Rows(), BaseURL: base, Callers: callers,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	return shop{t, d, srv, db}
}

func mem(t testing.TB) shop { return open(t, ledger.NewMem(ledger.MemOptions{}), nil) }

// from is who asks.
type from struct {
	address, agent, accept, forwarded string
}

var ann, ben = from{address: "198.51.100.1", agent: "ann/1"}, from{address: "198.51.100.2", agent: "ben/1"}

// do asks a shop.
func (s shop) do(who from, method, path, body string) *http.Response {
	s.t.Helper()
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, base+path, nil)
	} else {
		r = httptest.NewRequest(method, base+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(who.address), 4711).String()
	r.Header.Set("User-Agent", who.agent)
	if who.accept != "" {
		r.Header.Set("Accept", who.accept)
	}
	if who.forwarded != "" {
		r.Header.Set("X-Forwarded-For", who.forwarded)
	}
	w := httptest.NewRecorder()
	s.srv.ServeHTTP(w, r)
	return w.Result()
}

// want asks, demands a status and reads the JSON.
func (s shop) want(status int, who from, method, path, body string) map[string]any {
	s.t.Helper()
	text := s.text(status, who, method, path, body)
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
	}
	return v
}

// text asks, demands a status and reads the answer.
func (s shop) text(status int, who from, method, path, body string) string {
	s.t.Helper()
	res := s.do(who, method, path, body)
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != status {
		s.t.Fatalf("%s %s %.200s: status %d, want %d\n%.600s", method, path, body, res.StatusCode, status, raw)
	}
	return string(raw)
}

// post is want for a write.
func (s shop) post(status int, who from, path string, members map[string]any) map[string]any {
	s.t.Helper()
	return s.want(status, who, "POST", path, text(s.t, members))
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// keys are the ledger's keys below a prefix, as text, with their values.
func keys(t testing.TB, db ledger.DB, parts ...string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := db.View(context.Background(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix(ledger.VisitKey(parts...))) {
			if err != nil {
				return err
			}
			out[ledger.KeyText(e.Key)] = string(e.Value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func readJSON(res *http.Response, v any) error {
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

func unmarshal(s string, v any) error { return json.Unmarshal([]byte(s), v) }
