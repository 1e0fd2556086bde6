package main

import (
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/readers"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/agentcard"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
)

// agentSeed is the key of the agent that the documentation signs for.
const agentSeed = "a key for tests that we all know"

// TestStockReaders: each file by which agents find the store is accepted by a reader that is not
// ours, and every address in it answers.
func TestStockReaders(t *testing.T) {
	t.Parallel()
	s, key := openRead(t)
	t.Run("readers", func(t *testing.T) {
		schema, err := os.ReadFile("../../corpus/agentcard/testdata/a2a-0.3.0.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		bought := clients.Buy(t, clients.Options{Key: s.net.Buyers[1].Hex(), Network: s.nodes[0].Network.ID()},
			s.url+"/api/buy/small_blessing")[0]
		var answer struct{ Receipt string }
		if err := json.Unmarshal([]byte(bought.Body), &answer); err != nil || answer.Receipt == "" {
			t.Fatalf("%s: %v", bought.Body, err)
		}
		found := readers.Read(t, s.url, map[string][]byte{"a2a-0.3.0.schema.json": schema,
			"receipt.jws": []byte(answer.Receipt)})
		if len(found) < 13 {
			t.Errorf("%d readers had their say", len(found))
		}
		for _, f := range found {
			if !f.OK {
				t.Errorf("%s: %s", f.Check, f.Says)
			}
		}
		everyDocumentIsRead(t, found)
	})
	t.Run("window", func(t *testing.T) { s.lookInWindow(t) })
	t.Run("linters", func(t *testing.T) { s.lints(t) })
	t.Run("agent", func(t *testing.T) { s.agentBuys(t, key) })
	t.Run("own checkers", func(t *testing.T) { s.readOwn(t) })
	t.Run("addresses", func(t *testing.T) { s.followFiles(t) })
}

// TestLongDocumentedPrograms: the programs of the documentation run, and one that is written
// against the client that is generated from the description.
func TestLongDocumentedPrograms(t *testing.T) {
	s, _ := openRead(t)
	t.Run("generated client", func(t *testing.T) {
		var g readers.Generated
		if earned := s.earned(func() {
			g = readers.Generate(t, s.url, s.net.Buyers[1].Hex(), s.nodes[0].Network.ID())
		}); earned != 10_000 {
			t.Errorf("two blessings earned %d", earned)
		}
		if g.Bought != "small_blessing" || g.Posted != g.Bought || g.Replayed || !g.Valid ||
			g.Refused != http.StatusNotFound || g.Reason == "" {
			t.Errorf("bought %+v", g)
		}
	})
	t.Run("programs", func(t *testing.T) { s.runPrograms(t) })
}

// openRead opens a stall that reaches the agent of the documentation, whose key it returns.
func openRead(t *testing.T) (*stall, *attest.Key) {
	t.Helper()
	key, err := attest.Generate(strings.NewReader(agentSeed))
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "agent.example.com" || r.URL.Path != botauth.Path {
			http.NotFound(w, r)
			return
		}
		body, header, err := botauth.Directory(r.Host, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), key)
		if err != nil {
			t.Error(err)
		}
		maps.Copy(w.Header(), header)
		_, _ = w.Write(body)
	}))
	t.Cleanup(agent.Close)
	roots := x509.NewCertPool()
	roots.AddCert(agent.Certificate())
	s := openStallWith(t, nil, func(s *stall, c *shop.Config) {
		s.reach = func(f *fetch.Config) {
			f.Resolver, f.Dialer, f.Roots = nearby(""), nearby(agent.Listener.Addr().String()), roots
		}
		s.meets(t, c)
	})
	return s, key
}

// exchanged asks the store as its host of the record would be asked, which is on https.
func (s *stall) exchanged(t *testing.T, method, url, body string) exchange.Exchange {
	t.Helper()
	own := strings.Replace(url, "https://", "http://", 1)
	r, err := http.NewRequest(method, own, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Exchange{Request: exchange.Request{Method: method, URL: url}, StartedAt: time.Now(),
		Response: exchange.Response{Status: resp.StatusCode, Header: resp.Header,
			Body: []byte(strings.ReplaceAll(string(b), s.url, strings.Replace(s.url, "http://", "https://", 1)))}}
}

// readOwn holds the card and the list of doors against our own checkers. The store here is on http;
// what is read is what it would be on https, but for the signatures, which are over the former.
func (s *stall) readOwn(t *testing.T) {
	https := strings.Replace(s.url, "http://", "https://", 1)
	c := agentcard.Checker{URL: https + "/.well-known/agent-card.json", Live: true}
	recorded := []exchange.Exchange{s.exchanged(t, "GET", c.URL, "")}
	for {
		report, next, err := c.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next != nil {
			url := strings.Replace(next.Request.URL, "%3A", ":", 1)
			x := s.exchanged(t, next.Request.Method, url, string(next.Request.Body))
			x.Request.URL = next.Request.URL
			recorded = append(recorded, x)
			continue
		}
		for _, check := range report.Checks {
			if check.State != agentcard.Pass && !strings.HasPrefix(check.Name, "signature") && check.Name != "keys" {
				t.Errorf("%s: %s %s %v", check.Name, check.State, check.Detail, check.Where)
			}
		}
		break
	}
	read, next, err := declarations.Checker{Host: strings.TrimPrefix(https, "https://")}.Step([]exchange.Exchange{
		s.exchanged(t, "GET", https+declarations.FilePath, "")})
	if err != nil || next != nil || read.Kind != declarations.Doors {
		t.Errorf("our own reader of doors: %+v, %v, %v", read, next, err)
	}
}

// discovery are the files that name addresses.
var discovery = []string{"/.well-known/agent-card.json", "/.well-known/agent-skills/index.json", "/.well-known/ucp",
	"/.well-known/trust.json", "/.well-known/x402", "/.well-known/api-catalog", "/.well-known/did.json",
	"/.well-known/mcp", "/.well-known/ai-catalog.json", "/.well-known/security.txt", "/discovery/resources?limit=100",
	"/openapi-tools.json", "/llms.txt", "/agents.md", "/auth.md", "/skill.md", "/mcp.md", "/docs.md", "/menu.json",
	"/.well-known/oauth-protected-resource", "/.well-known/conformance/offer-receipt-vectors.json"}

// priced are the addresses that are paid for.
var priced = regexp.MustCompile(`/(api/buy|almanac|gazette|tips|zodiac/archive/[a-z]+|porch)/`)

// followFiles asks every address that a discovery file names. What takes a POST says so, and a door
// asks for its money or its inputs.
func (s *stall) followFiles(t *testing.T) {
	named := regexp.MustCompile(regexp.QuoteMeta(s.url) + "[^]\\s\"'`)<>|]*")
	asked := make(map[string]bool)
	for _, file := range discovery {
		for _, u := range named.FindAllString(s.page(t, file), -1) {
			u = strings.TrimRight(u, ".,:;")
			u, _, _ = strings.Cut(u, "#")
			if asked[u] || strings.ContainsAny(u, "{$") || strings.Contains(u, "ITEM_ID") ||
				strings.Contains(u, "/never-pay-this/") {
				continue
			}
			asked[u] = true
			resp, err := http.Get(u)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			ok := []int{http.StatusOK, http.StatusMethodNotAllowed}
			if priced.MatchString(u) {
				ok = []int{http.StatusPaymentRequired, http.StatusBadRequest}
			}
			if !slices.Contains(ok, resp.StatusCode) {
				t.Errorf("%s names %s: status %d", file, u, resp.StatusCode)
			}
		}
	}
	if len(asked) < 60 {
		t.Errorf("only %d addresses are named", len(asked))
	}
	var api struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(s.page(t, "/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	for path, methods := range api.Paths {
		if strings.Contains(path, "{") || methods["get"] == nil {
			continue
		}
		resp, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		// This store has no record.
		ofRecord := strings.HasPrefix(path, "/corpus/") || path == "/.well-known/anchor-log.json"
		if resp.StatusCode == http.StatusNotFound && !ofRecord || resp.StatusCode >= 500 {
			t.Errorf("/openapi.json names %s: status %d", path, resp.StatusCode)
		}
	}
}

// program is a block of code on a page, and the file that it stands in, without its extension.
type program struct{ page, language, text, name string }

var fenced = regexp.MustCompile("(?ms)^```(sh|typescript|python|go)\n(.*?)^```$")

// extensions are those of the languages.
var extensions = map[string]string{"sh": ".sh", "typescript": ".ts", "python": ".py", "go": ".go"}

// programs are the blocks of the documentation and of the skill, page by page in their order.
func (s *stall) programs(t *testing.T) (all []program) {
	t.Helper()
	pages := []string{"/skill.md"}
	for _, m := range regexp.MustCompile(`\(/docs/([a-z]+)\)`).FindAllStringSubmatch(s.page(t, "/docs.md"), -1) {
		pages = append(pages, "/docs/"+m[1]+".md")
	}
	languages := map[string]int{}
	for _, page := range pages {
		for i, m := range fenced.FindAllStringSubmatch(s.page(t, page), -1) {
			all = append(all, program{page, m[1], m[2], fmt.Sprintf("%s-%d", filepath.Base(page), i)})
			languages[m[1]]++
		}
	}
	if len(pages) < 7 || len(languages) < len(extensions) {
		t.Fatalf("programs of %q in %v", pages, languages)
	}
	return all
}

// runPrograms runs every program, those of a page in one folder.
func (s *stall) runPrograms(t *testing.T) {
	const python = "/usr/bin/python3" // the system's own, for which Debian packages curve and hash
	if out, err := exec.Command(python, "-c", "import ecdsa, Cryptodome.Hash.keccak").CombinedOutput(); err != nil {
		npmtest.Unavailable(t, fmt.Errorf("python3-ecdsa or python3-pycryptodome is missing: %w: %s", err, out))
	}
	all, built := s.programs(t), npmtest.Own(t, ".")
	write := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compile := []string{"node_modules/typescript/bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "nodenext", "--types", "node"}
	if os.Getenv("STORE_SOAK") == "" {
		compile = append(compile, "--noCheck") // the types of viem take as long as all else
	}
	for _, p := range all {
		write(built, p.name+extensions[p.language], p.text)
		if p.language == "typescript" {
			compile = append(compile, p.name+".ts")
		}
	}
	node := npmtest.Node(t)
	readers.Run(t, built, nil, node, compile...)
	env := []string{"PRIVATE_KEY=" + s.net.Buyers[2].Hex(), "GO111MODULE=off", "RPC_URL=" + s.net.URL,
		"AGENT_KEY=" + hex.EncodeToString([]byte(agentSeed))}
	folders := map[string]string{}
	for _, p := range all {
		if folders[p.page] == "" {
			folders[p.page] = t.TempDir()
		}
		dir, file := folders[p.page], filepath.Join(built, p.name+extensions[p.language])
		switch p.language {
		case "sh":
			readers.Run(t, dir, env, "bash", "-euo", "pipefail", file)
		case "python":
			readers.Run(t, dir, env, python, file)
		case "go":
			readers.Run(t, dir, env, "go", "run", file)
		case "typescript":
			readers.Run(t, dir, env, node, strings.TrimSuffix(file, ".ts")+".js")
		}
	}
}
