package chaintest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

func paid(t *testing.T, n *chaintest.Net, tx *types.Transaction) *types.Receipt {
	t.Helper()
	r := n.Receipt(tx.Hash())
	if r == nil || r.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("receipt = %v, want success", r)
	}
	return r
}

// Every network's token has the domain separator that the real one has in public records.
func TestTokensStandInForTheRealOnes(t *testing.T) {
	var ids []uint64
	for _, n := range chain.Networks {
		ids = append(ids, n.ChainID)
	}
	start := time.Now()
	net := chaintest.New(t, chaintest.Options{Networks: ids})
	t.Logf("%d chains up in %v", len(net.Chains), time.Since(start).Round(time.Millisecond))
	seen := map[common.Hash]bool{}
	for _, c := range net.Chains {
		rpc, err := ethclient.DialContext(t.Context(), c.RPCURL())
		if err != nil {
			t.Fatal(err)
		}
		defer rpc.Close()
		if got, err := rpc.ChainID(t.Context()); err != nil || got.Uint64() != c.ChainID() {
			t.Errorf("%s: chain id = %v, %v, want %d", c.Name, got, err, c.ChainID())
		}
		got, err := rpc.CallContract(t.Context(), ethereum.CallMsg{To: &c.Asset, Data: token.DomainCall()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if domain := common.BytesToHash(got); !strings.HasPrefix(domain.Hex(), "0x"+c.Domain) ||
			domain != c.DomainSeparator() {
			t.Errorf("%s: domain separator = %s, want 0x%s…", c.Name, domain, c.Domain)
		}
		block, err := rpc.HeaderByNumber(t.Context(), common.Big0)
		if err != nil || block.Hash() != c.GenesisHash() || seen[block.Hash()] {
			t.Errorf("%s: genesis = %v, %v, want %s and no other chain's", c.Name, block.Hash(), err, c.GenesisHash())
		}
		seen[c.GenesisHash()] = true
	}
}

// Bursts do not drive the chain's clock away from the wall clock, so that authorizations of a
// minute stay valid.
func TestBurstsKeepNearTheClock(t *testing.T) {
	t.Parallel()
	const lead, bursts, each = 2, 4, 100
	n := chaintest.New(t, chaintest.Options{Lead: lead})
	total := 0
	for range bursts {
		var txs []*types.Transaction
		for i := range each {
			pay := n.SignTransfer(n.Buyers[i%len(n.Buyers)], n.PayTo, 100)
			txs = append(txs, n.Send(n.Relayer, n.Asset, pay.Call()))
		}
		for _, tx := range txs {
			if r := n.Await(tx.Hash()); r.Status != types.ReceiptStatusSuccessful {
				t.Fatalf("payment %d reverted in block %v", total, r.BlockNumber)
			}
			total++
		}
		if ahead := int64(n.Head().Time) - time.Now().Unix(); ahead > lead {
			t.Fatalf("the head is %d s ahead of the clock, want at most %d", ahead, lead)
		}
	}
	if got := n.Balance(n.PayTo); total != 400 || got != int64(total)*100 {
		t.Errorf("payTo has %d after %d payments", got, total)
	}
}

// With credit left a payment is sealed at once, not at the next second.
func TestPaymentsWithinTheLeadAreInstant(t *testing.T) {
	const hour = 3600
	n := chaintest.New(t, chaintest.Options{Genesis: uint64(time.Now().Unix()) + hour, Lead: 2 * hour})
	for range 10 {
		pay := n.SignTransfer(n.Buyers[0], n.PayTo, 1)
		n.Await(n.Send(n.Relayer, n.Asset, pay.Call()).Hash())
	}
	if ahead := int64(n.Head().Time) - time.Now().Unix(); ahead < hour/2 {
		t.Errorf("the head is %d s ahead of the clock: the payments waited for their seconds", ahead)
	}
}

// A chain that was idle for an hour gets a head of now without any transaction.
func TestHeartbeat(t *testing.T) {
	start := time.Now().Unix()
	c, err := chain.Start(chain.Config{ChainID: 8453, Automine: true, Heartbeat: time.Hour / 2,
		GenesisTime: uint64(time.Now().Add(-time.Hour).Unix())})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	heads := make(chan *types.Header, 8)
	sub, err := c.Client().SubscribeNewHead(t.Context(), heads)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	if c.Head().Number.Sign() == 0 {
		select {
		case <-heads:
		case <-time.After(5 * time.Minute):
			t.Fatal("no heartbeat")
		}
	}
	if at := int64(c.Head().Time); at < start || at > time.Now().Unix() {
		t.Errorf("the head is of %d, want a time of this test, which began at %d", at, start)
	}
	if got := c.Head().Number.Uint64(); got != 1 {
		t.Errorf("head = %d, want one heartbeat alone", got)
	}
}

// A transaction that cannot be included does not make the chain seal block after block.
func TestAnUnminableTransactionDoesNotSpin(t *testing.T) {
	t.Parallel()
	n := chaintest.New(t, chaintest.Options{Lead: 10_000, Heartbeat: time.Hour})
	heads := make(chan *types.Header, 8)
	sub, err := n.RPC.SubscribeNewHead(t.Context(), heads)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	id := new(big.Int).SetUint64(n.ChainID())
	cheap, err := types.SignNewTx(n.Buyers[0].Private, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, GasTipCap: common.Big1, GasFeeCap: common.Big1, Gas: 21_000, To: &n.PayTo,
	})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Now() // before the first block, whose news may come late
	if err := n.RPC.SendTransaction(t.Context(), cheap); err != nil {
		t.Fatal(err)
	}
	<-heads
	<-heads
	if d := time.Since(first); d < time.Second/2 {
		t.Errorf("empty blocks %v apart, want about a second", d)
	}
	pay := n.SignTransfer(n.Buyers[1], n.PayTo, 1)
	n.Await(n.Send(n.Relayer, n.Asset, pay.Call()).Hash()) // others need not wait for the second
	if r := n.Receipt(cheap.Hash()); r != nil {
		t.Fatal("the cheap transaction was mined")
	}
}

func TestManualSealing(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true})
	one := n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], n.PayTo, 1).Call())
	two := n.Send(n.Buyers[4], n.Asset, n.SignTransfer(n.Buyers[1], n.PayTo, 2).Call())
	n.MustSealTxs()
	if n.Receipt(one.Hash()) != nil || n.Receipt(two.Hash()) != nil {
		t.Fatal("an empty block holds a transaction")
	}
	n.MustSealTxs(two)
	paid(t, n, two)
	if n.Receipt(one.Hash()) != nil {
		t.Fatal("the block holds more than was asked for")
	}
	n.MustSeal()
	paid(t, n, one)

	late := n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], n.PayTo, 3).Call())
	const pass = 10 * 60
	before := uint64(time.Now().Unix())
	n.Pass(pass * time.Second)
	if got, after := n.HeadTime(), uint64(time.Now().Unix()); got < before+pass || got > after+pass {
		t.Errorf("the head is of %d, want %d s from a time between %d and %d", got, pass, before, after)
	}
	n.MustSeal()
	if r := n.Receipt(late.Hash()); r == nil || r.Status != types.ReceiptStatusFailed {
		t.Errorf("receipt = %v, want a revert: the authorization expired while it waited", r)
	}
	if got := n.Balance(n.PayTo); got != 3 {
		t.Errorf("payTo has %d, want 3", got)
	}

	n.SetAutomine(true)
	n.Await(n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], n.PayTo, 4).Call()).Hash())
}

// A block taken out of the chain takes its receipt along; the transaction waits in the pool and
// pays again.
func TestFork(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true})
	n.MustSeal()
	tx := n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], n.PayTo, 7).Call())
	n.MustSeal()
	first := paid(t, n, tx)
	if err := n.Fork(1); err != nil {
		t.Fatal(err)
	}
	if n.Receipt(tx.Hash()) != nil || n.Balance(n.PayTo) != 0 {
		t.Fatal("the payment outlived its block")
	}
	if _, pending, err := n.RPC.TransactionByHash(t.Context(), tx.Hash()); err != nil || !pending {
		t.Fatalf("pending = %v, %v, want the transaction back in the pool", pending, err)
	}
	n.MustSeal()
	if second := paid(t, n, tx); second.BlockHash == first.BlockHash {
		t.Error("the same block came back")
	}

	if err := n.Fork(1); err != nil {
		t.Fatal(err)
	}
	n.Drop()
	n.MustSeal()
	if n.Receipt(tx.Hash()) != nil {
		t.Error("a dropped transaction was sealed")
	}
	if err := n.RPC.SendTransaction(t.Context(), tx); err != nil {
		t.Errorf("sending the same bytes again: %v", err)
	}
	n.MustSeal()
	paid(t, n, tx)
}

// A reorganisation puts another transaction in the place of the first, in one step.
func TestReorg(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true})
	pay := n.SignTransfer(n.Buyers[0], n.PayTo, 7)
	cancel := token.CancelCall(pay.From, pay.Nonce,
		n.SignDigest(n.Buyers[0], token.CancelDigest(pay.From, pay.Nonce, n.DomainSeparator())))
	rival := n.Transaction(n.Buyers[0], n.Asset, cancel)
	tx := n.Send(n.Relayer, n.Asset, pay.Call())
	n.MustSeal()
	paid(t, n, tx)
	n.MustSeal()
	if err := n.Reorg(0, rival); err != nil {
		t.Fatal(err)
	}
	if got := n.Head().Number.Uint64(); got != 3 {
		t.Errorf("head = %d, want 3", got)
	}
	paid(t, n, rival)
	if n.Receipt(tx.Hash()) != nil || n.Balance(n.PayTo) != 0 || !n.Used(pay.From, pay.Nonce) {
		t.Error("the payment outlived the reorganisation")
	}
	n.MustSeal() // the payment is back in the pool and meets the cancellation
	if r := n.Receipt(tx.Hash()); r == nil || r.Status != types.ReceiptStatusFailed {
		t.Errorf("receipt = %v, want a revert", r)
	}
}

func TestSafeAndFinalized(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true, FinalDepth: 6})
	at := func(tag rpc.BlockNumber) uint64 {
		t.Helper()
		h, err := n.RPC.HeaderByNumber(t.Context(), big.NewInt(int64(tag)))
		if err != nil {
			t.Fatal(err)
		}
		return h.Number.Uint64()
	}
	for head := range uint64(41) { // past 32, where go-ethereum's own beacon would make the head final
		if safe, final := at(rpc.SafeBlockNumber), at(rpc.FinalizedBlockNumber); safe != head-min(head, 3) ||
			final != head-min(head, 6) {
			t.Errorf("at head %d: safe = %d, finalized = %d", head, safe, final)
		}
		n.MustSealTxs()
	}
	if err := n.Fork(34); err == nil {
		t.Error("a final block was reorganised away")
	}
	if err := n.Reorg(34); err == nil {
		t.Error("a final block was reorganised away")
	}
	if err := n.Fork(35); err != nil {
		t.Error(err)
	}
	if safe, final := at(rpc.SafeBlockNumber), at(rpc.FinalizedBlockNumber); safe != 35 || final != 35 {
		t.Errorf("after the fork: safe = %d, finalized = %d, want both 35", safe, final)
	}
	instant := chaintest.New(t, chaintest.Options{Manual: true, FinalDepth: -1})
	if h := instant.MustSeal(); instant.Finalized().Hash() != h.Hash() {
		t.Error("with negative depth the head is not final")
	}
}

// Many transactions from one key, sent at once over HTTP, are all mined.
func TestConcurrentSenders(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Lead: 60})
	var txs []*types.Transaction
	for i := range 40 {
		tx := n.Transaction(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[i%5], n.PayTo, 1).Call())
		signed, err := types.SignNewTx(n.Relayer.Private, types.LatestSignerForChainID(tx.ChainId()),
			&types.DynamicFeeTx{
				ChainID: tx.ChainId(), Nonce: uint64(i), GasTipCap: tx.GasTipCap(), GasFeeCap: tx.GasFeeCap(),
				Gas: tx.Gas(), To: tx.To(), Data: tx.Data(),
			})
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, signed)
	}
	client, err := ethclient.Dial(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var wg sync.WaitGroup
	for _, tx := range txs {
		wg.Go(func() {
			if err := client.SendTransaction(context.Background(), tx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, tx := range txs {
		n.Await(tx.Hash())
	}
	if got := n.Balance(n.PayTo); got != 40 {
		t.Errorf("payTo has %d, want 40", got)
	}
}

// A tip of one wei is enough.
func TestOneWeiTipIsMined(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true})
	id := new(big.Int).SetUint64(n.ChainID())
	tx, err := types.SignNewTx(n.Relayer.Private, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, GasTipCap: common.Big1, GasFeeCap: big.NewInt(2_000_000_000), Gas: 21_000, To: &n.PayTo,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.RPC.SendTransaction(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	n.MustSeal()
	paid(t, n, tx)
}

// The genesis file describes the chain it came from, whole.
func TestGenesisFile(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Manual: true})
	var file bytes.Buffer
	if err := n.WriteGenesis(&file); err != nil {
		t.Fatal(err)
	}
	var g core.Genesis
	if err := json.Unmarshal(file.Bytes(), &g); err != nil {
		t.Fatal(err)
	}
	if got := g.ToBlock().Hash(); got != n.GenesisHash() {
		t.Errorf("the file's block 0 is %s, want %s", got, n.GenesisHash())
	}
}

// A stopped chain frees its port, and another can take it.
func TestStopFreesThePort(t *testing.T) {
	first, err := chain.Start(chain.Config{ChainID: 137})
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(first.RPCURL(), "http://")
	if _, err := chain.Start(chain.Config{ChainID: 137, Listen: addr}); err == nil {
		t.Error("two chains listen on one port")
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second, err := chain.Start(chain.Config{ChainID: 137, Listen: addr})
	if err != nil {
		t.Fatal(err)
	}
	if got := second.RPCURL(); got != "http://"+addr {
		t.Errorf("listens on %s, want %s", got, addr)
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}
