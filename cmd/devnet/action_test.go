package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/action"
	"store.example/agentstore/corpus/networks"
)

// TestLongTheActionBuys runs the whole GitHub Action, which builds the command and buys with a key
// of Solana and with one of an EVM network: its inputs are enough for everything that -pay sees to,
// and what the chain was asked is what the wallet has less. The key is in no output and left
// nowhere.
func TestLongTheActionBuys(t *testing.T) {
	s, c := openFive(t)
	a, dir := action.Read(t, "check"), t.TempDir()
	build := a.Run(t, a.Steps[0], dir, nil, os.Environ()...)
	if build.Code != 0 {
		t.Fatalf("building: %d\n%s", build.Code, build.Stderr)
	}
	solana := func() int64 {
		n, err := c.balance(c.buyers[0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	node := s.nodes[0]
	evm := func() int64 { return node.Balance(s.net.Buyers[4].Address) }
	door := s.url + "/api/buy/small_blessing"
	for _, run := range []struct {
		name    string
		inputs  map[string]string
		balance func() int64
		code    int
		charged int64
		says    []string
	}{
		{"Solana", map[string]string{"pay": keygenText(t, c.buyers[0]), "solana-rpc": c.URL,
			"fail-on": "not_ready,purchase,receipt,charged,lost-early"}, solana, kit.ExitFine, 8,
			[]string{"pass  receipt", "pass  charged", "pass  lost-fresh-402"}},
		{"Solana by its network, without a node", map[string]string{"pay": keygenText(t, c.buyers[0]),
			"pay-network": networks.Solana}, solana, kit.ExitFine, 8,
			[]string{"no node was named", "pass  lost-fresh-402"}},
		{"Solana with the node of another network", map[string]string{"pay": keygenText(t, c.buyers[0]),
			"rpc": node.URL}, solana, kit.ExitUsage, 0, []string{"that of -solana-rpc"}},
		{"Solana, capped", map[string]string{"pay": keygenText(t, c.buyers[0]), "solana-rpc": c.URL,
			"max-usd": "0.012"}, solana, kit.ExitFine, 2, []string{"not reached: max-usd"}},
		{"EVM", map[string]string{"pay": s.net.Buyers[4].Hex(), "rpc": node.URL,
			"fail-on": "not_ready,purchase,receipt,charged,lost-early"}, evm, kit.ExitFine, 8,
			[]string{"pass  receipt", "pass  charged", "pass  lost-fresh-402"}},
	} {
		run.inputs["urls"], run.inputs["local"] = door, "true"
		before := run.balance()
		ran := a.Run(t, a.Steps[1], dir, run.inputs)
		charged := before - run.balance()
		if ran.Code != run.code || charged != run.charged*5_000 ||
			!strings.HasSuffix(ran.Output, "exit-code="+strconv.Itoa(run.code)+"\n") {
			t.Errorf("%s: exit %d, charged %d, output %q\n%s%s", run.name, ran.Code, charged, ran.Output, ran.Stdout,
				ran.Stderr)
		}
		for _, want := range run.says {
			if !strings.Contains(ran.Stdout+ran.Stderr, want) {
				t.Errorf("%s does not say %q:\n%s%s", run.name, want, ran.Stdout, ran.Stderr)
			}
		}
		if strings.Contains(ran.Stdout+ran.Stderr, run.inputs["pay"]) {
			t.Errorf("%s shows the key", run.name)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.key")); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %s behind, %v", run.name, left, err)
		}
	}
}
