package onchaintest_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// pending presents payments on a chain that does not seal, and returns when their settlements are
// in the node's pool. The answers are there when the returned function returns.
func (s *shop) pending(path string, ps ...payment) func() []tilltest.Reply {
	s.t.Helper()
	before, err := s.net.RPC.PendingNonceAt(s.t.Context(), s.net.Relayer.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	out := make([]tilltest.Reply, len(ps))
	var wg sync.WaitGroup
	for i, p := range ps {
		h := map[string]string{"PAYMENT-SIGNATURE": p.header(s.t)}
		wg.Go(func() {
			r, err := s.try("GET", path, h)
			if err != nil {
				s.t.Error(err)
			}
			out[i] = r
		})
	}
	until(s.t, "the settlements to be in the pool", func() bool {
		n, err := s.net.RPC.PendingNonceAt(s.t.Context(), s.net.Relayer.Address)
		return err == nil && n >= before+uint64(len(ps))
	})
	return func() []tilltest.Reply { wg.Wait(); return out }
}

// foreign is a transaction of an account at its next mined nonce, not sent anywhere.
func (s *shop) foreign(k chaintest.Key, to common.Address, value int64, data []byte) *types.Transaction {
	s.t.Helper()
	n, err := s.net.RPC.NonceAt(s.t.Context(), k.Address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	id := new(big.Int).SetUint64(s.net.Chain.ChainID())
	tx, err := types.SignNewTx(k.Private, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: n, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(20e9), Gas: 3_000_000, To: &to,
		Value: big.NewInt(value), Data: data,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return tx
}

func (s *shop) cancel(k chaintest.Key, p payment) []byte {
	s.t.Helper()
	return token.CancelCall(p.From, p.Nonce,
		s.net.SignDigest(k, token.CancelDigest(p.From, p.Nonce, s.net.DomainSeparator())))
}

// sells buys once more: whatever happened, the relayer is not stuck.
func (s *shop) sells() tilltest.Reply {
	s.t.Helper()
	s.net.SetAutomine(true)
	r, _ := s.buy("/api/buy/small_blessing", s.net.Buyers[4], nil)
	s.want("a purchase after it", r, 200, "")
	return r
}

func TestFrontRun(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	answers := s.pending(path, p)
	s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0, p.Call()))
	r := answers()[0]
	s.want("a payment that a stranger submitted first", r, 200, "")
	if got := r.Str("certificate", "settled_via"); got != "x402 sent by another" {
		t.Errorf("settled_via = %q", got)
	}
	s.sells()
	if n := s.audit(); n != 2 {
		t.Errorf("%d delivered, want 2", n)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/the_drawer"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	answers := s.pending(path, p)
	s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0, s.cancel(s.net.Buyers[0], p)))
	r := answers()[0]
	s.want("a payment that was withdrawn", r, 402, "payment_invalid")
	if r.Str("billed") != "no" || r.Body["delivered"] != false || !strings.Contains(r.Str("reason"), "cancelled") {
		t.Errorf("a payment that was withdrawn is answered %s", r.Raw)
	}
	s.sells()
	s.want("the withdrawn payment again", s.present(path, p), 402, "payment_invalid")
	if n := s.audit(); n != 1 {
		t.Errorf("%d delivered, want 1", n)
	}
}

// One transaction of a buyer's own contract spends many authorizations: each transfer pays for its
// own purchase.
func TestManyAuthorizationsInOneTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, evm: each})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	var ps []payment
	var calls [][]byte
	for i := range 5 {
		p := s.sign(ch, 0, s.net.Buyers[i%2], nil)
		ps = append(ps, p)
		calls = append(calls, p.Call())
	}
	// One that no purchase waits for, in the middle.
	calls[2], calls = s.sign(ch, 0, s.net.Buyers[2], nil).Call(), append(calls, calls[2])
	answers := s.pending(path, ps...)
	s.net.MustSealTxs(s.foreign(s.net.Minter, chain.Spender, 0, token.SpendCall(s.net.Asset, calls...)))
	places := map[string]bool{}
	for i, r := range answers() {
		s.want(fmt.Sprintf("payment %d", i), r, 200, "")
		got := s.state(r.Purchase(), till.Delivered)
		if got.Payment.Nonce != ps[i].Nonce.Hex() {
			t.Errorf("payment %d was answered with another's purchase", i)
		}
		places[fmt.Sprint(got.Proof.Tx, got.Proof.LogIndex)] = true
	}
	if len(places) != len(ps) {
		t.Errorf("%d payments were proved by %d transfers", len(ps), len(places))
	}
	before := s.net.Balance(s.net.PayTo)
	if before != 6*500_000 {
		t.Errorf("payTo has %d, want the five payments and the one for nothing", before)
	}
	if n := len(tilltest.Purchases(t, s.db)); n != 5 {
		t.Errorf("%d purchases, want 5", n)
	}
	s.sells()
}

func TestWindowOfValidity(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	now := func() uint64 { return uint64(time.Now().Unix()) }
	for name, test := range map[string]struct {
		change func(*token.Authorization)
		reason string
	}{
		"far future":    {func(a *token.Authorization) { a.ValidBefore = now() + 300 + 300 + 60 }, "valid_before"},
		"for ever":      {func(a *token.Authorization) { a.ValidBefore = 1<<63 - 1 }, "valid_before"},
		"expired":       {func(a *token.Authorization) { a.ValidBefore = now() - 1 }, "valid_before"},
		"within margin": {func(a *token.Authorization) { a.ValidBefore = now() + 20 }, "valid_before"},
		"not yet valid": {func(a *token.Authorization) { a.ValidAfter = now() + 60 }, "valid_after"},
	} {
		r := s.present(path, s.sign(ch, 0, s.net.Buyers[0], test.change))
		s.want(name, r, 402, "payment_invalid")
		if !strings.HasSuffix(r.Str("reason"), test.reason) || r.Header.Get("PAYMENT-REQUIRED") == "" {
			t.Errorf("%s: reason %s", name, r.Str("reason"))
		}
	}
	r := s.present(path, s.sign(ch, 0, s.net.Poor, nil))
	s.want("a poor wallet", r, 402, "payment_invalid")
	if got := r.Str("reason"); got != "invalid_exact_evm_insufficient_balance" {
		t.Errorf("a poor wallet: reason %s", got)
	}
	r = s.present(path, s.sign(ch, 0, s.net.Buyers[0], func(a *token.Authorization) { a.ValidBefore = now() + 590 }))
	s.want("ten minutes, as a buyer with another clock may sign", r, 200, "")
	s.audit()
}

func TestRelayerNonceLost(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	answers := s.pending(path, s.sign(ch, 0, s.net.Buyers[0], nil), s.sign(ch, 0, s.net.Buyers[1], nil))
	// The key is used elsewhere, at the number that the first settlement has.
	s.net.MustSealTxs(s.foreign(s.net.Relayer, s.net.Minter.Address, 0, nil))
	s.net.SetAutomine(true)
	for i, r := range answers() {
		s.want(fmt.Sprintf("payment %d", i), r, 200, "")
	}
	s.sells()
	s.audit()
}

// The number that was lost to another transaction is free again when a reorganisation takes that
// transaction away, and whatever was signed at later numbers waits behind it.
func TestRelayerNonceLostAndFoundAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/hello"
	answers := s.pending(path, s.sign(s.challenge(path), 0, s.net.Buyers[0], nil))
	s.net.MustSealTxs(s.foreign(s.net.Relayer, s.net.Minter.Address, 0, nil))
	until(t, "a settlement at the next number",
		func() bool { return len(tilltest.SettlementOf(t, s.db, tilltest.Purchases(t, s.db)[0]).Sent) == 2 })
	if err := s.net.Reorg(s.net.Head().Number.Uint64() - 1); err != nil {
		t.Fatal(err)
	}
	s.net.Drop()
	s.net.SetAutomine(true)
	s.want("the payment", answers()[0], 200, "")
	s.sells()
	s.audit()
}

func TestStuckSettlementIsReplaced(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, evm: func(c *evm.Config) { c.Stuck = 500 * time.Millisecond }})
	const path = "/api/buy/hello"
	answers := s.pending(path, s.sign(s.challenge(path), 0, s.net.Buyers[0], nil))
	var signed []settle.Sent
	until(t, "a replacement", func() bool {
		signed = tilltest.SettlementOf(t, s.db, tilltest.Purchases(t, s.db)[0]).Sent
		return len(signed) >= 2
	})
	var txs []*types.Transaction
	for _, one := range signed[:2] {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(one.Raw); err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	old, replacement := txs[0], txs[1]
	if old.Nonce() != replacement.Nonce() {
		t.Errorf("the replacement has nonce %d, not %d", replacement.Nonce(), old.Nonce())
	}
	for what, fee := range map[string][2]*big.Int{"fee": {old.GasFeeCap(), replacement.GasFeeCap()},
		"tip": {old.GasTipCap(), replacement.GasTipCap()}} {
		if least := new(big.Int).Mul(fee[0], big.NewInt(110)); least.Cmp(new(big.Int).Mul(fee[1],
			big.NewInt(100))) > 0 {
			t.Errorf("the replacement's %s is %s, not a tenth above %s", what, fee[1], fee[0])
		}
	}
	s.net.SetAutomine(true)
	s.want("the payment", answers()[0], 200, "")
	s.sells()
	if n := s.relayed(); n != 2 {
		t.Errorf("%d transactions of the relayer, want 2", n)
	}
	s.audit()
}

func TestExpiresUnsent(t *testing.T) {
	t.Parallel()
	var mute atomic.Bool
	s := newShop(t, shopOptions{rail: func(r rail.Rail) rail.Rail { return speechless{r, &mute} },
		config: func(c *till.Config) { c.SettleWait, c.RepeatWait = 300*time.Millisecond, 100*time.Millisecond }})
	const path = "/api/buy/the_drawer"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	mute.Store(true)
	r := s.present(path, p)
	s.want("a payment that cannot be sent", r, 503, "payment_unknown")
	s.net.Pass(10 * time.Minute)
	mute.Store(false)
	for range chain.DefaultFinalDepth {
		s.net.MustSealTxs()
	}
	s.state(r.Purchase(), till.NotSettled)
	until(t, "it to be final", func() bool { return tilltest.Purchases(t, s.db)[0].Final })
	again := s.present(path, p)
	s.want("the payment that expired", again, 402, "payment_invalid")
	if again.Str("billed") != "no" || again.Str("retry") != "now" {
		t.Errorf("the payment that expired is answered %s", again.Raw)
	}
	s.audit()
}

// speechless is a rail whose node does not say what a settlement would take.
type speechless struct {
	rail.Rail
	mute *atomic.Bool
}

func (s speechless) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if s.mute.Load() {
		return nil, errSilent
	}
	return s.Rail.Draft(ctx, ps)
}
