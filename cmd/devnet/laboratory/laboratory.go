// Package laboratory asks doors as stock clients do and has what they sign settled by the stock
// facilitator, at the versions of package-lock.json and unmodified, so that tests can set a reading
// beside what it is about. Its sellers.mjs opens doors with the stock stacks.
package laboratory

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/networks"
)

// A Question is one door and how it is asked.
type Question struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Method    string `json:"method"` // POST sends an empty object
	Unlimited bool   `json:"unlimited"`
	Axios     bool   `json:"axios"` // asked by @x402/axios, with the client that it brings along
}

// An Answer is what the client did, and whether what it signed settles.
type Answer struct {
	Name    string `json:"name"`
	Status  int    `json:"status"` // of the last answer that it saw, 0 for none
	Signed  bool   `json:"signed"`
	Network string `json:"network"`
	Error   string `json:"error"` // what it threw
	Settles bool   `json:"settles"`
	Why     string `json:"why"` // what the facilitator said
}

// World is who buys, who settles, and on which chains.
type World struct {
	Buyer, Relayer string            // private keys, 0x and 64 hex digits
	Chains         map[string]string // RPC URL by CAIP-2 name
	CA             string            // file with the certificate of the doors' authority
}

// Ask has the stock client ask every door, several at once.
func (w World) Ask(t testing.TB, questions []Question) []Answer {
	t.Helper()
	chains, err := json.Marshal(w.Chains)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := json.Marshal(networks.Tokens())
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for _, q := range questions {
		if err := json.NewEncoder(&in).Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	c := Command(t, "buyers.mjs")
	c.Env = append(os.Environ(), "KEY="+w.Buyer, "RELAYER="+w.Relayer, "CHAINS="+string(chains),
		"TOKENS="+string(tokens), "NODE_EXTRA_CA_CERTS="+w.CA)
	var out, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = &in, &out, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("buyers.mjs: %v\n%s", err, stderr.Bytes())
	}
	var answers []Answer
	for line := range bytes.Lines(out.Bytes()) {
		var a Answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("buyers.mjs said %q: %v", line, err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("buyers.mjs answered %d of %d:\n%s", len(answers), len(questions), stderr.Bytes())
	}
	return answers
}

// Command is a script of this folder, ready to run in a folder of its own beside the packages.
func Command(t testing.TB, script string, args ...string) *exec.Cmd {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	c := exec.CommandContext(t.Context(), npmtest.Node(t), append([]string{script}, args...)...)
	c.Dir = npmtest.Folder(t, npmtest.LongPackages(t), filepath.Dir(here), script)
	return c
}

// Run starts a process and waits until something listens on its port. It ends with the test, or
// when the function that is returned is called.
func Run(t testing.TB, c *exec.Cmd, port string) (stop func()) {
	t.Helper()
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	stop = func() { c.Process.Kill(); <-ended }
	t.Cleanup(stop)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) { // a process of its own
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return stop
		}
		select {
		case <-ended:
			t.Fatalf("%v ended: %s", c.Args, said.Bytes())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%v does not listen", c.Args)
		}
	}
}

// Sell opens the seller of a stack of sellers.mjs, which says what its environment may hold, and
// returns its end. Its door is /paid.
func Sell(t testing.TB, stack, port, payTo string, env ...string) (stop func()) {
	t.Helper()
	c := Command(t, "sellers.mjs", stack, port, payTo)
	c.Env = append(os.Environ(), env...)
	return Run(t, c, port)
}
