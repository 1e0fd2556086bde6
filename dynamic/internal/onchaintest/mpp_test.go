package onchaintest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// newMPPShop is a shop on the network of MPP.
func newMPPShop(t *testing.T, o shopOptions) *shop {
	o.networks = []uint64{8453}
	return newShop(t, o)
}

var authParam = regexp.MustCompile(`([a-z]+)="([^"]*)"`)

// challenged is the first challenge of a 402 as its client echoes it.
func (s *shop) challenged(r tilltest.Reply) map[string]any {
	s.t.Helper()
	field := r.Header.Values("WWW-Authenticate")
	if len(field) == 0 || !strings.HasPrefix(field[0], "Payment id=") {
		s.t.Fatalf("%d has challenges %q", r.Status, field)
	}
	return echoOf(field[0])
}

// echoOf is a challenge of a header as its client echoes it.
func echoOf(field string) map[string]any {
	c := make(map[string]any)
	for _, m := range authParam.FindAllStringSubmatch(field, -1) {
		c[m[1]] = m[2]
	}
	return c
}

// ask gets the challenge of a door.
func (s *shop) ask(path string) map[string]any {
	s.t.Helper()
	r := s.do("GET", path, nil)
	s.want("402", r, 402, "payment_required")
	return s.challenged(r)
}

// credential is a signed answer to a challenge and the object that goes into the header; a test may
// change the object.
type credential struct {
	chaintest.Payment
	wire map[string]any
}

// answer answers a challenge as the stock client does. change may alter the authorization before it
// is signed.
func (s *shop) answer(c map[string]any, from chaintest.Key, change func(*token.Authorization)) credential {
	s.t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(c["request"].(string))
	var request struct{ Amount, Recipient string }
	if err := errors.Join(err, json.Unmarshal(raw, &request)); err != nil {
		s.t.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339, c["expires"].(string))
	if err != nil {
		s.t.Fatal(err)
	}
	amount, _ := new(big.Int).SetString(request.Amount, 10)
	a := token.Authorization{From: from.Address, To: common.HexToAddress(request.Recipient), Value: amount,
		ValidBefore: uint64(end.Unix()),
		Nonce:       crypto.Keccak256Hash([]byte(c["id"].(string) + c["realm"].(string)))}
	if change != nil {
		change(&a)
	}
	p := s.net.On(8453).Sign(from, a)
	return credential{p, map[string]any{"challenge": maps.Clone(c), "source": "did:pkh:eip155:8453:" +
		from.Address.Hex(), "payload": map[string]any{
		"type": "authorization", "from": a.From.Hex(), "to": a.To.Hex(), "value": a.Value.String(),
		"validAfter": fmt.Sprint(a.ValidAfter), "validBefore": fmt.Sprint(a.ValidBefore),
		"nonce": common.Hash(a.Nonce).Hex(), "signature": "0x" + common.Bytes2Hex(p.Signature),
	}}}
}

func (c credential) header() string { return "Payment " + b64(c.wire) }

// show sends a credential for a path.
func (s *shop) show(path string, c credential) tilltest.Reply {
	s.t.Helper()
	return s.do("GET", path, map[string]string{"Authorization": c.header()})
}

// refused demands a 402 with a reason, its problem type, and a challenge that is not the old one.
func (s *shop) refused(what string, r tilltest.Reply, reason, kind string, old map[string]any) {
	s.t.Helper()
	s.want(what, r, 402, "payment_invalid")
	var asks struct {
		Challenges []struct{ ID string }
		Problem    struct{ Type string }
	}
	member, _ := json.Marshal(r.Body["org.paymentauth/payment-required"])
	if err := json.Unmarshal(member, &asks); err != nil {
		s.t.Fatalf("%s: %s: %v", what, member, err)
	}
	fresh := s.challenged(r)
	if r.Str("reason") != reason || r.Str("billed") != "no" || asks.Problem.Type != "https://paymentauth.org/problems/"+
		kind ||
		fresh["id"] == old["id"] || asks.Challenges[0].ID != fresh["id"] || r.Receipt() != nil {
		s.t.Errorf("%s: reason %q, billed %q, problem %q, receipt %v, want %q, %q and a fresh challenge", what,
			r.Str("reason"), r.Str("billed"), asks.Problem.Type, r.Receipt(), reason, kind)
	}
}

func TestBuyingByMPP(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 2})
	const path = "/api/buy/the_confession?detail=I%20read%20the%20manual."
	unpaid := s.do("GET", path, nil)
	s.want("402", unpaid, 402, "payment_required")
	ch := s.challenged(unpaid)
	if unpaid.Header.Get("PAYMENT-REQUIRED") == "" || unpaid.Header.Get("Cache-Control") != "private, no-store" ||
		ch["realm"] != "127.0.0.1" ||
		!strings.Contains(unpaid.Str("note"), "WWW-Authenticate") || !strings.Contains(unpaid.Str("recovery", "how"),
		"Authorization: Payment") {
		t.Errorf("402 = %v %s", unpaid.Header, unpaid.Raw)
	}
	c := s.answer(ch, s.net.Buyers[0], nil)
	r := s.show(path, c)
	s.want("paid", r, 200, "")
	rc := r.Receipt()
	if rc["status"] != "success" || rc["method"] != "evm" || rc["chainId"] != 8453.0 || rc["challengeId"] != ch["id"] ||
		len(rc) != 6 ||
		!strings.HasPrefix(fmt.Sprint(rc["reference"]), "0x") || r.Header.Get("PAYMENT-RESPONSE") != "" ||
		r.Header.Get("WWW-Authenticate") != "" ||
		r.Header.Get("Cache-Control") != "private, no-store" || r.Str("certificate", "settled_via") != "mpp self" {
		t.Errorf("paid = %v %v %s", rc, r.Header, r.Raw)
	}
	if p := s.purchase(r.Purchase()); p.Protocol != "mpp" || p.Proof == nil || p.Proof.Tx != rc["reference"] {
		t.Errorf("the journal says %+v", p)
	}
	again := s.show(path, c)
	s.sameAnswer("the same credential", r, again)
	if again.Header.Get("Payment-Receipt") != r.Header.Get("Payment-Receipt") {
		t.Errorf("the receipt is %v, then %v", rc, again.Receipt())
	}
	// With a body, and the inputs of an order are the same however they come.
	ask := s.do("POST", "/api/buy/the_confession", nil, `{"detail":"I wrote the manual."}`)
	posted := s.answer(s.challenged(ask), s.net.Buyers[0], nil)
	if s.challenged(ask)["digest"] == nil {
		t.Error("a body is not in the challenge")
	}
	s.want("with a body", s.do("POST", "/api/buy/the_confession", map[string]string{"Authorization": posted.header()},
		`{"detail":"I wrote the manual."}`), 200, "")

	// A HEAD is told the terms and never pays (M8).
	unused := s.answer(s.ask("/api/buy/hello"), s.net.Buyers[1], nil)
	if r := s.do("HEAD", "/api/buy/hello", map[string]string{"Authorization": unused.header()}); r.Status != 402 ||
		r.Header.Get("WWW-Authenticate") == "" || s.net.Used(unused.From, unused.Nonce) {
		t.Errorf("HEAD = %d %v", r.Status, r.Header)
	}
	s.audit()
}

// Every amount has a challenge in the body, and the higher ones are tips.
func TestAHigherAmountByMPP(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 1})
	r := s.do("GET", "/api/buy/pet_rock", nil)
	var asks struct{ Challenges []map[string]any }
	member, _ := json.Marshal(r.Body["org.paymentauth/payment-required"])
	if err := json.Unmarshal(member, &asks); err != nil || len(asks.Challenges) != 4 || // and usdc's
		asks.Challenges[0]["id"] != s.challenged(r)["id"] {
		t.Fatalf("%s, %v", member, err)
	}
	dear := asks.Challenges[2]
	request, err := json.Marshal(dear["request"])
	if err != nil {
		t.Fatal(err)
	}
	dear["request"] = base64.RawURLEncoding.EncodeToString(request)
	paid := s.show("/api/buy/pet_rock", s.answer(dear, s.net.Buyers[0], nil))
	s.want("five times the price", paid, 200, "")
	if paid.Str("paid_usdc") != "25" || paid.Str("tip_usdc") != "20" {
		t.Errorf("paid %s, tip %s", paid.Str("paid_usdc"), paid.Str("tip_usdc"))
	}
	s.audit()
}

// Each rule of a verifier that needs the signature or the chain, and each way to answer a challenge
// at another door. The rules of the echo alone are those of package mpp.
func TestMPPRefusals(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 1})
	const path = "/api/buy/the_confession?detail=I%20read%20the%20manual."
	buyer := s.net.Buyers[0]
	now := uint64(time.Now().Unix())
	set := func(name string, v any) func(credential) {
		return func(c credential) { c.wire["payload"].(map[string]any)[name] = v }
	}
	sig := func(change func([]byte) []byte) func(credential) {
		return func(c credential) {
			set("signature", "0x"+common.Bytes2Hex(change(slices.Clone(c.Signature))))(c)
		}
	}
	echo := func(name string, v any) func(credential) {
		return func(c credential) { c.wire["challenge"].(map[string]any)[name] = v }
	}
	guess := sha256.Sum256([]byte("guessed"))
	other := s.ask(path)
	const prefix = "invalid_exact_evm_"
	for name, c := range map[string]struct {
		path   string // where it is shown, "" where it was asked for
		from   *chaintest.Key
		sign   func(*token.Authorization)
		change func(credential)
		reason string
		kind   string
	}{
		"another door":  {path: "/api/buy/dibs?detail=x", reason: "invalid-challenge"},
		"another query": {path: "/api/buy/the_confession?detail=Another.", reason: "invalid-challenge"},
		"the same query otherwise": {path: "/api/buy/the_confession?detail=I+read+the+manual.",
			reason: "invalid-challenge"},
		"a guessed id": {change: echo("id", base64.RawURLEncoding.EncodeToString(guess[:])),
			reason: "invalid-challenge"},
		"a swapped opaque": {change: echo("opaque", other["opaque"]), reason: "invalid-challenge"},
		"a later end":      {change: echo("expires", "2099-01-01T00:00:00Z"), reason: "invalid-challenge"},
		"another realm":    {change: echo("realm", "localhost"), reason: "invalid-challenge"},
		"a lower price, signed": {sign: func(a *token.Authorization) { a.Value = big.NewInt(1) },
			reason: "payment-insufficient"},
		"a higher price, signed": {sign: func(a *token.Authorization) { a.Value = big.NewInt(10_001) },
			reason: "verification-failed"},
		"to another, signed": {sign: func(a *token.Authorization) { a.To = buyer.Address },
			reason: "verification-failed"},
		"a nonce of its own, signed": {sign: func(a *token.Authorization) { a.Nonce[0] ^= 1 },
			reason: "verification-failed"},
		"outliving its challenge": {sign: func(a *token.Authorization) { a.ValidBefore++ },
			reason: "verification-failed"},
		"expired, signed": {sign: func(a *token.Authorization) { a.ValidBefore = now - 1 }, reason: prefix +
			"payload_authorization_valid_before", kind: "payment-expired"},
		"about to expire, signed": {sign: func(a *token.Authorization) { a.ValidBefore = now + 25 }, reason: prefix +
			"payload_authorization_valid_before", kind: "payment-expired"},
		"not valid yet, signed": {sign: func(a *token.Authorization) { a.ValidAfter = now + 100 }, reason: prefix +
			"payload_authorization_valid_after", kind: "verification-failed"},
		"another's signature": {change: set("from", s.net.Poor.Address.Hex()), reason: "verification-failed"},
		"a source beside": {change: func(c credential) {
			c.wire["source"] = "did:pkh:eip155:8453:" +
				s.net.Poor.Address.Hex()
		}, reason: "verification-failed"},
		"a broken signature": {change: sig(func(b []byte) []byte { b[5] ^= 1; return b }), reason: prefix +
			"signature", kind: "verification-failed"},
		"a short signature": {change: sig(func(b []byte) []byte { return b[:64] }), reason: prefix +
			"signature", kind: "verification-failed"},
		"a malleable signature": {change: sig(highS), reason: prefix + "transaction_simulation_failed",
			kind: "verification-failed"},
		"no signature": {change: set("signature", ""), reason: "invalid_payload",
			kind: "invalid-payload"},
		"no money": {from: &s.net.Poor, reason: prefix + "insufficient_balance",
			kind: "payment-insufficient"},
		"a value that is no number": {change: set("value", "1e4"), reason: "invalid_payload", kind: "invalid-payload"},
		"another type":              {change: set("type", "permit2"), reason: "invalid-payload"},
		"splits":                    {change: set("splits", []any{}), reason: "invalid-payload"},
	} {
		ch := s.ask(path)
		from := buyer
		if c.from != nil {
			from = *c.from
		}
		got := s.answer(ch, from, c.sign)
		if c.change != nil {
			c.change(got)
		}
		at := path
		if c.path != "" {
			at = c.path
		}
		if c.kind == "" {
			c.kind = c.reason
		}
		s.refused(name, s.show(at, got), c.reason, c.kind, ch)
	}
	// What is not one payment of ours is no reason to sign again.
	good := s.answer(s.ask(path), buyer, nil)
	foreign := s.answer(s.ask(path), buyer, nil)
	echo("method", "tempo")(foreign)
	r := s.show(path, foreign)
	if r.Status != 400 || r.Str("reason") != "method-unsupported" || r.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("another method = %d %s", r.Status, r.Raw)
	}
	if n := s.relayed(); n != 0 || len(tilltest.Purchases(t, s.db)) != 0 {
		t.Fatalf("%d transactions and %d purchases of refused payments", n, len(tilltest.Purchases(t, s.db)))
	}
	// And those that differ in nothing that counts are taken.
	set("nonce", "0x"+strings.ToUpper(common.Hash(good.Nonce).Hex()[2:]))(good)
	sig(func(b []byte) []byte { b[64] -= 27; return b })(good)
	delete(good.wire, "source")
	s.want("v as 0 or 1, without a source", s.show(path, good), 200, "")
	s.audit()
}

// highS is the other signature of the same key for the same digest.
func highS(sig []byte) []byte {
	n := crypto.S256().Params().N
	s := new(big.Int).Sub(n, new(big.Int).SetBytes(sig[32:64]))
	s.FillBytes(sig[32:64])
	sig[64] = 27 + 28 - sig[64]
	return sig
}
