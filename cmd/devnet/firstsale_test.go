package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
	if conn, err := net.Dial("tcp", shop); err == nil {
		conn.Close()
		t.Error("the shop serves on")
	}
}
