package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/laboratory"
)

// verbVariable stands in a process that a test started and that is the store.
const verbVariable = "STORE_TEST_VERB"

// soldHere is a keeper's store on loopback with a chain to be paid on, in a folder of its own.
type soldHere struct {
	t         *testing.T
	dir, base string
	net       *chaintest.Net
	serving   *exec.Cmd
	said      *said
	changed   []string // the files that write has changed
}

func newSoldHere(t *testing.T) *soldHere {
	t.Helper()
	s := &soldHere{t: t, dir: newSite(t)}
	chain := chaintest.New(t, chaintest.Options{})
	s.net = chain
	listen := "127.0.0.1:" + laboratory.FreePort(t)
	s.base = "http://" + listen
	s.write("var/keys/relayer.key", func(string) string { return chain.Relayer.Hex() + "\n" })
	s.write("store.toml", func(string) string {
		return fmt.Sprintf(`base_url = %q
listen = %q
ledger = "bolt:var/ledger.bolt"
content = "content"
stock = "var/stock"
public = "public"
record = "corpus"
sources = "var/sources"
view = "var/view"
[keys]
identity = "var/keys/identity.pem"
ring = "var/keys/ring.json"
secret = "var/keys/till.secret"
log = "var/keys/log.pem"
[[network]]
id = "eip155:8453"
rpc = [%q]
pay_to = %q
relayer_key = "var/keys/relayer.key"
genesis_hash = "any"
coin_price = "3000"
coin_price_date = "2026-11-20"
[server]
log_level = "info"
`, s.base, listen, chain.Chains[0].URL, chain.PayTo.Hex())
	})
	return s
}

// write changes a file of the folder.
func (s *soldHere) write(name string, change func(string) string) {
	s.t.Helper()
	s.changed = append(s.changed, name)
	at := filepath.Join(s.dir, filepath.FromSlash(name))
	old, err := os.ReadFile(at)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(change(string(old))), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

var priceLine = regexp.MustCompile(`(?m)^price = .*$`)

// price edits what hello costs.
func (s *soldHere) price(usdc string) {
	s.t.Helper()
	s.write("content/shelf/hello.md",
		func(text string) string { return priceLine.ReplaceAllString(text, `price = "`+usdc+`"`) })
}

// store runs a verb to its end. A store that is to be refused and opens all the same is ended, with
// the exit code opened.
func (s *soldHere) store(args ...string) (code int, said string) {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.process(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if _, code := err.(*exec.ExitError); err != nil && !code {
				s.t.Fatal(err)
			}
			return cmd.ProcessState.ExitCode(), out.String()
		case <-time.After(20 * time.Millisecond):
		}
		if args[0] != "serve" {
			continue
		}
		if res, err := http.Get(s.base + "/style.css"); err == nil {
			res.Body.Close()
			_ = cmd.Process.Kill() // it may have ended
			<-ended
			return opened, out.String()
		}
	}
}

// opened is the exit code of a store that served and was ended.
const opened = -1

func (s *soldHere) process(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), verbVariable+"=1")
	return cmd
}

func (s *soldHere) build() {
	s.t.Helper()
	if code, said := s.store("build"); code != 0 {
		s.t.Fatalf("store build: exit code %d: %s", code, said)
	}
}

// said is what a process writes while it is read.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// has waits until a process has written what a form matches.
func (s *said) has(t *testing.T, form string) string {
	t.Helper()
	for re := regexp.MustCompile(form); t.Context().Err() == nil; <-time.After(10 * time.Millisecond) {
		if found := re.FindString(s.String()); found != "" {
			return found
		}
	}
	return ""
}

// serve starts the store and waits until it answers.
func (s *soldHere) serve() {
	s.t.Helper()
	s.serving, s.said = s.process("serve"), new(said)
	s.serving.Stdout, s.serving.Stderr = s.said, s.said
	if err := s.serving.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan error, 1)
	cmd := s.serving
	go func() { done <- cmd.Wait() }()
	s.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	for {
		if res, err := http.Get(s.base + "/style.css"); err == nil {
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				s.t.Fatalf("the store opened with a %d: %s", res.StatusCode, s.said)
			}
			return
		}
		select {
		case <-done:
			s.t.Fatalf("the store did not open: %s", s.said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// kill ends the serving process as a crash does.
func (s *soldHere) kill() {
	s.t.Helper()
	if err := s.serving.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	for { // its listener and its ledger go with it
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.base, "http://"), time.Second)
		if err != nil {
			return
		}
		c.Close()
	}
}

// get reads an address, which must answer with the status.
func (s *soldHere) get(path string, status int, fields ...string) string {
	req, err := http.NewRequest(http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Errorf("GET %s: %v", path, err)
		return ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Errorf("GET %s: %d %v, want %d: %.200s", path, res.StatusCode, err, status, b)
	}
	return string(b)
}

// prices are what the catalogue, the page and the till say that hello costs.
func (s *soldHere) prices() (menu, page, till string) {
	var good struct {
		Price string `json:"price_usdc"`
	}
	if err := json.Unmarshal([]byte(s.get("/menu/hello.json", 200)), &good); err != nil {
		s.t.Error(err)
	}
	if m := regexp.MustCompile(`([0-9.]+) USDC`).FindStringSubmatch(s.get("/menu/hello", 200, "Accept",
		"text/markdown")); m != nil {
		page = m[1]
	}
	var terms struct {
		Price struct {
			USDC string `json:"usdc"`
		} `json:"price"`
	}
	if err := json.Unmarshal([]byte(s.get("/api/buy/hello", http.StatusPaymentRequired)), &terms); err != nil {
		s.t.Error(err)
	}
	return good.Price, page, terms.Price.USDC
}

// agree demands one price of all three.
func (s *soldHere) agree(when, want string) {
	s.t.Helper()
	if menu, page, till := s.prices(); menu != want || page != want || till != want {
		s.t.Fatalf("%s: the catalogue says %s, the page %s, the till %s, want %s\n%s", when, menu, page, till, want,
			s.said)
	}
}

// becomes waits until the store sells at a price.
func (s *soldHere) becomes(when, want string) {
	s.t.Helper()
	for { // a store that never takes it up runs into the time that all tests have
		if _, _, till := s.prices(); till == want {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	s.agree(when, want)
}

// A keeper edits and builds while the store runs, and it is killed between any two steps: what a
// page says and what the till asks agree at each moment, and a broken edit changes nothing.
func TestStoreFollowsItsTree(t *testing.T) {
	s := newSoldHere(t)
	s.build()
	if to, err := os.Readlink(filepath.Join(s.dir, "public", "current")); err != nil ||
		!strings.HasPrefix(to, "trees/") {
		t.Fatalf("there is no pointer to the tree: %q, %v", to, err)
	}
	s.serve()
	s.agree("at first", "0.5")

	s.price("0.75")
	s.agree("after an edit", "0.5")
	s.kill()
	s.serve()
	s.agree("started between an edit and a build", "0.5")
	s.build()
	s.becomes("after the build", "0.75")
	s.kill()
	s.serve()
	s.agree("started after the build", "0.75")

	s.price("cheap")
	if code, said := s.store("build"); code != 1 || !strings.Contains(said, "shelf/hello.md:") {
		t.Errorf("a broken edit: exit code %d: %s", code, said)
	}
	s.agree("after a broken edit", "0.75")
	s.kill()
	s.serve()
	s.agree("started after a broken edit", "0.75")

	// The build itself is killed, early and late.
	s.price("0.6")
	for _, after := range []time.Duration{10 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		cut := s.process("build")
		if err := cut.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // any moment will do
		_ = cut.Process.Kill()
		_ = cut.Wait()
		if menu, page, till := s.prices(); menu != till || page != till {
			// It may have come as far as the pointer.
			s.becomes("after a build that was killed", "0.6")
		}
	}
	s.kill()
	s.serve()
	s.build()
	s.becomes("after builds that were killed", "0.6")

	// The pools are private, so nothing of them stands where the tree is.
	secret := regexp.MustCompile(`text = "([^"]{80})`).FindStringSubmatch(filesBelow(t,
		filepath.Join(s.dir, "var", "stock"))["secrets.toml"])
	for name, body := range filesBelow(t, filepath.Join(s.dir, "public")) {
		if strings.HasSuffix(name, ".zip") || secret != nil && strings.Contains(body, secret[1]) {
			t.Errorf("public/%s holds private sources", name)
		}
	}
}

// Many ask while trees are swapped: nobody sees a 500, and nobody sees a page of one tree beside a
// price of another.
func TestTreesAreSwappedUnderLoad(t *testing.T) {
	s := newSoldHere(t)
	swap("store.toml", "[keys]", "twins = \"var/twins\"\n[keys]")(s)
	s.build()
	s.serve()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var asked atomic.Int64
	for range 2 {
		wg.Go(func() {
			for again := time.Tick(50 * time.Millisecond); ctx.Err() == nil; <-again {
				// The price of the page before and after tells which tree the till may be at.
				before, page, till := s.prices()
				after, _, _ := s.prices()
				if before == after && (page != before || till != before) {
					t.Errorf("the catalogue says %s, the page %s, the till %s", before, page, till)
				}
				for _, path := range []string{"/", "/openapi.json", "/corpus/brief", "/menu.json"} {
					s.get(path, 200, "Accept-Encoding", "br, gzip")
				}
				s.get("/nothing", 404)
				asked.Add(11)
			}
		})
	}
	for i := range 4 { // more than there are old trees kept
		s.price(fmt.Sprintf("0.6%d", i+1))
		s.build()
	}
	s.becomes("at the end", "0.64")
	stop()
	wg.Wait()
	t.Logf("%d requests across 4 swaps", asked.Load())
}
