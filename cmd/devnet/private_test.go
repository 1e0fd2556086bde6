package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator"
	"store.example/agentstore/generator/publish"
)

// canary is a private text of 96 letters that no page holds by chance.
func canary(name string) string { return strings.Repeat("q"+name+"zx", 96)[:96] }

// spoken keeps what is logged.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// ownStock gives the stall a folder of sources and a stock of its own, with a seventh issue of the
// gazette.
func ownStock(t *testing.T, c *shop.Config) {
	t.Helper()
	from := os.DirFS("../../content")
	c.Content, c.Stock = t.TempDir(), t.TempDir()
	page := "+++\ntitle = \"A seventh issue\"\nsummary = \"What it says is for who pays.\"\ndate = \"2026-11-15\"\n" +
		"+++\n" + canary("page") + "\n"
	sub := func(dir string) fs.FS {
		f, err := fs.Sub(from, dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if err := errors.Join(os.CopyFS(c.Stock, sub("pools")), os.CopyFS(filepath.Join(c.Stock, "paid"), sub("paid")),
		os.CopyFS(filepath.Join(c.Content, "pages"), sub("pages")),
		os.CopyFS(filepath.Join(c.Content, "shelf"), sub("shelf")),
		os.WriteFile(filepath.Join(c.Stock, "paid", "gazette", "issue-7.md"), []byte(page), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"directory.toml", "porch.toml", "retired.toml", "site.toml"} {
		b, err := fs.ReadFile(from, name)
		if err := errors.Join(err, os.WriteFile(filepath.Join(c.Content, name), b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// privately has a page bought, an order answered and letters left, each with a text that is for one
// reader alone.
func (s *stall) privately(t *testing.T, cfg *shop.Config) {
	t.Helper()
	for _, byMPP := range []bool{false, true} {
		o := clients.Options{Key: s.net.Buyers[0].Hex(), Network: s.nodes[0].Network.ID()}
		buy := clients.Buy
		if byMPP {
			buy = clients.BuyMPP
		}
		r := buy(t, o, s.url+"/gazette/issue-7")[0]
		if r.Status != 200 || !strings.Contains(r.Body, canary("page")) {
			t.Fatalf("the page: %d %.300s", r.Status, r.Body)
		}
	}
	dear := clients.Options{Key: s.net.Buyers[0].Hex(), Network: s.nodes[0].Network.ID(), SpendOff: true}
	var order sold
	r := clients.Buy(t, dear, s.url+"/api/buy/quick_judgment?detail="+canary("detail")+"&source="+
		canary("source")[:40])[0]
	if err := json.Unmarshal([]byte(r.Body), &order); err != nil || order.OrderID == "" {
		t.Fatalf("the order: %v in %.400s", err, r.Body)
	}
	if r := clients.BuyMPP(t, dear, s.url+"/api/buy/context_anchor?summary="+canary("summary"))[0]; r.Status != 200 {
		t.Fatalf("the anchor: %d %.400s", r.Status, r.Body)
	}
	clients.Buy(t, clients.Options{Key: s.net.Buyers[1].Hex(), Network: s.nodes[0].Network.ID()},
		s.url+"/api/buy/the_confession?detail="+canary("confession"))
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte(canary("file")), 0o600); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ { // a worker looks at it, some seconds after it was paid for
		for _, c := range s.net.Chains {
			c.MustSealTxs()
		}
		_, err := keep(t, cfg, "answer", order.OrderID, "-text", canary("answer"), "-file", notes)
		if err == nil {
			break
		}
		if tries > 2000 {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	if _, body := s.get(t, "/api/order/"+order.OrderID, false); !strings.Contains(body, canary("answer")) {
		t.Errorf("the order: %s", body)
	}
	letter := s.posts(t, "/api/letter", map[string]any{"letter": canary("letter"), "from_name": "Ada"})["letter_id"]
	s.posts(t, "/api/tip", map[string]any{"tip": canary("tip"), "contributor_name": "Ada"})
	s.posts(t, "/api/request", map[string]any{"description": canary("request"), "contact": canary("contact"),
		"offer_usdc": "5"})
	if _, err := keep(t, cfg, "reply", letter.(string), "-text", canary("reply")); err != nil {
		t.Fatal(err)
	}
}

// publishes exports the record, builds the site again and publishes both, and returns the folders
// that strangers read.
func (s *stall) publishes(t *testing.T, cfg *shop.Config) []string {
	t.Helper()
	if n, err := shop.ExportObservations(t.Context(), cfg); err != nil || n == 0 {
		t.Fatalf("exported %d: %v", n, err)
	}
	in, err := shop.BuildInput(cfg)
	if err != nil {
		t.Fatal(err)
	}
	in.TwinsDir = "" // nobody finds a text in what is compressed
	if _, err := generator.BuildTree(t.Context(), in, cfg.Public); err != nil {
		t.Fatal(err)
	}
	tree, err := shop.Tree(cfg)
	if err != nil {
		t.Fatal(err)
	}
	key, err := shop.GitKey(cfg)
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(t.TempDir(), "publication")
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--bare", "-b", "main",
		repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := publish.ToGit(t.Context(), publish.GitInput{Repo: repo, Branch: "main", Message: "publish",
		Folders: map[string]string{"public": tree, "corpus/observations": shop.ObservationsDir(cfg)},
		Name:    "Ada", Email: shop.GitEmail(in.Site), When: time.Now().UTC(), Signer: attest.NewSSHSigner(key),
		Site: in.Site, PublicPools: in.PublicPools, Corpus: in.Corpus, Ring: in.Ring}); err != nil {
		t.Fatal(err)
	}
	return []string{cfg.Public, cfg.Record, repo}
}

// objects are all objects of a git repository, whole.
func objects(t *testing.T, repo string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", repo, "cat-file", "--batch-all-objects", "--batch",
		"--unordered").Output()
	if err != nil {
		t.Fatalf("%s: %v", repo, err)
	}
	return out
}

// What one reader paid for or wrote for one reader stands in no published file, in no object of the
// published repositories, in no file of the record and in no line of the log.
func TestPrivateTextsStayPrivate(t *testing.T) {
	t.Parallel()
	var cfg *shop.Config
	said := &spoken{}
	s := openStallWith(t, nil, func(s *stall, c *shop.Config) {
		cfg, s.log = c, said
		ownStock(t, c)
		if err := openRecord(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	})
	s.listens(t, cfg)
	s.privately(t, cfg)
	var wanted []string
	for _, name := range []string{"page", "detail", "source", "summary", "confession", "answer", "file", "letter",
		"tip", "request", "contact", "reply"} {
		wanted = append(wanted, canary(name)[:40])
		for i := range 3 { // wherever it begins within base64
			coded := base64.StdEncoding.EncodeToString([]byte(canary(name)[i:]))
			wanted = append(wanted, coded[:40])
		}
	}
	files, repos, open := 0, 0, 0
	find := func(where string, b []byte) {
		if bytes.Contains(b, []byte("A seventh issue")) || bytes.Contains(b, []byte("store-round/v1")) {
			open++ // what is public is found
		}
		for _, text := range wanted {
			if i := bytes.Index(b, []byte(text)); i >= 0 {
				t.Errorf("%s holds %.40q", where, b[max(0, i-20):])
			}
		}
	}
	for _, dir := range s.publishes(t, cfg) {
		err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && e.Name() != "objects" {
				return err
			}
			if e.IsDir() {
				before := open
				repos++
				if find(filepath.Dir(at), objects(t, filepath.Dir(at))); open == before {
					t.Errorf("%s holds nothing that is public", filepath.Dir(at))
				}
				return fs.SkipDir
			}
			if !e.Type().IsRegular() {
				return nil
			}
			files++
			b, err := os.ReadFile(at)
			find(at, b)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	said.mu.Lock()
	defer said.mu.Unlock()
	find("the log", said.text.Bytes())
	if files < 500 || repos < 2 || open < repos+4 || !strings.Contains(said.text.String(), "route=letter") {
		t.Errorf("%d files, %d repositories and %d bytes of the log were searched, %d hold what is public", files,
			repos, said.text.Len(), open)
	}
}
