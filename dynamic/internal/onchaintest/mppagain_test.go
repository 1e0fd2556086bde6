package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
)

// byX402 is the authorization of a credential as an x402 payment for the same door.
func (s *shop) byX402(path string, c credential) payment {
	ch := s.challenge(path)
	return wired(ch, ch["accepts"].([]any)[0].(map[string]any), c.Payment)
}

// One authorization that comes by both protocols at once, many times, is settled once and bought
// with once.
func TestOneAuthorizationByBothProtocols(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 4})
	const path = "/api/buy/hello"
	for i, buyer := range s.net.Buyers {
		c := s.answer(s.ask(path), buyer, nil)
		x := s.byX402(path, c)
		rs := s.atOnce(12, func(int) string { return path }, func(n int) map[string]string {
			if (n+i)%2 == 0 {
				return map[string]string{"Authorization": c.header()}
			}
			return map[string]string{"PAYMENT-SIGNATURE": x.header(t)}
		})
		sold := map[string]int{}
		firsts := 0
		for n, r := range rs {
			if r.Status == 200 {
				sold[[]string{"mpp", "x402"}[(n+i)%2]]++
				if r.Body["idempotent_replay"] == false {
					firsts++
				}
				continue
			}
			s.want("the other way", r, 409, "payment_already_used")
			if r.Purchase() != "" || r.Header.Get("Payment-Receipt") != "" || r.Header.Get("PAYMENT-RESPONSE") != "" ||
				r.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("the other way says %v %s", r.Header, r.Raw)
			}
		}
		if len(sold) != 1 || firsts != 1 {
			t.Errorf("sold %v, %d first answers", sold, firsts)
		}
	}
	if n := s.relayed(); n != uint64(len(s.net.Buyers)) {
		t.Errorf("%d settlements for %d authorizations", n, len(s.net.Buyers))
	}
	s.audit()
}

// An order that is repeated the other way finds its slot by the key that each challenge suggests.
func TestARetryMayComeTheOtherWay(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 2})
	const path = "/api/buy/hello?agent_name=Ada"
	one, two := s.net.Buyers[0], s.net.Buyers[1]
	first := s.new("by MPP", s.show(path, s.answer(s.ask(path), one, nil)))
	for _, again := range []tilltest.Reply{s.again(path, one), s.show(path, s.answer(s.ask(path), one, nil))} {
		s.sameAnswer("again", first, again)
	}
	other := s.new("by x402", s.again(path, two))
	c := s.answer(s.ask(path), two, nil)
	r := s.show(path, c)
	s.sameAnswer("again by MPP", other, r)
	if s.net.Used(c.From, c.Nonce) || r.Receipt()["reference"] != s.purchase(other.Purchase()).Proof.Tx {
		t.Errorf("the second payment was taken, or its receipt is %v", r.Receipt())
	}
	// A key of one's own beside the challenge's opens another slot, and other inputs are another
	// order.
	own := s.do("GET", path, map[string]string{"Authorization": s.answer(s.ask(path), two, nil).header(),
		"Idempotency-Key": "order-0123456789"})
	s.new("with a key of one's own", own)
	s.new("another order", s.show("/api/buy/hello?agent_name=Eve", s.answer(s.ask("/api/buy/hello?agent_name=Eve"), two,
		nil)))
	if n := s.relayed(); n != 4 {
		t.Errorf("%d settlements, want 4", n)
	}
	s.audit()
}

// A challenge is answered by one wallet. Another that answers it too, at once or later, is refused
// before anything moves.
func TestAChallengeIsAnsweredByOneWallet(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 5})
	const path = "/api/buy/hello"
	ch := s.ask(path)
	var all []credential
	for _, b := range s.net.Buyers {
		all = append(all, s.answer(ch, b, nil))
	}
	rs := s.atOnce(len(all), func(int) string { return path },
		func(i int) map[string]string { return map[string]string{"Authorization": all[i].header()} })
	sold := 0
	for _, r := range rs {
		if r.Status == 200 {
			sold++
			continue
		}
		s.refused("another wallet", r, "invalid-challenge", "invalid-challenge", ch)
	}
	if sold != 1 || s.relayed() != 1 {
		t.Errorf("sold %d times, %d settlements", sold, s.relayed())
	}
	s.audit()
}

// A credential that was claimed is answered however old its challenge is; one that was not is
// refused as expired.
func TestAnExpiredChallengeThatWasPaid(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 2})
	const path = "/api/buy/hello"
	ch := s.ask(path)
	c := s.answer(ch, s.net.Buyers[0], nil)
	late := s.answer(s.ask(path), s.net.Buyers[1], nil)
	first := s.show(path, c)
	s.want("paid", first, 200, "")
	s.net.Pass(10 * time.Minute)
	s.sameAnswer("long after", first, s.show(path, c))
	s.sameAnswer("at another door", first, s.show("/api/buy/no_such_good", c))
	const expired = "invalid_exact_evm_payload_authorization_valid_before"
	var r tilltest.Reply
	until(t, "the store to hear of the time", func() bool { r = s.show(path, late); return r.Str("reason") == expired })
	s.refused("one that was never paid", r, expired, "payment-expired", ch)
	s.audit()
}

// While the outcome is unknown there is no challenge, and where it did not settle there is none
// either: a client that is shown one pays once more.
func TestNoChallengeAfterAPossibleBroadcast(t *testing.T) {
	t.Parallel()
	var mute atomic.Bool
	s := newMPPShop(t, shopOptions{buyers: 1, rail: func(r rail.Rail) rail.Rail { return speechless{r, &mute} },
		config: func(c *till.Config) { c.SettleWait, c.RepeatWait = 300*time.Millisecond, 100*time.Millisecond }})
	const path = "/api/buy/the_drawer"
	c := s.answer(s.ask(path), s.net.Buyers[0], nil)
	mute.Store(true)
	silent := func(what string, r tilltest.Reply) {
		t.Helper()
		if len(r.Header.Values("WWW-Authenticate")) != 0 || r.Header.Get("PAYMENT-REQUIRED") != "" ||
			r.Receipt() != nil ||
			strings.Contains(string(r.Raw), "challenges") || r.Body["accepts"] != nil {
			t.Errorf("%s: %v %s", what, r.Header, r.Raw)
		}
	}
	r := s.show(path, c)
	s.want("a payment that cannot be sent", r, 503, "payment_unknown")
	silent("under way", r)
	if r.Header.Get("Retry-After") == "" || r.Str("billed") != "unknown" || r.Str("recovery", "status_token") == "" {
		t.Errorf("under way: %v %s", r.Header, r.Raw)
	}
	s.net.Pass(10 * time.Minute)
	mute.Store(false)
	for range chain.DefaultFinalDepth {
		s.net.MustSealTxs()
	}
	s.state(r.Purchase(), till.NotSettled)
	until(t, "it to be final", func() bool { return tilltest.Purchases(t, s.db)[0].Final })
	ended := s.show(path, c)
	s.want("the payment that expired", ended, 409, "payment_not_settled")
	silent("not settled", ended)
	if ended.Str("billed") != "no" || ended.Str("retry") != "now" || ended.Str("next_step") == "" ||
		ended.Str("reason") == "" {
		t.Errorf("not settled: %s", ended.Raw)
	}
	// The same authorization in the other protocol is no way to another answer.
	x := s.present(path, s.byX402(path, c))
	s.want("the other way", x, 409, "payment_already_used")
	silent("the other way", x)
	s.audit()
}

// Whoever reads a settled authorization from the chain learns nothing by it, whichever way it is
// sent.
func TestAThiefOfAnMPPPayment(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 1})
	const path = "/api/buy/hello?agent_name=Ada"
	ch := s.ask(path)
	c := s.answer(ch, s.net.Buyers[0], nil)
	bought := s.show(path, c)
	s.want("bought", bought, 200, "")
	seen := s.rebuilt(bought.Receipt()["reference"].(string))
	secrets := append(leaves(bought.Body["recovery"]), bought.Str("cert_id"), ch["id"].(string), ch["opaque"].(string))
	stolen := func(challenge map[string]any) credential {
		forged := s.answer(challenge, s.net.Poor, nil)
		p := forged.wire["payload"].(map[string]any)
		p["from"], p["value"], p["validBefore"] = seen.From.Hex(), seen.Value.String(), fmt.Sprint(seen.ValidBefore)
		p["nonce"], p["signature"] = common.Hash(seen.Nonce).Hex(), "0x"+common.Bytes2Hex(seen.Signature)
		delete(forged.wire, "source")
		return forged
	}
	for _, at := range []string{path, "/api/buy/hello", "/api/buy/no_such_thing"} {
		s.silent("in a challenge of the thief's", s.show(at, stolen(s.ask("/api/buy/hello"))), secrets)
	}
	s.silent("by x402", s.present(path, s.byX402(path, credential{Payment: seen})), secrets)
	if s.relayed() != 1 {
		t.Errorf("%d settlements", s.relayed())
	}
	s.audit()
}

// Two payments in a request, and payments that are no request at all.
func TestMPPHeaderBombs(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 2})
	const path = "/api/buy/hello"
	good := s.answer(s.ask(path), s.net.Buyers[0], nil)
	send := func(values ...string) tilltest.Reply {
		t.Helper()
		req, err := http.NewRequest("GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Authorization"] = values
		return s.send(req)
	}
	x := s.pay(s.challenge(path), 0, s.net.Buyers[1])
	for what, r := range map[string]tilltest.Reply{
		"two credentials": send(good.header(), good.header()),
		"both protocols":  s.do("GET", path, map[string]string{"Authorization": good.header(), "PAYMENT-SIGNATURE": x}),
	} {
		if r.Status != 400 || r.Str("billed") != "no" || r.Header.Get("WWW-Authenticate") != "" ||
			r.Header.Get("PAYMENT-REQUIRED") != "" {
			t.Errorf("%s = %d %v %s", what, r.Status, r.Header, r.Raw)
		}
	}
	deep := strings.Repeat(`{"challenge":`, 2000)
	twice := strings.Replace(string(mustJSON(t, good.wire)), `"id":`, `"id":"x","id":`, 1)
	for what, value := range map[string]string{
		"two in a field": good.header() + ", " + good.header(),
		"long":           "Payment " + strings.Repeat("A", 20<<10),
		"deep":           "Payment " + base64.RawURLEncoding.EncodeToString([]byte(deep))[:16<<10],
		"deep and short": "Payment " + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 10000))),
		"a member twice": "Payment " + base64.RawURLEncoding.EncodeToString([]byte(twice)),
		"empty":          "Payment",
		"many challenges": "Payment " +
			base64.RawURLEncoding.EncodeToString([]byte(`{"challenge":{"method":"evm","intent":"charge",`+
				strings.Repeat(`"x":1,`, 1000)+`"y":2},"payload":{}}`)),
	} {
		r := send(value)
		s.want(what, r, 402, "payment_invalid")
		if r.Str("reason") != "malformed-credential" || r.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s", what, r.Raw)
		}
	}
	if s.relayed() != 0 {
		t.Fatal("something was settled")
	}
	s.want("beside a bearer", send("Bearer st_nothing", good.header()), 200, "")
	s.want("the x402 payment alone", s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": x}), 200, "")
	s.audit()
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Over MCP the terms, the credential and the receipt stand in _meta.
func TestBuyingByMPPInProcess(t *testing.T) {
	t.Parallel()
	s := newMPPShop(t, shopOptions{buyers: 1})
	ask := func(meta pay.Meta, inputs string) *counter.Answer {
		t.Helper()
		a, err := s.count.Buy(t.Context(), counter.Request{Item: "hello", Method: "POST", Payment: meta, Asks: meta,
			Inputs: &counter.Inputs{Body: []byte(inputs)}, Meta: true})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	terms := ask(nil, `{"agent_name":"Ada"}`)
	var data struct{ Challenges []map[string]any }
	if err := json.Unmarshal(terms.Carrier.Meta["org.paymentauth/payment-required"], &data); err != nil ||
		terms.Status != 402 || len(data.Challenges) != 2 {
		t.Fatalf("terms = %+v, %v", terms, err)
	}
	ch := maps.Clone(data.Challenges[0])
	ch["request"] = base64.RawURLEncoding.EncodeToString(mustJSON(t, ch["request"]))
	c := s.answer(ch, s.net.Buyers[0], nil)
	c.wire["challenge"] = data.Challenges[0] // the request as an object
	meta := pay.Meta{"org.paymentauth/credential": mustJSON(t, c.wire)}
	for i := range 2 {
		a := ask(meta, `{"agent_name":"Ada"}`)
		var receipt struct{ Status, Method, Timestamp, Reference, ChallengeID string }
		if err := json.Unmarshal(a.Carrier.Meta["org.paymentauth/receipt"], &receipt); err != nil || a.Status != 200 ||
			a.Replay != (i == 1) ||
			receipt.Status != "success" || receipt.ChallengeID != ch["id"] || receipt.Reference == "" ||
			a.Carrier.Meta["org.paymentauth/payment-required"] != nil {
			t.Errorf("time %d: %+v, %+v, %v", i, a, receipt, err)
		}
	}
	// Over HTTP the same authorization is not the same bytes.
	s.want("over HTTP", s.show("/api/buy/hello?agent_name=Ada", c), 409, "payment_already_used")
	s.audit()
}
