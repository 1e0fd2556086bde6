package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/corpus/networks"
)

// passesCheckPay has the store take the acceptance test that it gives to other sellers.
func (s *stall) passesCheckPay(t *testing.T) {
	t.Parallel()
	key := keyFile(t, s.net.Buyers[4])
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

// keyFile writes a key as its owner keeps it.
func keyFile(t *testing.T, key chaintest.Key) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wallet.key")
	if err := os.WriteFile(file, []byte(key.Hex()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// keygenText is a key as solana-keygen writes it.
func keygenText(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	var numbers []int
	for _, b := range key {
		numbers = append(numbers, int(b))
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keygenFile writes a key as solana-keygen does.
func keygenFile(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "solana.json")
	if err := os.WriteFile(file, []byte(keygenText(t, key)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCheckPayOnSolana has the acceptance test taken on Solana: by the store, and by a door before
// it that forgets which orders it had, and so charges for one of them twice. What the chain was
// asked is what the wallet has less.
func TestCheckPayOnSolana(t *testing.T) {
	s, c := openFive(t)
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	forgets := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if payment := r.Header.Get("Payment-Signature"); payment != "" {
			sum := sha256.Sum256([]byte(payment))
			r.Header.Set("Idempotency-Key", "another_"+hex.EncodeToString(sum[:16]))
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(forgets.Close)
	for i, door := range []struct {
		url     string
		args    []string
		want    int
		charged int64
		says    []string
	}{
		{s.url, []string{"-solana-rpc", c.URL, "-fail-on", "not_ready,purchase,receipt,charged,lost-early"},
			kit.ExitFine, 8, []string{"pass  receipt", "pass  charged", "pass  lost-fresh-402"}},
		{s.url, nil, kit.ExitFine, 8, []string{"pass  receipt", "no node was named", "pass  lost-fresh-402"}},
		{forgets.URL, []string{"-solana-rpc", c.URL}, kit.ExitFound, 9,
			[]string{"FAIL  lost-fresh-402", "2 payments of it as settled", "charged 0.01 USDC for an order of 0.005"}},
		{forgets.URL, nil, kit.ExitFound, 9, []string{"FAIL  lost-fresh-402", "charged twice by the door's own words"}},
		{s.url, []string{"-solana-rpc", c.URL, "-max-usd", "0.012"}, kit.ExitFine, 2,
			[]string{"not reached: max-usd: the cap leaves no room"}},
	} {
		before, err := c.balance(c.buyers[i])
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		args := append([]string{"-local", "-pay", keygenFile(t, c.buyers[i]), "-pay-network", networks.Solana,
			"-journal", t.TempDir(), "-max-usd", "0.045"}, door.args...)
		code := kit.Run(t.Context(), "check", append(args, door.url+"/api/buy/small_blessing"), &out, &errs)
		after, err := c.balance(c.buyers[i])
		if err != nil {
			t.Fatal(err)
		}
		if code != door.want || before-after != door.charged*5_000 {
			t.Errorf("door %d: exit %d, charged %d\n%s%s", i, code, before-after, out.Bytes(), errs.Bytes())
		}
		for _, want := range door.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("door %d does not say %q:\n%s", i, want, out.Bytes())
			}
		}
	}
}
