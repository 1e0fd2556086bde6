// Package chain runs real EVM chains in this process: the unmodified go-ethereum node (pool, EVM,
// receipts, JSON-RPC over HTTP on loopback) with a sealing loop of our own, born with the contracts
// of package token. It is not a wallet and not a network: no peers, no consensus, everything in
// memory.
//
//	c, err := chain.Start(chain.Config{ChainID: 8453, Alloc: alloc, Automine: true, Lead: chain.DefaultLead, Heartbeat: chain.DefaultHeartbeat})
//	defer c.Stop()
//	fmt.Println(c.RPCURL())
//
// # Sealing
//
// A block must be at least one second younger than its parent, so a chain that seals on every
// transaction runs away from the wall clock and authorizations expire. With Automine a block is
// sealed as soon as the pool holds something, while its time leads the clock by at most Lead
// seconds; after such a burst one block a second follows. An idle chain gets an empty block when
// its head is older than Heartbeat, so that calls at the latest block see a fresh time. Without
// Automine nothing is sealed until Seal, SealTxs or AdjustTime.
//
// # Safe and finalized
//
// Every sealed block moves the finalized block to FinalDepth below the head and the safe block to
// half of that, so eth_getBlockByNumber answers both from the first block on (genesis at first),
// and a Fork cannot go below what was finalized.
//
// # Unknown transactions
//
// Until its first block is indexed, the node answers eth_getTransactionReceipt with the error
// "transaction indexing is in progress" instead of null, as any fresh go-ethereum does. It means
// unknown, not failed.
//
// # Danger
//
// Chain id, token address and EIP-712 domain are those of real networks, so what is signed for such
// a chain is valid on the real one. Keys used here must be made for the run and hold nothing
// anywhere else.
package chain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"
)

// What a chain for people and for most tests is started with.
const (
	DefaultLead       = 15              // seconds: that many purchases in a row are instant
	DefaultHeartbeat  = 2 * time.Second // Base's own block time
	DefaultFinalDepth = 4
)

// Config says how a chain is born and how it seals.
type Config struct {
	ChainID uint64
	Listen  string             // host:port of the JSON-RPC server; "" is 127.0.0.1 and any free port
	Alloc   types.GenesisAlloc // beside the system contracts, which it may replace

	// GenesisTime is the time of block 0 in Unix seconds; 0 is two seconds ago.
	GenesisTime uint64

	Automine bool // seal by itself; otherwise only by Seal and its kin
	// seconds a block's time may be ahead of the clock when sealing by itself; 0 is one block a
	// second
	Lead      int
	Heartbeat time.Duration // age of the head at which an empty block is sealed by itself; 0 is never
	// blocks from the head down to the finalized block; 0 is DefaultFinalDepth, negative is none
	FinalDepth int
}

// A Chain is one running chain. Its methods may be called concurrently.
type Chain struct {
	cfg     Config
	node    *node.Node
	eth     *eth.Ethereum
	client  *ethclient.Client
	genesis common.Hash

	mu     sync.Mutex    // guards sealing and reorganising
	offset time.Duration // the chain's clock minus the wall clock, guarded by mu

	automine atomic.Bool
	wake     chan struct{}
	cancel   context.CancelFunc
	loop     sync.WaitGroup // watch and seals
}

// Start starts a chain and returns when it answers. The caller must Stop it.
func Start(cfg Config) (*Chain, error) {
	quiet()
	if cfg.ChainID == 0 {
		return nil, errors.New("starting a chain: no chain id")
	}
	if cfg.FinalDepth == 0 {
		cfg.FinalDepth = DefaultFinalDepth
	}
	if cfg.GenesisTime == 0 {
		cfg.GenesisTime = uint64(time.Now().Unix()) - 2
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	c := &Chain{cfg: cfg, wake: make(chan struct{}, 1)}
	c.automine.Store(cfg.Automine)
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("starting chain %d: %w", cfg.ChainID, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.loop.Go(func() { c.watch(ctx) })
	c.loop.Go(func() { c.seals(ctx) })
	return c, nil
}

// quiet drops the node's own log: it goes to a process-wide logger that nobody here reads.
var quiet = sync.OnceFunc(func() { log.SetDefault(log.NewLogger(slog.DiscardHandler)) })

func (c *Chain) open() error {
	host, port, err := net.SplitHostPort(c.cfg.Listen)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	stack, err := node.New(&node.Config{
		Name:                 "devnet",
		P2P:                  p2p.Config{NoDiscovery: true, NoDial: true},
		KeyStoreDir:          os.TempDir(), // no keys are kept; left empty, a folder would be made for them
		HTTPHost:             host,
		HTTPPort:             n,
		HTTPModules:          []string{"eth", "net", "web3", "txpool"},
		HTTPVirtualHosts:     []string{"localhost"},
		HTTPTimeouts:         rpc.DefaultHTTPTimeouts,
		BatchRequestLimit:    node.DefaultConfig.BatchRequestLimit,
		BatchResponseMaxSize: node.DefaultConfig.BatchResponseMaxSize,
	})
	if err != nil {
		return err
	}
	if err := c.assemble(stack); err != nil {
		return errors.Join(err, stack.Close())
	}
	c.node = stack
	c.client = ethclient.NewClient(stack.Attach())
	c.genesis = c.eth.BlockChain().Genesis().Hash()
	return nil
}

func (c *Chain) assemble(stack *node.Node) error {
	conf := ethconfig.Defaults
	conf.Genesis = Genesis(c.cfg.ChainID, c.cfg.GenesisTime, c.cfg.Alloc)
	conf.SyncMode = ethconfig.FullSync
	conf.StateScheme = rawdb.HashScheme
	conf.NoPruning = true // every state stays readable, and a Fork may go anywhere
	conf.TrieCleanCache, conf.TrieDirtyCache, conf.SnapshotCache = 16, 0, 0
	conf.LogNoHistory = true // logs are searched unindexed
	conf.TransactionHistory = 0
	conf.Miner.GasPrice = big.NewInt(1) // the default leaves a tip of 1 wei unmined
	// On a slow machine neither is a block sealed with half of what waits nor a call given up.
	conf.Miner.Recommit, conf.RPCEVMTimeout = time.Hour, 0
	conf.TxPool.PriceLimit = 1
	conf.TxPool.NoLocals = true
	backend, err := eth.New(stack, &conf)
	if err != nil {
		return err
	}
	system := filters.NewFilterSystem(backend.APIBackend, filters.Config{})
	stack.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(system)}})
	if err := stack.Start(); err != nil {
		return err
	}
	backend.SetSynced() // there is nobody to sync with; before this, transactions are not taken
	c.eth = backend
	c.finalize(backend.BlockChain().CurrentBlock())
	return nil
}

// Stop ends the sealing loop and the node and frees the port. The chain is gone.
func (c *Chain) Stop() error {
	c.cancel()
	c.loop.Wait()
	c.client.Close()
	return c.node.Close()
}

// RPCURL returns the address of the JSON-RPC server, http://host:port.
func (c *Chain) RPCURL() string { return c.node.HTTPEndpoint() }

// Client returns a client that talks to the node without HTTP.
func (c *Chain) Client() *ethclient.Client { return c.client }

// ChainID returns the chain id.
func (c *Chain) ChainID() uint64 { return c.cfg.ChainID }

// GenesisHash returns the hash of block 0. It differs from the real network's, and from run to run.
func (c *Chain) GenesisHash() common.Hash { return c.genesis }

// Head returns the header of the newest block.
func (c *Chain) Head() *types.Header { return c.eth.BlockChain().CurrentBlock() }

// Finalized returns the header of the block that eth_getBlockByNumber answers for "finalized".
func (c *Chain) Finalized() *types.Header { return c.eth.BlockChain().CurrentFinalBlock() }

// SetAutomine turns sealing by itself on or off, heartbeats included.
func (c *Chain) SetAutomine(on bool) {
	c.automine.Store(on)
	c.poke()
}

// Seal seals one block with what the pool holds and returns its header. When it returns, pool and
// chain agree.
func (c *Chain) Seal() (*types.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seal(nil, false)
}

// SealTxs seals one block with exactly these transactions, none for an empty block; what else is
// pending stays pending. The transactions need not have been in the pool; they must be valid on top
// of the head.
func (c *Chain) SealTxs(txs ...*types.Transaction) (*types.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seal(txs, len(txs) == 0)
}

// AdjustTime moves the chain's clock by d against the wall clock, for good, and seals an empty
// block at the new time. A block is never older than its parent, so a negative d only stops the
// chain's clock until the wall clock is there.
func (c *Chain) AdjustTime(d time.Duration) (*types.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
	return c.seal(nil, true)
}

// Fork makes the canonical block with the given number the head again, as a reorganisation does:
// later blocks leave the chain and their transactions return to the pool, from where Automine seals
// them at once (Drop forgets them). Going below the finalized block is an error.
func (c *Chain) Fork(number uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.poke()
	return c.fork(number)
}

// Reorg replaces all blocks above number by as many and one more, the first with exactly txs, the
// others empty, in one step: a client sees the old chain or the new one. The old blocks'
// transactions that are not among txs return to the pool, from where Automine seals them again
// (with Automine off, Drop forgets them). Going below the finalized block is an error.
func (c *Chain) Reorg(number uint64, txs ...*types.Transaction) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.poke()
	base, err := c.base(number)
	if err != nil {
		return err
	}
	parent := base.Header()
	var last *types.Block
	for range c.Head().Number.Uint64() - number + 1 {
		if last, err = c.build(parent, txs, len(txs) == 0); err != nil {
			return err
		}
		parent, txs = last.Header(), nil
	}
	return c.adopt(last)
}

// Drop forgets every transaction in the pool, as a restarted node would.
func (c *Chain) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.eth.TxPool().Clear()
}

func (c *Chain) fork(number uint64) error {
	block, err := c.base(number)
	if err != nil || block.Hash() == c.Head().Hash() {
		return err
	}
	if _, err := c.eth.BlockChain().SetCanonical(block); err != nil {
		return fmt.Errorf("forking at block %d: %w", number, err)
	}
	if safe := c.eth.BlockChain().CurrentSafeBlock(); safe != nil && number < safe.Number.Uint64() {
		c.eth.BlockChain().SetSafe(block.Header())
	}
	return c.eth.TxPool().Sync()
}

// base returns the canonical block from which another branch may grow.
func (c *Chain) base(number uint64) (*types.Block, error) {
	bc := c.eth.BlockChain()
	if final := bc.CurrentFinalBlock(); final != nil && number < final.Number.Uint64() {
		return nil, fmt.Errorf("forking at block %d: block %d is final", number, final.Number)
	}
	block := bc.GetBlockByNumber(number)
	if block == nil {
		return nil, fmt.Errorf("forking at block %d: no such block", number)
	}
	return block, nil
}

// seal builds one block on the head and makes it the head. Holds c.mu.
func (c *Chain) seal(txs []*types.Transaction, empty bool) (*types.Header, error) {
	// The pool follows the chain on a goroutine of its own: wait for it, or the block is built from
	// an old view.
	c.promoted()
	if err := c.eth.TxPool().Sync(); err != nil {
		return nil, fmt.Errorf("sealing a block: %w", err)
	}
	block, err := c.build(c.Head(), txs, empty)
	if err != nil {
		return nil, err
	}
	return block.Header(), c.adopt(block)
}

// promoted waits until the pool counts every transaction that may be mined next as pending. It
// takes a new one as queued and looks at it on a goroutine of its own; where that falls together
// with following the chain, one that stands behind another pending one stays queued for a block
// more, and Seal would leave out what was sent before it. Holds c.mu.
func (c *Chain) promoted() {
	pool := c.eth.TxPool()
	for range 2000 {
		_, queued := pool.Content()
		if !slices.ContainsFunc(slices.Collect(maps.Values(queued)), func(txs []*types.Transaction) bool {
			from, err := types.Sender(types.LatestSignerForChainID(txs[0].ChainId()), txs[0])
			return err == nil && slices.ContainsFunc(txs, func(tx *types.Transaction) bool {
				return tx.Nonce() == pool.PoolNonce(from)
			})
		}) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// build makes a block on parent and imports it without making it the head. Holds c.mu.
func (c *Chain) build(parent *types.Header, txs []*types.Transaction, empty bool) (*types.Block, error) {
	var random common.Hash
	rand.Read(random[:])
	block, _, err := c.eth.Miner().BuildTestingPayload(&miner.BuildPayloadArgs{
		Parent:      parent.Hash(),
		Timestamp:   max(uint64(c.now().Unix()), parent.Time+1),
		Random:      random,
		Withdrawals: types.Withdrawals{},
		BeaconRoot:  &common.Hash{},
	}, txs, empty, nil)
	if err != nil {
		return nil, fmt.Errorf("building a block on %d: %w", parent.Number, err)
	}
	if _, err := c.eth.BlockChain().InsertBlockWithoutSetHead(context.Background(), block, false); err != nil {
		return nil, fmt.Errorf("importing block %d: %w", block.Number(), err)
	}
	return block, nil
}

// adopt makes an imported block the head; on return the pool has followed. Holds c.mu.
func (c *Chain) adopt(block *types.Block) error {
	if _, err := c.eth.BlockChain().SetCanonical(block); err != nil {
		return fmt.Errorf("setting head to %d: %w", block.Number(), err)
	}
	c.finalize(block.Header())
	if err := c.eth.TxPool().Sync(); err != nil {
		return fmt.Errorf("setting head to %d: %w", block.Number(), err)
	}
	return nil
}

// finalize puts the safe block at its distance from head, and moves the finalized block up, never
// down.
func (c *Chain) finalize(head *types.Header) {
	bc := c.eth.BlockChain()
	depth := uint64(max(c.cfg.FinalDepth, 0))
	below := func(d uint64) *types.Header {
		n := head.Number.Uint64()
		return bc.GetHeaderByNumber(n - min(d, n))
	}
	bc.SetSafe(below(depth / 2))
	if h := below(depth); bc.CurrentFinalBlock() == nil || bc.CurrentFinalBlock().Number.Cmp(h.Number) < 0 {
		bc.SetFinalized(h)
	}
}

// now is the chain's clock. Holds c.mu.
func (c *Chain) now() time.Time { return time.Now().Add(c.offset) }

// Genesis describes block 0 of a chain: every rule up to Osaka, the system contracts that those
// rules call, and alloc. Written as JSON it is the genesis.json that other nodes read.
func Genesis(chainID, unix uint64, alloc types.GenesisAlloc) *core.Genesis {
	all := core.SystemContractAllocs()
	maps.Copy(all, alloc)
	return &core.Genesis{
		Config:     rules(chainID),
		Timestamp:  unix,
		GasLimit:   ethconfig.Defaults.Miner.GasCeil,
		BaseFee:    big.NewInt(1_000_000_000),
		Difficulty: new(big.Int),
		Alloc:      all,
	}
}
