package evm_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// oracle names a fee of 10^15 wei for every call:
//
//	PUSH8 00038d7ea4c68000  PUSH0  MSTORE  PUSH1 20  PUSH0  RETURN
var oracle = common.FromHex("6700038d7ea4c680005f5260205ff3")

// What the layer below takes for a settlement's data is part of its cost, of what it needs, and of
// what a revert burns.
func TestDataFeeIsPartOfTheCost(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true, Code: [][]byte{oracle}})
	cfg := config(t, n)
	cfg.CoinPrice = 3_000_000_000
	read := func(oracle string) (rail.Standing, rail.Price) {
		cfg.DataFee = oracle
		r := newRail(t, cfg)
		s, err := r.Standing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Parse(payload(n.SignTransfer(n.Buyers[0], n.PayTo, 500_000)), r.Requirement(500_000))
		if err != nil {
			t.Fatal(err)
		}
		d, err := r.Draft(t.Context(), []*rail.Payment{p})
		if err != nil {
			t.Fatal(err)
		}
		return s, d.Price()
	}
	s, p := read("")
	s2, p2 := read(n.Coded[0].Address.Hex())
	const fee = 3_000_000 // 0.001 coins at 3000 dollars
	// gas differs with the zeros of a signature
	about := func(n int64) bool { return n > fee*99/100 && n < fee*101/100 }
	if s2.Cost-s.Cost != fee || !about(p2.Cost-p.Cost) || !about(p2.Most-p.Most) {
		t.Errorf("with a data fee of %d the cost is %d, %+v; without %d, %+v", fee, s2.Cost, p2, s.Cost, p)
	}
	if more := new(big.Int).Sub(s2.Need, s.Need); more.Cmp(big.NewInt(1e15)) != 0 {
		t.Errorf("with a data fee of 10^15 wei a settlement needs %s more", more)
	}
	// Expected gas at base fee and tip: 105,000 of about a billionth of a coin.
	head, err := n.RPC.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tip, err := n.RPC.SuggestGasTipCap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wei := new(big.Int).Mul(new(big.Int).Add(head.BaseFee, tip), big.NewInt(105_000))
	want := new(big.Int).Div(wei.Mul(wei, big.NewInt(cfg.CoinPrice)), big.NewInt(1e18)).Int64()
	if s.Cost < want || s.Cost > want+1 {
		t.Errorf("Cost = %d, want %d", s.Cost, want)
	}
}

// No transaction of ours offers more than the network's ceiling: not the first, no replacement, no
// filling.
func TestFeesHaveACeiling(t *testing.T) {
	h := openOn(t, 8453)
	h.cfg.MaxFee = big.NewInt(1_100_000_000) // the base fee is a billion
	r := newRail(t, h.cfg)
	x, signed, _ := buy(t, h, r, terms(500_000))
	var tx types.Transaction
	if err := tx.UnmarshalBinary(signed[0].Raw); err != nil {
		t.Fatal(err)
	}
	if tx.GasFeeCap().Cmp(h.cfg.MaxFee) != 0 || tx.Gas() > railtest.MostGas {
		t.Errorf("offers %s for %d gas, want the ceiling %s", tx.GasFeeCap(), tx.Gas(), h.cfg.MaxFee)
	}
	for _, fill := range []bool{false, true} {
		if _, err := r.Replace(t.Context(), []*rail.Payment{x}, signed[0], fill); err == nil ||
			!strings.Contains(err.Error(), "limit") {
			t.Errorf("Replace(fill %v) above the ceiling = %v", fill, err)
		}
	}
	low := h.cfg
	low.MaxFee = big.NewInt(1000)
	s, err := newRail(t, low).Standing(t.Context())
	if err != nil || !strings.Contains(s.Out, "gas costs more") {
		t.Errorf("Standing with a base fee above the ceiling = %+v, %v", s, err)
	}
	if _, err := newRail(t, low).Draft(t.Context(), []*rail.Payment{x}); err == nil {
		t.Error("a draft above the ceiling")
	}
}

// A relayer that cannot pay is out, and needs what one settlement takes.
func TestEmptyRelayerIsOut(t *testing.T) {
	h := openOn(t, 8453)
	h.cfg.Relayer = chaintest.NewKey(t).Private
	r := newRail(t, h.cfg)
	s, err := r.Standing(t.Context())
	if err != nil || !strings.Contains(s.Out, "empty") || s.Balance.Sign() != 0 || s.Need.Sign() <= 0 {
		t.Errorf("Standing = %+v, %v", s, err)
	}
	if _, low, err := r.Fuel(t.Context()); err != nil || !low {
		t.Errorf("Fuel of an empty relayer without an alarm: low %v, %v", low, err)
	}
	if r.Info().Accounts[0] == "" {
		t.Error("nobody knows whom to fund")
	}
}
