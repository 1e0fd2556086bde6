package onchaintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// asked is a claims challenge.
func (s *shop) asked(address, network string) tilltest.Reply {
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
func (s *shop) answered(key chaintest.Key, address, text, nonce string) tilltest.Reply {
	s.t.Helper()
	return s.answeredFrom(key, address, text, nonce, "")
}

// answeredFrom is answered for the page after a cursor.
func (s *shop) answeredFrom(key chaintest.Key, address, text, nonce, cursor string) tilltest.Reply {
	s.t.Helper()
	digest := crypto.Keccak256Hash(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(text), text))
	body := map[string]string{"address": address, "signature": hexutil.Encode(s.net.SignDigest(key, digest))}
	if nonce != "" {
		body["nonce"] = nonce
	}
	if cursor != "" {
		body["cursor"] = cursor
	}
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do("POST", "/api/claims", nil, string(b))
}

// claims proves an address with a key and returns the answer.
func (s *shop) claims(key chaintest.Key, address, network string) tilltest.Reply {
	s.t.Helper()
	c := s.asked(address, network)
	s.want("a claims challenge", c, 200, "")
	return s.answered(key, address, c.Str("challenge"), c.Str("nonce"))
}

// bought is the purchase ids of a claims answer.
func bought(r tilltest.Reply) []string {
	var ids []string
	for _, p := range r.Body["purchases"].([]any) {
		ids = append(ids, p.(map[string]any)["purchase_id"].(string))
	}
	return ids
}

// shifted is a ledger whose clock stands still, unless at is zero, and can be put forward.
type shifted struct {
	ledger.DB
	at time.Time
	by atomic.Int64 // since at
}

// put puts the clock forward to a time since its beginning.
func (d *shifted) put(by time.Duration) { d.by.Store(int64(by)) }

type shiftedTx struct {
	ledger.Tx
	now time.Time
}

func (x shiftedTx) Now() time.Time { return x.now }

func (d *shifted) now() time.Time {
	at := d.at
	if at.IsZero() {
		at = time.Now().UTC()
	}
	return at.Add(time.Duration(d.by.Load()))
}

func (d *shifted) View(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.View(ctx, func(tx ledger.Tx) error { return f(shiftedTx{tx, d.now()}) })
}

func (d *shifted) Update(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.Update(ctx, func(tx ledger.Tx) error { return f(shiftedTx{tx, d.now()}) })
}

func TestClaimsChallenges(t *testing.T) {
	t.Parallel()
	db := &shifted{DB: ledger.NewMem(ledger.MemOptions{}), at: time.Now().UTC().Truncate(time.Second)}
	s := newShop(t, shopOptions{db: db, config: func(c *till.Config) { c.Now = db.now }})
	buyer := s.net.Buyers[0]
	addr := buyer.Address.Hex()
	r, _ := s.buy("/api/buy/hello", buyer, nil)
	s.want("a purchase", r, 200, "")

	c := s.asked(addr, "")
	host := strings.TrimPrefix(s.url, "http://")
	text := c.Str("challenge")
	for _, part := range []string{host + " wants you to sign in with your Ethereum account:\n" + addr, "URI: " + s.url +
		"/api/claims", "Chain ID: 8453",
		"Nonce: " + c.Str("nonce"), "Expiration Time: " + c.Str("expires_at")} {
		if !strings.Contains(text, part) {
			t.Errorf("the text to sign does not hold %q:\n%s", part, text)
		}
	}
	s.want("a claim without its nonce", s.answered(buyer, addr, text, ""), 400, "invalid_input")

	// Neither challenges that anybody asks for nor wrong answers take anything from the owner.
	for range 6 {
		s.want("a stranger asks for a challenge", s.asked(addr, ""), 200, "")
		s.want("a stranger's signature", s.answered(s.net.Buyers[1], addr, text, c.Str("nonce")), 403,
			"claim_signature_invalid")
	}
	got := s.answered(buyer, addr, text, c.Str("nonce"))
	s.want("the owner's claim after all that", got, 200, "")
	if ids := bought(got); len(ids) != 1 || ids[0] != r.Purchase() || len(got.Body["certificates"].([]any)) != 1 {
		t.Errorf("the claim gives %s", got.Raw)
	}
	s.want("the same challenge again", s.answered(buyer, addr, text, c.Str("nonce")), 400, "claim_challenge_invalid")

	c = s.asked(addr, "")
	other := strings.Replace(c.Str("challenge"), host, "shop.example", 1)
	s.want("a text for another domain", s.answered(buyer, addr, other, c.Str("nonce")), 403, "claim_signature_invalid")
	foreign := s.asked(s.net.Buyers[1].Address.Hex(), "")
	s.want("another wallet's challenge", s.answered(buyer, addr, foreign.Str("challenge"), foreign.Str("nonce")), 400,
		"claim_challenge_invalid")
	s.want("a nonce of nobody", s.answered(buyer, addr, text, strings.Repeat("a", 40)), 400, "claim_challenge_invalid")

	one, two := s.asked(addr, ""), s.asked(addr, "")
	s.want("the older of two", s.answered(buyer, addr, one.Str("challenge"), one.Str("nonce")), 200, "")
	s.want("the newer of two", s.answered(buyer, addr, two.Str("challenge"), two.Str("nonce")), 200, "")

	c = s.asked(addr, "")
	db.put(5 * time.Minute)
	s.want("after five minutes", s.answered(buyer, addr, c.Str("challenge"), c.Str("nonce")), 400,
		"claim_challenge_invalid")
	c = s.asked(addr, "")
	db.put(10*time.Minute - time.Second)
	s.want("just within five minutes", s.answered(buyer, addr, c.Str("challenge"), c.Str("nonce")), 200, "")
}

// Of a spent challenge exactly one claim is answered, however many come at once.
func TestAChallengeIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	buyer := s.net.Buyers[0]
	c := s.asked(buyer.Address.Hex(), "")
	var answered atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if s.answered(buyer, buyer.Address.Hex(), c.Str("challenge"), c.Str("nonce")).Status == 200 {
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	if n := answered.Load(); n != 1 {
		t.Errorf("one challenge was answered %d times", n)
	}
}

// Claims go on by a cursor, and nothing is lost or told twice while more is bought.
func TestClaimsGoOnByACursor(t *testing.T) {
	t.Parallel()
	db := &shifted{DB: ledger.NewMem(ledger.MemOptions{}), at: time.Now().UTC().Truncate(time.Second)}
	s := newShop(t, shopOptions{db: db, config: func(c *till.Config) { c.Now = db.now }})
	buyer := s.net.Buyers[0]
	payer := buyer.Address.Hex()
	const before = 250
	add := func(i int) {
		t.Helper()
		err := db.Update(t.Context(), func(tx ledger.Tx) error {
			p := till.Purchase{ID: fmt.Sprintf("pur_old%017d", i), State: till.FromChain, Created: tx.Now(),
				Updated: tx.Now(), Final: true, Version: 1,
				Payment: rail.Payment{Network: "eip155:8453", Payer: payer, Amount: big.NewInt(1)}}
			// Thirty of a second: ties are told apart by id.
			return errors.Join(ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p),
				tx.Set(ledger.PayerKey(payer, tx.Now().Add(time.Duration(i/30)*time.Second), p.ID), nil))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range before {
		add(i)
	}
	seen := map[string]int{}
	var pages []int
	cursor, last := "", ""
	for n := 0; ; n++ {
		if n > before {
			t.Fatalf("%d pages of %d purchases, and no end", n, before)
		}
		c := s.asked(buyer.Address.Hex(), "")
		r := s.answeredFrom(buyer, buyer.Address.Hex(), c.Str("challenge"), c.Str("nonce"), cursor)
		s.want("a page", r, 200, "")
		ids := bought(r)
		pages = append(pages, len(ids))
		for _, id := range ids {
			seen[id]++
		}
		if r.Str("next") == "" {
			if r.Body["more"] != false {
				t.Errorf("the last page says that there is more")
			}
			break
		}
		if cursor = r.Str("next"); cursor == last || r.Body["more"] != true {
			t.Fatalf("the cursor stands still at %s, more %v", cursor, r.Body["more"])
		}
		last = cursor
		for i := range 5 { // bought meanwhile, at a later time
			add(1000 + 30*n + i)
		}
	}
	for i := range before {
		if id := fmt.Sprintf("pur_old%017d", i); seen[id] != 1 {
			t.Errorf("%s was told %d times", id, seen[id])
		}
	}
	if !slices.Equal(pages, []int{100, 100, 50}) || len(seen) != before {
		t.Errorf("pages of %v with %d purchases, want 100, 100, 50", pages, len(seen))
	}
	c := s.asked(buyer.Address.Hex(), "")
	for _, bad := range []string{"x", "17", "17.pur_A", "99999999999999.pur_a", "1/pur_a"} {
		s.want("a bad cursor", s.answeredFrom(buyer, buyer.Address.Hex(), c.Str("challenge"), c.Str("nonce"), bad), 400,
			"invalid_input")
	}
	s.want("a cursor without a proof", s.answeredFrom(s.net.Buyers[1], buyer.Address.Hex(), c.Str("challenge"),
		c.Str("nonce"), cursor), 403, "claim_signature_invalid")
}

// Who signs wrongly cannot spend our node: beyond a budget by client no contract is asked, and an
// owner with a key of their own is not held up by it.
func TestWrongSignaturesAskTheChainWithinABudget(t *testing.T) {
	t.Parallel()
	s, px := newProxied(t, shopOptions{})
	var asked atomic.Int32
	px[0].set(func(methods []string) fault {
		if slices.Contains(methods, "eth_getCode") {
			asked.Add(1)
		}
		return pass
	})
	addr := s.net.Wallet.Address.Hex()
	c := s.asked(addr, "")
	asked.Store(0)
	refused := 0
	for range 40 {
		switch r := s.answered(s.net.Buyers[1], addr, c.Str("challenge"), c.Str("nonce")); r.Status {
		case 403:
		case 429:
			refused++
			if r.Header.Get("Retry-After") == "" {
				t.Error("a refusal without Retry-After")
			}
		default:
			t.Errorf("a wrong signature is answered %d %s", r.Status, r.Raw)
		}
	}
	if n := asked.Load(); n > 20 || refused < 20 { // the window may have ended once
		t.Errorf("40 wrong signatures asked the chain %d times, %d were refused", n, refused)
	}
	s.want("a plain account", s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), ""), 200, "")
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
		if r.Body["idempotent_replay"] != false {
			t.Error("a contract's slot on one network opened for the same address on another")
		}
		again := s.present(path, s.signAs(ch, i, w.Owner, w.Address, nil), "Idempotency-Key", key)
		s.sameAnswer("the wallet's repeat", r, again)
		ids = append(ids, r.Purchase())
	}
	r := s.present(path, s.signAs(ch, 0, s.net.Buyers[0], w.Address, nil), "Idempotency-Key", key)
	s.want("a stranger's signature for the wallet", r, 402, "payment_invalid")
	if r.Str("reason") != "invalid_exact_evm_signature" {
		t.Errorf("reason = %s", r.Str("reason"))
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
	s.sameAnswer("a plain account on the other network", first, s.present(path, s.sign(ch, 1, buyer, nil),
		"Idempotency-Key", key))
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
		t.Errorf("its claim gives %s", c.Raw)
	}
	r, _ = s.buy(path, refusing, nil)
	s.want("an account whose code accepts no signature", r, 402, "payment_invalid")
	s.audit()
}
