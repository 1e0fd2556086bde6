package token

import (
	"bytes"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/holiman/uint256"
)

// stockMulticall is the code of Multicall3 as it stands on real chains: what the creation code that
// viem ships deploys.
func stockMulticall(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(npmtest.Packages(t), "viem", "_cjs", "constants", "contracts.js"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`exports\.multicall3Bytecode = '(0x[0-9a-f]+)'`).FindSubmatch(b)
	if m == nil {
		t.Fatal("viem ships no Multicall3")
	}
	code, _, _, err := runtime.Create(common.FromHex(string(m[1])), nil)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// call3 is one call of aggregate3; call the same of the older methods.
type call3 struct {
	to      common.Address
	mayFail bool
	data    []byte
}

// aggregate3 is the calldata of aggregate3((address,bool,bytes)[]).
func aggregate3(calls ...call3) []byte {
	var bodies [][]byte
	for _, c := range calls {
		may := uint64(0)
		if c.mayFail {
			may = 1
		}
		bodies = append(bodies, append(words(c.to, may, uint64(3*32)), tail(c.data)...))
	}
	return call("aggregate3((address,bool,bytes)[])", words(uint64(32)), tuples(bodies))
}

// aggregate is the calldata of aggregate((address,bytes)[]).
func aggregate(calls ...call3) []byte {
	var bodies [][]byte
	for _, c := range calls {
		bodies = append(bodies, append(words(c.to, uint64(2*32)), tail(c.data)...))
	}
	return call("aggregate((address,bytes)[])", words(uint64(32)), tuples(bodies))
}

// The devnet's own contract answers, moves and logs what Multicall3 does on real chains, for about
// the same gas.
func TestMulticallBehavesAsTheStockOne(t *testing.T) {
	stock := stockMulticall(t)
	payer, payee := common.HexToAddress("0xA1"), common.HexToAddress("0xB2")
	asset, burner := common.HexToAddress("0xC3"), common.HexToAddress("0xD4")
	pay := func(n int64, mayFail bool) call3 { return call3{asset, mayFail, PayCall(payee, big.NewInt(n))} }
	cases := map[string][]byte{
		"nothing":                  aggregate3(),
		"one":                      aggregate3(pay(1, true)),
		"three, one without money": aggregate3(pay(1, true), pay(1e9, true), pay(2, true)),
		"one that must not fail":   aggregate3(pay(1, true), pay(1e9, false), pay(2, true)),
		"two that must not fail":   aggregate3(pay(1, false), pay(2, false)),
		"to nobody":                aggregate3(call3{payee, true, []byte{1, 2, 3}}),
		"a reading": aggregate3(call3{asset, true, BalanceCall(payee)},
			call3{asset, true, DomainCall()}),
		"one that burns what it has": aggregate3(pay(1, true), call3{burner, true, nil}, pay(2, true)),
		"aggregate":                  aggregate(pay(1, false), call3{asset, false, BalanceCall(payee)}),
		"aggregate that fails":       aggregate(pay(1e9, false)),
		"cut":                        aggregate3(pay(1, true))[:120],
		"another method":             call("getChainId()"),
		"an unknown method":          call("nothingOfTheSort()"),
	}
	type outcome struct {
		out    []byte
		failed bool
		has    *big.Int
		logs   int
		gas    uint64
	}
	run := func(code, data []byte) (o outcome) {
		t.Helper()
		const gas = 3_000_000
		db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
		if err != nil {
			t.Fatal(err)
		}
		multicall := common.HexToAddress("0xE5")
		dollar := Dollar{Name: "USD Coin", Version: "2", Symbol: "USDC", Balances: map[common.Address]int64{payer: 5,
			multicall: 1000}}.Account()
		for a, account := range map[common.Address]types.Account{asset: dollar, multicall: {Code: code},
			burner: {Code: []byte{0xfe}}} {
			db.SetCode(a, account.Code, 0)
			for k, v := range account.Storage {
				db.SetState(a, k, v)
			}
		}
		cfg := &runtime.Config{State: db, GasLimit: gas, Origin: payer, Value: new(big.Int)}
		out, left, err := runtime.Call(multicall, data, cfg)
		o = outcome{out: out, failed: err != nil, logs: len(db.Logs()), gas: gas - left}
		has := db.GetState(asset, BalanceSlot(payee))
		o.has = new(uint256.Int).SetBytes(has[:]).ToBig()
		return o
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			ours, want := run(Code(MulticallContract), data), run(stock, data)
			if !bytes.Equal(ours.out, want.out) || ours.failed != want.failed || ours.has.Cmp(want.has) != 0 ||
				ours.logs != want.logs {
				t.Errorf("ours: %x, failed %v, %v moved, %d logs; the stock one: %x, failed %v, %v moved, %d logs",
					ours.out, ours.failed, ours.has, ours.logs, want.out, want.failed, want.has, want.logs)
			}
			// The stock one is compiled for calls of little gas less well.
			if low, high := want.gas-min(want.gas, want.gas/10+1000), want.gas+want.gas/10; ours.gas < low ||
				ours.gas > high {
				t.Errorf("ours takes %d gas, the stock one %d", ours.gas, want.gas)
			}
		})
	}
}
