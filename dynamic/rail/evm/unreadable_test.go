package evm_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// failing answers every call of a request with an error of the node's own.
func failing(body string, w http.ResponseWriter, text string) {
	var out []map[string]any
	for _, c := range calls(body) {
		out = append(out, map[string]any{"jsonrpc": "2.0", "id": c.ID,
			"error": map[string]any{"code": -32000, "message": text}})
	}
	_ = json.NewEncoder(w).Encode(out)
}

// Whether an account has code decides how its signature is read: where the node does not say,
// nothing is said of it.
func TestASignerWhoseCodeIsUnreadable(t *testing.T) {
	h := openOn(t, 8453)
	var c counter
	h.cfg.RPC = []string{c.front(t, h.URL)}
	r := newRail(t, h.cfg)
	message := []byte("mine")
	payer, signature := h.Prove(railtest.Plain, message)
	if err := r.ProveSigner(t.Context(), payer, message, signature); err != nil {
		t.Fatal(err)
	}
	meddle := func(body string, w http.ResponseWriter) bool {
		if !strings.Contains(body, "eth_getCode") {
			return false
		}
		failing(body, w, "try again")
		return true
	}
	c.meddle.Store(&meddle)
	err := r.ProveSigner(t.Context(), payer, message, signature)
	if _, refused := errors.AsType[*rail.Refusal](err); err == nil || refused {
		t.Errorf("ProveSigner = %v, want an error that is no refusal", err)
	}
}

// A token that is paused moves nobody's money: what reverts then is not the payer's doing, whatever
// else holds of it.
func TestAPausedTokenIsNobodysDoing(t *testing.T) {
	h := openOn(t, 8453)
	poor := terms(500_000)
	poor.Payer = railtest.Poor
	p, err := h.rail.Parse(h.Sign(poor), h.rail.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call   []byte
		payers bool
	}{{nil, true}, {token.PauseCall(), false}, {token.UnpauseCall(), true}} {
		if c.call != nil {
			h.MustSealTxs(h.Transaction(h.Minter, h.Asset, c.call))
		}
		head, err := h.rail.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cause, err := h.rail.Explain(t.Context(), p, rail.Revert{Tx: "0x01", Block: head.Block})
		if err != nil || cause.Payer != c.payers {
			t.Errorf("Explain = %+v, %v; want that it is the payer's doing: %v", cause, err, c.payers)
		}
	}
}

// A node that is indexing a block is asked again for some time, and no longer.
func TestANodeThatIsIndexing(t *testing.T) {
	h := openOn(t, 8453)
	var c counter
	h.cfg.RPC = []string{c.front(t, h.URL)}
	r := newRail(t, h.cfg)
	p, err := r.Parse(h.Sign(terms(500_000)), r.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := r.Verify(t.Context(), p, r.Requirement(500_000), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Draft(t.Context(), []*rail.Payment{p})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := d.Sign(railtest.NewSequence())
	if err != nil {
		t.Fatal(err)
	}
	ours := new(types.Transaction)
	if err := ours.UnmarshalBinary(signed.Raw); err != nil {
		t.Fatal(err)
	}
	payer := h.Buyers[0]
	all := big.NewInt(chaintest.BuyerFunds)
	away := slices.Concat(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4],
		common.LeftPadBytes(h.Minter.Address[:], 32), common.LeftPadBytes(all.Bytes(), 32))
	h.MustSealTxs(h.Transaction(payer, h.Asset, away), ours)
	var left, asked atomic.Int64
	meddle := func(body string, w http.ResponseWriter) bool {
		if !strings.Contains(body, "eth_getTransactionReceipt") {
			return false
		}
		asked.Add(1)
		if left.Add(-1) < 0 {
			return false
		}
		failing(body, w, "transaction indexing is in progress")
		return true
	}
	c.meddle.Store(&meddle)
	for _, busy := range []int64{0, 3, 10, 1000} {
		left.Store(busy)
		asked.Store(0)
		f, err := r.Status(t.Context(), p, []rail.Signed{signed}, seen, time.Now())
		if busy <= 10 && (err != nil || len(f.Reverts) != 1) || busy > 10 && err == nil {
			t.Errorf("busy for %d requests: %+v, %v", busy, f, err)
		}
		if n := asked.Load(); n > 11 {
			t.Errorf("asked %d times", n)
		}
	}
}

// Transfers are listed through a node that shows the logs of one block at a time.
func TestIncomingBlockByBlock(t *testing.T) {
	h := openOn(t, 8453)
	for range 3 {
		buy(t, h, h.rail, terms(500_000))
		h.Seal()
	}
	list := func(r rail.Rail) (out []rail.Transfer) {
		for x, err := range rail.Transfers(r.Incoming(t.Context(), rail.Span{})) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
		return out
	}
	want := list(h.rail)
	if len(want) < 3 {
		t.Fatalf("%d transfers", len(want))
	}
	var c counter
	h.cfg.RPC = []string{c.front(t, h.URL)}
	meddle := func(body string, w http.ResponseWriter) bool {
		blocks, _ := size(body)
		if blocks > 1 {
			failing(body, w, "too many results")
		}
		return blocks > 1
	}
	c.meddle.Store(&meddle)
	got := list(newRail(t, h.cfg))
	if len(got) != len(want) {
		t.Errorf("%d transfers block by block, want %d", len(got), len(want))
	}
}
