package dynamic

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/dynamic/route"
)

const base = "https://store.example"

// publish writes a signed tree of files to a new directory under dir and returns it.
func publish(t testing.TB, dir, name, baseURL, digest string, files map[string]string) string {
	t.Helper()
	tree := filepath.Join(dir, name)
	put := func(file string, b []byte) {
		at := filepath.Join(tree, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, body := range files {
		put(file, []byte(body))
	}
	m, err := filetree.BuildManifest(t.Context(), os.DirFS(tree), attest.PublicLayout())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := m.Seal(attest.SpecimenKey(), filetree.Meta{BaseURL: baseURL, ContentDigest: digest})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sealed.Write {
		put(f.Path, f.Body)
	}
	return tree
}

// compress writes the twins of a text.
func compress(t testing.TB, twins, body string) {
	t.Helper()
	if err := os.MkdirAll(twins, 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(body))
	for ext, writer := range map[string]func(io.Writer) io.WriteCloser{
		".br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		".gz": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	} {
		var b bytes.Buffer
		w := writer(&b)
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(twins, hex.EncodeToString(sum[:])+ext), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	homePage = "<!doctype html><title>store</title>" + strings.Repeat("<p>A small general store.</p>\n", 60)
	bigFile  = strings.Repeat("0123456789abcdef", 8<<10) // 128 KiB: not kept in memory
)

func testFiles() map[string]string {
	return map[string]string{
		"index.html": homePage, "index.md": "# store\n",
		"what/index.html": "<p>what</p>", "what.md": "what\n", "what.json": `{"what":1}`,
		"corpus/log/checkpoints/15": "store.example/corpus\n15\n", "corpus/log/cosignatures/15": "— witness\n",
		"corpus/log/tile/entries/000":                 bigFile,
		"corpus/evidence/000000001/000001.jsonl.gz":   "\x1f\x8bfirst member\x1f\x8bsecond member",
		"corpus/evidence/000000001/000001.index.json": `{"entries":[]}`, "menu.json": `{"goods":[]}`,
		"menu.md": "| good |\n", "menu/hello.json": `{"id":"hello"}`, "menu/hello.md": "hello\n",
		"menu/hello/index.html": "<p>hello</p>", "docs/buying/index.html": "<p>buying</p>",
		"docs/buying.md": "buying\n", "problems/sold_out/index.html": "<p>sold out</p>",
		"problems/sold_out.md": "sold out\n", "defects/no-402/index.html": "<p>no 402</p>",
		"defects/no-402.md": "no 402\n", "spec/batteries/v2.json": "{}",
		"404.html": `<a href="/search?q=">nothing here</a>`, "search/index.html": "<p>search</p>",
		"docs/api/index.html": "<p>api</p>", "docs/api.md": "api\n",
		"running/container/index.html": "<p>container</p>", "running/container.md": "container\n",
		"docs/api/purchase/index.html": "<p>purchase</p>",
		"docs/api/purchase.md":         "purchase\n",
		"pricing/index.html":           "<p>prices</p>", "menu/index.html": "<p>shelves</p>",
		"api/index.html": "<p>api</p>",
		"search.md":      "search\n", "search/pages.json": `{"pages":[{"path":"/docs/buying","title":"Buying",
			"summary":"How.",
			"parts":[{"at":"half","title":"A <b>half</b>","text":"Refunds are <i>whole</i>."}]}],"left_out":0}`,
		"_headers": "/*\n", "style.css": "p{}", "docs.css": "p{}",
		".well-known/store-signing-key": "00ff\n", ".well-known/did.json": `{"id":"did:web:store.example"}`,
		".well-known/anchor-log.json": `{"format":"store-anchor-log/v1"}`, "corpus/1.json": `{"round":{}}`,
		"corpus/log/checkpoint": "store.example/corpus\n", "corpus/log/tile/0/000.p/7": "tile",
		"corpus/hosts/1/first.txt": "door.example\n", "corpus/keys.json": "{}\n", "corpus/headers/1.json": "{}",
		"corpus/parts/1/000001.jsonl": "{}\n", "corpus/1.ots": "proof", "corpus/index/1.json": `{"page":1}`,
		"corpus/feed/1.json": `{"page":1}`, "corpus/changes/2026-W41.json": `{"changes":1}`,
		"guide/free.md": "## Free\n", "corpus/diff/2026-W40.json": `{"diff":40}`,
		"corpus/diff/2026-W41.json": `{"diff":41}`, "corpus/search/we.json": `{"shard":"we"}`,
		"corpus/tiers/1.json": `{"page":1}`, "corpus/tiers/1.md": "hosts\n",
		"corpus/tiers/1/index.html": "<p>hosts</p>", "okf/index.md": "bundle\n", "okf/rounds/index.md": "rounds\n",
		"okf/rounds/1.md": "round\n", "corpus/host/shop.md.json": `{"host":"shop.md"}`,
		"corpus/host/shop.md/index.md": "shop\n", "corpus/host/shop.md/index.html": "<p>shop.md</p>",
		"corpus/week/2026-W41/index.html": "<p>W41</p>", "corpus/week/2026-W41.md": "W41\n",
		"corpus/week/2026-W41.json":     `{"week":"2026-W41"}`,
		"corpus/query/sqlite-0a1b.wasm": "\x00asm",
		".git/config":                   "secret", "bulk/rows.jsonl": bigFile, ".env": "secret",
	}
}

// only knows the content of one digest.
func only(digest string) func(string) (*Edition, error) {
	return func(asked string) (*Edition, error) {
		if asked != digest {
			return nil, fmt.Errorf("no content %s; hint: run store build", asked)
		}
		return &Edition{Site: &content.Site{Digest: digest}}, nil
	}
}

func openTestSite(t testing.TB, pointer, twins string) *Site {
	t.Helper()
	site, err := OpenSite(SiteConfig{Pointer: pointer, Twins: twins, Ring: attest.SpecimenRing(), BaseURL: base,
		Edition: only("d1")})
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// testServer serves a small site with twins of its home page, and rows.
func testServer(t testing.TB, rows ...route.Row) *Server {
	t.Helper()
	dir := t.TempDir()
	twins := filepath.Join(dir, "twins")
	compress(t, twins, homePage)
	compress(t, twins, bigFile)
	site := openTestSite(t, publish(t, dir, "tree", base, "d1", testFiles()), twins)
	return newServer(t, Config{Site: site, Rows: rows})
}

func newServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.BaseURL = base
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask makes a request; fields come in pairs.
func ask(t testing.TB, h http.Handler, method, target string, fields ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result()
}

func body(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
