package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/buyer"
)

// A purse is `store buy` with a wallet and a journal.
type purse struct {
	t            *testing.T
	bin          string
	key, journal string // a file, and a folder
}

func openPurse(t *testing.T, key chaintest.Key) *purse {
	t.Helper()
	bin, err := builtStore()
	if err != nil {
		t.Fatalf("go build: %v", err)
	}
	return &purse{t: t, bin: bin, key: keyFile(t, key), journal: filepath.Join(t.TempDir(), "purchases")}
}

func (p *purse) buy(args ...string) *exec.Cmd {
	return exec.CommandContext(p.t.Context(), p.bin, append([]string{"buy", "-journal", p.journal}, args...)...)
}

// paying are the arguments that pay without being asked.
func (p *purse) paying(network, protocol string, args ...string) *exec.Cmd {
	return p.buy(append([]string{"-yes", "-wallet", p.key, "-network", network, "-protocol", protocol}, args...)...)
}

// lethal passes requests on to a store and kills whoever presents a payment, when the store has
// answered it and before the answer is there.
type lethal struct {
	*httptest.Server
	kill func() error // nil: nobody is killed
}

func newLethal(t *testing.T, store string) *lethal {
	t.Helper()
	to, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	l := &lethal{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.kill == nil || r.Header.Get("PAYMENT-SIGNATURE")+r.Header.Get("Authorization") == "" {
			pass.ServeHTTP(w, r)
			return
		}
		lost := httptest.NewRecorder()
		pass.ServeHTTP(lost, r.WithContext(t.Context()))
		if lost.Code != http.StatusOK {
			t.Errorf("the payment is answered %d %s", lost.Code, lost.Body)
		}
		if err := l.kill(); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(l.Close)
	return l
}

// The built-in buyer pays on each network by each protocol that the store takes there, as a verb of
// its own process; one that is killed when the money has moved is resumed, without a wallet, and
// pays once.
func TestStoreBuyPaysEachWay(t *testing.T) {
	s := openStall(t)
	p := openPurse(t, s.net.Buyers[3])
	door := newLethal(t, s.url)
	type way struct {
		node     *chaintest.Node
		protocol string
	}
	var ways []way
	for _, node := range s.nodes {
		ways = append(ways, way{node, buyer.ByX402})
	}
	ways = append(ways, way{s.nodes[0], buyer.ByMPP})
	for _, w := range ways {
		t.Run(w.node.Network.Name+" by "+w.protocol, func(t *testing.T) {
			id := w.node.Network.ID()
			earned := func() int64 { return w.node.Balance(s.payTo.address()) }
			before := earned()
			named := "?agent_name=" + w.protocol + id[strings.IndexByte(id, ':')+1:]
			out, err := p.paying(id, w.protocol, s.url+"/api/buy/hello"+named).CombinedOutput()
			for _, want := range []string{"Pay with    " + s.net.Buyers[3].Address.Hex(), "Ceiling     1 USDC",
				"(" + id + ")", "Valid for", "Chosen", "Billed      yes", `"certificate"`} {
				if err != nil || !bytes.Contains(out, []byte(want)) {
					t.Fatalf("%v: it does not say %q:\n%s", err, want, out)
				}
			}
			if got := earned() - before; got != 500_000 {
				t.Errorf("earned %d", got)
			}

			cut := p.paying(id, w.protocol, door.URL+"/api/buy/hello"+named+"again")
			door.kill = func() error { return cut.Process.Kill() }
			if err := cut.Run(); err == nil {
				t.Fatal("it was not killed")
			}
			door.kill = nil
			out, err = p.paying(id, w.protocol, door.URL+"/api/buy/hello"+named+"again").CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte(buyer.ErrUnfinished.Error())) {
				t.Errorf("bought beside an unfinished purchase: %v\n%s", err, out)
			}
			out, err = p.buy("-resume").CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("Billed      yes")) ||
				!bytes.Contains(out, []byte(`"certificate"`)) {
				t.Errorf("resumed: %v\n%s", err, out)
			}
			if got := earned() - before; got != 1_000_000 {
				t.Errorf("earned %d for two purchases", got)
			}
			if out, err := p.buy("-resume").CombinedOutput(); err != nil || len(out) != 0 {
				t.Errorf("resumed again: %v\n%s", err, out)
			}
		})
	}

	// Where a good has several prices MPP has a challenge for each: the higher ones in the body.
	base := s.nodes[0]
	before := base.Balance(s.payTo.address())
	out, err := p.paying(base.Network.ID(), buyer.ByMPP, "-max", "10", "-amount", "6",
		s.url+"/api/buy/nomenclature").CombinedOutput()
	if got := base.Balance(s.payTo.address()) - before; err != nil || got != 6_000_000 {
		t.Errorf("a tier by MPP: %v, earned %d\n%s", err, got, out)
	}

	// The same within minutes is the earlier answer, and is charged where one says so.
	for _, c := range []struct {
		says   string
		flags  []string
		earned int64
	}{{"Billed      yes", nil, 500_000}, {"Billed      no: ", nil, 0},
		{"Billed      yes", []string{"-again"}, 500_000}} {
		before := base.Balance(s.payTo.address())
		out, err := p.paying(base.Network.ID(), buyer.ByX402, append(c.flags,
			s.url+"/api/buy/hello?agent_name=twice")...).CombinedOutput()
		if got := base.Balance(s.payTo.address()) - before; err != nil || got != c.earned ||
			!bytes.Contains(out, []byte(c.says)) || bytes.Contains(out, []byte("Paid  ")) == (c.earned == 0) {
			t.Errorf("bought with %v: %v, earned %d\n%s", c.flags, err, got, out)
		}
	}
}
