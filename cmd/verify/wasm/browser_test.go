package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/templates"
)

// awaited is what the page says once the check is over: the stamp and the text.
const awaited = `new Promise((ok) => { const look = () => {
  const v = document.getElementById("verdict"), said = document.getElementById("said").textContent;
  if (v) ok(v.textContent + "\n" + said + "\n" + document.getElementById("found").textContent);
  else if (/Nothing was checked/.test(said)) ok(said);
  else setTimeout(look, 50);
}; look(); })`

// TestLongVerifierInChromium opens the page on a plain file server with the policies of the site
// and lets it check a good bundle, a changed one and a part of one, which stand beside it.
func TestLongVerifierInChromium(t *testing.T) {
	b := browser.Start(t)
	_, evidence, part := writeRecord(t)
	site := t.TempDir()
	if err := os.Mkdir(filepath.Join(site, "verify"), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(site, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := program(t)
	for _, name := range []string{"verify.wasm", "wasm_exec.js"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(site, "verify", name)); err != nil {
			t.Fatal(err)
		}
	}
	page, err := templates.HTML(&templates.VerifierView{Chrome: &templates.Chrome{},
		Page: templates.Page{Title: "Check"}, Here: true})
	if err != nil {
		t.Fatal(err)
	}
	put("run.html", page)
	put("verify/run.js", templates.Asset("verify.js"))
	put("verify/worker.js", templates.Asset("worker.js"))
	put("good.json", evidence)
	put("part.json", part)
	put("bad.json", []byte(strings.Replace(string(evidence), "not_ready", "not_reads", 1)))
	files := http.FileServer(http.Dir(site))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.PolicyAt(r.URL.Path))
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	for query, want := range map[string]string{
		"good.json": "verified\nChecked in this browser", "bad.json": "not verified\nChecked in this browser",
		"part.json":    "unproven\nChecked in this browser",
		"nothing.json": "It could not be read: /nothing.json answers 404",
	} {
		p := b.Open(fmt.Sprintf("%s/run.html?check=/%s", server.URL, query), browser.Screen{})
		var said string
		p.Eval(awaited, &said)
		if !strings.HasPrefix(said, want) {
			t.Errorf("%s: the page says %q", query, said)
		}
		if query == "good.json" && !strings.Contains(said, "door03.example: all its rows to round 2") {
			t.Errorf("%s: the page says %q", query, said)
		}
	}
}
