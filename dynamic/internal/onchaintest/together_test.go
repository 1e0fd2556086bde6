package onchaintest_test

import (
	"math/big"

	"store.example/agentstore/cmd/devnet/chain"
)

// multicalls is how many transactions to Multicall3 are in blocks.
func (v *victims) multicalls() (n int) {
	v.t.Helper()
	head, err := v.net.RPC.BlockNumber(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	for i := range head + 1 {
		b, err := v.net.RPC.BlockByNumber(v.t.Context(), new(big.Int).SetUint64(i))
		if err != nil {
			v.t.Fatal(err)
		}
		for _, tx := range b.Transactions() {
			if tx.To() != nil && *tx.To() == chain.Multicall {
				n++
			}
		}
	}
	return n
}
