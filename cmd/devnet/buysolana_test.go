package main

import (
	"bytes"
	"testing"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/buyer"
)

// The built-in buyer pays the store on Solana with the hints of its own 402; one that is killed
// when the money has moved is resumed without a wallet, and pays once.
func TestStoreBuyPaysOnSolana(t *testing.T) {
	s, c := openFive(t)
	p := openPurse(t, s.net.Buyers[3])
	p.key = keygenFile(t, c.buyers[0])
	before := c.earned(t)
	out, err := p.paying(networks.Solana, buyer.ByX402, s.url+"/api/buy/hello?agent_name=ada").CombinedOutput()
	for _, want := range []string{"Pay with    " + address(c.buyers[0]), "Valid for   120 s", "Billed      yes",
		`"certificate"`} {
		if err != nil || !bytes.Contains(out, []byte(want)) {
			t.Fatalf("%v: it does not say %q:\n%s", err, want, out)
		}
	}
	door := newLethal(t, s.url)
	cut := p.paying(networks.Solana, buyer.ByX402, door.URL+"/api/buy/hello?agent_name=bob")
	door.kill = func() error { return cut.Process.Kill() }
	if err := cut.Run(); err == nil {
		t.Fatal("it was not killed")
	}
	door.kill = nil
	out, err = p.buy("-resume").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Billed      yes")) || !bytes.Contains(out, []byte(`"certificate"`)) {
		t.Errorf("resumed: %v\n%s", err, out)
	}
	if got := c.earned(t) - before; got != 1_000_000 {
		t.Errorf("earned %d for two purchases", got)
	}
}
