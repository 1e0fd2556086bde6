package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// batch is payments of all buyers, drafted and signed as one.
type batch struct {
	t      *testing.T
	h      *harness
	ps     []*rail.Payment
	marks  []rail.Verified
	signed rail.Signed
	price  rail.Price
}

func newBatch(t *testing.T, h *harness, n int) *batch {
	t.Helper()
	b := &batch{t: t, h: h}
	if err := h.rail.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		u := terms(500_000)
		u.Buyer = i
		p, err := h.rail.Parse(h.Sign(u), h.rail.Requirement(500_000))
		if err != nil {
			t.Fatal(err)
		}
		seen, err := h.rail.Verify(t.Context(), p, h.rail.Requirement(500_000), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		b.ps, b.marks = append(b.ps, p), append(b.marks, seen)
	}
	d, err := h.rail.Draft(t.Context(), b.ps)
	if err != nil {
		t.Fatal(err)
	}
	if b.price = d.Price(); b.price.Gas == 0 {
		t.Fatal("no price")
	}
	if b.signed, err = d.Sign(railtest.NewSequence()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *batch) tx() *types.Transaction {
	b.t.Helper()
	var tx types.Transaction
	if err := tx.UnmarshalBinary(b.signed.Raw); err != nil {
		b.t.Fatal(err)
	}
	return &tx
}

func (b *batch) status(i int) rail.Finding {
	b.t.Helper()
	f, err := b.h.rail.Status(b.t.Context(), b.ps[i], []rail.Signed{b.signed}, b.marks[i], time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

// A plain payer that has code by the time of the block can burn what all of a transaction were
// given. It costs that much once. The others are cleared and can be settled alone; the one is told
// by its code, and where that is gone again by the end of the block, it is not cleared.
func TestOneOfSeveralBurnsTheGasOfAll(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("and its code is gone: %v", gone), func(t *testing.T) {
			h := openOn(t, 8453)
			const n, guilty = 5, 2
			b := newBatch(t, h, n)
			if limit := uint64(n * 130_000); b.price.Gas > limit {
				t.Errorf("%d payments are given %d gas, want at most %d", n, b.price.Gas, limit)
			}
			k := h.Buyers[guilty]
			txs := []*types.Transaction{h.Delegate(k, h.Coded[railtest.Burner-railtest.Turncoat].Address)}
			if txs = append(txs, b.tx()); gone {
				txs = append(txs, h.Undelegate(h.Minter, k))
			}
			if err := h.rail.Send(t.Context(), b.signed); err != nil {
				t.Fatal(err)
			}
			h.MustSealTxs(txs...)
			r := h.Receipt(b.tx().Hash())
			if r == nil || r.Status != 0 || r.GasUsed < b.price.Gas*9/10 {
				t.Fatalf("receipt %+v, want that it burnt %d gas", r, b.price.Gas)
			}
			var gas uint64
			var cost int64
			for i := range n {
				f := b.status(i)
				if f.State != rail.Waiting || f.Advice != rail.Redraft || len(f.Reverts) != 1 {
					t.Fatalf("payment %d: %+v", i, f)
				}
				v := f.Reverts[0]
				gas, cost = gas+v.Gas, cost+v.Cost
				c, err := h.rail.Explain(t.Context(), b.ps[i], v)
				if err != nil || c.Others != (i != guilty) || c.Payer != (i == guilty && !gone) || c.Reason != "" &&
					c.Others {
					t.Errorf("payment %d: %+v, %v", i, c, err)
				}
				d, err := h.rail.Draft(t.Context(), b.ps[i:i+1])
				if i != guilty && (err != nil || d.Price().Code != "") {
					t.Errorf("payment %d cannot go alone: %v", i, err)
				}
				if i == guilty && err == nil && (d.Price().Code == "") != gone {
					t.Errorf("the code of the one is not told: %+v", d.Price())
				}
			}
			if gas < r.GasUsed || gas > r.GasUsed+n || cost <= 0 {
				t.Errorf("their parts are %d gas, %d; the transaction took %d", gas, cost, r.GasUsed)
			}
			if h.Balance() != 0 {
				t.Error("something was moved")
			}
		})
	}
}

// Who has come to code that burns even what a simulation is given is named like everybody with
// code: else the rest would go one by one whenever it comes.
func TestWhoBurnsWhileSimulatedGoesAlone(t *testing.T) {
	h := openOn(t, 8453)
	b := newBatch(t, h, 3)
	h.MustSealTxs(h.Delegate(h.Buyers[1], h.Coded[len(h.Coded)-1].Address))
	_, err := h.rail.Draft(t.Context(), b.ps)
	if a, ok := errors.AsType[*rail.Apart](err); !ok || !slices.Equal(a.Which, []int{1}) {
		t.Errorf("Draft = %v, want that the second goes alone", err)
	}
}

// Where Multicall3 does not stand each payment goes alone, and so where a keeper says so.
func TestNetworksWithoutMulticall(t *testing.T) {
	h := openOn(t, 8453)
	hide := func(body string, w http.ResponseWriter) bool {
		if !strings.Contains(body, "0xcA11bde05977b3631167028862bE2a173976CA11") ||
			!strings.Contains(body, "eth_chainId") {
			return false
		}
		var calls []struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
			Params []any  `json:"params"`
		}
		if err := json.Unmarshal([]byte(body), &calls); err != nil {
			return false
		}
		var answers []map[string]any
		for _, c := range calls {
			var out any
			if err := h.RPC.Client().Call(&out, c.Method, c.Params...); err != nil {
				return false
			}
			if c.Method == "eth_getCode" && c.Params[0] == "0xcA11bde05977b3631167028862bE2a173976CA11" {
				out = "0x"
			}
			answers = append(answers, map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": out})
		}
		return json.NewEncoder(w).Encode(answers) == nil
	}
	var c counter
	c.meddle.Store(&hide)
	without := h.cfg
	without.RPC = []string{c.front(t, h.URL)}
	one := h.cfg
	one.Together = 1
	for name, row := range map[string]struct {
		cfg  evm.Config
		want int
	}{"with": {h.cfg, 50}, "without": {without, 1}, "alone by choice": {one, 1}} {
		r := newRail(t, row.cfg)
		if got := r.Info().Together; got != 1 {
			t.Errorf("%s: %d together before the chain was checked", name, got)
		}
		if err := r.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.Info().Together; got != row.want {
			t.Errorf("%s: %d together, want %d", name, got, row.want)
		}
	}
}

// What settling takes, alone and together, where payTo has never been paid and where it has.
func TestGasOfSeveral(t *testing.T) {
	for _, row := range []struct {
		of         int
		cold, warm uint64 // gas a payment at most
	}{{1, 100_000, 83_000}, {10, 65_000, 62_000}, {50, 60_000, 60_000}} {
		n := chaintest.New(t, chaintest.Options{Manual: true, Buyers: 50})
		h := &harness{Net: n, t: t, cfg: config(t, n), seal: func() { n.MustSeal() }}
		h.rail = newRail(t, h.cfg)
		for _, most := range []uint64{row.cold, row.warm} {
			b := newBatch(t, h, row.of)
			if err := h.rail.Send(context.Background(), b.signed); err != nil {
				t.Fatal(err)
			}
			h.MustSeal()
			r := h.Receipt(b.tx().Hash())
			each := r.GasUsed / uint64(row.of)
			t.Logf("%2d together: %d gas a payment, limit %d", row.of, each, b.price.Gas/uint64(row.of))
			if r.Status != 1 || each > most || r.GasUsed > b.price.Gas {
				t.Errorf("%d together: status %d, %d gas each of %d, want at most %d", row.of, r.Status, each,
					b.price.Gas, most)
			}
			for i := range row.of {
				if f := b.status(i); f.State != rail.Paid {
					t.Errorf("payment %d is %s", i, f.State)
				}
			}
		}
	}
}
