package onchaintest_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"
)

// rebuilt is a payment as anybody can read it from the calldata of its settlement, also from the
// pool.
func (s *shop) rebuilt(tx string) chaintest.Payment {
	s.t.Helper()
	found, _, err := s.net.RPC.TransactionByHash(s.t.Context(), common.HexToHash(tx))
	if err != nil {
		s.t.Fatal(err)
	}
	word := func(i int) []byte { return found.Data()[4+32*i : 4+32*i+32] }
	number := func(i int) *big.Int { return new(big.Int).SetBytes(word(i)) }
	return chaintest.Payment{
		From: common.BytesToAddress(word(0)), To: common.BytesToAddress(word(1)), Value: number(2),
		ValidAfter: number(3).Uint64(), ValidBefore: number(4).Uint64(), Nonce: common.BytesToHash(word(5)),
		Signature: append(append(append([]byte{}, word(7)...), word(8)...), byte(number(6).Uint64())),
	}
}

// leaves are all texts of eight characters and more in a JSON value.
func leaves(v any) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			all = append(all, leaves(e)...)
		}
	case []any:
		for _, e := range v {
			all = append(all, leaves(e)...)
		}
	case string:
		if len(v) >= 8 {
			all = append(all, v)
		}
	}
	return all
}

// silent demands a 409 that holds nothing of what was bought. What everybody knows without it, the
// store's address and the path that was asked for, is not of it.
func (s *shop) silent(what string, r tilltest.Reply, secrets []string) {
	s.t.Helper()
	s.want(what, r, 409, "payment_already_used")
	var all strings.Builder
	all.WriteString(string(r.Raw))
	for k, v := range r.Header {
		all.WriteString("\n" + k + ": " + strings.Join(v, ", "))
	}
	known := s.url + " hello small_blessing no_such_thing the_confession"
	for _, secret := range secrets {
		if !strings.Contains(known, secret) && strings.Contains(all.String(), secret) {
			s.t.Errorf("%s: the answer holds %q: %s", what, secret, all.String())
		}
	}
	if r.Header.Get("PAYMENT-RESPONSE") != "" || r.Header.Get("PAYMENT-REQUIRED") != "" || r.Body["recovery"] != nil {
		s.t.Errorf("%s: the answer says more than that the payment was used: %s", what, all.String())
	}
}

// steal presents a payment that was read from the chain in every way a thief can think of.
func (s *shop) steal(path string, p chaintest.Payment, secrets []string, keys ...string) {
	s.t.Helper()
	own := s.challenge("/api/buy/hello") // the thief asks for terms like anybody
	accepted := own["accepts"].([]any)[0].(map[string]any)
	bare := wired(own, accepted, p)
	delete(bare.wire, "extensions")
	delete(bare.wire, "resource")
	high := p
	sig := new(big.Int).Sub(curveOrder, new(big.Int).SetBytes(p.Signature[32:64]))
	high.Signature = append(append(append([]byte{}, p.Signature[:32]...), common.BigToHash(sig).Bytes()...),
		p.Signature[64]^7)
	for how, made := range map[string]payment{"with an own challenge": wired(own, accepted, p), "bare": bare,
		"with the other signature": wired(own, accepted, high)} {
		for _, at := range []string{path, "/api/buy/hello", "/api/buy/small_blessing", "/api/buy/no_such_thing",
			"/api/buy/the_confession"} {
			for _, key := range append(keys, "") {
				h := map[string]string{"PAYMENT-SIGNATURE": made.header(s.t)}
				if key != "" {
					h["Idempotency-Key"] = key
				}
				s.silent(fmt.Sprintf("a thief %s at %s with key %q", how, at, key), s.do("GET", at, h), secrets)
			}
		}
	}
}

var curveOrder, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)

func TestThiefWithTheCalldata(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/hello?agent_name=Ada%20Lovelace"
	r := s.do("GET", path, nil)
	key := r.Str("idempotency", "suggested_key")
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	first := s.present(path, p, "Idempotency-Key", key)
	s.want("the purchase", first, 200, "")
	s.steal(path, s.rebuilt(first.Str("certificate", "settlement_tx")), leaves(first.Body), key, key[:len(key)-12]+
		time.Now().UTC().Format("200601021504"))

	s.sameAnswer("the buyer's own repeat", first, s.present(path, p))
	s.sameAnswer("the buyer's own repeat with the key", first, s.present(path, p, "Idempotency-Key", key))
	s.sameAnswer("the buyer's own repeat elsewhere", first, s.present("/api/buy/no_such_thing", p))
	if n := s.audit(); n != 1 {
		t.Errorf("%d purchases, want 1", n)
	}
}

func TestThiefWithTheMemoryPool(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, config: func(c *till.Config) {
		c.SettleWait,
			c.RepeatWait = 200*time.Millisecond, 100*time.Millisecond
	}})
	const path = "/api/buy/hello?agent_name=Ada%20Lovelace"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	r := s.unknown("the purchase on its way", path, p, "Idempotency-Key", "order-0123456789")
	tx, _ := r.Response()["transaction"].(string)
	secrets := []string{r.Purchase(), r.Str("recovery", "status_token"), "Lovelace", tx}
	s.steal(path, s.rebuilt(tx), secrets, "order-0123456789")
	s.net.SetAutomine(true)
	s.state(r.Purchase(), till.Delivered)
	s.want("the buyer", s.present(path, p), 200, "")
	s.audit()
}

func TestWhatTheTillNeverClaimedBuysNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	s.net.Await(s.net.Send(buyer, s.net.Asset, token.PayCall(s.net.PayTo, big.NewInt(500_000))).Hash())
	p := s.sign(s.challenge(path), 0, buyer, nil)
	s.land(p)
	s.silent("a payment that was on chain before it was presented", s.present(path, p), nil)
	s.silent("the same with a key", s.present(path, p, "Idempotency-Key", "order-0123456789"), nil)
	c := s.claims(buyer, buyer.Address.Hex(), "")
	s.want("claims", c, 200, "")
	if n := len(c.Body["purchases"].([]any)); n != 0 {
		t.Errorf("direct transfers bought %d things", n)
	}
	if got := tilltest.Purchases(t, s.db); len(got) != 0 {
		t.Errorf("the journal holds %d purchases, want none", len(got))
	}
	if got := s.net.Balance(s.net.PayTo); got != 1_000_000 {
		t.Errorf("payTo has %d", got)
	}
}

func TestPaymentWithoutOurNonce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	ch := s.challenge(path)
	buyers := s.net.Buyers
	for how, strip := range map[string]func(payment){
		"no extensions": func(p payment) { delete(p.wire, "extensions") },
		"another nonce": func(p payment) {
			info := map[string]any{"nonce": strings.Repeat("A", 48)}
			p.wire["extensions"] = map[string]any{"store-challenge": map[string]any{"info": info}}
		},
	} {
		buyer := buyers[0]
		buyers = buyers[1:]
		p := s.sign(ch, 0, buyer, nil)
		strip(p)
		first := s.present(path, p)
		s.want(how, first, 200, "")
		s.silent(how+", again", s.present(path, p), leaves(first.Body))
		c := s.claims(buyer, buyer.Address.Hex(), "")
		s.want("claims", c, 200, "")
		newest := c.Body["purchases"].([]any)[0].(map[string]any)
		got := newest["fulfilment"].(map[string]any)["body"].(map[string]any)
		if d := cmp.Diff(tilltest.PlainBody(first), tilltest.PlainBody(tilltest.Reply{Body: got})); d != "" {
			t.Errorf("%s: claims give another body: %s", how, d)
		}
	}
	s.audit()
}
