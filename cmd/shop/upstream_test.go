package shop

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
)

// An upstream on loopback is asked where its row says that it is private, with the fields of its
// secret file; without that word it is refused, and so is a file that others may read.
func TestUpstreams(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `"`+r.Header.Get("X-Api-Key")+`"`)
	}))
	defer srv.Close()
	secret := filepath.Join(t.TempDir(), "api.headers")
	if err := os.WriteFile(secret, []byte("X-Api-Key: k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Shop{Config: Config{BaseURL: "http://127.0.0.1:4020"}}
	q := goods.Question{URL: srv.URL + "/x", Method: "POST", Seconds: 5, File: true,
		MediaType: "application/octet-stream", Key: "store-key"}
	for _, private := range []bool{true, false} {
		s.Config.Upstreams = []UpstreamConfig{{URL: srv.URL + "/", Headers: secret, Private: private}}
		ask, err := s.upstreams(Options{})
		if err != nil {
			t.Fatal(err)
		}
		body, err := ask.Ask(t.Context(), q)
		if private != (err == nil) || private && string(body) != `"k"` {
			t.Errorf("private %v: %s, %v", private, body, err)
		}
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.upstreams(Options{}); err == nil {
		t.Error("a secret that others may read is used")
	}
	if ask, err := (&Shop{}).upstreams(Options{}); ask != nil || err != nil {
		t.Errorf("nothing is allowed: %v, %v", ask, err)
	}
}

// A build keeps the files that are sold, and what replaces one is kept beside it; kept sources are
// swept, files are not.
func TestKeepSourcesKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	c := &Config{Content: filepath.Join(dir, "content"), Stock: filepath.Join(dir, "stock"),
		Sources: filepath.Join(dir, "sources"), Public: filepath.Join(dir, "public")}
	if err := os.CopyFS(c.Content, content.Specimen); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"pools": ".", "paid": "paid"} {
		if err := os.CopyFS(filepath.Join(c.Stock, to), os.DirFS(filepath.Join(c.Content, from))); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(c.Content, from)); err != nil {
			t.Fatal(err)
		}
	}
	good := content.NewGood("tea", content.KindFile, map[string]string{"file": `"tea.txt"`})
	if err := os.WriteFile(filepath.Join(c.Content, "shelf", "tea.md"), []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.Stock, "files", "tea.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	var sold []content.File
	for _, text := range []string{"green", "black"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		site, err := LoadSite(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := KeepSources(c, site); err != nil {
			t.Fatal(err)
		}
		sold = append(sold, site.Files()...)
		if kept, err := siteWith(c, site.Digest); err != nil || len(kept.Files()) != 1 {
			t.Errorf("kept as %v, %v", kept, err)
		}
	}
	if err := os.MkdirAll(c.Public, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * keptFor)
	if err := os.Chtimes(string(files(c)), old, old); err != nil {
		t.Fatal(err)
	}
	if err := SweepSources(c); err != nil {
		t.Error(err)
	}
	for _, f := range sold {
		if !files(c).Holds(f) {
			t.Errorf("%s is not kept", f.SHA256)
		}
	}
}
