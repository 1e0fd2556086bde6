package till_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// vouching is a model in which one spender buys greetings, on a chain that does as it is told.
func vouching(t *testing.T) *model {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{t: t, both: true, age: time.Minute, chain: newFakeChain(),
		db: ledger.NewMem(ledger.MemOptions{Calm: true})}
	m.calm.Store(true)
	m.chain.delay, m.chain.holds = modelDelay, true
	m.start(site)
	time.Sleep(5 * time.Second) // withdrawals are seen
	return m
}

// reverted is how many transactions of the store's reverted.
func (m *model) reverted() (n int) {
	fakeHarness{m.t, m.chain}.with(func(c *fakeChain) { n = len(c.reverted) })
	return n
}

// voucherSale is a payment for a greeting by a voucher that says most.
func (m *model) voucherSale(s *spender, key string, most int64) *modelSale {
	r, _ := m.do(hello, nil)
	ch := tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
	w := fakeSpend{Form: rail.FormVoucher, Channel: s.channel, Voucher: voucher(s.channel, most)}
	return &modelSale{path: hello, key: key, most: most, header: header(ch, entry(ch, rail.SchemeVouchers), w)}
}

// buys has the spender buy a greeting, with a deposit where it needs one.
func (m *model) buys(s *spender, key string) tilltest.Reply {
	m.t.Helper()
	r, _ := m.do(hello, nil)
	ch := tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
	sale := m.spend(s, hello, ch, entry(ch, rail.SchemeVouchers), 0)
	sale.key = key
	answer := m.begin(sale)
	synctest.Wait()
	m.seal()
	got := <-answer
	if got.Status != 200 {
		m.t.Fatalf("a voucher is answered %d %s", got.Status, got.Raw)
	}
	s.heard(sale, got)
	return got
}

// claimed waits until as much is claimed of a channel.
func (m *model) claimed(s *spender, sum int64) {
	m.t.Helper()
	for range 100 {
		time.Sleep(10 * time.Second)
		m.seal()
		if m.chain.head().channel(s.channel.ID).Claimed == sum {
			return
		}
	}
	m.t.Fatalf("%d are not claimed", sum)
}

// A claim shows its voucher to everybody. Who has read it there is told nothing of the newer one,
// which would give him what that bought; its payer comes back into step by the chain.
func TestShownVoucherTellsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		s := newSpender("spender", modelDelay)
		m.buys(s, "")
		first := s.spent
		m.claimed(s, first)
		m.buys(s, "")

		read := <-m.begin(m.voucherSale(s, "", first)) // by a stranger, from the chain
		raw, err := base64.StdEncoding.DecodeString(read.Header.Get("PAYMENT-REQUIRED"))
		var ch map[string]any
		if err != nil || json.Unmarshal(raw, &ch) != nil || read.Status != 402 {
			t.Fatalf("a voucher from the chain is answered %d %s", read.Status, read.Raw)
		}
		extra := entry(ch, rail.SchemeVouchers)["extra"].(map[string]any)
		if told, ok := extra["voucherState"].(map[string]any); ok || extra["channelState"] == nil {
			t.Errorf("who read a voucher from the chain is told %v", extra)
			if told["signature"] == "0x"+hex.EncodeToString(voucher(s.channel, s.spent).Signature) {
				r := <-m.begin(m.voucherSale(s, "", s.spent))
				t.Errorf("and gets by it %d %s", r.Status, r.Raw)
			}
		}
		unseen := <-m.begin(m.voucherSale(s, "", first+first/2)) // out of step, and nobody else's
		raw, _ = base64.StdEncoding.DecodeString(unseen.Header.Get("PAYMENT-REQUIRED"))
		if json.Unmarshal(raw, &ch) != nil ||
			entry(ch, rail.SchemeVouchers)["extra"].(map[string]any)["voucherState"] == nil {
			t.Errorf("its payer is told %s", raw)
		}
	})
}

// A voucher that everybody knows proves nobody's idempotency key.
func TestShownVoucherOpensNoSlot(t *testing.T) {
	t.Parallel()
	const key = "invoice-2026-0000001"
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		s := newSpender("spender", modelDelay)
		m.buys(s, "")
		first := s.spent
		m.claimed(s, first)
		bought := m.buys(s, key)
		if r := <-m.begin(m.voucherSale(s, key, first)); r.Status != 402 || r.Str("purchase_id") != "" {
			t.Errorf("with its key, a voucher from the chain is answered %d %s", r.Status, r.Raw)
		}
		again := <-m.begin(m.voucherSale(s, key, s.spent+first))
		if again.Status != 200 || again.Str("cert_id") != bought.Str("cert_id") {
			t.Errorf("with its key, its payer is answered %d %s", again.Status, again.Raw)
		}
	})
}

// Whose idempotency key it is does not hang on whether a deposit comes along: an account with code
// whose own key signs its vouchers has one purchase for one key.
func TestVoucherFindsItsKeyWithoutADeposit(t *testing.T) {
	t.Parallel()
	const key = "invoice-2026-0000001"
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		s := newSpender("code:delegated", modelDelay)
		s.channel.Signer = s.channel.Payer
		s.channel.ID = channelID(s.channel)
		bought := m.buys(s, key)
		again := m.buys(s, key)
		if again.Str("cert_id") != bought.Str("cert_id") {
			t.Errorf("one key bought %s and %s", bought.Str("cert_id"), again.Str("cert_id"))
		}
	})
}

// A refund whose transaction reverted stands signed in its calldata, and its payer may hand it in
// at the worst moment: nothing that it takes is sold until another takes its nonce.
func TestRevertedRefundIsNotSold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		s := newSpender("code:spender", modelDelay) // its contract accepts a voucher, and denies it in a block
		m.buys(s, "")
		traps := func(is bool) { fakeHarness{t, m.chain}.with(func(c *fakeChain) { c.traps["code:spender"] = is }) }
		asksBack := func() {
			done := make(chan struct{})
			go func() { defer close(done); m.asksBack("spender", s, 0, m.do) }()
			for range 30 {
				time.Sleep(2 * time.Second)
				m.seal()
			}
			<-done
		}
		traps(true)
		asksBack()
		if m.reverted() == 0 {
			t.Fatal("no refund reverted")
		}
		traps(false)
		row := func() (r *channels.Row) {
			err := m.db.View(t.Context(), func(tx ledger.Tx) (err error) {
				r, err = channels.Read(tx, fakeNetwork, s.channel.ID)
				return err
			})
			if err != nil || r.Refund != nil {
				t.Fatalf("the channel is %+v, %v", r, err)
			}
			return r
		}
		signed := row().Signed
		r := <-m.begin(m.voucherSale(s, "", 2*s.spent))
		if r.Status != 402 || !strings.Contains(string(r.Raw), "refund_pending") {
			t.Errorf("a voucher for money that a refund may take is answered %d %s", r.Status, r.Raw)
		}
		fakeHarness{t, m.chain}.with(func(c *fakeChain) {
			c.byPayer(s.channel.Payer, "hands it in", &fakeCall{Does: rail.MethodRefund, Channel: s.channel,
				Amount: channelDeposit - s.spent})
		})
		for range 30 {
			time.Sleep(10 * time.Second)
			m.seal()
		}
		c := m.chain.head().channel(s.channel.ID)
		if got := row(); got.Lost() > 0 || c.RefundNonce != 1 || signed == nil ||
			signed.Amount != channelDeposit-s.spent {
			t.Errorf("%d are lost, of a refund %+v, and the channel is %+v", got.Lost(), signed, c)
		}
		s.balance = c.Balance
		m.buys(s, "") // with a deposit
	})
}

// A contract that denies each time in the block what it accepted before has few claims reverted by
// it in a day, and others are claimed and sold to meanwhile.
func TestDeniedClaimsAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		fakeHarness{t, m.chain}.with(func(c *fakeChain) { c.gasPrice = 20 })
		s := newSpender("code:spender", modelDelay)
		m.buys(s, "")
		traps := func(is bool) { fakeHarness{t, m.chain}.with(func(c *fakeChain) { c.traps["code:spender"] = is }) }
		traps(true)
		for range 6 * 360 {
			time.Sleep(8 * time.Second)
			m.seal()
		}
		// An eighth of an hour is the longest pause.
		if n := m.reverted(); n < 4 || n > 2*(6*8+6) {
			t.Errorf("in six hours %d claims reverted", n)
		}
		other := newSpender("spender", modelDelay)
		m.buys(other, "")
		m.claimed(other, other.spent)
		traps(false)
		m.claimed(s, s.spent)
	})
}
