package evm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// town is a chain on which dollars arrived at two addresses, one second a block.
type town struct {
	*chaintest.Net
	cfg      evm.Config
	a, b     common.Address
	from, to time.Time // the span in which six transfers of 21 units in all arrived, four of them at a
}

func newTown(t *testing.T) *town {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}, Manual: true})
	w := &town{Net: n, cfg: config(t, n), a: chaintest.NewKey(t).Address, b: chaintest.NewKey(t).Address}
	pay := func(payer int, to common.Address, value int64) {
		n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[payer], to, value).Call())
	}
	quiet := func(blocks int) {
		for range blocks {
			n.Pass(time.Second)
		}
	}
	seal := func() time.Time { return time.Unix(int64(n.MustSeal().Time), 0).UTC() }
	quiet(3)
	pay(0, w.a, 1000) // before
	n.MustSeal()
	pay(0, w.a, 1)
	pay(1, w.b, 2)
	pay(0, w.a, 3)
	w.from = seal()
	quiet(4)
	pay(2, w.b, 4)
	pay(2, n.PayTo, 100) // another's
	pay(1, w.a, 0)       // nothing
	n.MustSeal()
	quiet(2)
	pay(0, w.a, 5)
	pay(1, w.a, 6)
	pay(2, n.Buyers[2].Address, 70) // to itself
	n.MustSeal()
	pay(0, w.a, 2000)
	w.to = seal()
	pay(0, w.b, 4000)
	n.MustSeal()
	n.MustSeal()
	return w
}

func (w *town) observe(t *testing.T, rpc ...string) (rail.Arrivals, error) {
	t.Helper()
	cfg := w.cfg
	cfg.RPC, cfg.Poll = rpc, time.Millisecond
	o, err := evm.NewObserver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	return o.Arrivals(t.Context(), []string{w.a.Hex(), strings.ToLower(w.b.Hex()), w.a.Hex(), w.Buyers[2].Address.Hex(),
		"shop.eth", "0x0000000000000000000000000000000000000000", ""}, w.from, w.to)
}

func (w *town) right(t *testing.T, got rail.Arrivals, err error) {
	t.Helper()
	if err != nil || got.Transfers != 6 || got.Addresses != 2 || got.Total.Cmp(big.NewInt(21)) != 0 {
		t.Errorf("%+v, %v, want 6 transfers to 2 addresses of 21", got, err)
	}
}

func TestArrivals(t *testing.T) {
	w := newTown(t)
	got, err := w.observe(t, w.URL)
	w.right(t, got, err)
	o, err := evm.NewObserver(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to  time.Time
		addresses []string
		transfers int64
	}{
		"before the chain": {time.Unix(0, 0), time.Unix(1, 0), []string{w.a.Hex()}, 0},
		"everything":       {time.Unix(0, 0), time.Unix(int64(w.HeadTime()), 0), []string{w.a.Hex(), w.b.Hex()}, 9},
		"nobody":           {w.from, w.to, nil, 0},
		"an empty span":    {w.from, w.from, []string{w.a.Hex()}, 0},
	} {
		got, err := o.Arrivals(t.Context(), c.addresses, c.from, c.to)
		if err != nil || got.Transfers != c.transfers {
			t.Errorf("%s: %+v, %v, want %d", name, got, err, c.transfers)
		}
	}
	if _, err := o.Arrivals(t.Context(), []string{w.a.Hex()}, w.from, time.Unix(int64(w.HeadTime())+1, 0)); err == nil {
		t.Error("a span that the chain has not reached the end of was counted")
	}
}

// calls reads the methods and parameters of a request.
func calls(body string) (all []struct {
	ID     uint64
	Method string
	Params []json.RawMessage
}) {
	if json.Unmarshal([]byte(body), &all) != nil {
		all = append(all, struct {
			ID     uint64
			Method string
			Params []json.RawMessage
		}{})
		_ = json.Unmarshal([]byte(body), &all[0]) // what is neither is no request for logs
	}
	return all
}

type logFilter struct {
	FromBlock, ToBlock string
	Topics             [3]any
}

// size tells how many blocks and addresses a request for logs asks for, 0 if it is none.
func size(body string) (blocks uint64, addresses int) {
	for _, c := range calls(body) {
		if c.Method == "eth_getLogs" {
			var f logFilter
			if err := json.Unmarshal(c.Params[0], &f); err != nil {
				return 0, 0
			}
			var from, to uint64
			fmt.Sscanf(f.FromBlock, "0x%x", &from)
			fmt.Sscanf(f.ToBlock, "0x%x", &to)
			list, _ := f.Topics[2].([]any)
			return to - from + 1, len(list)
		}
	}
	return 0, 0
}

func TestArrivalsThroughNodesThatMisbehave(t *testing.T) {
	w := newTown(t)
	// refuse answers every call of a batch with the node's own error.
	refuse := func(body string, rw http.ResponseWriter, code int, text string) {
		var out []map[string]any
		for _, c := range calls(body) {
			out = append(out, map[string]any{"jsonrpc": "2.0", "id": c.ID,
				"error": map[string]any{"code": code, "message": text}})
		}
		_ = json.NewEncoder(rw).Encode(out)
	}
	// forward answers like the node, with changes.
	forward := func(body string, rw http.ResponseWriter, change func([]byte) []byte) {
		resp, err := http.Post(w.URL, "application/json", strings.NewReader(body))
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body) // of a node of this process
		rw.Write(change(raw))
	}
	var n atomic.Int64
	for name, c := range map[string]struct {
		meddle func(body string, rw http.ResponseWriter) bool
		want   string // in the error; "" is a right count
	}{
		"three blocks at a time": {meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, _ := size(body)
			if blocks > 3 {
				refuse(body, rw, -32005, "query returned more than 10000 results")
			}
			return blocks > 3
		}},
		"one address and one block at a time": {meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, addresses := size(body)
			if blocks > 1 || addresses > 1 {
				refuse(body, rw, -32602, "too many topics")
			}
			return blocks > 1 || addresses > 1
		}},
		"every second request lost": {meddle: func(body string, rw http.ResponseWriter) bool {
			lost := n.Add(1)%2 == 0
			if lost {
				rw.WriteHeader(http.StatusGatewayTimeout)
			}
			return lost
		}},
		"too slow for many blocks": {meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, _ := size(body)
			if blocks > 4 {
				rw.WriteHeader(http.StatusGatewayTimeout)
			}
			return blocks > 4
		}},
		"no logs at all": {want: "too much", meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, _ := size(body)
			if blocks > 0 {
				refuse(body, rw, -32000, "too much")
			}
			return blocks > 0
		}},
		"a limit of the rate": {want: "rate limit", meddle: func(body string, rw http.ResponseWriter) bool {
			refuse(body, rw, -32005, "rate limit reached")
			return true
		}},
		"behind, with empty answers": {want: "one chain", meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, _ := size(body)
			if blocks > 0 {
				var out []map[string]any
				for _, c := range calls(body) {
					out = append(out, map[string]any{"jsonrpc": "2.0", "id": c.ID,
						"result": map[string]any{"eth_getLogs": []any{}}[c.Method]})
				}
				_ = json.NewEncoder(rw).Encode(out)
			}
			return blocks > 0
		}},
		"logs of another": {want: "not asked for", meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, _ := size(body)
			if blocks > 0 {
				forward(body, rw, func(raw []byte) []byte {
					return bytes.ReplaceAll(raw, []byte(strings.ToLower(w.b.Hex()[2:])),
						[]byte(strings.ToLower(w.PayTo.Hex()[2:])))
				})
			}
			return blocks > 0
		}},
		"each log twice": {want: "twice", meddle: func(body string, rw http.ResponseWriter) bool {
			blocks, _ := size(body)
			if blocks > 0 {
				forward(body, rw, func(raw []byte) []byte {
					var all []map[string]any
					if json.Unmarshal(raw, &all) != nil {
						return raw
					}
					for i := range all {
						if logs, ok := all[i]["result"].([]any); ok {
							all[i]["result"] = append(logs, logs...)
						}
					}
					out, _ := json.Marshal(all) // came out of JSON
					return out
				})
			}
			return blocks > 0
		}},
		"another chain": {want: "another chain", meddle: func(body string, rw http.ResponseWriter) bool {
			forward(body, rw, func(raw []byte) []byte {
				return bytes.ReplaceAll(raw, []byte(w.GenesisHash().Hex()), []byte(common.HexToHash("0x1").Hex()))
			})
			return true
		}},
		"no JSON": {want: "not JSON-RPC",
			meddle: func(_ string, rw http.ResponseWriter) bool { fmt.Fprint(rw, "<html>"); return true }},
	} {
		t.Run(name, func(t *testing.T) {
			var node counter
			url := node.front(t, w.URL)
			node.meddle.Store(&c.meddle)
			got, err := w.observe(t, url)
			if c.want == "" {
				w.right(t, got, err)
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v, want an error with %q", got, err, c.want)
			}
			// With a sound node beside it, what can be passed over is.
			if c.want == "rate limit" || c.want == "not JSON-RPC" {
				got, err := w.observe(t, url, w.URL)
				w.right(t, got, err)
			}
		})
	}
}

// An idle local chain has been seen to the end of a span; another network's node may be behind.
func TestArrivalsOnAnIdleChain(t *testing.T) {
	w := newTown(t)
	w.to = time.Unix(int64(w.HeadTime()), 0).Add(time.Hour)
	if _, err := w.observe(t, w.URL); err == nil || !strings.Contains(err.Error(), "before the end of the span") {
		t.Errorf("a node that is behind: %v", err)
	}
	w.cfg.GenesisHash = ""
	if got, err := w.observe(t, w.URL); err != nil || got.Transfers != 8 {
		t.Errorf("a local chain: %+v, %v", got, err)
	}
}
