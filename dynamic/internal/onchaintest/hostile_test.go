package onchaintest_test

import (
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/core/types"
)

// A plain wallet that has its money whenever a settlement is drafted, and not when it is mined,
// costs as many settlements as are stated, and no more.
func TestMoneyThatIsGoneInEachBlock(t *testing.T) {
	t.Parallel()
	row := railtest.HostileNamed("spends elsewhere")
	s := newShop(t, shopOptions{manual: true})
	buyer, friend := s.net.Buyers[0], s.net.Buyers[1]
	all := s.net.Balance(buyer.Address)
	move := func(from, to chaintest.Key) *types.Transaction {
		return s.foreign(s.net.Minter, s.net.Asset, 0, s.net.SignTransfer(from, to.Address, all).Call())
	}
	answered := s.pending(hello, s.sign(s.challenge(hello), 0, buyer, tenMinutes))
	for n := 1; ; n++ {
		var p till.Purchase
		var sent []settle.Sent
		until(t, "another settlement, or the end", func() bool {
			p = tilltest.Purchases(t, s.db)[0]
			sent = tilltest.SettlementOf(t, s.db, p).Sent
			return len(sent) == n || p.State == till.NotSettled
		})
		if p.State == till.NotSettled {
			break
		}
		var settlement types.Transaction
		if err := settlement.UnmarshalBinary(sent[n-1].Raw); err != nil {
			t.Fatal(err)
		}
		s.net.MustSealTxs(move(buyer, friend))
		s.net.MustSealTxs(&settlement, move(friend, buyer))
	}
	s.want("the payment", answered()[0], 402, "payment_invalid")
	n, burnt := s.reverted()
	t.Logf("%d settlements of one authorization reverted and burnt %d gas", n, burnt)
	if n != row.Reverts || burnt > row.Measured {
		t.Errorf("%d settlements reverted and burnt %d gas, want %d and %d at most", n, burnt, row.Reverts,
			row.Measured)
	}
}

const hello = "/api/buy/hello"
