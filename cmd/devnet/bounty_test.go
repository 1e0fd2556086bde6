package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/rail/solana"
)

// doorPrice is what the door on Solana asks, in atomic units.
const doorPrice = 10_000

// entry is what the door on Solana asks for.
func (s *cluster) entry() string {
	return fmt.Sprintf(`{"scheme":"exact","network":%q,"asset":%q,"payTo":%q,"amount":"%d","maxTimeoutSeconds":60,`+
		`"extra":{"feePayer":%q}}`, networks.Solana, s.mint, address(s.payTo), doorPrice, address(s.feePayer))
}

// asks leads every name to a door that asks for one entry.
func (s *stall) asks(t *testing.T, entry string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			http.NotFound(w, r)
			return
		}
		terms := fmt.Sprintf(`{"x402Version":2,"resource":{"url":"https://%s%s"},"accepts":[%s]}`, r.Host, r.URL.Path,
			entry)
		w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(terms)))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprint(w, terms)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s.reach = func(f *fetch.Config) {
		f.Resolver, f.Dialer, f.Roots = nearby(""), nearby(server.Listener.Addr().String()), roots
	}
}

// settles pays the door as a facilitator settles what a stock buyer signed.
func (s *cluster) settles(t *testing.T, buyer ed25519.PrivateKey) (tx string) {
	t.Helper()
	account := func(who ed25519.PrivateKey) string {
		a, err := solana.TokenAccount(address(who), s.mint)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var latest struct{ Value struct{ Blockhash string } }
	if err := s.Call(&latest, "getLatestBlockhash"); err != nil {
		t.Fatal(err)
	}
	wire, err := svm.Payment{Payer: buyer, From: account(buyer), To: account(s.payTo), Mint: s.mint,
		FeePayer: address(s.feePayer), Amount: doorPrice, Memo: "a walk", Blockhash: latest.Value.Blockhash}.Sign()
	if err != nil {
		t.Fatal(err)
	}
	whole, tx := svm.Cosign(wire, s.feePayer)
	if err := s.Call(nil, "sendTransaction", base64.StdEncoding.EncodeToString(whole),
		map[string]string{"encoding": "base64"}); err != nil {
		t.Fatal(err)
	}
	return tx
}

// finalizes waits until a transaction is in a final block.
func (s *cluster) finalizes(t *testing.T, tx string) {
	t.Helper()
	for range 2000 {
		var out struct {
			Value []*struct{ ConfirmationStatus string }
		}
		if err := s.Call(&out, "getSignatureStatuses", []string{tx}); err != nil {
			t.Fatal(err)
		}
		if len(out.Value) == 1 && out.Value[0] != nil && out.Value[0].ConfirmationStatus == "finalized" {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("%s is not final", tx)
}

// pays gives the stall an account that pays rewards, and a list of addresses that nothing is paid
// to.
func (s *stall) pays(t *testing.T, c *shop.Config) {
	t.Helper()
	dir := t.TempDir()
	c.Bounties = shop.BountiesConfig{Key: filepath.Join(dir, "bounties.key"),
		Screen: []string{filepath.Join(dir, "screen.txt")}}
	if err := errors.Join(os.WriteFile(c.Bounties.Key, []byte(s.net.Buyers[4].Hex()+"\n"), 0o600),
		os.WriteFile(c.Bounties.Screen[0], []byte("0x"+strings.Repeat("ee", 20)+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// listens waits until the process that serves the stall listens for the keeper.
func (s *stall) listens(t *testing.T, cfg *shop.Config) {
	t.Helper()
	for {
		_, err := keep(t, cfg, "bounties")
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "another process has it open") || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// claim posts a claim and returns the answer's status and members.
func (s *stall) claim(t *testing.T, in bounty.ClaimRequest) (int, string, bounty.Claimed) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/bounty-claim",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	code, raw := s.fetch(t, req)
	var out bounty.Claimed
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(raw), &out); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	return code, raw, out
}

// A purchase at a door on Solana is claimed: the paying key signs for the EVM address that is paid,
// the settlement is read from a final block, and whoever redeems the authorization pays that
// address. The claim verifies, and is taken once.
func TestABountyPaidOnSolana(t *testing.T) {
	t.Parallel()
	c, err := people(svm.StartTicking(t, slot))
	if err != nil {
		t.Fatal(err)
	}
	var cfg *shop.Config
	s := openStallWith(t, nil, func(s *stall, conf *shop.Config) {
		n, err := c.network(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		conf.Networks = append(conf.Networks, n)
		cfg = conf
		s.pays(t, conf)
		s.asks(t, c.entry())
	})
	s.listens(t, cfg)
	out, err := keep(t, cfg, "post-bounty", "https://door.example.com/paid", "-reward", "0.10")
	if err != nil {
		t.Fatal(err)
	}
	var posted shop.KeeperBounty
	if err := json.Unmarshal([]byte(out), &posted); err != nil || posted.Network != networks.Solana ||
		posted.PayTo != address(c.payTo) || posted.CostsUSDC != "0.01" || posted.PayoutOn != s.nodes[0].Network.ID() {
		t.Fatalf("posted: %s, %v", out, err)
	}
	to := s.net.Buyers[1].Address
	in := bounty.ClaimRequest{BountyID: posted.BountyID, TxHash: c.settles(t, c.buyers[0]),
		Payer: address(c.buyers[0]), PayoutTo: to.Hex()}
	code, raw, _ := s.claim(t, in)
	var refused struct {
		Text string `json:"text_to_sign"`
	}
	if err := json.Unmarshal([]byte(raw), &refused); err != nil || code != 400 || refused.Text == "" {
		t.Fatalf("without a signature: %d %s", code, raw)
	}
	in.Signature = wallet.EncodeBase58(ed25519.Sign(c.buyers[1], []byte(refused.Text)))
	if code, raw, _ := s.claim(t, in); code != 400 && code != 403 && code != 422 {
		t.Errorf("signed by another: %d %s", code, raw)
	}
	in.Signature = wallet.EncodeBase58(ed25519.Sign(c.buyers[0], []byte(refused.Text)))
	if code, raw, _ := s.claim(t, in); code != 200 && !strings.Contains(raw, "settlement_not_final") {
		t.Errorf("claimed at once: %d %s", code, raw)
	}
	c.finalizes(t, in.TxHash)
	code, raw, taken := s.claim(t, in)
	if code != 200 {
		t.Fatalf("claimed: %d %s", code, raw)
	}
	s.redeems(t, taken.Payout, to, 100_000)
	_, raw = s.get(t, "/api/verify/"+posted.BountyID, false)
	verified := sold{raw: raw}
	verified.Artifact.ID = posted.BountyID
	s.verifies(t, verified)
	if code, _, again := s.claim(t, in); code != 200 || again.Payout.Signature != taken.Payout.Signature {
		t.Errorf("claimed again: %d %+v", code, again)
	}
	in.TxHash = c.settles(t, c.buyers[0])
	if code, raw, _ := s.claim(t, in); code != 409 || !strings.Contains(raw, "not_open") {
		t.Errorf("another purchase: %d %s", code, raw)
	}
}

// redeems hands an authorization to the token, as anybody may, and demands that it pays.
func (s *stall) redeems(t *testing.T, p bounty.PayoutView, to common.Address, reward int64) {
	t.Helper()
	value, _ := new(big.Int).SetString(p.Authorization.Value, 10)
	before, _ := new(big.Int).SetString(p.Authorization.ValidBefore, 10)
	node := s.nodes[0]
	had := node.Balance(to)
	r := node.Await(node.Send(s.net.Buyers[2], common.HexToAddress(p.Asset), token.TransferCall(token.Authorization{
		From: common.HexToAddress(p.Authorization.From), To: common.HexToAddress(p.Authorization.To), Value: value,
		ValidBefore: before.Uint64(), Nonce: common.HexToHash(p.Authorization.Nonce)},
		hexutil.MustDecode(p.Signature))).Hash())
	if got := node.Balance(to) - had; got != reward {
		t.Errorf("redeemed, the claimant has %d more, want %d; receipt: status %d in block %s", got, reward, r.Status,
			r.BlockNumber)
	}
}
