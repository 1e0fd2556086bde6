package shop

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/wallet"

	"store.example/agentstore/dynamic/rail/solana"
)

// solanaSeller answers as a door that sells on Solana does.
type solanaSeller string

func (d solanaSeller) Do(_ context.Context, req exchange.Request, _ fetch.Rule) (exchange.Exchange, error) {
	return exchange.Exchange{Request: req, StartedAt: time.Unix(1_790_000_000, 0).UTC(),
		Response: exchange.Response{Status: http.StatusPaymentRequired, Proto: "HTTP/2.0",
			Header: http.Header{"Payment-Required": {string(d)}}}}, nil
}
func (solanaSeller) Parse(raw string, _ fetch.Rule) (string, error) { return raw, nil }
func (solanaSeller) Private() bool                                  { return false }

// readOnSolana reads a door that asks for USDC with the nodes of a configuration. It returns what
// the check of the accounts says.
func readOnSolana(t *testing.T, payTo, feePayer string, rpc ...string) (state probe.State, detail string) {
	t.Helper()
	usdc, _ := networks.USDC(networks.Solana)
	terms, err := json.Marshal(map[string]any{"x402Version": 2,
		"resource": map[string]any{"url": "https://door.example/"},
		"accepts": []any{map[string]any{"scheme": "exact", "network": networks.Solana, "amount": "10000",
			"asset": usdc.Address, "payTo": payTo, "maxTimeoutSeconds": 300,
			"extra": map[string]any{"feePayer": feePayer}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{Networks: []NetworkConfig{{ID: "eip155:8453", RPC: []string{"http://127.0.0.1:1"}},
		{ID: networks.Solana, RPC: rpc}}}
	nodes, err := c.accountNodes()
	if err != nil {
		t.Fatal(err)
	}
	checker, err := probe.NewPreflight(probe.V2, "https://door.example/", probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	checker.ReadsAccounts(accounts.Reader{}, nodes.Networks()...)
	report, recording, err := fetch.Walk(t.Context(), solanaSeller(base64.StdEncoding.EncodeToString(terms)), checker,
		fetch.WalkStart{URL: "https://door.example/", Nodes: nodes, Time: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := recording.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range rpc {
		if strings.Contains(string(kept), strings.TrimPrefix(at, "http://")) {
			t.Errorf("the recording holds the address of %s", at)
		}
	}
	for _, e := range report.ChecksVector {
		if e.Name == "solana-rail-receivable" {
			state, detail = e.State, e.Detail
		}
	}
	return state, detail
}

func solanaPerson(letter string) string {
	return wallet.EncodeBase58(ed25519.NewKeyFromSeed([]byte(strings.Repeat(letter, 32))).Public().(ed25519.PublicKey))
}

// TestReadingsAskTheCluster reads a door while the accounts that it needs come to be on a cluster
// that runs the real programs, and are frozen and given away.
func TestReadingsAskTheCluster(t *testing.T) {
	c := svm.Start(t)
	payTo, feePayer, usdc := solanaPerson("p"), solanaPerson("f"), "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	account, err := solana.TokenAccount(payTo, usdc)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name  string
		does  func()
		state probe.State
		says  string
	}{
		{"nothing there", func() {}, probe.Fail, "extra.feePayer, as an account that pays fees, is absent"},
		{"a fee payer", func() { c.Do(nil, "dev_setLamports", feePayer, 1_000_000) }, probe.Fail,
			"payTo's token account for the mint is absent"},
		{"a token account", func() { c.Do(nil, "dev_setToken", account, usdc, payTo, 0, false) }, probe.Pass, ""},
		{"frozen", func() { c.Do(nil, "dev_setToken", account, usdc, payTo, 0, true) }, probe.Fail, "is frozen"},
		{"given away", func() { c.Do(nil, "dev_setToken", account, usdc, feePayer, 0, false) }, probe.Fail,
			"is another owner's"},
	} {
		step.does()
		state, detail := readOnSolana(t, payTo, feePayer, c.URL)
		if state != step.state || !strings.Contains(detail, step.says) {
			t.Errorf("%s: %s, %q", step.name, state, detail)
		}
	}
}

// TestNodesMisbehave reads a door with nodes that answer badly: its accounts are not judged then,
// and the door is blamed for nothing.
func TestNodesMisbehave(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"junk": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"another": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"jsonrpc":"2.0","id":9,"result":{}}`)
		},
		"refusal": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"behind"}}`)
		},
		"status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `"`+strings.Repeat("a", 1<<20)+`"`)
		},
		"long": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `"`+strings.Repeat("a", 40<<10)+`"`) },
		"silent": func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil && !errors.Is(err, context.Canceled) {
				return
			}
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(serve)
			t.Cleanup(s.Close)
			state, detail := readOnSolana(t, solanaPerson("p"), solanaPerson("f"), s.URL)
			if state != probe.NotReached || !strings.Contains(detail, "not judged") {
				t.Errorf("%s, %q", state, detail)
			}
		})
	}
}
