package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
)

// What store new writes is taken by the next build as it stands, once the file that is sold is put
// there, and nothing is written over.
func TestNew(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	called := func(want int, args ...string) string {
		t.Helper()
		out.Reset()
		if code := run(t.Context(), args, &out, &out); code != want {
			t.Fatalf("%v = %d: %s", args, code, &out)
		}
		return out.String()
	}
	called(0, "init", dir)
	t.Chdir(dir)
	for want, args := range map[string][]string{
		"put the file at var/stock/files/tea.pdf":      {"good", "tea", "-file", "tea.pdf"},
		"put into var/stock/files/keys":                {"good", "licence", "-folder", "keys"},
		"allow the address in the configuration":       {"good", "forecast", "-upstream", "http://127.0.0.1:9000/"},
		"write the texts into var/stock/cups.toml":     {"good", "cup", "-pool", "cups"},
		"write what is sold into var/stock/texts":      {"good", "letter"},
		"it will stand at http://127.0.0.1:4020/about": {"page", "about/us"},
		"is sold for 0.01 USDC":                        {"publication", "almanac"},
	} {
		if said := called(0, append([]string{"new"}, args...)...); !strings.Contains(said, want) ||
			strings.Contains(said, dir) {
			t.Errorf("%v says %s", args, said)
		}
		if said := called(1, append([]string{"new"}, args...)...); !strings.Contains(said, "is there already") {
			t.Errorf("%v again: %s", args, said)
		}
	}
	for name, text := range map[string]string{"tea.pdf": "%PDF", "keys/one.txt": "1"} {
		at := filepath.Join("var/stock/files", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := shop.Load("store.toml")
	if err != nil {
		t.Fatal(err)
	}
	site, err := shop.LoadSite(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for id, kind := range map[string]string{"tea": content.KindFile, "licence": content.KindFile,
		"forecast": content.KindUpstream, "cup": content.KindGreeting, "letter": content.KindText} {
		if g, ok := site.Good(id); !ok || g.Kind != kind {
			t.Errorf("%s is %+v", id, g)
		}
	}
	for _, bad := range [][]string{{"new"}, {"new", "good"}, {"new", "good", "Green Tea"}, {"new", "page", "../x"},
		{"new", "publication", "zodiac"}, {"new", "good", "x", "-file", "a", "-pool", "b"}} {
		called(2, bad...)
	}
	if said := called(2, "buid"); !strings.Contains(said, "Do you mean: store build") ||
		strings.Contains(said, "usage") {
		t.Errorf("a misspelt verb: %s", said)
	}
	if said := called(0, "--version"); !strings.HasPrefix(said, "store ") {
		t.Errorf("--version: %s", said)
	}
}
