package onchaintest_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/till"
)

// slot is how often a cluster of these tests makes a block.
const slot = 100 * time.Millisecond

// solanaNet is a Solana cluster and the people on it.
type solanaNet struct {
	*svm.Cluster
	t               testing.TB
	mint            string
	feePayer, payTo ed25519.PrivateKey
	buyers          []ed25519.PrivateKey
}

func newSolanaNet(t testing.TB, slot time.Duration, buyers int) *solanaNet {
	t.Helper()
	token, ok := networks.USDC(networks.Solana)
	if !ok {
		t.Fatal("no USDC")
	}
	n := &solanaNet{Cluster: svm.StartTicking(t, slot), t: t, mint: token.Address, feePayer: newSolanaKey(t),
		payTo: newSolanaKey(t)}
	n.Do(nil, "dev_setLamports", solanaAddress(n.feePayer), 10_000_000_000)
	n.give(n.payTo, 0)
	for range buyers {
		n.buyers = append(n.buyers, newSolanaKey(t))
		n.give(n.buyers[len(n.buyers)-1], 1_000_000_000)
	}
	return n
}

func newSolanaKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func solanaAddress(k ed25519.PrivateKey) string {
	return wallet.EncodeBase58(k.Public().(ed25519.PublicKey))
}

// account is somebody's token account.
func (n *solanaNet) account(who string) string {
	n.t.Helper()
	a, err := solana.TokenAccount(who, n.mint)
	if err != nil {
		n.t.Fatal(err)
	}
	return a
}

func (n *solanaNet) give(who ed25519.PrivateKey, amount int64) {
	n.t.Helper()
	n.Do(nil, "dev_setToken", n.account(solanaAddress(who)), n.mint, solanaAddress(who), amount, false)
}

// balance is what somebody has, in atomic units.
func (n *solanaNet) balance(who ed25519.PrivateKey) int64 {
	n.t.Helper()
	var out struct {
		Value struct {
			Amount int64 `json:"amount,string"`
		}
	}
	n.Do(&out, "getTokenAccountBalance", n.account(solanaAddress(who)))
	return out.Value.Amount
}

// landed is how many transactions of the fee payer are in blocks and did not fail.
func (n *solanaNet) landed() int {
	n.t.Helper()
	var list []struct {
		Err any `json:"err"`
	}
	n.Do(&list, "getSignaturesForAddress", solanaAddress(n.feePayer), map[string]any{"limit": 1000})
	good := 0
	for _, x := range list {
		if x.Err == nil {
			good++
		}
	}
	return good
}

// config is how a store sells on the cluster.
func (n *solanaNet) config() solana.Config {
	return solanaConfig(n.URL, solanaAddress(n.payTo), n.feePayer)
}

func solanaConfig(rpc, payTo string, feePayer ed25519.PrivateKey) solana.Config {
	cfg, _ := solana.Preset(networks.Solana)
	cfg.RPC, cfg.PayTo, cfg.FeePayer = []string{rpc}, payTo, feePayer
	cfg.CoinPrice, cfg.Poll = 1_000_000, 20*time.Millisecond
	return cfg
}

// rail is a rail on the cluster that a store may run.
func (n *solanaNet) rail() rail.Rail {
	n.t.Helper()
	r, err := solana.New(n.config())
	if err != nil {
		n.t.Fatal(err)
	}
	if err := r.Check(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	return r
}

// solanaEntry is the entry of a challenge that is for Solana.
func solanaEntry(t testing.TB, ch map[string]any) map[string]any {
	t.Helper()
	for _, a := range ch["accepts"].([]any) {
		if e := a.(map[string]any); e["network"] == networks.Solana {
			return maps.Clone(e)
		}
	}
	t.Fatalf("not sold on Solana: %v", ch)
	return nil
}

// blockhash is a recent one.
func (n *solanaNet) blockhash() string {
	n.t.Helper()
	var out struct{ Value struct{ Blockhash string } }
	n.Do(&out, "getLatestBlockhash")
	return out.Value.Blockhash
}

// sign signs the transaction that terms ask for.
func (n *solanaNet) sign(e map[string]any, from ed25519.PrivateKey) []byte {
	n.t.Helper()
	extra := e["extra"].(map[string]any)
	amount, err := strconv.ParseUint(e["amount"].(string), 10, 64)
	if err != nil {
		n.t.Fatal(err)
	}
	p := svm.Payment{Payer: from, From: n.account(solanaAddress(from)), To: n.account(e["payTo"].(string)),
		Mint: e["asset"].(string), FeePayer: extra["feePayer"].(string), Amount: amount}
	p.Memo, _ = extra["memo"].(string)
	if p.Blockhash, _ = extra["recentBlockhash"].(string); p.Blockhash == "" {
		p.Blockhash = n.blockhash()
	}
	wire, err := p.Sign()
	if err != nil {
		n.t.Fatal(err)
	}
	return wire
}

// header is the payment of a transaction for the terms of a challenge.
func (n *solanaNet) header(ch, e map[string]any, wire []byte) string {
	n.t.Helper()
	b, err := json.Marshal(map[string]any{"x402Version": 2, "accepted": e, "payload": svm.Payload(wire),
		"extensions": tilltest.Unsuggested(ch), "resource": ch["resource"]})
	if err != nil {
		n.t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// pay signs what a challenge asks on Solana.
func (n *solanaNet) pay(ch map[string]any, from ed25519.PrivateKey) string {
	n.t.Helper()
	e := solanaEntry(n.t, ch)
	return n.header(ch, e, n.sign(e, from))
}

// audit compares what payTo has with what the ledger credits, by one transfer each.
func (n *solanaNet) audit(db ledger.DB) (delivered int) {
	n.t.Helper()
	var credited int64
	tx := map[string]string{}
	for _, p := range tilltest.Purchases(n.t, db) {
		switch p.State {
		case till.Settled, till.Delivered, till.SettledLate, till.RefundOwed, till.FromChain, till.Uncredited:
			if p.Payment.Network != networks.Solana {
				continue
			}
			credited += p.Amount
			if other := tx[p.Proof.Tx]; other != "" {
				n.t.Errorf("transaction %s paid for %s and %s", p.Proof.Tx, other, p.ID)
			}
			tx[p.Proof.Tx] = p.ID
		}
		if p.State == till.Delivered {
			delivered++
		}
	}
	if got := n.balance(n.payTo); got != credited {
		n.t.Errorf("payTo received %d, the ledger credits %d", got, credited)
	}
	return delivered
}

// A payment on Solana is for one 402 of one door of one store: its memo tells. Whatever else is
// signed is refused before anything is claimed, and the exact payment again gets the goods again.
func TestSolanaPaymentIsForOneChallenge(t *testing.T) {
	t.Parallel()
	n := newSolanaNet(t, slot, 2)
	s := newShop(t, shopOptions{more: []rail.Rail{n.rail()}})
	const path, other = "/api/buy/small_blessing", "/api/buy/daily_fortune"
	ch, elsewhere := s.challenge(path), s.challenge(other)
	mine := solanaEntry(t, ch)
	if mine["maxTimeoutSeconds"] != 60.0 {
		t.Errorf("asked for %v", mine)
	}
	// with has one member of extra changed in what is signed and in what is said to be accepted.
	with := func(e map[string]any, memo any) map[string]any {
		e = maps.Clone(e)
		e["extra"] = maps.Clone(e["extra"].(map[string]any))
		e["extra"].(map[string]any)["memo"] = memo
		return e
	}
	memoOf := func(ch map[string]any) any { return solanaEntry(t, ch)["extra"].(map[string]any)["memo"] }
	foreign := pay.NewNonces([]byte("another store's secret")).New()
	challenge := ch["extensions"].(map[string]any)[x402.ExtChallenge].(map[string]any)
	nonce := challenge["info"].(map[string]any)["nonce"].(string)
	forged := maps.Clone(ch)
	forged["extensions"] = map[string]any{x402.ExtChallenge: map[string]any{"info": map[string]any{"nonce": foreign}}}
	bare := maps.Clone(ch)
	bare["extensions"] = map[string]any{}
	for _, c := range []struct {
		name             string
		echo             map[string]any
		accepted, signed map[string]any
		reason           string
	}{
		{"another 402's memo is signed", ch, mine, with(mine, memoOf(s.challenge(path))),
			"invalid_exact_svm_payload_memo_mismatch"},
		{"another 402's memo is signed and said", ch, with(mine, memoOf(s.challenge(path))),
			with(mine, memoOf(s.challenge(path))), "No matching payment requirements"},
		{"another door's memo, with its nonce", maps.Clone(elsewhere), with(mine, memoOf(elsewhere)),
			with(mine, memoOf(elsewhere)), "No matching payment requirements"},
		{"another store's", forged, with(mine, solana.Memo(foreign, s.url+path)),
			with(mine, solana.Memo(foreign, s.url+path)), "extension_echo_mismatch"},
		{"the nonce of a store at another address", ch, with(mine, solana.Memo(nonce, "https://other.example"+path)),
			with(mine, solana.Memo(nonce, "https://other.example"+path)), "No matching payment requirements"},
		{"no memo", ch, mine, with(mine, nil), "invalid_exact_svm_payload_memo_mismatch"},
		{"no nonce", bare, mine, mine, "extension_echo_mismatch"},
	} {
		// Of another door only the nonce comes back: the rest is as this door declares it.
		echo := maps.Clone(c.echo)
		echo["resource"] = ch["resource"]
		if c.name == "another door's memo, with its nonce" {
			e := maps.Clone(ch["extensions"].(map[string]any))
			e[x402.ExtChallenge] = elsewhere["extensions"].(map[string]any)[x402.ExtChallenge]
			echo["extensions"] = e
		}
		b, err := json.Marshal(map[string]any{"x402Version": 2, "accepted": c.accepted,
			"payload": svm.Payload(n.sign(c.signed, n.buyers[0])), "extensions": echo["extensions"],
			"resource": echo["resource"]})
		if err != nil {
			t.Fatal(err)
		}
		r := s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": base64.StdEncoding.EncodeToString(b)})
		if r.Status != 402 || r.Str("billed") != "no" || !strings.Contains(string(r.Raw), c.reason) {
			t.Errorf("%s: %d %.700s", c.name, r.Status, r.Raw)
		}
	}
	if got := tilltest.Purchases(t, s.db); len(got) != 0 || n.landed() != 0 {
		t.Errorf("%d purchases were claimed, %d transactions landed", len(got), n.landed())
	}
	good := n.pay(ch, n.buyers[0])
	first := s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": good})
	s.want("a purchase", first, 200, "")
	again := s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": good})
	s.want("the same again", again, 200, "")
	if again.Str("cert_id") != first.Str("cert_id") || again.Body["idempotent_replay"] != true {
		t.Errorf("the same again is answered %s", again.Raw)
	}
	// The transaction is public now. With another nonce beside it, it proves nothing.
	stolen := n.header(s.challenge(path), mine, n.sign(mine, n.buyers[0]))
	r := s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": stolen})
	s.want("the transaction by somebody else", r, 409, "payment_already_used")
	if r.Str("cert_id") != "" || strings.Contains(string(r.Raw), first.Str("cert_id")) {
		t.Errorf("somebody else is told %s", r.Raw)
	}
	if n.audit(s.db) != 1 || n.landed() != 1 {
		t.Errorf("%d transactions landed for one purchase", n.landed())
	}
}

// Header and body of a 402 give away the newest blockhash.
func TestSolanaHintsAreFresh(t *testing.T) {
	t.Parallel()
	n := newSolanaNet(t, slot, 1)
	s := newShop(t, shopOptions{more: []rail.Rail{n.rail()}})
	seen := []string{}
	until(t, "three blockhashes to be given away", func() bool {
		r := s.do("GET", "/api/buy/hello", nil)
		for _, ch := range []map[string]any{tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED")), r.Body} {
			h, _ := solanaEntry(t, ch)["extra"].(map[string]any)["recentBlockhash"].(string)
			if h != "" && !slices.Contains(seen, h) {
				seen = append(seen, h)
			}
		}
		return len(seen) >= 3
	})
}

// A wallet that is empty fetches what it paid for with a fresh payment, by which it is proved;
// under another key, or with a signature that is not its own, it gets nothing.
func TestSlotForAnEmptySolanaWallet(t *testing.T) {
	t.Parallel()
	n := newSolanaNet(t, slot, 1)
	n.give(n.buyers[0], 500_000)
	s := newShop(t, shopOptions{more: []rail.Rail{n.rail()}})
	const path, key = "/api/buy/hello", "order-0123456789"
	present := func(ch map[string]any, wire []byte, key string) tilltest.Reply {
		return s.do("GET", path, map[string]string{"Idempotency-Key": key,
			"PAYMENT-SIGNATURE": n.header(ch, solanaEntry(t, ch), wire)})
	}
	sign := func() (map[string]any, []byte) {
		ch := s.challenge(path)
		return ch, n.sign(solanaEntry(t, ch), n.buyers[0])
	}
	ch, wire := sign()
	first := present(ch, wire, key)
	s.want("the first order", first, 200, "")
	if left := n.balance(n.buyers[0]); left != 0 {
		t.Fatalf("%d are left", left)
	}
	ch, wire = sign()
	s.sameAnswer("the order from an empty wallet", first, present(ch, wire, key))
	ch, wire = sign()
	r := present(ch, wire, key+"x")
	s.want("an empty wallet's new order", r, 402, "payment_invalid")
	if r.Str("billed") != "no" || !strings.Contains(r.Str("reason"), "simulation_failed") {
		t.Errorf("refused by %q, billed %q", r.Str("reason"), r.Str("billed"))
	}
	ch, wire = sign()
	wire[1+64] ^= 1 // of the payer's signature, which is the second
	r = present(ch, wire, key)
	s.want("a forged payment of the empty wallet", r, 402, "payment_invalid")
	if r.Str("cert_id") != "" {
		t.Errorf("a forged payment is told %s", r.Raw)
	}
	if n.audit(s.db) != 1 || n.landed() != 1 {
		t.Errorf("%d transactions landed for one purchase", n.landed())
	}
}
