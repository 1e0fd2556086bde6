package onchaintest_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"
)

// claimOf reads the claim on a payment's authorization.
func (s *shop) claimOf(p payment) till.Claim {
	s.t.Helper()
	var c till.Claim
	err := s.db.View(s.t.Context(), func(tx ledger.Tx) (err error) {
		c, err = ledger.GetJSON[till.Claim](tx, ledger.AuthKey(s.net.ID(), s.net.Asset.Hex(), "eip3009", p.From.Hex(),
			p.Nonce.Hex()))
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// sameAnswer demands the first answer again, marked as a repeat.
func (s *shop) sameAnswer(what string, first, again tilltest.Reply) {
	s.t.Helper()
	s.want(what, again, 200, "")
	if d := cmp.Diff(tilltest.PlainBody(first), tilltest.PlainBody(again)); d != "" {
		s.t.Errorf("%s differs from the first answer: %s", what, d)
	}
	if again.Body["charged_now"] != false || again.Str("to_buy_another") == "" {
		s.t.Errorf("%s does not say that it charged nothing, or how to buy another", what)
	}
	if again.Body["idempotent_replay"] != true || again.Str("first_served_at") == "" ||
		again.Header.Get("Idempotent-Replayed") != "true" {
		s.t.Errorf("%s does not say that it is a repeat", what)
	}
}

func TestSlotAnswersTheSameOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path, key = "/api/buy/hello?agent_name=Ada", "order-0123456789"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	first := s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key", key)
	s.want("the first order", first, 200, "")

	fresh := s.sign(ch, 0, buyer, nil)
	s.sameAnswer("the same order with a fresh authorization", first, s.present(path, fresh, "Idempotency-Key", key))
	s.sameAnswer("that authorization without the key", first, s.present(path, fresh))
	s.sameAnswer("that authorization for another order", first, s.present("/api/buy/hello?agent_name=Eve", fresh))
	s.sameAnswer("another source", first, s.present(path+"&source=elsewhere", s.sign(ch, 0, buyer, nil),
		"Idempotency-Key", key))
	if c := s.claimOf(fresh); !c.Answered || c.Purchase != first.Purchase() {
		t.Errorf("the fresh authorization is claimed as %+v, want answered with %s", c, first.Purchase())
	}
	if s.net.Used(fresh.From, fresh.Nonce) {
		t.Error("the fresh authorization was settled")
	}

	other := s.sign(ch, 0, buyer, nil)
	r := s.present("/api/buy/hello?agent_name=Eve", other, "Idempotency-Key", key)
	s.want("another order with the same key", r, 422, "idempotency_conflict")
	r = s.present("/api/buy/small_blessing", s.sign(s.challenge("/api/buy/small_blessing"), 0, buyer, nil),
		"Idempotency-Key", key)
	s.want("another item with the same key", r, 422, "idempotency_conflict")
	r = s.present("/api/buy/hello?agent_name=Eve", other, "Idempotency-Key", key+"-2")
	s.want("the refused authorization with a new key", r, 200, "")
	if r.Body["idempotent_replay"] != false || r.Str("certificate", "name") != "Eve" {
		t.Errorf("the refused authorization bought %s", r.Raw)
	}

	r = s.present(path, s.sign(ch, 0, s.net.Buyers[1], nil), "Idempotency-Key", key)
	s.want("another wallet's order with the same key", r, 200, "")
	if r.Body["idempotent_replay"] != false || r.Body["patron_number"] == first.Body["patron_number"] {
		t.Error("a slot opened for another wallet")
	}
	if n := s.audit(); n != 3 {
		t.Errorf("%d purchases, want 3", n)
	}
}

func TestSlotForAnEmptyWallet(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path, key = "/api/buy/hello", "order-0123456789"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	first := s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key", key)
	s.want("the first order", first, 200, "")
	all := s.net.Authorize(buyer.Address, s.net.Minter.Address, s.net.Balance(buyer.Address)).Value
	s.net.Await(s.net.Send(buyer, s.net.Asset, token.PayCall(s.net.Minter.Address, all)).Hash())

	s.sameAnswer("the order from an empty wallet", first, s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key",
		key))
	r := s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key", key+"x")
	s.want("an empty wallet's new order", r, 402, "payment_invalid")
	if got := r.Str("reason"); got != "invalid_exact_evm_insufficient_balance" {
		t.Errorf("reason = %s", got)
	}
	// Somebody else's signature over the empty wallet's name proves nothing.
	forged := s.signAs(ch, 0, s.net.Buyers[1], buyer.Address, nil)
	r = s.present(path, forged, "Idempotency-Key", key)
	s.want("a forged payment of the empty wallet", r, 402, "payment_invalid")
	s.audit()
}

// Before a wallet is deployed by its payment it signs nothing, so whoever names it is not shown to
// be its owner, though it has too little for what they present.
func TestSlotOfAWalletThatIsNotDeployed(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true,
		config: func(c *till.Config) { c.RepeatWait = 100 * time.Millisecond },
		evm:    func(c *evm.Config) { c.Factories = []string{chain.Factory.Hex()} }})
	const path, key = "/api/buy/certificate_of_patronage", "order-0123456789"
	owner, salt := s.net.Buyers[0], common.Hash{1}
	wallet := s.net.CounterfactualWallet(owner.Address, salt)
	ch := s.challenge(path)
	pays := func(i int, signer chaintest.Key) payment {
		p := s.signAs(ch, i, signer, wallet, nil)
		p.Signature = token.Wrap6492(chain.Factory, token.DeployCall(owner.Address, salt), p.Signature)
		return wired(ch, ch["accepts"].([]any)[i].(map[string]any), p.Payment)
	}
	first := withID(t, pays(0, owner), key)
	s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0,
		s.net.SignTransfer(owner, wallet, first.Value.Int64()).Call()))
	wait := s.pending(path, first)
	r := s.present(path, pays(1, s.net.Buyers[1]), "Idempotency-Key", key)
	s.want("another's payment of more than the wallet has", r, 402, "payment_invalid")
	r = s.present(path, pays(1, owner), "Idempotency-Key", key)
	s.want("its owner's", r, 409, "idempotency_in_flight")
	s.net.MustSeal()
	s.want("the first order", wait()[0], 200, "")
}

// withID puts an id into the payment-identifier extension of a payment.
func withID(t *testing.T, p payment, id any) payment {
	t.Helper()
	ext := map[string]any{}
	maps.Copy(ext, p.wire["extensions"].(map[string]any))
	ext["payment-identifier"] = map[string]any{"info": map[string]any{"required": false, "id": id}}
	p.wire["extensions"] = ext
	return p
}

func TestPaymentIdentifierIsTheSameSlot(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path, key = "/api/buy/hello", "order-0123456789"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	sign := func(id any) payment { return withID(t, s.sign(ch, 0, buyer, nil), id) }
	first := s.present(path, sign(key))
	s.want("the first order", first, 200, "")
	s.sameAnswer("the header with the id's key", first, s.present(path, s.sign(ch, 0, buyer, nil), "Idempotency-Key",
		key))
	s.sameAnswer("the id again", first, s.present(path, sign(key)))
	s.sameAnswer("both", first, s.present(path, sign(key), "Idempotency-Key", key))

	p := sign(key)
	s.want("a header that disagrees", s.present(path, p, "Idempotency-Key", key+"x"), 400, "idempotency_keys_disagree")
	for _, id := range []any{"short", "with spaces in the id", 17, "", []string{key}} {
		s.want("a bad id", s.present(path, sign(id)), 400, "idempotency_key_invalid")
	}
	r := s.present(path, sign(nil))
	s.want("no id at all", r, 200, "")
	if r.Body["idempotent_replay"] != false {
		t.Error("a payment without id was answered as a repeat")
	}
	s.audit()
}

func TestBadIdempotencyKeyComesBeforeEverything(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/hello"
	used := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	s.want("a purchase", s.present(path, used), 200, "")
	for _, key := range []string{"short", "0123456789abcde", `"0123456789abcde"`, "umlaut-äöüäöüäöü",
		"a tab\tin a long key", strings.Repeat("x", 129)} {
		for _, p := range []string{path, "/api/buy/nothing_like_it", "/api/buy/the_confession", path + "?nonsense=1"} {
			s.want("a bad key without a payment", s.do("GET", p, map[string]string{"Idempotency-Key": key}), 400,
				"idempotency_key_invalid")
			r := s.present(p, used, "Idempotency-Key", key)
			s.want("a bad key with a used payment", r, 400, "idempotency_key_invalid")
			if r.Str("billed") != "yes" || r.Body["delivered"] != true || r.Str("retry") != "same_payment" {
				t.Errorf("a bad key with a payment that bought something: %s", r.Raw)
			}
			r = s.do("GET", p, map[string]string{"Idempotency-Key": key, "PAYMENT-SIGNATURE": "garbage"})
			s.want("a bad key with garbage", r, 400, "idempotency_key_invalid")
		}
	}
	stranger := used
	stranger.wire = maps.Clone(used.wire)
	stranger.wire["note"] = "the same authorization in other bytes"
	// Everybody can see that it paid, and nobody else what for.
	if r := s.present(path, stranger, "Idempotency-Key", "short"); r.Status != 400 || r.Str("billed") != "yes" ||
		r.Body["delivered"] != false {
		t.Errorf("a stranger learns of the purchase, or not that it paid: %s", r.Raw)
	}
	s.audit()
}

func TestSlotInFlightAndFreed(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, config: func(c *till.Config) {
		c.SettleWait, c.RepeatWait = 300*time.Millisecond, 100*time.Millisecond
	}})
	const path, key = "/api/buy/hello", "order-0123456789"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	one := s.sign(ch, 0, buyer, nil)
	pending := s.unknown("an order that the chain does not answer", path, one, "Idempotency-Key", key)
	s.unknown("the same with a bad key", path, one, "Idempotency-Key", "bad")
	if pending.Str("billed") != "unknown" || pending.Response()["transaction"] == "" {
		t.Errorf("the unknown order says %s, %v", pending.Raw, pending.Response())
	}
	two := s.sign(ch, 0, buyer, nil)
	for _, what := range []string{"a second order with the key", "the second order again"} {
		r := s.present(path, two, "Idempotency-Key", key)
		s.want(what, r, 409, "idempotency_in_flight")
		if r.Header.Get("Retry-After") == "" || r.Str("billed") != "no" {
			t.Errorf("%s: %v %s", what, r.Header, r.Raw)
		}
	}
	s.want("the first order again", s.present(path, one, "Idempotency-Key", key), 503, "payment_unknown")

	// The buyer withdraws the first payment: the slot is free again, and the second order's
	// authorization stays unused.
	s.net.Drop()
	sig := s.net.SignDigest(buyer, token.CancelDigest(buyer.Address, one.Nonce, s.net.DomainSeparator()))
	cancel := s.net.Transaction(s.net.Minter, s.net.Asset, token.CancelCall(buyer.Address, one.Nonce, sig))
	s.net.MustSealTxs(cancel)
	for range chain.DefaultFinalDepth {
		s.net.MustSealTxs()
	}
	s.state(pending.Purchase(), till.NotSettled)
	r := s.present(path, one)
	s.want("the withdrawn order", r, 402, "payment_invalid")
	if r.Str("billed") != "no" || r.Header.Get("PAYMENT-REQUIRED") != "" {
		t.Errorf("the withdrawn order says %s", r.Raw)
	}

	// The answer itself says on what terms to sign again.
	s.net.SetAutomine(true)
	if r.Body["accepts"] == nil || r.Body["extensions"] == nil || r.Body["resource"] == nil ||
		len(r.Body["offers"].([]any)) != len(r.Body["accepts"].([]any)) ||
		r.Str("recovery", "status_token") == "" || r.Str("reason") == "" || r.Str("price", "usdc") == "" {
		t.Fatalf("the withdrawn order says %s", r.Raw)
	}
	three := s.sign(r.Body, 0, buyer, nil)
	bought := s.bought("an order with the freed key", path, three, "Idempotency-Key", key)
	if bought.Purchase() == pending.Purchase() {
		t.Error("the freed slot answered with the purchase that failed")
	}
	for _, p := range []payment{one, two} {
		if got := s.claimOf(p).Purchase; got != pending.Purchase() {
			t.Errorf("a withdrawn payment's claim is %s, want %s", got, pending.Purchase())
		}
	}
	s.rest()
	if n := s.audit(); n != 1 {
		t.Errorf("%d purchases, want 1", n)
	}
}

func TestUnknownThenDelivered(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, config: func(c *till.Config) {
		c.SettleWait, c.RepeatWait = 200*time.Millisecond, 100*time.Millisecond
	}})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	r := s.unknown("an order that the chain does not answer", path, p)
	st := s.do("GET", "/api/purchase-status/"+r.Purchase(),
		map[string]string{"Authorization": "Bearer " + r.Str("recovery", "status_token")})
	if st.Str("state") != "unknown" || st.Str("billed") != "unknown" || st.Str("settlement", "status") != "pending" ||
		st.Str("settlement", "tx") != r.Response()["transaction"] {
		t.Errorf("status = %s", st.Raw)
	}
	s.want("the same payment again", s.present(path, p), 503, "payment_unknown")
	s.net.SetAutomine(true)
	done := s.state(r.Purchase(), till.Delivered)
	again := s.present(path, p)
	s.want("the same payment after the block", again, 200, "")
	if again.Purchase() != done.ID || again.Body["idempotent_replay"] != true {
		t.Errorf("the repeat = %s", again.Raw)
	}
	s.audit()
}
