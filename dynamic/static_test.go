package dynamic

import (
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
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
		if res := ask(t, s, "GET", target, "If-Match", `"other"`); res.StatusCode != http.StatusPreconditionFailed ||
			!strings.Contains(body(t, res), "/problems/precondition_failed") {
			t.Errorf("%s If-Match another ETag: %d", target, res.StatusCode)
		}
		// An ETag of one representation says nothing about another.
		if res := ask(t, s, "GET", "/", "If-None-Match",
			ask(t, s, "GET", "/index.md").Header.Get("ETag")); res.StatusCode != 200 {
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
		if got := body(t, ask(t, s, "GET", target, "Range", "bytes=-3", "If-Range",
			etag)); got != whole[len(whole)-3:] {
			t.Errorf("%s: a range of the same version is %q", target, got)
		}
		if res := ask(t, s, "GET", target, "Range", "bytes=-3", "If-Range", `"other"`); res.StatusCode != 200 ||
			body(t, res) != whole {
			t.Errorf("%s: a range of another version: %d", target, res.StatusCode)
		}
		res = ask(t, s, "GET", target, "Range", "bytes=999999999-")
		if text := body(t, res); res.StatusCode != 416 || !strings.Contains(text, "/problems/range_not_satisfiable") ||
			res.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(whole)) ||
			res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: a range behind the end: %d %v %s", target, res.StatusCode, res.Header, text)
		}
		res = ask(t, s, "GET", target, "Range", "bytes=5-2")
		if res.StatusCode != 416 || res.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(whole)) {
			t.Errorf("%s: a range that ends before it begins: %d %v", target, res.StatusCode, res.Header)
		}
		if res := ask(t, s, "GET", target, "Range", "items=0-1"); res.StatusCode != 200 || body(t, res) != whole {
			t.Errorf("%s: a range of another unit: %d", target, res.StatusCode)
		}
		res = ask(t, s, "GET", target, "Range", "bytes=0-3", "Accept-Encoding", "gzip")
		if got := body(t, res); res.Header.Get("Content-Encoding") != "gzip" || got[:2] != "\x1f\x8b" {
			t.Errorf("%s: a range of the compressed form is %q", target, got)
		}
	}
}

// TestAMethodOfNobody: a method that no row has is 405 at an address that takes others, and 404
// where there is nothing.
func TestAMethodOfNobody(t *testing.T) {
	s := testServer(t)
	for target, want := range map[string]int{"/": 405, "/nothing/here": 404} {
		res := ask(t, s, "BREW", target)
		if allow := res.Header.Get("Allow"); res.StatusCode != want || (allow != "") != (want == 405) {
			t.Errorf("BREW %s: %d, Allow %q, want %d", target, res.StatusCode, allow, want)
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
	for _, target := range []string{"/later.md", "/.git/config", "/.env", "/_headers", "/what/index.md", "/docs"} {
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
	if res := ask(t, s, "GET", "/what.md"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" ||
		!strings.Contains(body(t, res), "/problems/page_unreadable") {
		t.Errorf("a changed small file: %d", res.StatusCode)
	}
	if err := os.WriteFile(filepath.Join(tree, "bulk/rows.jsonl"), []byte(bigFile+"more"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := ask(t, s, "GET", "/bulk/rows.jsonl"); res.StatusCode != 503 {
		t.Errorf("a changed large file: %d", res.StatusCode)
	}
	if res := ask(t, s, "GET", "/index.md"); res.StatusCode != 200 {
		t.Errorf("another file: %d", res.StatusCode)
	}
}

func TestOnlyTheExpectedSiteIsOpened(t *testing.T) {
	dir := t.TempDir()
	good := publish(t, dir, "good", base, "d1", testFiles())
	cfg := SiteConfig{Pointer: good, Ring: attest.SpecimenRing(), BaseURL: base, Edition: only("d1")}
	if _, err := OpenSite(cfg); err != nil {
		t.Fatal(err)
	}
	stranger, err := attest.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.NewRing("2026-11-20",
		map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: stranger.Public()})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*SiteConfig){
		"another base URL": func(c *SiteConfig) { c.BaseURL = "https://other.example" },
		"another content":  func(c *SiteConfig) { c.Edition = only("d2") },
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

// TestThePointerMoves: a new tree is served whole, a wrong one never, and a request that has begun
// stays with its own.
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
			one := publish(t, dir, "one", base, "d1", map[string]string{"index.html": "one", "index.md": "one md",
				"404.html": "-", "what.md": "gone in two"})
			two := publish(t, dir, "two", base, "d1", map[string]string{"index.html": "two", "index.md": "two md",
				"404.html": "-"})
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
	site, err := OpenSite(SiteConfig{Pointer: publish(t, t.TempDir(), "tree", base, "d1", testFiles()),
		Ring: attest.SpecimenRing(), BaseURL: base, Memory: 600})
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
	for _, address := range []string{"", "mem", "redis:x", "mem:x", "bolt:",
		"bolt:" + filepath.Join(t.TempDir(), "none", "ledger.bolt"), "postgres://u:secret@%zz/"} {
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

// A build sweeps the compressed forms of what it replaces, and replaces files where a tree stands
// by itself, before a server has looked: nobody is told that the store has a fault.
func TestSweptFilesAreNoFault(t *testing.T) {
	dir := t.TempDir()
	twins := filepath.Join(dir, "twins")
	compress(t, twins, homePage)
	var noise strings.Builder // which is large compressed too, and so not kept in memory
	for i := range 8 << 10 {
		fmt.Fprintf(&noise, "%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	compress(t, twins, noise.String())
	files := testFiles()
	files["bulk/rows.jsonl"] = noise.String()
	site := openTestSite(t, publish(t, dir, "tree", base, "d1", files), twins)
	s := newServer(t, Config{Site: site})
	// It is known that there is a compressed form, when it goes.
	if res := ask(t, s, "HEAD", "/bulk/rows.jsonl", "Accept-Encoding",
		"gzip"); res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("no compressed form: %v", res.Header)
	}
	swept, err := filepath.Glob(filepath.Join(twins, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range swept {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{"/bulk/rows.jsonl": noise.String(), "/": homePage} {
		if res := ask(t, s, "GET", target, "Accept-Encoding", "gzip"); res.StatusCode != 200 ||
			res.Header.Get("Content-Encoding") != "" || body(t, res) != want {
			t.Errorf("%s without its compressed form: %d in %q", target, res.StatusCode,
				res.Header.Get("Content-Encoding"))
		}
	}
	// The tree is replaced in place, and nobody has looked at its manifest since.
	files["index.md"] = "# another store\n"
	publish(t, dir, "tree", base, "d1", files)
	if res := ask(t, s, "GET", "/index.md"); res.StatusCode != 200 || body(t, res) != files["index.md"] {
		t.Errorf("a tree that was replaced in place: %d", res.StatusCode)
	}
}

// What a tree was built from comes and goes with it, and a tree whose content is not to be had is
// not taken up.
func TestContentFollowsTheTree(t *testing.T) {
	dir := t.TempDir()
	pointer := filepath.Join(dir, "current")
	point := func(name, digest string) {
		t.Helper()
		publish(t, dir, name, base, digest, map[string]string{"index.html": name, "index.md": name})
		if err := os.WriteFile(pointer, []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	point("one", "d1")
	site, err := OpenSite(SiteConfig{Pointer: pointer, Ring: attest.SpecimenRing(), BaseURL: base,
		Edition: func(digest string) (*Edition, error) {
			if digest == "lost" {
				return nil, errChanged
			}
			return &Edition{Site: &content.Site{Digest: digest}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	agree := func(page, digest string) {
		t.Helper()
		if got := body(t, ask(t, newServer(t, Config{Site: site}), "GET", "/")); got != page ||
			site.Now().Digest != digest {
			t.Errorf("the page is %s, the content %s, want %s, %s", got, site.Now().Digest, page, digest)
		}
	}
	agree("one", "d1")
	point("two", "d2")
	if err := site.Refresh(); err != nil {
		t.Fatal(err)
	}
	agree("two", "d2")
	if got := site.Of("d1").Digest; got != "d1" {
		t.Errorf("what was sold under d1 is now %s", got)
	}
	if got := site.Of("lost").Digest; got != "d2" {
		t.Errorf("what was sold under lost content is now %s", got)
	}
	point("three", "lost")
	if err := site.Refresh(); err == nil {
		t.Error("a tree without its content was taken up")
	}
	if err := site.Refresh(); err != nil {
		t.Errorf("it is tried again at once: %v", err)
	}
	agree("two", "d2")
}
