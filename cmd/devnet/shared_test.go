package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/cmd/shop"
)

// lasting is a test that lasts until all tests of this process are over: what belongs to it is
// theirs.
type lasting struct {
	testing.TB // nil: nothing else of it is used

	mu   sync.Mutex
	ends []func()  // guarded by mu
	said io.Writer // of the test that is going on; guarded by mu
}

var everyTest = new(lasting)

func (l *lasting) Helper()                   {}
func (l *lasting) Context() context.Context  { return context.Background() }
func (l *lasting) Output() io.Writer         { return l }
func (l *lasting) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (l *lasting) Fatalf(s string, a ...any) { panic(fmt.Sprintf(s, a...)) }
func (l *lasting) Error(args ...any)         { panic(fmt.Sprint(args...)) }

// Write shows what is logged to the test that is going on.
func (l *lasting) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		return len(b), nil
	}
	return l.said.Write(b)
}

// listens has what is logged said to a test.
func (l *lasting) listens(said io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = said
}

// Cleanup implements [testing.TB].
func (l *lasting) Cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, f)
}

// TempDir implements [testing.TB].
func (l *lasting) TempDir() string {
	dir, err := os.MkdirTemp("", "devnet-test-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	for len(everyTest.ends) > 0 {
		last := len(everyTest.ends) - 1
		end := everyTest.ends[last]
		everyTest.ends = everyTest.ends[:last]
		end()
	}
	os.Exit(code)
}

// five is the shop that tests share which change nothing of each other: on the four chains, and on
// a Solana cluster where there is Node.js, with the neighbours of a run.
var five = sync.OnceValue(func() *stall {
	return openStallWith(everyTest, nil, func(s *stall, cfg *shop.Config) {
		s.meets(everyTest, cfg)
		c, err := svm.Open(slot, 0)
		if err != nil {
			return
		}
		everyTest.Cleanup(c.Close)
		if s.solana, err = people(c); err != nil {
			everyTest.Fatal(err)
		}
		n, err := s.solana.network(everyTest.TempDir())
		if err != nil {
			everyTest.Fatal(err)
		}
		cfg.Networks = append(cfg.Networks, n)
	})
})

// meets gives a stall the neighbours of a run; its last buyer is the wallet that buys for it.
func (s *stall) meets(t testing.TB, cfg *shop.Config) {
	near, err := openNeighbours(s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	last := len(s.net.Buyers) - 1
	if err := near.equip(cfg, t.TempDir(), person{s.net.Buyers[last].Private}); err != nil {
		t.Fatal(err)
	}
	s.net.Buyers, s.reach = s.net.Buyers[:last], near.reach(s.reach)
}

// openStall is the shared shop, with buyers of the test's own. Who does not do it in parallel is
// alone in it, and counts what it earns.
func openStall(t *testing.T) *stall {
	t.Helper()
	all := five()
	s, n := *all, *all.net
	if len(n.Buyers) < buyers {
		t.Fatal("every buyer is somebody's: give the shared shop more")
	}
	n.Buyers, all.net.Buyers = n.Buyers[:buyers:buyers], n.Buyers[buyers:]
	s.net, s.nodes, n.Chains = &n, nil, nil
	for _, c := range all.net.Chains {
		own := *c
		own.T = t
		n.Chains, s.nodes = append(n.Chains, &own), append(s.nodes, &own.Node)
	}
	n.Chain = n.Chains[0]
	everyTest.listens(t.Output())
	t.Cleanup(func() { everyTest.listens(nil) })
	return &s
}

// openFive is openStall with the people of the Solana cluster, and buyers there of the test's own.
func openFive(t *testing.T) (*stall, *cluster) {
	t.Helper()
	npmtest.Node(t)
	s := openStall(t)
	if s.solana == nil {
		t.Fatal("the shared shop has no cluster")
	}
	c := *s.solana
	c.buyers = make([]ed25519.PrivateKey, buyers)
	for i := range c.buyers {
		if err := errors.Join(freshSolana(&c.buyers[i]), c.give(c.buyers[i], funds)); err != nil {
			t.Fatal(err)
		}
	}
	return s, &c
}

// builtStore is the program store, built once a process.
var builtStore = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(everyTest.TempDir(), "store")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "../store").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return bin, nil
})
