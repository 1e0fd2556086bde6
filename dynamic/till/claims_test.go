package till_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentstore/cmd/devnet/chain"
	"agentstore/cmd/devnet/chaintest"
	"agentstore/dynamic/ledger"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// asked is a claims challenge.
func (s *shop) asked(address, network string) reply {
	s.t.Helper()
	body := map[string]string{"address": address}
	if network != "" {
		body["network"] = network
	}
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do("POST", "/api/claims/challenge", nil, string(b))
}

// answered sends a signature over a challenge's text.
func (s *shop) answered(key chaintest.Key, address, text, nonce string) reply {
	s.t.Helper()
	digest := crypto.Keccak256Hash(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(text), text))
	body := map[string]string{"address": address, "signature": hexutil.Encode(s.net.SignDigest(key, digest))}
	if nonce != "" {
		body["nonce"] = nonce
	}
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do("POST", "/api/claims", nil, string(b))
}

// claims proves an address with a key and returns the answer.
func (s *shop) claims(key chaintest.Key, address, network string) reply {
	s.t.Helper()
	c := s.asked(address, network)
	s.want("a claims challenge", c, 200, "")
	return s.answered(key, address, c.str("challenge"), c.str("nonce"))
}

// bought is the purchase ids of a claims answer.
func bought(r reply) []string {
	var ids []string
	for _, p := range r.body["purchases"].([]any) {
		ids = append(ids, p.(map[string]any)["purchase_id"].(string))
	}
	return ids
}

// shifted is a ledger whose clock stands still and can be put forward.
type shifted struct {
	ledger.DB
	at time.Time
	by atomic.Int64 // since at
}

type shiftedTx struct {
	ledger.Tx
	now time.Time
}

func (x shiftedTx) Now() time.Time { return x.now }

func (d *shifted) now() time.Time { return d.at.Add(time.Duration(d.by.Load())) }

func (d *shifted) View(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.View(ctx, func(tx ledger.Tx) error { return f(shiftedTx{tx, d.now()}) })
}

func (d *shifted) Update(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.Update(ctx, func(tx ledger.Tx) error { return f(shiftedTx{tx, d.now()}) })
}

func TestClaimsChallenges(t *testing.T) {
	t.Parallel()
	db := &shifted{DB: ledger.NewMem(ledger.MemOptions{}), at: time.Now().UTC().Truncate(time.Second)}
	s := newShop(t, shopOptions{db: db})
	buyer := s.net.Buyers[0]
	addr := buyer.Address.Hex()
	r, _ := s.buy("/api/buy/hello", buyer, nil)
	s.want("a purchase", r, 200, "")

	c := s.asked(addr, "")
	host := strings.TrimPrefix(s.url, "http://")
	text := c.str("challenge")
	for _, part := range []string{host + " wants you to sign in with your Ethereum account:\n" + addr, "URI: " + s.url + "/api/claims", "Chain ID: 8453",
		"Nonce: " + c.str("nonce"), "Expiration Time: " + c.str("expires_at")} {
		if !strings.Contains(text, part) {
			t.Errorf("the text to sign does not hold %q:\n%s", part, text)
		}
	}
	got := s.answered(buyer, addr, text, "")
	s.want("a claim", got, 200, "")
	if ids := bought(got); len(ids) != 1 || ids[0] != r.purchase() || len(got.body["certificates"].([]any)) != 1 {
		t.Errorf("the claim gives %s", got.raw)
	}
	s.want("the same challenge again", s.answered(buyer, addr, text, ""), 400, "claim_challenge_invalid")
	s.want("the same challenge by name", s.answered(buyer, addr, text, c.str("nonce")), 400, "claim_challenge_invalid")

	c = s.asked(addr, "")
	s.want("another's signature", s.answered(s.net.Buyers[1], addr, c.str("challenge"), c.str("nonce")), 403, "claim_signature_invalid")
	s.want("the right one after it", s.answered(buyer, addr, c.str("challenge"), c.str("nonce")), 400, "claim_challenge_invalid")

	c = s.asked(addr, "")
	other := strings.Replace(c.str("challenge"), host, "shop.example", 1)
	s.want("a text for another domain", s.answered(buyer, addr, other, c.str("nonce")), 403, "claim_signature_invalid")

	one, two := s.asked(addr, ""), s.asked(addr, "")
	s.want("the older of two by name", s.answered(buyer, addr, one.str("challenge"), one.str("nonce")), 200, "")
	s.want("the newer of two", s.answered(buyer, addr, two.str("challenge"), ""), 200, "")
	s.want("another wallet's challenge", s.answered(s.net.Buyers[1], s.net.Buyers[1].Address.Hex(), one.str("challenge"), one.str("nonce")), 400, "claim_challenge_invalid")

	c = s.asked(addr, "")
	db.by.Store(int64(5 * time.Minute))
	s.want("after five minutes", s.answered(buyer, addr, c.str("challenge"), c.str("nonce")), 400, "claim_challenge_invalid")
	c = s.asked(addr, "")
	db.by.Store(int64(10*time.Minute - time.Second))
	s.want("just within five minutes", s.answered(buyer, addr, c.str("challenge"), c.str("nonce")), 200, "")
}

func TestContractWalletBuysAndClaims(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	const path, key = "/api/buy/small_blessing", "order-0123456789"
	ch := s.challenge(path)
	w := s.net.Wallet
	addr := w.Address.Hex()
	var ids []string
	for i := range 2 {
		r := s.present(path, s.signAs(ch, i, w.Owner, w.Address, nil), "Idempotency-Key", key)
		s.want(fmt.Sprintf("a contract wallet on network %d", i), r, 200, "")
		if r.body["idempotent_replay"] != false {
			t.Error("a contract's slot on one network opened for the same address on another")
		}
		again := s.present(path, s.signAs(ch, i, w.Owner, w.Address, nil), "Idempotency-Key", key)
		s.sameAnswer("the wallet's repeat", r, again)
		ids = append(ids, r.purchase())
	}
	r := s.present(path, s.signAs(ch, 0, s.net.Buyers[0], w.Address, nil), "Idempotency-Key", key)
	s.want("a stranger's signature for the wallet", r, 402, "payment_invalid")
	if r.str("reason") != "invalid_exact_evm_signature" {
		t.Errorf("reason = %s", r.str("reason"))
	}
	for i, network := range []string{"eip155:8453", "eip155:137"} {
		c := s.claims(w.Owner, addr, network)
		s.want("the wallet's claim on "+network, c, 200, "")
		if got := bought(c); len(got) != 1 || got[0] != ids[i] {
			t.Errorf("the contract's claim on %s gives %v, want only what it bought there, %s", network, got, ids[i])
		}
	}
	s.want("a stranger's claim of the wallet", s.claims(s.net.Buyers[0], addr, ""), 403, "claim_signature_invalid")

	// A plain account is the same everywhere.
	buyer := s.net.Buyers[0]
	first := s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key", key)
	s.want("a plain account", first, 200, "")
	s.sameAnswer("a plain account on the other network", first, s.present(path, s.sign(ch, 1, buyer, nil), "Idempotency-Key", key))
	other := s.present(path, s.sign(ch, 1, buyer, nil))
	s.want("a plain account's second purchase", other, 200, "")
	if got := bought(s.claims(buyer, buyer.Address.Hex(), "eip155:137")); len(got) != 2 {
		t.Errorf("a plain account's claim gives %v, want both", got)
	}
	s.audit()
}

func TestDelegatedAccount(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	own, refusing := s.net.Buyers[0], s.net.Buyers[1]
	for k, target := range map[chaintest.Key]common.Address{own: chain.Delegate, refusing: chain.Multicall} {
		s.net.Await(s.net.Delegate(k, target).Hash())
	}
	r, _ := s.buy(path, own, nil)
	s.want("an account that signs with its own key", r, 200, "")
	c := s.claims(own, own.Address.Hex(), "")
	s.want("its claim", c, 200, "")
	if len(bought(c)) != 1 {
		t.Errorf("its claim gives %s", c.raw)
	}
	r, _ = s.buy(path, refusing, nil)
	s.want("an account whose code accepts no signature", r, 402, "payment_invalid")
	s.audit()
}
