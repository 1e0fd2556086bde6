package onchaintest_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// This file is a client of method usdc, written from the draft alone, because no SDK has the
// method: draft-usdc-charge-00, with requestHash as /spec/mpp-usdc/v1 has it.

// usdcRequest is what a challenge asks.
type usdcRequest struct {
	Amount, Currency, Recipient, ExternalID string
	MethodDetails                           struct {
		Type string
		EVM  struct {
			ChainID uint64
		}
		Solana struct{ FeePayerKey, Network string }
	}
}

// usdcOffers are the challenges of a 402 for who names the method: those of the header and, after
// them, those that are in the body alone. Each is as it is echoed.
func (s *shop) usdcOffers(path string, header map[string]string) (all []map[string]any, r tilltest.Reply) {
	s.t.Helper()
	header = maps.Clone(header)
	if header == nil {
		header = map[string]string{}
	}
	header["Accept-Payment"] = "usdc/charge, evm/charge;q=0.5"
	r = s.do("GET", path, header)
	s.want("402", r, 402, "payment_required")
	seen := map[any]bool{}
	for _, field := range r.Header.Values("WWW-Authenticate") {
		c := echoOf(field)
		all, seen[c["id"]] = append(all, c), true
	}
	var data struct{ Challenges []map[string]any }
	b, _ := json.Marshal(r.Body["org.paymentauth/payment-required"])
	if err := json.Unmarshal(b, &data); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range data.Challenges {
		if !seen[c["id"]] {
			c["request"] = b64(c["request"]) // whose members json sorts
			all = append(all, c)
		}
	}
	return all, r
}

func requestOf(t testing.TB, c map[string]any) (r usdcRequest, canonical []byte) {
	t.Helper()
	canonical, err := base64.RawURLEncoding.DecodeString(c["request"].(string))
	if err := errors.Join(err, json.Unmarshal(canonical, &r)); err != nil {
		t.Fatal(err)
	}
	return r, canonical
}

// usdcOn is the challenge of method usdc that is for a network.
func usdcOn(t testing.TB, all []map[string]any, network string) map[string]any {
	t.Helper()
	for _, c := range all {
		r, _ := requestOf(t, c)
		if d := r.MethodDetails; c["method"] == "usdc" && (d.Type == "solana" && network == networks.Solana ||
			d.Type == "evm" && network == fmt.Sprintf("eip155:%d", d.EVM.ChainID)) {
			return maps.Clone(c)
		}
	}
	t.Fatalf("usdc is not offered on %s: %v", network, all)
	return nil
}

// usdcNonce is the nonce that answers a challenge.
func usdcNonce(t testing.TB, c map[string]any) common.Hash {
	_, canonical := requestOf(t, c)
	answers, err := json.Marshal(map[string]any{"id": c["id"], "intent": "charge", "method": "usdc",
		"realm": c["realm"], "requestHash": crypto.Keccak256Hash(canonical).Hex()})
	if err != nil {
		t.Fatal(err)
	}
	return crypto.Keccak256Hash(answers)
}

// answerUSDC answers a challenge on an EVM network. change may alter what is signed.
func (s *shop) answerUSDC(c map[string]any, from chaintest.Key, change func(*token.Authorization)) credential {
	s.t.Helper()
	r, _ := requestOf(s.t, c)
	end, err := time.Parse(time.RFC3339, c["expires"].(string))
	if err != nil {
		s.t.Fatal(err)
	}
	amount, _ := new(big.Int).SetString(r.Amount, 10)
	a := token.Authorization{From: from.Address, To: common.HexToAddress(r.Recipient), Value: amount,
		ValidBefore: uint64(end.Unix()), Nonce: usdcNonce(s.t, c)}
	if change != nil {
		change(&a)
	}
	p := s.net.On(r.MethodDetails.EVM.ChainID).Sign(from, a)
	return credential{p, map[string]any{"challenge": maps.Clone(c),
		"source": fmt.Sprintf("eip155:%d:%s", r.MethodDetails.EVM.ChainID, strings.ToLower(from.Address.Hex())),
		"payload": map[string]any{"type": "authorization", "from": a.From.Hex(), "to": a.To.Hex(),
			"value": a.Value.String(), "validAfter": "0", "validBefore": fmt.Sprint(a.ValidBefore),
			"nonce": common.Hash(a.Nonce).Hex(), "signature": "0x" + common.Bytes2Hex(p.Signature)}}}
}

// answerUSDC answers a challenge on Solana; by signs the binding.
func (n *solanaNet) answerUSDC(c map[string]any, from, by ed25519.PrivateKey) credential {
	n.t.Helper()
	r, _ := requestOf(n.t, c)
	tx := n.sign(map[string]any{"amount": r.Amount, "asset": r.Currency, "payTo": r.Recipient,
		"extra": map[string]any{"feePayer": r.MethodDetails.Solana.FeePayerKey, "memo": r.ExternalID}}, from)
	source := networks.Solana + ":" + solanaAddress(by)
	sum, domain := sha256.Sum256(tx), sha256.Sum256([]byte("CIRCLE::USDC::ChallengeBindingV00"))
	text, err := json.Marshal(map[string]any{"type": "challenge-binding-v00", "method": "usdc", "challenge": c,
		"source": source, "transactionBytesDigest": hex.EncodeToString(sum[:])})
	if err != nil {
		n.t.Fatal(err)
	}
	return credential{wire: map[string]any{"challenge": c, "source": source, "payload": map[string]any{
		"type": "transaction", "transaction": base64.StdEncoding.EncodeToString(tx),
		"challengeBinding": map[string]any{"type": "challenge-binding-v00",
			"signature": base64.StdEncoding.EncodeToString(ed25519.Sign(by, append(domain[:], text...)))}}}}
}

// newUSDCShop sells on four EVM networks and on Solana.
func newUSDCShop(t *testing.T, o shopOptions) (*shop, *solanaNet) {
	n := newSolanaNet(t, slot, 2)
	for _, c := range chain.Networks {
		o.networks = append(o.networks, c.ChainID)
	}
	o.more = []rail.Rail{n.rail()}
	return newShop(t, o), n
}

// Method usdc is paid on every network, and the same credential again, for an answer that was lost,
// is paid by the first.
func TestBuyingByUSDC(t *testing.T) {
	t.Parallel()
	s, n := newUSDCShop(t, shopOptions{buyers: 4})
	const path = "/api/buy/hello"
	for i, network := range []string{"eip155:8453", "eip155:137", "eip155:42161", "eip155:43114", networks.Solana} {
		all, _ := s.usdcOffers(path, nil)
		ch := usdcOn(t, all, network)
		asks, _ := requestOf(t, ch)
		kind := "evm"
		var c credential
		if network == networks.Solana {
			kind, c = "solana", n.answerUSDC(ch, n.buyers[0], n.buyers[0])
		} else {
			c = s.answerUSDC(ch, s.net.Buyers[i%4], nil)
		}
		first := s.show(path, c)
		s.want(network, first, 200, "")
		rc := first.Receipt()
		want := map[string]any{"method": "usdc", "type": kind, "challengeId": ch["id"], "status": "success",
			"network": network, "externalId": asks.ExternalID, "reference": s.purchase(first.Purchase()).Proof.Tx,
			"timestamp": rc["timestamp"]}
		if !maps.Equal(rc, want) || asks.ExternalID == "" {
			t.Errorf("%s: receipt %v, want %v", network, rc, want)
		}
		s.sameAnswer(network+" again", first, s.show(path, c))
	}
	if s.audit() != 5 || n.landed() != 1 {
		t.Errorf("%d transactions landed on Solana", n.landed())
	}
}

// The challenges of one answer are offers of one order: by whatever method, network and wallet they
// are paid, together or one after another, one is.
func TestOneOrderOfSeveralOffers(t *testing.T) {
	t.Parallel()
	s, n := newUSDCShop(t, shopOptions{buyers: 5})
	const path = "/api/buy/hello"
	all, _ := s.usdcOffers(path, nil)
	var evm map[string]any
	for _, c := range all {
		if c["method"] == "evm" {
			evm = c
		}
	}
	answers := []credential{s.answer(evm, s.net.Buyers[0], nil), n.answerUSDC(usdcOn(t, all, networks.Solana),
		n.buyers[0], n.buyers[0])}
	for i, network := range []string{"eip155:8453", "eip155:137", "eip155:42161"} {
		answers = append(answers, s.answerUSDC(usdcOn(t, all, network), s.net.Buyers[i+1], nil))
	}
	keyed := func(i int) map[string]string {
		return map[string]string{"Authorization": answers[i].header(),
			"Idempotency-Key": fmt.Sprint("own-key-0123456789-", i)}
	}
	sold := map[string]bool{}
	paid := -1
	for i, r := range s.atOnce(len(answers), func(int) string { return path }, keyed) {
		if r.Status == 200 {
			sold[r.Purchase()], paid = true, i
			continue
		}
		s.refused("another offer", r, "invalid-challenge", "invalid-challenge", evm)
	}
	if len(sold) != 1 {
		t.Fatalf("sold %v", sold)
	}
	for i := range answers {
		if r := s.do("GET", path, keyed(i)); (r.Status == 200) != (i == paid) || i != paid && r.Str("billed") != "no" {
			t.Errorf("offer %d afterwards: %d %s", i, r.Status, r.Raw)
		}
	}
	// The wallet that paid gets what it bought, by another offer too, uncharged.
	if paid != 1 {
		payer := s.net.Buyers[max(paid-1, 0)]
		again := s.answerUSDC(usdcOn(t, all, "eip155:43114"), payer, nil)
		h := keyed(paid)
		first := s.do("GET", path, h)
		h["Authorization"] = again.header()
		s.sameAnswer("another offer of the same wallet", first, s.do("GET", path, h))
	}
	asks, _ := requestOf(t, usdcOn(t, all, "eip155:8453"))
	err := s.db.View(t.Context(), func(tx ledger.Tx) error {
		claim, err := ledger.GetJSON[till.Claim](tx, ledger.AuthKey("order", asks.ExternalID))
		if err == nil && !sold[claim.Purchase] {
			err = fmt.Errorf("the order is claimed by %+v", claim)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if s.audit() != 1 {
		t.Error("more than one was delivered")
	}
}

// What the draft has refused, and what a hostile payer bends, is refused with a reason, and moves
// nothing.
func TestUSDCRefusals(t *testing.T) {
	t.Parallel()
	s, n := newUSDCShop(t, shopOptions{buyers: 2})
	const path = "/api/buy/hello"
	buyer, blocked := s.net.Buyers[0], s.net.Buyers[1]
	s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, token.BlacklistCall(blocked.Address)).Hash())
	frozen := solanaAddress(n.buyers[1])
	n.Do(nil, "dev_setToken", n.account(frozen), n.mint, frozen, 1_000_000, true)
	type sent = map[string]string
	usual := func(c credential) sent { return sent{"Authorization": c.header()} }
	for name, c := range map[string]struct {
		network string // eip155:8453 where it is empty
		ask     sent
		send    func(ch map[string]any) sent
		at      string
		reason  string
		detail  string
	}{
		"the nonce of method evm": {send: func(ch map[string]any) sent {
			return usual(s.answerUSDC(ch, buyer, func(a *token.Authorization) {
				a.Nonce = crypto.Keccak256Hash([]byte(ch["id"].(string) + ch["realm"].(string)))
			}))
		}, reason: "verification-failed"},
		"signed for another network": {send: func(ch map[string]any) sent {
			c := s.answerUSDC(ch, buyer, nil)
			p := s.net.On(137).Sign(buyer, c.Authorization)
			c.wire["payload"].(map[string]any)["signature"] = "0x" + common.Bytes2Hex(p.Signature)
			return usual(c)
		}, reason: "invalid_exact_evm_signature"},
		"another operation": {at: "/api/buy/small_blessing", send: func(ch map[string]any) sent {
			return usual(s.answerUSDC(ch, buyer, nil))
		}, reason: "invalid-challenge"},
		"another realm": {send: func(ch map[string]any) sent {
			ch["realm"] = "localhost"
			return usual(s.answerUSDC(ch, buyer, nil))
		}, reason: "invalid-challenge"},
		"usdc as evm": {send: func(ch map[string]any) sent {
			ch["method"] = "evm"
			return usual(s.answerUSDC(ch, buyer, nil))
		}, reason: "invalid-challenge"},
		"a blocked payer": {send: func(ch map[string]any) sent { return usual(s.answerUSDC(ch, blocked, nil)) },
			reason: "invalid_exact_evm_transaction_simulation_failed", detail: "account is blacklisted"},
		"the other field": {send: func(ch map[string]any) sent {
			return sent{"Payment-Authorization": s.answerUSDC(ch, buyer, nil).header()}
		}, reason: "invalid-challenge", detail: "in the field Authorization"},
		"the usual field, where the other was asked for": {ask: sent{"Authorization": "Bearer st_x"},
			send:   func(ch map[string]any) sent { return usual(s.answerUSDC(ch, buyer, nil)) },
			reason: "invalid-challenge", detail: "in the field Payment-Authorization"},
		"no payment in the other field": {send: func(map[string]any) sent {
			return sent{"Payment-Authorization": "Bearer st_x"}
		}, reason: "malformed-credential"},
		"a frozen payer": {network: networks.Solana,
			send: func(ch map[string]any) sent {
				return usual(n.answerUSDC(ch, n.buyers[1], n.buyers[1]))
			}, reason: "invalid_exact_svm_transaction_simulation_failed", detail: "has frozen"},
		"bound by another wallet": {network: networks.Solana, send: func(ch map[string]any) sent {
			return usual(n.answerUSDC(ch, n.buyers[0], n.buyers[1]))
		}, reason: "verification-failed", detail: "is not who pays"},
		"unbound": {network: networks.Solana, send: func(ch map[string]any) sent {
			c := n.answerUSDC(ch, n.buyers[0], n.buyers[0])
			c.wire["payload"].(map[string]any)["challengeBinding"] = nil
			return usual(c)
		}, reason: "invalid-payload"},
		"the transaction of another challenge": {network: networks.Solana, send: func(ch map[string]any) sent {
			c, other := n.answerUSDC(ch, n.buyers[0], n.buyers[0]), n.answerUSDC(ch, n.buyers[0], n.buyers[0])
			c.wire["payload"].(map[string]any)["transaction"] = other.wire["payload"].(map[string]any)["transaction"]
			all, _ := s.usdcOffers(path, nil)
			c.wire["challenge"] = usdcOn(t, all, networks.Solana)
			return usual(c)
		}, reason: "verification-failed"},
	} {
		if c.network == "" {
			c.network = networks.Base
		}
		if c.at == "" {
			c.at = path
		}
		all, _ := s.usdcOffers(path, c.ask)
		ch := usdcOn(t, all, c.network)
		r := s.do("GET", c.at, c.send(maps.Clone(ch)))
		s.want(name, r, 402, "payment_invalid")
		if r.Str("reason") != c.reason || r.Str("billed") != "no" || !strings.Contains(r.Str("detail"), c.detail) ||
			r.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s, want %s: %s", name, r.Raw, c.reason, c.detail)
		}
	}
	// Two payments, in two fields or of two protocols, are none.
	all, _ := s.usdcOffers(path, sent{"Authorization": "Bearer st_x"})
	good := s.answerUSDC(usdcOn(t, all, networks.Base), buyer, nil)
	x := s.pay(s.challenge(path), 0, buyer)
	for name, h := range map[string]sent{
		"both fields":         {"Authorization": good.header(), "Payment-Authorization": good.header()},
		"x402 beside it":      {"Payment-Authorization": good.header(), "PAYMENT-SIGNATURE": x},
		"x402 beside garbage": {"Payment-Authorization": "Payment x", "PAYMENT-SIGNATURE": x},
	} {
		r := s.do("GET", path, h)
		if r.Status != 400 || r.Str("billed") != "no" || r.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s = %d %s", name, r.Status, r.Raw)
		}
	}
	if len(tilltest.Purchases(t, s.db)) != 0 || s.relayed() != 0 || n.landed() != 0 {
		t.Fatal("something was claimed or settled")
	}
	// The credential is taken in its field, beside a bearer, and again where the answer was lost.
	// In the other field it proves nothing, and nothing is said to be unpaid.
	h := sent{"Authorization": "Bearer st_x", "Payment-Authorization": good.header()}
	first := s.do("GET", path, h)
	s.want("in its field", first, 200, "")
	s.sameAnswer("again", first, s.do("GET", path, h))
	s.want("in the other field", s.show(path, good), 409, "payment_already_used")
	s.audit()
}
