package till_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/internal/tilltest"

	"github.com/google/go-cmp/cmp"
)

func parseKey(t *testing.T, digit string) *wallet.Key {
	t.Helper()
	k, err := wallet.ParseKey(strings.Repeat(digit, 64))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// message is what the terms of a path, or the refusal of a status, ask a wallet to sign.
func (m *model) message(path string, k *wallet.Key) map[string]any {
	m.t.Helper()
	r, _ := m.do(path, nil)
	said := r.Body
	if r.Status == 402 {
		said = tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
	}
	ext, _ := said["extensions"].(map[string]any)
	in, _ := ext["sign-in-with-x"].(map[string]any)
	info, ok := in["info"].(map[string]any)
	if !ok {
		m.t.Fatalf("GET %s = %d without a message to sign: %s", path, r.Status, r.Raw)
	}
	chain := in["supportedChains"].([]any)[0].(map[string]any)
	info["chainId"], info["type"], info["address"] = chain["chainId"], chain["type"], k.Address().String()
	return info
}

// signedMessage signs a message, whatever became of it, and is its header.
func signedMessage(t *testing.T, info map[string]any, k *wallet.Key) string {
	t.Helper()
	at := func(name string) string { s, _ := info[name].(string); return s }
	msg := wallet.SignIn{Domain: at("domain"), Address: k.Address().String(), Statement: at("statement"),
		URI: at("uri"), Version: at("version"), ChainID: strings.TrimPrefix(at("chainId"), "eip155:"),
		Nonce: at("nonce"), IssuedAt: at("issuedAt"), ExpirationTime: at("expirationTime"),
		NotBefore: at("notBefore"), RequestID: at("requestId")}
	if r, ok := info["resources"].([]string); ok {
		msg.Resources = r
	}
	text, err := msg.Ethereum()
	if err != nil {
		t.Fatal(err)
	}
	if info["signature"] == nil {
		info["signature"] = "0x" + hex.EncodeToString(k.Sign(wallet.PersonalHash(text)))
	}
	b, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// signIn signs in at a path.
func (m *model) signIn(path string, k *wallet.Key) tilltest.Reply {
	m.t.Helper()
	r, _ := m.do(path, map[string]string{"SIGN-IN-WITH-X": signedMessage(m.t, m.message(path, k), k)})
	return r
}

// later is a time later, with a store that was stopped meanwhile and a new block.
func (m *model) later(d time.Duration) {
	m.stop()
	time.Sleep(d)
	m.sealed()
	m.start(m.till.Config().Site.Now())
	m.seal()
}

// bought buys what is at a path, and seals until it is delivered.
func (m *model) bought(path, payer string) tilltest.Reply {
	m.t.Helper()
	s := m.offered(path, payer, "nonce of "+path, 0)
	answer := m.begin(s)
	synctest.Wait()
	m.seal()
	r := <-answer
	if r.Status != 200 {
		m.t.Fatalf("a purchase is answered %d %s", r.Status, r.Raw)
	}
	return r
}

// A sign-in that is not exactly what this store asked for, by the wallet that it names, gives
// nothing, and says why and that nothing was charged.
func TestSignInsThatAreRefused(t *testing.T) {
	t.Parallel()
	buyer, other := parseKey(t, "1"), parseKey(t, "2")
	set := func(name string, v any) func(*model, map[string]any) {
		return func(_ *model, info map[string]any) { info[name] = v }
	}
	nonceOf := func(path string) func(*model, map[string]any) {
		return func(m *model, info map[string]any) { info["nonce"] = m.message(path, buyer)["nonce"] }
	}
	for _, c := range []struct {
		name, reason string
		change       func(*model, map[string]any)
	}{
		{"another store's domain", "message", set("domain", "other.test")},
		{"another page", "message", set("uri", childBase+"/api/buy/small_blessing")},
		{"another operation", "nonce", nonceOf("/api/buy/small_blessing")},
		{"other inputs", "nonce", nonceOf(hello + "?agent_name=another")},
		{"a nonce of its own", "nonce", set("nonce", strings.Repeat("a", 40))},
		{"a network without sales", "unsupported_chain", set("chainId", "eip155:1")},
		{"a statement with instructions", "message", set("statement", "Pay 0x00 before you go on.")},
		{"resources with instructions", "message", set("resources", []string{"https://other.test/do-this"})},
		{"a later beginning", "message", set("notBefore", "2000-01-01T00:00:00Z")},
		{"a request id", "message", set("requestId", "1")},
		{"an end of its own", "message", set("expirationTime", "2100-01-01T00:00:00Z")},
		{"an address in lower case", "message", set("address", strings.ToLower(buyer.Address().String()))},
		{"somebody else's address", "signature", set("address", other.Address().String())},
		{"no signature", "signature", set("signature", "")},
		{"a type of other wallets", "header", set("type", "ed25519")},
		{"five minutes later", "nonce", func(m *model, _ map[string]any) { m.later(5 * time.Minute) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := bubble(t, nil, nil)
				defer func() { m.stop() }()
				m.bought(hello, buyer.Address().String())
				info := m.message(hello, buyer)
				c.change(m, info)
				r, _ := m.do(hello, map[string]string{"SIGN-IN-WITH-X": signedMessage(t, info, buyer)})
				if r.Status != 402 || r.Code() != "sign_in_refused" || r.Str("billed") != "no" ||
					r.Str("reason") != "invalid_siwx_"+c.reason || r.Body["deliverable"] != nil {
					t.Errorf("%d %s", r.Status, r.Raw)
				}
				if err := tilltest.AnswersPayment(r, false); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Who bought gets the answer again by signing in, uncharged, once a nonce, and for as long as
// /spec/sign-in/v1 says; nobody else does.
func TestSignInGivesAnAnswerAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, nil)
		defer func() { m.stop() }()
		buyer, other := parseKey(t, "1"), parseKey(t, "2")
		const page = "/almanac/the-till-at-night"
		pay := func(path string) tilltest.Reply { return m.bought(path, buyer.Address().String()) }
		first, blessing := pay(hello), pay("/api/buy/small_blessing")
		pay(page)

		header := map[string]string{"SIGN-IN-WITH-X": signedMessage(t, m.message(hello, buyer), buyer)}
		with := func(name, value string) map[string]string {
			return map[string]string{"SIGN-IN-WITH-X": header["SIGN-IN-WITH-X"], name: value}
		}
		sale := m.offered(hello, other.Address().String(), "another nonce", 0)
		r, _ := m.do(hello, with("PAYMENT-SIGNATURE", sale.header))
		if r.Status != 400 || r.Str("reason") != "sign_in_beside_payment" || r.Str("billed") != "no" {
			t.Errorf("beside a payment: %d %s", r.Status, r.Raw)
		}
		r, _ = m.do(hello, with("Idempotency-Key", "a-key-of-the-buyers-own"))
		if r.Status != 402 || r.Code() != "payment_required" {
			t.Errorf("with a key of its own: %d %s", r.Status, r.Raw)
		}
		r, _ = m.do(hello, header)
		if r.Status != 200 || r.Body["idempotent_replay"] != true || r.Header.Get("Idempotent-Replayed") != "true" ||
			r.Header.Get("PAYMENT-RESPONSE") != "" || !strings.Contains(r.Header.Get("Cache-Control"), "no-store") ||
			cmp.Diff(tilltest.PlainBody(first), tilltest.PlainBody(r)) != "" {
			t.Errorf("the answer: %d %s", r.Status, r.Raw)
		}
		if r, _ = m.do(hello, header); r.Status != 402 || r.Str("reason") != "invalid_siwx_nonce" {
			t.Errorf("the same sign-in again: %d %s", r.Status, r.Raw)
		}
		if r = m.signIn(hello, other); r.Status != 402 || r.Code() != "payment_required" {
			t.Errorf("another wallet: %d %s", r.Status, r.Raw)
		}

		status := "/api/purchase-status/" + first.Purchase()
		if r = m.signIn(status, other); r.Status != 401 || r.Body["fulfilment"] != nil {
			t.Errorf("another wallet reads the status: %d %s", r.Status, r.Raw)
		}
		if r, _ = m.do(status, header); r.Status != 401 || r.Str("reason") != "invalid_siwx_nonce" {
			t.Errorf("a sign-in of the buy door reads the status: %d %s", r.Status, r.Raw)
		}
		if r = m.signIn(status, buyer); r.Status != 200 || r.Str("state") != "delivered" {
			t.Errorf("the status: %d %s", r.Status, r.Raw)
		}

		m.later(6 * time.Minute)
		if r = m.signIn(hello, buyer); r.Status != 402 || r.Code() != "payment_required" {
			t.Errorf("fetched, and more than five minutes old: %d %s", r.Status, r.Raw)
		}
		if r = m.signIn("/api/buy/small_blessing", buyer); r.Status != 200 || r.Purchase() != blessing.Purchase() {
			t.Errorf("never fetched: %d %s", r.Status, r.Raw)
		}
		if r = m.signIn("/api/buy/small_blessing", buyer); r.Status != 402 {
			t.Errorf("fetched once by a sign-in: %d %s", r.Status, r.Raw)
		}
		m.later(25 * time.Hour)
		for range 2 {
			if r = m.signIn(page, buyer); r.Status != 200 || r.Header.Get("X-Purchase-Id") == "" {
				t.Errorf("a page that stands: %d %s", r.Status, r.Raw)
			}
		}
		if n := len(tilltest.Purchases(t, m.db)); n != 3 {
			t.Errorf("%d purchases", n)
		}
	})
}
