package onchaintest_test

import (
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
)

// The stock client buys a thousand lines out of one channel: one deposit, one claim, one sweep, and
// a hundredth of the gas of as many payments, or less.
func TestLongThousandSalesByVoucher(t *testing.T) {
	const sales = 1000
	s := newVoucherShop(t, channels.Limits{})
	line := s.url + voucherDoor
	urls := slices.Repeat([]string{line}, sales)
	for i, r := range clients.Buy(t, clients.Options{Key: s.from.Hex(), RPC: s.net.URL, Vouchers: true}, urls...) {
		if r.Status != 200 || !r.Settled {
			t.Fatalf("purchase %d: %d %s %s", i, r.Status, r.Body, r.Error)
		}
	}
	s.manage(manager.Config{Sum: 1, Fresh: 1, Sweep: 1})
	s.moved(sales*voucherPrice, sales*voucherPrice)
	sent, gas := s.gasRelayed()
	if sent != 3 {
		t.Errorf("%d transactions were sent, want a deposit, a claim and a sweep", sent)
	}
	p := s.sign(s.challenge(voucherDoor), 0, s.net.Buyers[1], nil)
	if r := s.present(voucherDoor, p); r.Status != 200 {
		t.Fatalf("by exact: %d %s", r.Status, r.Raw)
	}
	_, all := s.gasRelayed()
	exact := all - gas
	times := float64(exact*sales) / float64(gas)
	t.Logf("%d sales by voucher took %d gas, %.0f each; one by exact %d: %.0f times", sales, gas,
		float64(gas)/sales, exact, times)
	if times < 100 {
		t.Error("want a hundredth at most")
	}
}

// gasRelayed is how many transactions the relayer sent, and the gas of them all.
func (s *shop) gasRelayed() (sent int, gas uint64) {
	s.t.Helper()
	head, err := s.net.RPC.BlockNumber(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	signer := types.LatestSignerForChainID(new(big.Int).SetUint64(s.net.Chain.ChainID()))
	for n := range head + 1 {
		b, err := s.net.RPC.BlockByNumber(s.t.Context(), new(big.Int).SetUint64(n))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, tx := range b.Transactions() {
			if from, err := types.Sender(signer, tx); err == nil && from == s.net.Relayer.Address {
				sent++
				gas += s.net.Await(tx.Hash()).GasUsed
			}
		}
	}
	return sent, gas
}

// 64 payers buy at once out of their channels, while claims go on, by exact in transactions for
// several, and ask for terms alone. What a second is worth is told; nothing of it is a bound.
func TestSoakVoucherRates(t *testing.T) {
	soak(t)
	const atOnce, each = 64, 100
	exact, _ := load{}.run(t, atOnce, atOnce*16)
	s := newVoucherShopOn(t, shopOptions{networks: []uint64{8453}, buyers: atOnce}, channels.Limits{},
		chaintest.NewKey(t), nil)
	ch := s.challenge(voucherDoor)
	headers := make([][]map[string]string, atOnce)
	for i, k := range s.net.Buyers[:atOnce] {
		if r := s.do("GET", voucherDoor, voucher(t, s.net, k, ch, voucherPrice, 1_000_000)); r.Status != 200 {
			t.Fatalf("with a deposit: %d %s", r.Status, r.Raw)
		}
		for j := range each {
			headers[i] = append(headers[i], voucher(t, s.net, k, ch, int64(j+2)*voucherPrice, 0))
		}
	}
	s.manage(manager.Config{Sum: 20_000, Fresh: 1, Every: 5 * time.Second})
	rate := func(status int, header func(i, j int) map[string]string) (float64, time.Duration) {
		took := make([][]time.Duration, atOnce)
		var wg sync.WaitGroup
		start := time.Now()
		for i := range atOnce {
			wg.Go(func() {
				for j := range each {
					begun := time.Now()
					if r := s.do("GET", voucherDoor, header(i, j)); r.Status != status {
						t.Errorf("%d %s", r.Status, r.Raw)
					}
					took[i] = append(took[i], time.Since(begun))
				}
			})
		}
		wg.Wait()
		all := slices.Concat(took...)
		slices.Sort(all)
		return float64(len(all)) / time.Since(start).Seconds(), all[len(all)*99/100]
	}
	bought, late := rate(200, func(i, j int) map[string]string { return headers[i][j] })
	asked, _ := rate(402, func(int, int) map[string]string { return nil })
	t.Logf("by voucher %.0f/s, 99 of 100 within %s: %.1f times what is sold by exact (%.0f/s), %.2f of what is asked "+
		"(%.0f/s)", bought, late, bought/exact, exact, bought/asked, asked)
}
