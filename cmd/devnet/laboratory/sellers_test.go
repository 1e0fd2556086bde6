package laboratory

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// stacks are server processes of other people's, each with what a reading must say of it. What the
// stock client does there is not written down: it is asked.
var stacks = []struct {
	name     string
	script   string // and its first argument
	arg      string
	verdict  probe.Verdict
	fault    probe.Fault
	protocol probe.Protocol // without why
}{
	{"express", "sellers.mjs", "express", probe.Ready, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.Ready}},
	{"express POST", "sellers.mjs", "express-post", probe.Ready, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.Ready}},
	{"hono", "sellers.mjs", "hono", probe.Ready, probe.FaultNone, probe.Protocol{Name: "x402", Verdict: probe.Ready}},
	{"hono POST", "sellers.mjs", "hono-post", probe.Ready, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.Ready}},
	{"fastify", "sellers.mjs", "fastify", probe.Ready, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.Ready}},
	{"fastify POST", "sellers.mjs", "fastify-post", probe.Ready, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.Ready}},
	{"x402-express 1", "sellers.mjs", "x402-express", probe.NotReady, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.NotReady}},
	{"x402-hono 1", "sellers.mjs", "x402-hono", probe.NotReady, probe.FaultNone, probe.Protocol{Name: "x402",
		Verdict: probe.NotReady}},
	// It asks by x402 as well, unbidden.
	{"mppx evm", "mppseller.mjs", "evm", probe.Ready, probe.FaultNone, probe.Protocol{Name: "mpp",
		Verdict: probe.Ready}},
	{"mppx tempo", "mppseller.mjs", "tempo", probe.NotReady, probe.FaultNone, probe.Protocol{Name: "mpp",
		Verdict: probe.NotJudged}},
	// Ours, in the words of the protocol: there is no stock seller among the packages.
	{"L402", "sellers.mjs", "l402", probe.NotReady, probe.FaultNone, probe.Protocol{Name: "l402",
		Verdict: probe.NotJudged}},
}

// leastStacks is how many different stacks there are at the least, one with GET and POST counted
// once.
const leastStacks = 8

func TestSoManyStacks(t *testing.T) {
	different := map[string]bool{}
	for _, s := range stacks {
		different[s.script+" "+strings.TrimSuffix(s.arg, "-post")] = true
	}
	if len(different) < leastStacks {
		t.Errorf("%d stacks, want at least %d", len(different), leastStacks)
	}
}

// read walks to a door on loopback, which the guarded client does not.
func read(t *testing.T, url string) probe.Report {
	t.Helper()
	checker, err := probe.NewPreflight(probe.Current(), url, probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var recorded []exchange.Exchange
	for {
		report, next, err := checker.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return report
		}
		req, err := http.NewRequestWithContext(t.Context(), next.Request.Method, next.Request.URL,
			bytes.NewReader(next.Request.Body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = next.Request.Header.Clone()
		x := exchange.Exchange{Request: next.Request, StartedAt: time.Now()}
		resp, err := stay.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		x.Response = exchange.Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Body: body}
		recorded = append(recorded, x)
	}
}

// proxies are what sellers put before their servers: what each program is called with, for a folder
// of its own, a port and the server's.
var proxies = []struct {
	program string
	args    func(t *testing.T, dir, port, to string) []string
}{
	{"nginx", func(t *testing.T, dir, port, to string) []string {
		conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f;
uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen 127.0.0.1:%[2]s; location / { proxy_pass http://127.0.0.1:%[3]s; } } }`, dir, port, to)
		file := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"-c", file}
	}},
	{"caddy", func(t *testing.T, dir, port, to string) []string {
		file := filepath.Join(dir, "Caddyfile")
		if err := os.WriteFile(file, fmt.Appendf(nil, "{\n\tadmin off\n\tauto_https off\n}\nhttp://:%s {\n"+
			"\tbind 127.0.0.1\n\treverse_proxy 127.0.0.1:%s\n}\n", port, to), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"run", "--adapter", "caddyfile", "--config", file}
	}},
}

// behind puts each of the proxies before a port, and returns theirs.
func behind(t *testing.T, to string) []string {
	t.Helper()
	var ports []string
	for _, p := range proxies {
		program, err := exec.LookPath(p.program)
		if err != nil {
			program = filepath.Join("/usr/sbin", p.program)
			if _, err = os.Stat(program); err != nil {
				npmtest.Unavailable(t, err)
			}
		}
		dir, port := t.TempDir(), FreePort(t)
		c := exec.CommandContext(t.Context(), program, p.args(t, dir, port, to)...)
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		Run(t, c, port)
		ports = append(ports, port)
	}
	return ports
}

// TestStockStacks reads doors that other people's software opens, each of them behind the proxies
// too, and has the stock client ask them.
func TestStockStacks(t *testing.T) {
	w := open(t)
	payTo := chaintest.NewKey(t).Address.Hex()
	var questions []Question
	var reports []probe.Report
	for _, s := range stacks {
		port := FreePort(t)
		c := Command(t, s.script, s.arg, port, payTo)
		Run(t, c, port)
		for _, at := range append(behind(t, port), port) {
			url := "http://127.0.0.1:" + at + "/paid"
			r := read(t, url)
			if !slices.ContainsFunc(r.Protocols, func(p probe.Protocol) bool {
				return p.Name == s.protocol.Name && p.Verdict == s.protocol.Verdict
			}) || r.Verdict != s.verdict || r.Fault != s.fault {
				t.Errorf("%s: %s, fault %s, protocols %+v, failed %+v", s.name, r.Verdict, r.Fault, r.Protocols,
					r.Remediation)
			}
			reports = append(reports, r)
			for _, unlimited := range []bool{false, true} {
				questions = append(questions, Question{s.name, url, r.ProbeMethod.Used, unlimited, false})
			}
		}
	}
	for i, a := range w.Ask(t, questions) {
		r := reports[i/2]
		if (r.Verdict == probe.Ready) != a.Settles || a.Settles && r.Fault != probe.FaultNone {
			t.Errorf("%s is read as %s, and the client: %+v", a.Name, r.Verdict, a)
		}
	}
	t.Logf("%d server processes, each behind %d proxies too", len(stacks), len(proxies))
}
