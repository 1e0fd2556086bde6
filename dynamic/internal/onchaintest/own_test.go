package onchaintest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// ownFiles are the files that ownSite sells, by where they lie.
var ownFiles = map[string]string{"tea.html": strings.Repeat("<script>tea()</script>", 5000), "keys/a.txt": "key A",
	"keys/b.txt": "key B"}

// ownSite is the specimen with goods of a keeper's own, of which two ask an address.
func ownSite(ask string) (*content.Site, error) {
	m := fstest.MapFS{}
	err := fs.WalkDir(content.Specimen, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(content.Specimen, name)
		m[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		return nil, err
	}
	for at, text := range ownFiles {
		m["files/"+at] = &fstest.MapFile{Data: []byte(text)}
	}
	m["texts/letter.md"] = &fstest.MapFile{Data: []byte("# To {detail}\n\nFrom {keeper}.")}
	const input = "\n[[input]]\nname = \"detail\"\nhelp = \"What it is about.\"\n"
	up := "[upstream]\nurl = \"" + ask + "\"\nseconds = 1\n"
	for id, rest := range map[string]string{
		"tea":      `file = "tea.html"`,
		"keys":     "folder = \"keys\"\nartifact = \"none\"",
		"letter":   `text = "letter.md"` + input,
		"forecast": up + "repeatable = true\nunpaid_a_day = 2" + input,
		"picture": "artifact = \"none\"\nmedia_type = \"image/png\"\n" + up +
			"repeatable = true\nanswer = \"file\"" + input,
		"errand": up + input,
	} {
		m["shelf/"+id+".md"] = &fstest.MapFile{Data: []byte("+++\nname = \"Own " + id + "\"\nprice = \"0.10\"\n" +
			"description = \"What it is.\"\n" + rest + "\n+++\n")}
	}
	return content.Load(content.Sources{Content: m})
}

// asking asks one address on loopback.
func asking(at string) (*goods.Proxied, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return nil, err
	}
	c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Unsigned: true, Unrecorded: true,
		MaxBytes: goods.MaxAnswer, Timeout: goods.UpstreamMaxTime, PerHost: goods.AtOnce,
		Allow: &fetch.Allow{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			Ports: []uint16{uint16(port)}}})
	if err != nil {
		return nil, err
	}
	return goods.NewUpstreams([]goods.AllowedUpstream{{Prefix: at, Client: c,
		Header: http.Header{"Authorization": {"Bearer k"}}}})
}

// asks is an upstream that does as it is told, and remembers who asked.
type asks struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	keys   []string // of the requests, in order
	bodies []string
}

func newAsks(t testing.TB) *asks {
	s := &asks{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.keys, s.bodies = append(s.keys, r.Header.Get("Idempotency-Key")), append(s.bodies, string(body))
		answer := s.answer
		s.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		if r.Header.Get("Accept") == "image/png" {
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, "PNG")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{ \"for\": %q }\n", r.Header.Get("Idempotency-Key"))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *asks) does(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.keys, s.bodies = f, nil, nil
}

func (s *asks) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.keys...)
}

// ownShop sells goods of one's own on a chain.
func ownShop(t *testing.T, buyers int) (*shop, *asks) {
	t.Helper()
	up := newAsks(t)
	site, err := ownSite(up.URL + "/ask")
	if err != nil {
		t.Fatal(err)
	}
	ask, err := asking(up.URL + "/ask")
	if err != nil {
		t.Fatal(err)
	}
	v := goods.Vault(t.TempDir())
	for _, f := range site.Files() {
		if err := v.Keep(f, strings.NewReader(ownFiles[f.Path])); err != nil {
			t.Fatal(err)
		}
	}
	return newShop(t, shopOptions{buyers: buyers, site: site, config: func(c *till.Config) {
		c.Files, c.Upstreams = v, ask
	}}), up
}

// fetched fetches the file of a purchase.
func (s *shop) fetched(r tilltest.Reply, header map[string]string) tilltest.Reply {
	s.t.Helper()
	path := strings.TrimPrefix(r.Str("file_url"), s.url)
	if path == "" {
		s.t.Fatalf("no file_url: %s", r.Raw)
	}
	h := map[string]string{"Authorization": "Bearer " + r.Str("recovery", "status_token")}
	maps.Copy(h, header)
	return s.do("GET", path, h)
}

// Goods of each kind of one's own are bought once, and had again by a repeat, the status and the
// file's own route.
func TestGoodsOfOnesOwn(t *testing.T) {
	t.Parallel()
	s, up := ownShop(t, 8)
	for i, c := range []struct{ path, file, text string }{
		{"/api/buy/tea", ownFiles["tea.html"], ""},
		{"/api/buy/keys", "key ", ""},
		{"/api/buy/letter?detail=*you*", "", "# To \\*you\\*\n\nFrom Hanne Pellworth."},
		{"/api/buy/forecast?detail=Kyoto", "", ""},
		{"/api/buy/picture", "PNG", ""},
		{"/api/buy/errand?detail=Kyoto", "", ""},
	} {
		up.does(nil)
		r, pay := s.buy(c.path, s.net.Buyers[i], nil)
		if r.Status != 200 || r.Str("deliverable", "text") != c.text {
			t.Fatalf("%s = %d %s", c.path, r.Status, r.Raw)
		}
		bare := strings.Contains(c.path, "keys") || strings.Contains(c.path, "picture")
		if (r.Str("cert_id") == "") != bare || (r.Body["patron_number"] == nil) != bare || r.Str("receipt") == "" {
			t.Errorf("%s: a certificate or none: %s", c.path, r.Raw)
		}
		if !bare {
			v := s.do("GET", "/api/verify/"+r.Str("cert_id"), nil)
			if v.Body["valid"] != true || !strings.HasPrefix(v.Str("certificate", "attests"), "sha256-salted:") {
				t.Errorf("%s: %s", c.path, v.Raw)
			}
		}
		if again := s.do("GET", c.path, map[string]string{"PAYMENT-SIGNATURE": pay}); again.Status != 200 ||
			again.Body["idempotent_replay"] != true || again.Str("receipt") != r.Str("receipt") {
			t.Errorf("%s again = %d %s", c.path, again.Status, again.Raw)
		}
		if strings.Contains(c.path, "detail=Kyoto") {
			if keys := up.asked(); len(keys) != 1 || r.Str("deliverable", "answer", "for") != keys[0] ||
				up.bodies[0] != `{"detail":"Kyoto"}` || strings.Contains(keys[0], r.Purchase()) {
				t.Errorf("%s: asked %v with %v, answered %s", c.path, keys, up.bodies, r.Raw)
			}
		}
		if c.file == "" {
			continue
		}
		f := s.fetched(r, nil)
		sum := sha256.Sum256(f.Raw)
		if f.Status != 200 || !bytes.HasPrefix(f.Raw, []byte(c.file)) ||
			hex.EncodeToString(sum[:]) != r.Str("deliverable", "sha256") {
			t.Errorf("%s: file = %d, %d bytes", c.path, f.Status, len(f.Raw))
		}
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; sandbox",
			"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store",
			"Content-Disposition": "attachment; filename=" + r.Str("deliverable", "file_name"),
			"Content-Type":        r.Str("deliverable", "media_type"), "Accept-Ranges": "bytes"} {
			if f.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", c.path, name, f.Header.Get(name), want)
			}
		}
	}
}

// A file is fetched in parts by who holds the token in a header, and by nobody else; what was sold
// stays what it was.
func TestFetchingAFile(t *testing.T) {
	t.Parallel()
	s, _ := ownShop(t, 4)
	r, _ := s.buy("/api/buy/tea", s.net.Buyers[0], nil)
	whole := ownFiles["tea.html"]
	tag := `"` + r.Str("deliverable", "sha256") + `"`
	for _, c := range []struct {
		header map[string]string
		status int
		body   string
		code   string
	}{
		{map[string]string{"Range": "bytes=10-19"}, 206, whole[10:20], ""},
		{map[string]string{"Range": "bytes=100-", "If-Range": tag}, 206, whole[100:], ""},
		{map[string]string{"Range": "bytes=100-", "If-Range": `"other"`}, 200, whole, ""},
		{map[string]string{"Range": "bytes=999999-"}, 416, "", "range_not_satisfiable"},
		{map[string]string{"If-Match": `"other"`}, 412, "", "precondition_failed"},
		{map[string]string{"Authorization": "Bearer st_guess"}, 401, "", "unauthorized"},
		{map[string]string{"Authorization": ""}, 401, "", "unauthorized"},
	} {
		f := s.fetched(r, c.header)
		if f.Status != c.status || f.Code() != c.code || c.code == "" && string(f.Raw) != c.body {
			t.Errorf("%v = %d %s", c.header, f.Status, f.Code())
		}
		if c.code != "" && (!strings.HasPrefix(f.Header.Get("Content-Type"), "application/problem+json") ||
			f.Header.Get("Content-Disposition") != "") {
			t.Errorf("%v: a refusal as %v", c.header, f.Header)
		}
	}
	if f := s.do("GET", strings.TrimPrefix(r.Str("file_url"), s.url)+"?token="+r.Str("recovery", "status_token"),
		nil); f.Status != 401 {
		t.Errorf("the token in the address = %d", f.Status)
	}
	hello, _ := s.buy("/api/buy/hello", s.net.Buyers[1], nil)
	h := map[string]string{"Authorization": "Bearer " + hello.Str("recovery", "status_token")}
	if hello.Body["file_url"] != nil {
		t.Errorf("a greeting has a file: %s", hello.Raw)
	}
	s.want("what is no file", s.do("GET", "/api/purchase-status/"+hello.Purchase()+"/file", h), 404, "not_found")
	// The two units of the folder go to two buyers, and then there is none.
	got := map[string]bool{}
	for _, b := range s.net.Buyers[1:3] {
		r, _ := s.buy("/api/buy/keys", b, nil)
		got[string(s.fetched(r, nil).Raw)] = true
	}
	if !got["key A"] || !got["key B"] {
		t.Errorf("units %v", got)
	}
	s.want("a third", s.do("GET", "/api/buy/keys", nil), 409, "sold_out")
}

// An upstream that gives nothing that could be sold costs nobody anything before it is paid for,
// and what was paid for is asked for again with one key, or owed.
func TestAnUpstreamThatFails(t *testing.T) {
	t.Parallel()
	s, up := ownShop(t, 12)
	const secret = "<script>secret()</script>"
	fails := map[string]http.HandlerFunc{
		"503": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, secret, http.StatusServiceUnavailable)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"HTML":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>"+secret) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, secret)
		},
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			w.Write(bytes.Repeat([]byte("1"), goods.MaxAnswer+1))
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		},
		"breaks off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	buyer := 0
	for what, f := range fails {
		up.does(f)
		path := "/api/buy/picture?detail=" + url.QueryEscape(what)
		if what == "no JSON" {
			path = "/api/buy/forecast?detail=x"
		}
		r, _ := s.buy(path, s.net.Buyers[buyer], nil)
		buyer++
		if r.Status != 409 || r.Code() != "upstream_failed" || r.Str("billed") != "no" || bytes.Contains(r.Raw,
			[]byte("secret")) || len(up.asked()) != 1 {
			t.Errorf("%s: %d %s, asked %d times", what, r.Status, r.Raw, len(up.asked()))
		}
		s.state(r.Purchase(), till.Failed)
	}
	// One that is asked after the payment is asked again with the same key.
	up.does(fails["503"])
	ended := make(chan tilltest.Reply, 1)
	path := "/api/buy/errand?detail=x"
	ch := s.challenge(path)
	go func() {
		ended <- s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Buyers[buyer])})
	}()
	until(t, "the address to be asked twice", func() bool { return len(up.asked()) > 1 })
	keys := up.asked()
	up.does(nil)
	if r := <-ended; r.Status == 503 && r.Str("billed") == "yes" {
		s.state(r.Purchase(), till.Delivered)
	} else if r.Status != 200 {
		t.Errorf("asked again: %d %s", r.Status, r.Raw)
	}
	if more := up.asked(); len(more) != 1 || more[0] != keys[0] || keys[1] != keys[0] {
		t.Errorf("the keys of one order: %v, %v", keys, more)
	}
	// What is refused for good is owed at once.
	buyer++
	up.does(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, 400) })
	r, _ := s.buy(path, s.net.Buyers[buyer], nil)
	if r.Status != 409 || r.Code() != "refund_owed" || r.Str("billed") != "yes" || r.Str("owed_usdc") != "0.1" ||
		bytes.Contains(r.Raw, []byte("secret")) {
		t.Errorf("refused: %d %s", r.Status, r.Raw)
	}
	s.state(r.Purchase(), till.RefundOwed)
	auditLedger(t, s.net, s.db) // patron numbers have no gap
}

// Requests that nobody paid for end at their bound; who bought before goes on.
func TestUnpaidRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s, up := ownShop(t, 4)
	const path = "/api/buy/forecast?detail=x"
	r, _ := s.buy(path, s.net.Buyers[0], nil)
	s.want("a purchase", r, 200, "")
	up.does(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) })
	for i := range 2 {
		r, _ := s.buy(path+strconv.Itoa(i), s.net.Buyers[1], nil)
		s.want("an answer that did not come", r, 409, "upstream_failed")
	}
	r, _ = s.buy(path+"z", s.net.Buyers[2], nil)
	if s.want("a stranger", r, 429, "budget_spent"); r.Str("billed") != "no" || r.Str("retry") != "after" ||
		len(up.asked()) != 2 {
		t.Errorf("beyond the bound: %s, asked %d times", r.Raw, len(up.asked()))
	}
	up.does(nil)
	r, _ = s.buy(path+"y", s.net.Buyers[0], nil)
	s.want("who bought before", r, 200, "")
	left := 0
	err := s.db.View(t.Context(), func(tx ledger.Tx) error {
		for _, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("answer"))) {
			if left++; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || left != 0 {
		t.Errorf("%d answers are kept twice, %v", left, err)
	}
}

// A process that is killed while it asks, before the payment or after, asks again with the same key
// and delivers once.
func TestKillsWhileAnUpstreamIsAsked(t *testing.T) {
	t.Parallel()
	up := newAsks(t)
	v := newVictims(t, 12)
	again := func(what string, asked int) {
		k := v.start(childConfig{Upstream: up.URL + "/ask"})
		v.rested(k)
		v.shut(k)
		keys := up.asked()
		if len(keys) != asked || slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] }) {
			t.Errorf("%s: asked with %v, want %d times one key", what, keys, asked)
		}
	}
	for _, path := range []string{"/api/buy/forecast?detail=x", "/api/buy/errand?detail=x"} {
		for _, step := range []string{"claimed", "settling", "sent", "settled", "delivered"} {
			up.does(nil)
			k := v.start(childConfig{Step: step, Nth: 1, Upstream: up.URL + "/ask"})
			if o, ok := v.order(k, path); ok {
				if err := v.present(k, o); err != nil {
					t.Fatal(err)
				}
			}
			v.killed(k, step)
			again(path+", killed after "+step, 1)
		}
		var k *child
		up.does(func(http.ResponseWriter, *http.Request) { // after the request, before its answer
			up.mu.Lock()
			up.answer = nil
			up.mu.Unlock()
			k.cmd.Process.Kill()
			<-k.ended
		})
		k = v.start(childConfig{Upstream: up.URL + "/ask"})
		if o, ok := v.order(k, path); ok {
			if err := v.present(k, o); err != nil {
				t.Fatal(err)
			}
		}
		again(path+", killed while it asks", 2)
	}
	db := v.open()
	for _, p := range tilltest.Purchases(t, db) {
		if p.State != till.Delivered {
			t.Errorf("%s is %s", p.ID, p.State)
		}
	}
	if n := auditLedger(t, v.net, db); n != len(v.orders) {
		t.Errorf("%d patron numbers for %d orders", n, len(v.orders))
	}
}
