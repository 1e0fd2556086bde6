package dynamic

import (
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"agentstore/corpus/attest"
)

func TestPrecompressedVariants(t *testing.T) {
	s := testServer(t)
	etags := make(map[string]bool)
	for _, target := range []string{"/", "/bulk/rows.jsonl"} { // from memory, and from disk
		plain := body(t, ask(t, s, "GET", target))
		for _, c := range []struct {
			accept, coding string
			open           func(io.Reader) io.Reader
		}{
			{"gzip, deflate, br, zstd", "br", func(r io.Reader) io.Reader { return brotli.NewReader(r) }},
			{"gzip", "gzip", func(r io.Reader) io.Reader {
				z, err := gzip.NewReader(r)
				if err != nil {
					t.Fatal(err)
				}
				return z
			}},
			{"identity", "", func(r io.Reader) io.Reader { return r }},
		} {
			res := ask(t, s, "GET", target, "Accept-Encoding", c.accept)
			raw := body(t, res)
			got, err := io.ReadAll(c.open(strings.NewReader(raw)))
			if err != nil || string(got) != plain {
				t.Errorf("%s in %q: %d bytes, want %d (%v)", target, c.coding, len(got), len(plain), err)
			}
			if enc := res.Header.Get("Content-Encoding"); enc != c.coding {
				t.Errorf("%s: Content-Encoding %q, want %q", target, enc, c.coding)
			}
			if n := res.ContentLength; n != int64(len(raw)) {
				t.Errorf("%s in %q: Content-Length %d, want %d", target, c.coding, n, len(raw))
			}
			if etag := res.Header.Get("ETag"); etag == "" || etags[etag] || strings.HasPrefix(etag, "W/") {
				t.Errorf("%s in %q: ETag %q is not strong or not its own", target, c.coding, etag)
			} else {
				etags[etag] = true
			}
			if res.Header.Get("Vary") != "Accept, Accept-Encoding, User-Agent" {
				t.Errorf("%s in %q: Vary %q", target, c.coding, res.Header.Get("Vary"))
			}
		}
	}
}

func TestConditionalRequests(t *testing.T) {
	s := testServer(t)
	for _, target := range []string{"/", "/what.md", "/bulk/rows.jsonl"} {
		first := ask(t, s, "GET", target)
		etag := first.Header.Get("ETag")
		for _, field := range []string{etag, "*", `"other", ` + etag, "W/" + etag} {
			res := ask(t, s, "GET", target, "If-None-Match", field)
			if res.StatusCode != http.StatusNotModified || body(t, res) != "" {
				t.Errorf("%s If-None-Match %s: %d", target, field, res.StatusCode)
			}
			for _, kept := range []string{"ETag", "Vary", "Cache-Control", "Access-Control-Allow-Origin"} {
				if res.Header.Get(kept) != first.Header.Get(kept) {
					t.Errorf("%s 304: %s is %q, was %q", target, kept, res.Header.Get(kept), first.Header.Get(kept))
				}
			}
		}
		if res := ask(t, s, "GET", target, "If-None-Match", `"other"`); res.StatusCode != 200 {
			t.Errorf("%s with another ETag: %d", target, res.StatusCode)
		}
		if res := ask(t, s, "GET", target, "If-Match", `"other"`); res.StatusCode != http.StatusPreconditionFailed || !strings.Contains(body(t, res), "/problems/precondition_failed") {
			t.Errorf("%s If-Match another ETag: %d", target, res.StatusCode)
		}
		// An ETag of one representation says nothing about another.
		if res := ask(t, s, "GET", "/", "If-None-Match", ask(t, s, "GET", "/index.md").Header.Get("ETag")); res.StatusCode != 200 {
			t.Errorf("the page was not sent for the twin's ETag: %d", res.StatusCode)
		}
	}
}

func TestRanges(t *testing.T) {
	s := testServer(t)
	for target, whole := range map[string]string{"/": homePage, "/bulk/rows.jsonl": bigFile} {
		etag := ask(t, s, "GET", target).Header.Get("ETag")
		res := ask(t, s, "GET", target, "Range", "bytes=5-9")
		if got := body(t, res); res.StatusCode != http.StatusPartialContent || got != whole[5:10] {
			t.Errorf("%s: %d %q", target, res.StatusCode, got)
		}
		if got := body(t, ask(t, s, "GET", target, "Range", "bytes=-3", "If-Range", etag)); got != whole[len(whole)-3:] {
			t.Errorf("%s: a range of the same version is %q", target, got)
		}
		if res := ask(t, s, "GET", target, "Range", "bytes=-3", "If-Range", `"other"`); res.StatusCode != 200 || body(t, res) != whole {
			t.Errorf("%s: a range of another version: %d", target, res.StatusCode)
		}
		res = ask(t, s, "GET", target, "Range", "bytes=999999999-")
		if text := body(t, res); res.StatusCode != 416 || !strings.Contains(text, "/problems/range_not_satisfiable") ||
			res.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(whole)) || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: a range behind the end: %d %v %s", target, res.StatusCode, res.Header, text)
		}
		res = ask(t, s, "GET", target, "Range", "bytes=0-3", "Accept-Encoding", "gzip")
		if got := body(t, res); res.Header.Get("Content-Encoding") != "gzip" || got[:2] != "\x1f\x8b" {
			t.Errorf("%s: a range of the compressed form is %q", target, got)
		}
	}
}

func TestNothingButWhatTheManifestCovers(t *testing.T) {
	dir := t.TempDir()
	tree := publish(t, dir, "tree", base, "d1", testFiles())
	if err := os.WriteFile(filepath.Join(tree, "later.md"), []byte("not covered"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Config{Site: openTestSite(t, tree, "")})
	for _, target := range []string{"/later.md", "/.git/config", "/.env", "/_headers", "/what/index.md", "/menu"} {
		if res := ask(t, s, "GET", target); res.StatusCode != 404 {
			t.Errorf("%s: %d", target, res.StatusCode)
		}
	}
}

func TestChangedFilesAreNotServed(t *testing.T) {
	dir := t.TempDir()
	tree := publish(t, dir, "tree", base, "d1", testFiles())
	s := newServer(t, Config{Site: openTestSite(t, tree, "")})
	if err := os.WriteFile(filepath.Join(tree, "what.md"), []byte("What\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := ask(t, s, "GET", "/what.md"); res.StatusCode != 500 || !strings.Contains(body(t, res), "/problems/internal") {
		t.Errorf("a changed small file: %d", res.StatusCode)
	}
	if err := os.WriteFile(filepath.Join(tree, "bulk/rows.jsonl"), []byte(bigFile+"more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := ask(t, s, "GET", "/bulk/rows.jsonl"); res.StatusCode != 500 && res.StatusCode != 404 {
		t.Errorf("a changed large file: %d", res.StatusCode)
	}
	if res := ask(t, s, "GET", "/index.md"); res.StatusCode != 200 {
		t.Errorf("another file: %d", res.StatusCode)
	}
}

func TestOnlyTheExpectedSiteIsOpened(t *testing.T) {
	dir := t.TempDir()
	good := publish(t, dir, "good", base, "d1", testFiles())
	cfg := SiteConfig{Pointer: good, Ring: attest.SpecimenRing(), BaseURL: base, ContentDigest: "d1"}
	if _, err := OpenSite(cfg); err != nil {
		t.Fatal(err)
	}
	stranger, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.NewRing("2026-11-20", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: stranger.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*SiteConfig){
		"another base URL": func(c *SiteConfig) { c.BaseURL = "https://other.example" },
		"another content":  func(c *SiteConfig) { c.ContentDigest = "d2" },
		"no such place":    func(c *SiteConfig) { c.Pointer = filepath.Join(dir, "nothing") },
		"an unknown key":   func(c *SiteConfig) { c.Ring = ring },
	} {
		bad := cfg
		change(&bad)
		if _, err := OpenSite(bad); err == nil || !strings.Contains(err.Error(), "hint: run store build") {
			t.Errorf("%s: opened, or the keeper is not told what to do: %v", name, err)
		}
	}
}

// TestThePointerMoves: a new tree is served whole, a wrong one never, and a request that has begun stays with its own.
func TestThePointerMoves(t *testing.T) {
	for name, point := range map[string]func(t *testing.T, pointer, tree string){
		"symbolic link": func(t *testing.T, pointer, tree string) {
			if err := os.Symlink(tree, pointer+".new"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(pointer+".new", pointer); err != nil {
				t.Fatal(err)
			}
		},
		"file": func(t *testing.T, pointer, tree string) {
			if err := os.WriteFile(pointer, []byte(filepath.Base(tree)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pointer := filepath.Join(dir, "current")
			one := publish(t, dir, "one", base, "d1", map[string]string{"index.html": "one", "index.md": "one md", "404.html": "-", "what.md": "gone in two"})
			two := publish(t, dir, "two", base, "d1", map[string]string{"index.html": "two", "index.md": "two md", "404.html": "-"})
			other := publish(t, dir, "other", "https://other.example", "d1", map[string]string{"index.html": "other"})
			point(t, pointer, one)
			site := openTestSite(t, pointer, "")
			s := newServer(t, Config{Site: site})
			get := func(target string) string { return body(t, ask(t, s, "GET", target)) }
			if got := get("/"); got != "one" {
				t.Fatalf("before: %q", got)
			}
			held := site.current.Load()
			point(t, pointer, two)
			if err := site.Refresh(); err != nil {
				t.Fatal(err)
			}
			if got := get("/") + get("/index.md"); got != "twotwo md" {
				t.Errorf("after: %q", got)
			}
			if res := ask(t, s, "GET", "/what.md"); res.StatusCode != 404 {
				t.Errorf("a page of the old tree: %d", res.StatusCode)
			}
			a, err := held.answer(held.pages["/what.md"].reps[0], "")
			if err != nil || string(a.body) != "gone in two" {
				t.Errorf("the snapshot that was held: %v, %v", a, err)
			}
			point(t, pointer, other)
			if err := site.Refresh(); err == nil {
				t.Error("a tree of another store was opened")
			}
			if got := get("/"); got != "two" {
				t.Errorf("after the wrong tree: %q", got)
			}
			// The folder that holds the pointer may be named too.
			if err := os.Remove(pointer); err != nil {
				t.Fatal(err)
			}
			point(t, pointer, one)
			inFolder, err := OpenSite(SiteConfig{Pointer: dir, Ring: attest.SpecimenRing(), BaseURL: base})
			if err != nil {
				t.Fatal(err)
			}
			if got := body(t, ask(t, newServer(t, Config{Site: inFolder}), "GET", "/")); got != "one" {
				t.Errorf("by its folder: %q", got)
			}
		})
	}
}

func TestReplacedManifestIsNoticed(t *testing.T) {
	dir := t.TempDir()
	tree := publish(t, dir, "tree", base, "d1", testFiles())
	site := openTestSite(t, tree, "")
	before := site.current.Load()
	if err := site.Refresh(); err != nil || site.current.Load() != before {
		t.Fatalf("the same tree was opened again (%v)", err)
	}
	files := testFiles()
	files["what.md"] = "something longer than it was\n"
	publish(t, dir, "tree", base, "d1", files)
	if err := site.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := body(t, ask(t, newServer(t, Config{Site: site}), "GET", "/what.md")); got != files["what.md"] {
		t.Errorf("what.md is %q", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	site, err := OpenSite(SiteConfig{Pointer: publish(t, t.TempDir(), "tree", base, "d1", testFiles()), Ring: attest.SpecimenRing(), BaseURL: base, Memory: 600})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Config{Site: site})
	for range 2 {
		for _, target := range []string{"/what.md", "/what.json", "/index.md", "/style.css"} {
			if res := ask(t, s, "GET", target); res.StatusCode != 200 {
				t.Errorf("%s: %d", target, res.StatusCode)
			}
		}
	}
	if kept := site.current.Load().kept.Load(); kept > 600 {
		t.Errorf("%d bytes kept, the bound is 600", kept)
	}
}

func TestOpen(t *testing.T) {
	for _, address := range []string{"", "mem", "redis:x", "mem:x", "bolt:", "bolt:" + filepath.Join(t.TempDir(), "none", "ledger.bolt"), "postgres://u:secret@%zz/"} {
		if db, err := Open(t.Context(), address); err == nil || db != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v, %v", address, db, err)
		}
	}
	for _, address := range []string{"mem:", "bolt:" + filepath.Join(t.TempDir(), "ledger.bolt")} {
		db, err := Open(t.Context(), address)
		if err != nil {
			t.Errorf("Open(%q): %v", address, err)
			continue
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
