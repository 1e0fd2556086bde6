package generator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/laboratory"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/tlog"

	"store.example/agentstore/generator/publish"
)

// objects is a real object store of the S3 protocol (versitygw), whose objects are files.
type objects struct {
	address string // its URL
	dir     string // of the bucket "shop"
}

// versitygw builds the store's program.
var versitygw = sync.OnceValues(func() (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "versitygw")
	build := exec.Command("go", "build", "-modfile="+filepath.Join(".tools", "versitygw.mod"), "-o", bin,
		"github.com/versity/versitygw/cmd/versitygw")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building versitygw: %w: %s", err, out)
	}
	return bin, nil
})

func startObjects(t *testing.T) objects {
	t.Helper()
	dir := t.TempDir()
	bin, err := versitygw()
	if err != nil {
		npmtest.Unavailable(t, err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "keeper")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a secret of tests")
	at := "127.0.0.1:" + laboratory.FreePort(t)
	for _, name := range []string{"objects/shop", "facts"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	daemon.Start(t, "Admin/S3 service listening on:", bin, "--port", at, "--access", "keeper", "--secret",
		"a secret of tests", "posix", "--sidecar", filepath.Join(dir, "facts"), filepath.Join(dir, "objects"))
	return objects{"http://" + at, filepath.Join(dir, "objects", "shop")}
}

func open(t *testing.T, endpoint, address string) *publish.Bucket {
	t.Helper()
	b, err := publish.OpenBucket(publish.BucketConfig{Address: address, Endpoint: endpoint, Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// twoTrees are a store's tree, and the one of a week later, which has lost a good.
func twoTrees(t *testing.T) (before, after string) {
	t.Helper()
	in, w := bulkInput(t)
	mustBuild(t, in)
	before = in.OutDir
	corpustest.Append(t, w, 3, 4)
	later := in
	later.OutDir = filepath.Join(t.TempDir(), "later")
	if err := os.CopyFS(later.OutDir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	later.Site = new(content.Site)
	*later.Site = *in.Site
	later.Site.Goods = in.Site.Goods[:len(in.Site.Goods)-1]
	mustBuild(t, later)
	return before, later.OutDir
}

// TestLongPublishToABucket: what is published is the tree, byte by byte, with the media types and
// cache times of its documents; only what changed is sent, and only what was published goes.
func TestLongPublishToABucket(t *testing.T) {
	store := startObjects(t)
	before, after := twoTrees(t)
	through := newKiller(t, store)
	in := publish.BucketInput{Bucket: open(t, through.URL, "s3://shop"), Ring: attest.SpecimenRing(), PublicPools: true}
	bring := func(tree string) publish.BucketReport {
		t.Helper()
		in.Tree = tree
		r, err := publish.ToBucket(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if d := diffTrees(readTree(t, tree), readTree(t, store.dir)); d != "" {
			t.Fatalf("what is published is not the tree:\n%s", d)
		}
		return r
	}
	first := bring(before)
	if first.Sent != first.Files || first.Files < 100 || first.Deleted+first.Left != 0 {
		t.Errorf("the first publication says %+v", first)
	}
	if again := bring(before); again.Sent+again.Deleted != 0 || again.Files != first.Files {
		t.Errorf("publishing the same again says %+v", again)
	}
	next := bring(after)
	if next.Sent == 0 || next.Sent > next.Files/2 || next.Deleted == 0 {
		t.Errorf("the next publication says %+v", next)
	}
	for key, want := range map[string][2]string{
		"index.html":            {"text/html; charset=utf-8", "public, max-age=300"},
		"corpus/log/checkpoint": {"text/plain; charset=utf-8", "public, no-cache"},
		"corpus/1.json":         {"application/json", "public, max-age=31536000, immutable"},
		"_headers":              {"text/plain; charset=utf-8", "public, no-cache"},
	} {
		if got := through.fields[key]; got != want {
			t.Errorf("%s has %q, want %q", key, got, want)
		}
	}

	refused := func(name string, why error, says string, in publish.BucketInput) {
		t.Helper()
		had := readTree(t, store.dir)
		_, err := publish.ToBucket(t.Context(), in)
		if err == nil || why != nil && !errors.Is(err, why) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %v with %q", name, err, why, says)
		}
		if d := diffTrees(had, readTree(t, store.dir)); d != "" {
			t.Errorf("%s: the bucket is another:\n%s", name, d)
		}
	}
	older := in
	older.Tree = before
	refused("an older record", publish.ErrNewer, "build from the newest record", older)
	other, _ := recordInput(t, 4, 6)
	mustBuild(t, other)
	rewritten := in
	rewritten.Tree = other.OutDir
	refused("another history", publish.ErrNewer, "was rewritten", rewritten)
	missing := in
	missing.Bucket = open(t, store.address, "s3://nowhere")
	refused("no bucket", nil, "make the bucket first", missing)
	forged := in
	forged.Tree = filepath.Join(t.TempDir(), "forged")
	if err := os.CopyFS(forged.Tree, os.DirFS(after)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(forged.Tree, "what.json"), "{}")
	refused("a file that was changed", nil, "what.json is not what the manifest says", forged)
	secret := in
	secret.Site, secret.PublicPools = knowing(t, after), false
	refused("private text", publish.ErrPrivate, "holds 64 bytes or more of pools/", secret)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a wrong one")
	wrong := in
	wrong.Bucket = open(t, store.address, "s3://shop")
	refused("a wrong key", nil, "set AWS_ACCESS_KEY_ID", wrong)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a secret of tests")

	writeFile(t, filepath.Join(store.dir, "somebody", "else.txt"), "mine")
	in.Tree = after
	if r, err := publish.ToBucket(t.Context(), in); err != nil || r.Left != 1 || r.Sent+r.Deleted != 0 {
		t.Errorf("with a stranger's object: %+v, %v", r, err)
	}
}

// knowing is a site that keeps a text private which the tree has.
func knowing(t *testing.T, tree string) *content.Site {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(tree, "what.json"))
	if err != nil {
		t.Fatal(err)
	}
	site := specimenInput(t, t.TempDir()).Site
	for _, p := range site.Pools {
		p.Entries[0].Text = string(raw)
	}
	return site
}

// TestPublishingChild is the process that killedPublications kills.
func TestPublishingChild(t *testing.T) {
	endpoint := os.Getenv("STORE_PUBLISH_TO")
	if endpoint == "" {
		return // it is the other test's
	}
	if _, err := publish.ToBucket(t.Context(), publish.BucketInput{Bucket: open(t, endpoint, "s3://shop"), Workers: 1,
		Tree: os.Getenv("STORE_PUBLISH"), Ring: attest.SpecimenRing()}); err != nil {
		t.Fatal(err)
	}
}

// killer stands before the store, remembers with which media type and cache time each object came,
// and kills the process that it serves, in turn before and after a request that writes.
type killer struct {
	*httptest.Server
	mu     sync.Mutex
	writes int
	kill   func()
	dies   func(what string, writes int) bool
	dead   bool
	fields map[string][2]string
	died   []string // at which writes a process was killed
}

func newKiller(t *testing.T, store objects) *killer {
	t.Helper()
	target, err := url.Parse(store.address)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{fields: make(map[string][2]string)}
	through := &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			through.ServeHTTP(w, r)
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.writes++
		key := strings.TrimPrefix(r.URL.Path, "/shop/")
		k.fields[key] = [2]string{r.Header.Get("Content-Type"), r.Header.Get("Cache-Control")}
		if k.dead {
			return // it was killed while this one waited
		}
		dies := k.dies != nil && k.dies(r.Method+" "+key, k.writes)
		if dies {
			k.dead = true
			k.died = append(k.died, r.Method+" "+key)
		}
		if dies && len(k.died)%2 == 0 {
			k.kill()
			return
		}
		through.ServeHTTP(w, r)
		if dies {
			k.kill()
		}
	}))
	t.Cleanup(k.Close)
	return k
}

// run publishes in a process of its own, which is killed where dies says. It reports whether the
// process was killed, and how many writes there were.
func (k *killer) run(t *testing.T, tree string, dies func(what string, writes int) bool) (killed bool, writes int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPublishingChild$")
	cmd.Env = append(os.Environ(), "STORE_PUBLISH_TO="+k.URL, "STORE_PUBLISH="+tree)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	k.mu.Lock()
	k.writes, k.dies, k.dead, k.kill = 0, dies, false, func() {
		cmd.Process.Kill()
		cmd.Process.Wait()
	}
	if err := cmd.Start(); err != nil {
		k.mu.Unlock()
		t.Fatal(err)
	}
	k.mu.Unlock()
	err := cmd.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && !k.dead {
		t.Fatalf("publishing: %v\n%s", err, out.String())
	}
	return k.dead, k.writes
}

// TestLongKilledPublications kills a publication at a write of each kind.
func TestLongKilledPublications(t *testing.T) {
	steps := []string{"PUT " + publish.LeavingList, "PUT corpus/", "PUT sitemap.xml", "PUT corpus.git/",
		"PUT .well-known/manifest/", "PUT .well-known/manifest.json", "POST "}
	died := killedPublications(t, func(kills, _ int) func(string, int) bool {
		return func(what string, _ int) bool { return kills < len(steps) && strings.HasPrefix(what, steps[kills]) }
	})
	if len(died) != len(steps) {
		t.Errorf("killed at %q, want %q", died, steps)
	}
}

// TestSoakKilledPublications does so at more than fifty writes, nearer to each other towards the
// end, where the heads are.
func TestSoakKilledPublications(t *testing.T) {
	soak(t)
	died := killedPublications(t, func(kills, left int) func(string, int) bool {
		at := max(1, 2*left/max(60-kills, 2)) + 1 + kills%2
		return func(_ string, writes int) bool { return writes == at }
	})
	if len(died) < 50 {
		t.Errorf("%d kills, want 50", len(died))
	}
}

// killedPublications kills a publication again and again, where dies says that it is to die, given
// the kills before and the writes that are left. After each no head names what is not there: no
// part of a manifest, no checkpoint, no head of the git repository, no sitemap. The last one ends
// what the others began, sends nothing twice, and leaves the tree. It returns at which writes they
// died.
func killedPublications(t *testing.T, dies func(kills, left int) func(what string, writes int) bool) []string {
	t.Helper()
	store := startObjects(t)
	k := newKiller(t, store)
	before, after := twoTrees(t)
	never := func(string, int) bool { return false }
	if killed, _ := k.run(t, before, never); killed {
		t.Fatal("nobody was to be killed")
	}
	holds(t, store.dir)
	for kills := 0; ; kills++ {
		if killed, _ := k.run(t, after, dies(kills, writesLeft(t, after, store.dir))); !killed {
			break
		}
		if holds(t, store.dir); t.Failed() {
			t.Fatalf("after %d kills, the last at %s", kills+1, k.died[kills])
		}
	}
	if d := diffTrees(readTree(t, after), readTree(t, store.dir)); d != "" {
		t.Errorf("what is published is not the tree:\n%s", d)
	}
	holds(t, store.dir)
	if killed, writes := k.run(t, after, never); killed || writes != 0 {
		t.Errorf("there were %d writes when nothing was left to do", writes)
	}
	return k.died
}

// writesLeft is how many requests a publication of a tree would make that write.
func writesLeft(t *testing.T, tree, there string) int {
	t.Helper()
	n, held := 2, readTree(t, there) // the list of what leaves, and leaving
	for name, body := range readTree(t, tree) {
		if was, ok := held[name]; !ok || was != body {
			n++
		}
	}
	return n
}

// holds demands that what the heads in a published folder name is there.
func holds(t *testing.T, dir string) {
	t.Helper()
	there := os.DirFS(dir)
	has := func(by, name string) {
		t.Helper()
		if _, err := fs.Stat(there, name); err != nil {
			t.Errorf("%s names %s: %v", by, name, err)
		}
	}
	layout := attest.PublicLayout()
	parts, err := fs.Glob(there, layout.Place+"/*/*.json")
	if err != nil || len(parts) == 0 {
		t.Fatalf("parts of the manifest: %v, %v", parts, err)
	}
	for _, part := range parts {
		var p struct {
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		}
		readJSON(t, there, part, &p)
		for _, f := range p.Files {
			has(part, f.Path)
		}
	}
	var m struct {
		Parts []struct {
			Path string `json:"path"`
		} `json:"parts"`
	}
	readJSON(t, there, layout.Head(), &m)
	for _, part := range m.Parts {
		has(layout.Head(), part.Path)
	}
	raw, err := fs.ReadFile(there, "corpus/log/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	at, _, err := tlog.OpenCheckpoint(raw, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tlog.OpenAt(os.DirFS(filepath.Join(dir, "corpus")), at.Size, at.Root).Entries() {
		if err != nil {
			t.Errorf("the checkpoint of %d leaves: %v", at.Size, err)
			break
		}
	}
	sitemap, err := fs.ReadFile(there, "sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, loc := range regexp.MustCompile(`<loc>https://[^/<]*([^<]*)</loc>`).FindAllStringSubmatch(string(sitemap), -1) {
		if _, ok := resolves(there, "https://store.example", "/", loc[1]); !ok {
			t.Errorf("the sitemap names %s, which is not there", loc[1])
		}
	}
	web := httptest.NewServer(http.FileServerFS(there))
	defer web.Close()
	clone := t.TempDir()
	if out, err := gitTry(t, clone, "clone", "-q", web.URL+"/corpus.git", "clone"); err != nil {
		t.Errorf("git clone: %v: %s", err, out)
	}
}
