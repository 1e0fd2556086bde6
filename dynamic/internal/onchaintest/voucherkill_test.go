package onchaintest_test

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/till"
)

// A process that sells by voucher dies at any step of deposit, sale, claim, refund and sweep. What
// was delivered is what was charged and claimed; no voucher buys twice, and none is lost.
func TestVouchersKilled(t *testing.T) {
	t.Parallel()
	voucherKills(t, 1, 8)
}

// The same with two replicas on one ledger.
func TestLongVouchersKilledInReplicas(t *testing.T) {
	voucherKills(t, 2, 10)
}

// STORE_SOAK=1 does it for long.
func TestSoakVouchersKilled(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("it takes minutes; set STORE_SOAK=1")
	}
	voucherKills(t, 1, 200)
	voucherKills(t, 2, 200)
}

const voucherDoor, voucherPrice = "/porch/line", 1000

// channelPayer is a payer who keeps count as the stock client does.
type channelPayer struct {
	v        *victims
	key      chaintest.Key
	channel  token.Channel     // once it has bought
	spent    int64             // as it knows
	header   map[string]string // that is not answered for good
	asks     int64             // what that says was spent
	goods    map[string]bool   // by purchase
	withdrew bool
	lost     int // sales of which the answer is not given again, because they were claimed
}

// voucherKills sells in some processes while one after another dies, so often in all.
func voucherKills(t *testing.T, processes, kills int) {
	v := newVictims(t, 6)
	if processes > 1 {
		v.ledger = ledgertest.Postgres(t)
	}
	config := childConfig{Vouchers: chaintest.NewKey(t).Hex()}
	var payers []*channelPayer
	for _, k := range v.net.Buyers {
		payers = append(payers, &channelPayer{v: v, key: k, goods: map[string]bool{}})
	}
	var others []*child // that nobody kills
	for range processes - 1 {
		others = append(others, v.start(config))
	}
	for i := range kills {
		c := config
		c.Step, c.Nth = "any", 1+rand.IntN(24)
		doomed := v.start(c)
		all := append([]*child{doomed}, others...)
		var wg sync.WaitGroup
		for n, p := range payers {
			wg.Go(func() {
				for j := n; !doomed.dead(); j++ {
					p.buys(all[j%len(all)])
				}
			})
		}
		if i == kills/2 {
			payers[0].withdraws()
			payers[1].asksBack(doomed)
		}
		wg.Wait()
		v.killed(doomed, "any")
	}
	for _, k := range others {
		v.shut(k)
	}
	k := v.start(config)
	for _, p := range payers {
		until(t, "a voucher left behind to be answered", func() bool { p.buys(k); return p.header == nil })
	}
	v.settledUp(k, payers)
}

// settledUp waits until everything is claimed and moved, and compares ledger, chain and payers.
func (v *victims) settledUp(k *child, payers []*channelPayer) {
	t := v.t
	t.Helper()
	spent, lost := int64(0), 0
	for _, p := range payers {
		spent, lost = spent+p.spent, lost+p.lost
		p.withdraws() // what is too little to be worth its gas is claimed now
		until(t, "everything to be claimed", func() bool { _, claimed := p.onChain(); return claimed == p.spent })
	}
	until(t, "everything to be moved", func() bool { return v.net.Node.Balance(v.net.PayTo) == spent })
	v.shut(k)
	t.Logf("%d sales, of which %d answers were not given again; %d died", spent/voucherPrice, lost, v.kills["any"])
	db := v.open()
	sold, vouchers := map[string]int64{}, map[string]string{}
	for _, p := range tilltest.Purchases(t, db) {
		if !tilltest.Resting(p) {
			t.Errorf("purchase %s is still %s", p.ID, p.State)
		}
		if p.State != till.Delivered {
			continue
		}
		if other := vouchers[p.Payment.Nonce]; other != "" {
			t.Errorf("%s and %s were sold for one voucher", p.ID, other)
		}
		vouchers[p.Payment.Nonce] = p.ID
		sold[p.Payment.Payer] += p.Amount
	}
	for _, p := range payers {
		got := int64(len(p.goods)+p.lost) * voucherPrice
		if who := p.key.Address.Hex(); got != p.spent || sold[who] != p.spent {
			t.Errorf("%s spent %d, has goods for %d, and the ledger delivered for %d", who, p.spent, got, sold[who])
		}
		if row := p.row(db); p.spent > 0 && (row.Charged != p.spent || row.Held != nil || row.Refund != nil) {
			t.Errorf("%s spent %d of %+v", p.key.Address, p.spent, row)
		}
	}
}

// row is the payer's channel in the ledger.
func (p *channelPayer) row(db ledger.DB) (row channels.Row) {
	err := db.View(p.v.t.Context(), func(tx ledger.Tx) error {
		r, err := channels.Read(tx, p.v.net.ID(), p.id().Hex())
		if err == nil {
			row = *r
		}
		return err
	})
	if err != nil {
		p.v.t.Errorf("the channel of %s: %v", p.key.Address, err)
	}
	return row
}

func (p *channelPayer) id() common.Hash { return token.Escrow{ChainID: 8453}.ID(p.channel) }

// onChain is what the payer's channel holds, and what of it is claimed.
func (p *channelPayer) onChain() (balance, claimed int64) {
	if p.channel == (token.Channel{}) {
		return 0, 0
	}
	out, err := p.v.net.RPC.CallContract(p.v.t.Context(), ethereum.CallMsg{To: &token.EscrowAddress,
		Data: token.ChannelCall(p.id())}, nil)
	if err != nil || len(out) != 64 {
		p.v.t.Errorf("reading a channel: %x, %v", out, err)
		return 0, 0
	}
	return new(big.Int).SetBytes(out[:32]).Int64(), new(big.Int).SetBytes(out[32:]).Int64()
}

// terms are what a child asks; false when it is dead or takes no vouchers yet.
func (p *channelPayer) terms(k *child) (map[string]any, bool) {
	r, err := k.try("GET", voucherDoor, nil)
	if err != nil || r.Status != 402 {
		return nil, false
	}
	ch := tilltest.DecodeChallenge(p.v.t, r.Header.Get("PAYMENT-REQUIRED"))
	accepts := ch["accepts"].([]any)
	return ch, accepts[len(accepts)-1].(map[string]any)["scheme"] != "exact"
}

// buys presents what is not answered yet, or another voucher.
func (p *channelPayer) buys(k *child) {
	if p.header == nil {
		ch, ok := p.terms(k)
		if !ok {
			return
		}
		p.channel, _ = channelOf(p.v.t, p.v.net, p.key, ch)
		deposit := int64(0)
		p.asks = p.spent + voucherPrice
		if balance, _ := p.onChain(); p.asks > balance {
			deposit = 1_000_000
		}
		p.header = voucher(p.v.t, p.v.net, p.key, ch, p.asks, deposit)
	}
	r, err := k.try("GET", voucherDoor, p.header)
	if err != nil {
		return // the child died: the same again
	}
	switch id := r.Str("recovery", "purchase_id"); {
	case r.Status == 200:
		if p.goods[id] {
			p.v.t.Errorf("%s was given twice, for %d", id, p.asks)
		}
		p.goods[id], p.spent, p.header = true, p.asks, nil
	case r.Status == 409 && r.Body["billed"] == "yes": // charged, claimed, and known to everybody
		p.lost++
		p.spent, p.header = p.asks, nil
	case r.Status == 402: // not sold: the same sum again, with a deposit if it takes one by now
		p.header = nil
	case r.Status != 503 && r.Status != 429:
		p.v.t.Errorf("a voucher is answered %d %s", r.Status, r.Raw)
	}
}

// withdraws has the payer begin to withdraw all that is left, without the store.
func (p *channelPayer) withdraws() {
	if p.withdrew {
		return
	}
	if balance, claimed := p.onChain(); balance > claimed {
		p.v.net.Send(p.key, token.EscrowAddress, token.WithdrawCall(p.channel, big.NewInt(balance-claimed)))
		p.withdrew = true
	}
}

// asksBack has the payer ask for what is left.
func (p *channelPayer) asksBack(k *child) {
	ch, ok := p.terms(k)
	if !ok {
		return
	}
	header := voucher(p.v.t, p.v.net, p.key, ch, p.spent, 0)["PAYMENT-SIGNATURE"]
	raw, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		p.v.t.Error(err)
		return
	}
	asks := strings.Replace(string(raw), `"type":"voucher"`, `"type":"refund"`, 1)
	_, _ = k.try("GET", voucherDoor, map[string]string{
		"PAYMENT-SIGNATURE": base64.StdEncoding.EncodeToString(fmt.Append(nil, asks))})
}
