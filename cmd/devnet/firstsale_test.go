package main

import (
	"context"
	"io"
	"net"
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
	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/laboratory"
)

// steps are the programs of a part of the README, in their order.
func steps(t *testing.T, part string) (programs []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "\n## "+part+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for {
		_, rest, ok := strings.Cut(text, "```sh\n")
		if !ok {
			return programs
		}
		program, after, _ := strings.Cut(rest, "```")
		programs, text = append(programs, program), after
	}
}

// inPlace puts other words in the place of some, each of which must be there.
func inPlace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the README does not say %q", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

var durationForm = regexp.MustCompile(`"took":"[0-9.]+(µs|ms|s)"`)

// TestLongFirstSale: whoever has the programs of a release and an empty folder makes a shop with a
// good and a page of its own, sells in it behind TLS, and verifies what was sold and what is
// published, by the words of the README. Addresses alone are others, whose ports on a machine may
// be taken.
func TestLongFirstSale(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "./cmd/store", "./cmd/verify",
		"./cmd/devnet")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v: %s", err, out)
	}
	began := time.Now()
	programs := steps(t, "A first sale, on this machine")
	if len(programs) != 2 {
		t.Fatalf("%d programs", len(programs))
	}
	host := laboratory.FreeHost(t)
	demo, rpc, shop := host+":4020", host+":4041", host+":4050"
	public := "https://" + shop
	env := []string{"HOME=" + dir, "PATH=" + bin + ":/usr/bin:/bin"}

	call := strings.Fields(programs[0])
	if call[0] != "store" {
		t.Fatalf("the first step is %q", programs[0])
	}
	args := append([]string{"-i", "-C", dir, "PATH=" + t.TempDir(), filepath.Join(bin, "store")}, call[1:]...)
	daemon.Start(t, "Now you. The shop is at ", "/usr/bin/env", append(args, "-listen", demo, "-rpc", rpc)...)

	script := inPlace(t, programs[1], "https://127.0.0.1:4050", public, "store init ",
		"store init -base-url "+public+" ")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-ec", "trap 'kill $(jobs -p); wait' EXIT\n"+script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	served, _ := os.ReadFile(filepath.Join(dir, "shop", "serve.log"))
	if err != nil {
		t.Fatalf("%v: %s\nthe store says: %s", err, out, served)
	}
	for _, says := range []string{"tea.txt", public + "/api/buy/tea", "verified"} {
		if !strings.Contains(string(out), says) {
			t.Errorf("nothing says %q in: %s", says, out)
		}
	}
	bought, err := os.ReadFile(filepath.Join(dir, "shop", "bought.json"))
	if err != nil || !strings.Contains(string(bought), "tea.txt") || !strings.Contains(string(bought), "cert_") {
		t.Errorf("what was bought is %s, %v", bought, err)
	}
	// The log of a store that has ended says so, and durations as people read them.
	if log := string(served); !strings.Contains(log, `"msg":"store closed"`) || !durationForm.MatchString(log) {
		t.Errorf("the store says: %s", log)
	}
	t.Logf("a first sale in %s", time.Since(began).Round(time.Second))
	sellsItsOwn(t, dir, env)
	if conn, err := net.Dial("tcp", shop); err == nil {
		conn.Close()
		t.Error("the shop serves on")
	}
}

// sellsItsOwn makes the second shop of the README on the chains of the same demo, and sells its
// file and the answers of its service to stock clients of both protocols and of MCP.
func sellsItsOwn(t *testing.T, dir string, env []string) {
	t.Helper()
	began := time.Now()
	asked := make(chan string, 9)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked <- r.Method + " " + r.URL.Path + " " + string(b)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"found":"a kettle"}`)
	}))
	defer service.Close()
	programs := steps(t, "Selling what you have")
	if commands := strings.Count(programs[0], "\n"); len(programs) != 1 || commands > 10 {
		t.Fatalf("%d programs, the first of %d commands", len(programs), commands)
	}
	public := "http://" + laboratory.FreeHost(t) + ":4060"
	script := inPlace(t, programs[0], "http://127.0.0.1:4060", public, "http://127.0.0.1:9000", service.URL,
		"store serve\n", "exec store serve\n")
	guide := "%PDF-1.4 how to make tea"
	if err := os.WriteFile(filepath.Join(dir, "guide.pdf"), []byte(guide), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon.Start(t, "store open", "/usr/bin/env", append(append([]string{"-i", "-C", dir}, env...), "/bin/bash", "-ec",
		script)...)
	raw, err := os.ReadFile(filepath.Join(dir, "demo", "buyer.key"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(raw))
	file, lookup := public+"/api/buy/guide?agent_name=", public+"/api/buy/lookup?detail="
	for name, bought := range map[string][]clients.Result{
		"x402": clients.Buy(t, clients.Options{Key: key}, file+"x402", lookup+"kettle"),
		"mppx": clients.BuyMPP(t, clients.Options{Key: key}, file+"mppx", lookup+"cup"),
	} {
		if !bought[0].Settled || !strings.Contains(bought[0].Body, "guide.pdf") || !bought[1].Settled ||
			!strings.Contains(bought[1].Body, "a kettle") {
			t.Errorf("%s: %+v", name, bought)
		}
	}
	for i, a := range clients.CallMCP(t, clients.MCPOptions{Key: key, Dialect: "x402"}, public+"/mcp?unpaid=result",
		`buy_guide={"agent_name":"m"}`, `buy_lookup={"detail":"teapot"}`) {
		if says := []string{"guide.pdf", "a kettle"}[i]; a.Result == nil || a.Result.IsError || a.Payments != 1 ||
			!strings.Contains(string(a.Result.StructuredContent), says) {
			t.Errorf("over MCP: %+v", a)
		}
	}
	service.Close()
	close(asked)
	var all []string
	for one := range asked {
		all = append(all, one)
	}
	slices.Sort(all)
	if want := []string{`POST /lookup {"detail":"cup"}`, `POST /lookup {"detail":"kettle"}`,
		`POST /lookup {"detail":"teapot"}`}; !slices.Equal(all, want) {
		t.Errorf("the service was asked %q", all)
	}
	t.Logf("own goods in %s", time.Since(began).Round(time.Second))
}
