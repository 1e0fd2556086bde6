package generator

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/generator/pages"
)

// TestInitMakesASiteThatBuilds goes from an empty folder to pages.
func TestInitMakesASiteThatBuilds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if err := Init(dir, LikeSpecimen); err != nil {
		t.Fatal(err)
	}
	site, err := content.Load(siteSources(dir))
	if err != nil {
		t.Fatal(err)
	}
	specimen, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if len(site.Goods) != len(specimen.Goods) || len(site.Pools) != len(specimen.Pools) {
		t.Errorf("%d goods and %d pools, want %d and %d", len(site.Goods), len(site.Pools), len(specimen.Goods),
			len(specimen.Pools))
	}
	if borrowed := site.Borrowed(specimen); len(borrowed) != len(site.Pools)+len(content.Publications)+3 ||
		!slices.Contains(borrowed, "var/stock/dibs.toml") {
		t.Errorf("borrowed: %v", borrowed)
	}
	in := specimenInput(t, t.TempDir())
	in.Site, in.PublicPools = site, false
	mustBuild(t, in)

	for name, mode := range map[string]os.FileMode{"var/stock": 0o700, "README.md": 0o644, ".gitignore": 0o644,
		".gitattributes": 0o644, "content/site.toml": 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, mode %v, want %v", name, err, info.Mode().Perm(), mode)
		}
	}
	for name := range readTree(t, dir) {
		if strings.HasSuffix(name, ".pem") || strings.HasPrefix(name, "content/pools") {
			t.Errorf("%s does not belong into a new site", name)
		}
	}
	// What git would commit holds no pool.
	gitRun(t, dir, "init", "-q")
	if out := gitRun(t, dir, "status", "--porcelain", "-uall"); strings.Contains(out, "var/") ||
		!strings.Contains(out, "content/site.toml") {
		t.Errorf("git would commit:\n%s", out)
	}
}

func TestInitLeavesAFolderInUseAlone(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "notes.txt"), "mine")
	if err := Init(dir, LikeSpecimen); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "hint: ") {
		t.Fatalf("Init: %v", err)
	}
	if d := diffTrees(map[string]string{"notes.txt": "mine"}, readTree(t, dir)); d != "" {
		t.Error(d)
	}
}

// TestWatchRebuildsAndReloads edits a page and waits for the word to the
// browser.
func TestWatchRebuildsAndReloads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if err := Init(dir, LikeSpecimen); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + listener.Addr().String()
	out := t.TempDir()
	built := make(chan error, 16)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(ctx, WatchInput{
			Folders: []string{filepath.Join(dir, "content"), filepath.Join(dir, "var", "stock")}, Listener: listener,
			Load: func(context.Context) (Input, error) {
				site, err := content.Load(siteSources(dir))
				return Input{
					Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey(), PublicPools: true,
					OutDir: filepath.Join(out, "public"), Cache: filepath.Join(out, "record"),
				}, err
			},
			Built: func(_ Report, err error) { built <- err },
		})
	}()
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	get := func(p string) (int, string) {
		t.Helper()
		res, err := http.Get(base + p)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	if status, body := get("/what"); status != 200 || !strings.Contains(body, "EventSource") {
		t.Errorf("/what: %d, without the script that reloads", status)
	}
	if status, _ := get("/../../record"); status != 404 {
		t.Errorf("a path out of the tree: %d", status)
	}
	if status, body := get("/nothing/here"); status != 404 || !strings.Contains(body, "<h1>") {
		t.Errorf("an unknown page: %d %s", status, body)
	}

	events, err := http.Get(base + "/_reload")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	page := filepath.Join(dir, "content", "pages", "what.md")
	good, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, page, "broken")
	if err := <-built; err == nil {
		t.Fatal("a broken page was built")
	}
	if status, body := get("/what"); status != 200 || strings.Contains(body, "Fresh paint") ||
		!strings.Contains(body, "pages/what.md:1: front matter must stand") ||
		!strings.Contains(body, `role="alert"`) || !strings.Contains(body, "EventSource") {
		t.Errorf("after a broken edit: %d, and the page says %.600s", status, body)
	}
	writeFile(t, page, string(good)+"\n\n<b>Raw</b> and [dead](/nowhere).\n")
	for err := range built {
		if errors.Is(err, pages.ErrProse) {
			break
		}
	}
	if _, body := get("/"); !strings.Contains(body, "link to /nowhere") || strings.Contains(body, "<b>Raw") {
		t.Errorf("after an edit with faults the page says %.600s", body)
	}
	writeFile(t, page, string(good)+"\n\nFresh paint.\n")
	for err := range built {
		if err == nil {
			break // a write may be seen half done first
		}
	}
	line, err := bufio.NewReader(events.Body).ReadString('\n')
	if err != nil || line != "data: built\n" {
		t.Errorf("the open page hears %q, %v", line, err)
	}
	if _, body := get("/what"); !strings.Contains(body, "Fresh paint.") || strings.Contains(body, `role="alert"`) {
		t.Error("the new page is not shown")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Watch: %v", err)
	}
}

func TestWatchShowsOnLoopbackOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := Watch(t.Context(), WatchInput{Listener: listener}); !errors.Is(err, pages.ErrInput) {
		t.Errorf("Watch on every address: %v", err)
	}
}

// TestVerifierIsAnInput builds without the verifier for browsers, with it, and with half of it.
func TestVerifierIsAnInput(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.outputs = only("verify*", "signing_key")
	page := func() string {
		t.Helper()
		mustBuild(t, in)
		b, err := os.ReadFile(filepath.Join(in.OutDir, "verify/run/index.html"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	program := filepath.Join(in.OutDir, "verify/verify.wasm")
	if got := page(); !strings.Contains(got, "built without the verifier") || strings.Contains(got, "run.js") {
		t.Errorf("without the program:\n%s", got)
	}
	in.Verifier = fstest.MapFS{"verify.wasm": {Data: []byte("\x00asm")}, "wasm_exec.js": {Data: []byte("go")}}
	if got := page(); strings.Contains(got, "built without the verifier") ||
		!strings.Contains(got, `<script src="/verify/run.js" defer>`) {
		t.Errorf("with the program:\n%s", got)
	}
	if b, err := os.ReadFile(program); err != nil || string(b) != "\x00asm" {
		t.Errorf("%q %v", b, err)
	}
	report, err := verify.Clone(t.Context(), os.DirFS(in.OutDir),
		verify.CloneOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the manifest: %v %v", report.Problems, err)
	}
	in.Verifier = nil
	page()
	if _, err := os.Stat(program); err == nil {
		t.Error("the program stays where it is no more an input")
	}
	in.Verifier = fstest.MapFS{"verify.wasm": {Data: []byte("\x00asm")}}
	if _, err := Build(t.Context(), in); err == nil {
		t.Error("half a verifier is published")
	}
}

// siteSources says where the parts of a site that Init made are read from.
func siteSources(dir string) content.Sources {
	return content.Sources{
		Content: os.DirFS(filepath.Join(dir, "content")),
		Stock:   os.DirFS(filepath.Join(dir, "var", "stock")), StockName: "var/stock",
	}
}
