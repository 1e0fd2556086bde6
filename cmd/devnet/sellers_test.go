package main

import (
	"bytes"
	"encoding/json"
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

	"store.example/agentstore/cmd/check/kit"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/laboratory"
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

// readDoor walks to a door on loopback, which the guarded client does not.
func readDoor(t *testing.T, url string) probe.Report {
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
		dir, port := t.TempDir(), laboratory.FreePort(t)
		c := exec.CommandContext(t.Context(), program, p.args(t, dir, port, to)...)
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		laboratory.Run(t, c, port)
		ports = append(ports, port)
	}
	return ports
}

// TestLongStockStacks reads doors that other people's software opens, each of them behind the
// proxies too, and has the stock client ask them.
func TestLongStockStacks(t *testing.T) {
	w := openLaboratory(t)
	payTo := chaintest.NewKey(t).Address.Hex()
	var questions []laboratory.Question
	var reports []probe.Report
	for _, s := range stacks {
		port := laboratory.FreePort(t)
		c := laboratory.Command(t, s.script, s.arg, port, payTo)
		laboratory.Run(t, c, port)
		for _, at := range append(behind(t, port), port) {
			url := "http://127.0.0.1:" + at + "/paid"
			r := readDoor(t, url)
			if !slices.ContainsFunc(r.Protocols, func(p probe.Protocol) bool {
				return p.Name == s.protocol.Name && p.Verdict == s.protocol.Verdict
			}) || r.Verdict != s.verdict || r.Fault != s.fault {
				t.Errorf("%s: %s, fault %s, protocols %+v, failed %+v", s.name, r.Verdict, r.Fault, r.Protocols,
					r.Remediation)
			}
			reports = append(reports, r)
			for _, unlimited := range []bool{false, true} {
				questions = append(questions, laboratory.Question{Name: s.name, URL: url,
					Method: r.ProbeMethod.Used, Unlimited: unlimited})
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

// purchaseRows are what -json writes of a purchase, by name.
func purchaseRows(t *testing.T, out string) map[string]kit.Row {
	t.Helper()
	var report struct {
		Purchase []struct {
			Name      string
			State     probe.State
			BlockedBy string `json:"blocked_by"`
			Detail    string
			Fix       string
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rows := map[string]kit.Row{}
	for i, r := range report.Purchase {
		if i >= len(kit.Checks()) || kit.Checks()[i].Name != r.Name {
			t.Errorf("row %d is %s", i, r.Name)
		}
		rows[r.Name] = kit.Row{Name: r.Name, State: r.State,
			BlockedBy: r.BlockedBy, Detail: r.Detail, Fix: r.Fix}
	}
	return rows
}

// TestLongCheckPays buys at stock sellers that settle on a chain: one as it comes, one that gives
// an answer again to the payment that it was given to and charges for an order twice, and one that
// knows orders too. The door's words alone find the same as the chain does.
func TestLongCheckPays(t *testing.T) {
	net := chaintest.New(t, chaintest.Options{Buyers: 10}) // five buy, and five relay
	const price = 10_000
	ways := []string{"lost-fresh-402", "lost-connection", "lost-502", "lost-504", "lost-time-out", "lost-cut",
		"lost-early"}
	for i, c := range []struct {
		name, stack, repeats string
		rpc                  bool
		fails                []string
		charged              int // payments that were settled, -1 where that is not told beforehand
	}{
		{"stock", "express", "", true, ways, -1},
		{"fastify", "fastify-post", "", true, ways, -1},
		{"charges twice", "express", "payment", true, ways[:1], 9},
		{"charges twice, by its own words", "express", "payment", false, ways[:1], 9},
		{"right", "express-post", "order", true, nil, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			buyer, payTo := net.Buyers[i], chaintest.NewKey(t).Address
			port := laboratory.FreePort(t)
			laboratory.Sell(t, c.stack, port, payTo.Hex(), "RPC="+net.URL, "RELAYER="+net.Buyers[5+i].Hex(),
				"REPEATS="+c.repeats)
			args := []string{"-local", "-json", "-pay", keyFile(t, buyer), "-journal", t.TempDir(), "-max-usd", "0.09"}
			if c.rpc {
				args = append(args, "-rpc", net.URL)
			}
			before := net.Balance(buyer.Address)
			var out, errs bytes.Buffer
			code := kit.Run(t.Context(), "check", append(args, "http://localhost:"+port+"/paid"), &out, &errs)
			rows := purchaseRows(t, out.String())
			spent := before - net.Balance(buyer.Address)
			for _, check := range kit.Checks() {
				row, want := rows[check.Name], probe.Pass
				switch {
				case slices.Contains(c.fails, check.Name):
					want = probe.Fail
				case check.Name == "receipt", check.Name == "charged" && !c.rpc:
					want = probe.NotReached
				}
				if row.State != want || (want == probe.Fail) != (row.Fix != "") {
					t.Errorf("%+v, want %s", row, want)
				}
			}
			want := kit.ExitFine
			if c.fails != nil {
				want = kit.ExitFound
			}
			if code != want || errs.Len() > 0 {
				t.Errorf("exit %d, want %d: %s", code, want, errs.Bytes())
			}
			if spent > 90_000 || c.charged >= 0 && spent != int64(c.charged)*price ||
				net.Balance(payTo) != spent {
				t.Errorf("spent %d, want %d payments of %d; the seller has %d", spent, c.charged, price,
					net.Balance(payTo))
			}
			if c.repeats == "payment" && !strings.Contains(rows[ways[0]].Detail, "charged") {
				t.Errorf("%+v", rows[ways[0]])
			}
		})
	}
}
