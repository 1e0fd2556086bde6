// Package chaintest gives tests fresh local chains with people on them: a relayer with gas, buyers
// with dollars, a poor buyer, a contract wallet, an address to be paid at. What it signs and reads
// goes through go-ethereum and package token, never through the code under test.
//
//	net := chaintest.New(t, chaintest.Options{Manual: true})
//	pay := net.SignTransfer(net.Buyers[0], net.PayTo, 500_000)
//	tx := net.Send(net.Relayer, net.Asset, pay.Call())
//	net.MustSeal()
//	net.Receipt(tx.Hash())
//
// Every New has keys of its own, made for the run. All helpers end the test on errors that are not
// its subject, so they are for the test's own goroutine.
package chaintest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// BuyerFunds is what each buyer and the wallet own at genesis, in atomic units: a thousand dollars.
const BuyerFunds = 1_000_000_000

// Options says what a test wants. The zero value is one chain, Base, that seals by itself.
type Options struct {
	Networks []uint64 // chain ids, first first; none is 8453 alone
	Buyers   int      // funded buyers; 0 is 5
	Manual   bool     // nothing is sealed until the test says so
	Code     [][]byte // contracts that pay, such as token.Turncoat
	Permit2  bool     // everybody who may pay allows Permit2 to move its dollars

	Genesis    uint64        // chain.Config.GenesisTime
	Lead       int           // as in chain.Config; 0 is chain.DefaultLead
	Heartbeat  time.Duration // as in chain.Config; 0 is chain.DefaultHeartbeat
	FinalDepth int           // as in chain.Config; 0 is chain.DefaultFinalDepth, negative is none
}

// A Key is an account with its private key.
type Key struct {
	Address common.Address
	Private *ecdsa.PrivateKey
}

// Hex returns the private key as 0x and 64 hex digits.
func (k Key) Hex() string { return hexutil.Encode(crypto.FromECDSA(k.Private)) }

// NewKey returns a fresh key that owns nothing.
func NewKey(t testing.TB) Key {
	t.Helper()
	k, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return Key{crypto.PubkeyToAddress(k.PublicKey), k}
}

// People are the accounts on every chain of a Net.
type People struct {
	Relayer Key            // has gas, no dollars
	Minter  Key            // has gas; keeper of the token
	Buyers  []Key          // BuyerFunds each, and gas for transactions of their own
	Poor    Key            // no dollars, no gas
	PayTo   common.Address // starts with nothing; its key is not kept
	Wallet  Wallet         // a contract wallet with BuyerFunds
	Coded   []Contract     // Options.Code, with BuyerFunds each
}

// A Contract is an account whose code is the test's.
type Contract struct {
	Address common.Address
	Code    []byte
}

// A Wallet is a contract account and the key that signs for it (EIP-1271).
type Wallet struct {
	Address common.Address
	Owner   Key // has gas
}

// Net is one or more chains with the same people. The embedded Chain is the first.
type Net struct {
	*Chain
	People
	Chains []*Chain
}

// Chain is a chain of this process with the helpers of Node.
type Chain struct {
	*chain.Chain
	Node
}

// seldom has memory collected a quarter as often: starting a chain throws some hundred megabytes
// away, and tests start them by the dozen.
var seldom = sync.OnceFunc(func() { debug.SetGCPercent(400) })

// New starts fresh chains and stops them when the test ends.
func New(t testing.TB, o Options) *Net {
	t.Helper()
	seldom()
	if len(o.Networks) == 0 {
		o.Networks = []uint64{8453}
	}
	if o.Buyers == 0 {
		o.Buyers = 5
	}
	if o.Lead == 0 {
		o.Lead = chain.DefaultLead
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = chain.DefaultHeartbeat
	}
	n := &Net{People: people(t, o)}
	for _, id := range o.Networks {
		network, ok := chain.ByID(id)
		if !ok {
			t.Fatalf("no network with chain id %d", id)
		}
		c, err := chain.Start(chain.Config{
			ChainID:     id,
			Alloc:       network.Alloc(n.opening(o.Permit2)),
			GenesisTime: o.Genesis,
			Automine:    !o.Manual,
			Lead:        o.Lead,
			Heartbeat:   o.Heartbeat,
			FinalDepth:  o.FinalDepth,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
		n.Chains = append(n.Chains, &Chain{c, Node{T: t, Network: network, URL: c.RPCURL(), RPC: c.Client()}})
	}
	n.Chain = n.Chains[0]
	return n
}

// On returns the chain with the given id.
func (n *Net) On(chainID uint64) *Chain {
	n.T.Helper()
	for _, c := range n.Chains {
		if c.ChainID() == chainID {
			return c
		}
	}
	n.T.Fatalf("no chain %d in this net", chainID)
	return nil
}

// MustSeal seals a block with what is pending and returns its header.
func (c *Chain) MustSeal() *types.Header {
	c.T.Helper()
	h, err := c.Seal()
	if err != nil {
		c.T.Fatal(err)
	}
	return h
}

// MustSealTxs seals a block with exactly these transactions.
func (c *Chain) MustSealTxs(txs ...*types.Transaction) *types.Header {
	c.T.Helper()
	h, err := c.SealTxs(txs...)
	if err != nil {
		c.T.Fatal(err)
	}
	return h
}

// Pass moves the chain's clock by d and seals an empty block there.
func (c *Chain) Pass(d time.Duration) *types.Header {
	c.T.Helper()
	h, err := c.AdjustTime(d)
	if err != nil {
		c.T.Fatal(err)
	}
	return h
}

func people(t testing.TB, o Options) People {
	t.Helper()
	p := People{Relayer: NewKey(t), Minter: NewKey(t), Poor: NewKey(t), PayTo: NewKey(t).Address}
	for range o.Buyers {
		p.Buyers = append(p.Buyers, NewKey(t))
	}
	p.Wallet.Owner = NewKey(t)
	rand.Read(p.Wallet.Address[:])
	for _, code := range o.Code {
		c := Contract{Code: code}
		rand.Read(c.Address[:])
		p.Coded = append(p.Coded, c)
	}
	return p
}

func (p People) opening(permit2 bool) chain.Opening {
	o := chain.Opening{
		Minter:  p.Minter.Address,
		Gas:     []common.Address{p.Relayer.Address, p.Minter.Address, p.Wallet.Owner.Address},
		Dollars: map[common.Address]int64{p.Wallet.Address: BuyerFunds},
		Wallets: map[common.Address]common.Address{p.Wallet.Address: p.Wallet.Owner.Address},
		Code:    map[common.Address][]byte{},
	}
	for _, c := range p.Coded {
		o.Dollars[c.Address], o.Code[c.Address] = BuyerFunds, c.Code
	}
	for _, b := range p.Buyers {
		o.Gas = append(o.Gas, b.Address)
		o.Dollars[b.Address] = BuyerFunds
	}
	if permit2 {
		o.Permit2 = append(slices.Collect(maps.Keys(o.Dollars)), p.Poor.Address)
	}
	return o
}
