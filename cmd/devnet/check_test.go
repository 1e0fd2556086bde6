package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
)

// passesCheckPay has the store take the acceptance test that it gives to other sellers.
func (s *stall) passesCheckPay(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "wallet.key")
	if err := os.WriteFile(key, []byte(s.net.Buyers[4].Hex()), 0o600); err != nil {
		t.Fatal(err)
	}
	node := s.nodes[0]
	for _, c := range []struct {
		protocol, good, max, failOn string
		price                       int64
	}{
		{"x402", "hello", "4.5", "not_ready,purchase,receipt,charged,lost-early", 500_000},
		{"mpp", "small_blessing", "0.05", "not_ready,purchase,charged,lost-early", 5_000}, // no receipt is signed
	} {
		before := node.Balance(s.net.Buyers[4].Address)
		var out, errs bytes.Buffer
		code := kit.Run(t.Context(), "check", []string{"-local", "-pay", key, "-pay-protocol", c.protocol, "-journal",
			t.TempDir(), "-rpc", node.URL, "-max-usd", c.max, "-fail-on", c.failOn, s.url + "/api/buy/" + c.good}, &out,
			&errs)
		if code != kit.ExitFine || strings.Count(out.String(), "pass  lost-") != 7 ||
			strings.Contains(out.String(), "pass  receipt") != (c.protocol == "x402") {
			t.Errorf("by %s: exit %d\n%s%s", c.protocol, code, out.Bytes(), errs.Bytes())
		}
		if got := before - node.Balance(s.net.Buyers[4].Address); got != 8*c.price {
			t.Errorf("by %s: charged %d for eight orders of %d", c.protocol, got, c.price)
		}
	}
}
