package evm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// anvilHarness is the same people on anvil, a node that shares no code with go-ethereum.
type anvilHarness struct {
	*harness
	passed time.Duration
}

func openAnvil(t testing.TB) railtest.Harness {
	h := &anvilHarness{harness: openOn(t, 8453)}
	// From here on every helper of the net talks to anvil.
	h.Net.Chain.Node = *chaintest.Anvil(t, h.Net.Chain, "--no-mining", "--slots-in-an-epoch", "1")
	var first struct{ Hash string }
	h.decode("eth_getBlockByNumber", &first, "0x0", false)
	h.cfg.RPC, h.cfg.GenesisHash = []string{h.URL}, first.Hash
	h.harness.seal = h.Seal
	h.harness.rail = newRail(t, h.cfg)
	return h
}

func (h *anvilHarness) decode(method string, out any, args ...any) {
	h.t.Helper()
	if err := json.Unmarshal(h.Do(method, args...), out); err != nil {
		h.t.Fatalf("%s: %v", method, err)
	}
}

// Seal keeps a second between blocks, as real chains do and anvil does not demand.
func (h *anvilHarness) Seal() {
	at := max(h.HeadTime()+1, uint64(time.Now().Add(h.passed).Unix()))
	h.Do("evm_mine", hexutil.EncodeUint64(at))
}

// SealEmpty takes what waits out of the pool for the time of one block.
func (h *anvilHarness) SealEmpty() {
	var pool struct {
		Pending, Queued map[string]map[string]struct{ Hash string }
	}
	h.decode("txpool_content", &pool)
	var raws []string
	for _, txs := range pool.Pending {
		for _, tx := range txs {
			var raw string
			h.decode("eth_getRawTransactionByHash", &raw, tx.Hash)
			raws = append(raws, raw)
		}
	}
	h.Drop()
	h.Seal()
	for _, raw := range raws {
		h.Do("eth_sendRawTransaction", raw)
	}
}

func (h *anvilHarness) Drop() { h.Do("anvil_dropAllTransactions") }

func (h *anvilHarness) Pass(d time.Duration) {
	h.passed += d
	h.SealEmpty()
}

func (h *anvilHarness) Finalize() {
	for range chain.DefaultFinalDepth {
		h.SealEmpty()
	}
}

func (h *anvilHarness) Reorg(n int) {
	h.Do("anvil_reorg", n, []any{})
	h.Drop()
	h.Seal()
}

func (h *anvilHarness) Restart() rail.Rail { return newRail(h.t, h.cfg) }

func TestLongRailOnAnvil(t *testing.T) { railtest.Run(t, openAnvil) }
