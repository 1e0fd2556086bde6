package shop

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/generator"
)

// TestQueryPageOfThisServer asks the database of a built site from the store's own server, with its
// policies, its compressed forms and its ranges.
func TestQueryPageOfThisServer(t *testing.T) {
	b := browser.Start(t)
	dir := t.TempDir()
	c := observingConfig(dir)
	c.Public, c.Twins = filepath.Join(dir, "public"), filepath.Join(dir, "var", "twins")
	w, err := RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	corpustest.Append(t, w, 20, 3)
	in, err := BuildInput(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generator.Build(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	site, err := dynamic.OpenSite(dynamic.SiteConfig{Pointer: c.Public, Ring: w.Ring, BaseURL: c.BaseURL,
		Twins: c.Twins})
	if err != nil {
		t.Fatal(err)
	}
	h, err := dynamic.New(dynamic.Config{Site: site, BaseURL: c.BaseURL})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	p := b.Open(server.URL+"/corpus/query", browser.Screen{Width: 1280})
	p.Eval(`(() => { sql.value = "SELECT week, sum(length(url)) > 0 AS some FROM rows GROUP BY week";
		run.click(); return 0 })()`, nil)
	p.Until(`document.getElementById("outcome")`)
	var a struct {
		Said, Rows string
		Requests   int
	}
	p.Eval(`({said: said.textContent + found.innerText, rows: [...found.querySelectorAll("td")].map(e => e.textContent).join(" "),
		requests: parseInt((/(\d+) requests/.exec(said.textContent) || [])[1] || "0")})`, &a)
	if strings.Count(a.Rows, "-W") != 3 || a.Requests < 2 || strings.Contains(a.Said, "as a whole") {
		t.Errorf("the page says %+v", a)
	}
}
