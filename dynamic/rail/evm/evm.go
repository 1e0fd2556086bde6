// Package evm takes payments on Ethereum-like networks: the x402 scheme "exact" by EIP-3009
// transferWithAuthorization, in a token such as USDC, or by Permit2 (permit2.go). Payers are plain
// accounts, wallets with code (EIP-1271, EIP-7702), and wallets that their payment deploys
// (ERC-6492, undeployed.go).
//
// A Rail is one network. It implements rail.Rail: it parses and verifies what a buyer signed,
// settles it by a transaction of its own relayer (or through a remote facilitator), and reads what
// happened from the token's events. Three rules shape the code (package till, M3):
//
//   - authorizationState true is no proof of payment: cancelling sets it too, and so does a use
//     elsewhere;
//   - a revert of our own transaction is no proof of non-payment: anybody may submit an
//     authorization first;
//   - only AuthorizationUsed(payer, nonce) directly followed by Transfer(payer, payTo, value) of
//     the same token is; of Permit2, the Transfer in a transaction that carries the nonce.
//
// What the package does not know: goods, purchases, HTTP, and the journal. The relayer's key pays
// gas and holds nothing else; payTo is never needed as a key.
//
//	cfg, _ := evm.Preset("eip155:8453")
//	cfg.RPC, cfg.PayTo, cfg.Relayer = []string{url}, "0x…", key
//	r, err := evm.New(cfg)
//	go r.Run(ctx)
package evm

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// Config describes one network. New fills what Preset's rows leave open with the defaults named
// here.
type Config struct {
	Chain
	Token
	Costs
	Sender
	Escrow
	// RPC are the nodes' http(s) addresses in order of preference. They may hold API keys and are
	// never shown.
	RPC []string
	// Asked is told of each question to one of them; nil tells nobody.
	Asked func(rail.Asked)
	// PayTo receives the payments.
	PayTo string
	// Poll is how often Run asks for a new block; default 1 s. After a Send it asks at once.
	Poll time.Duration
	// Silence is how long one of two nodes may be silent before the other's word decides about a
	// payment's end; default 10 min.
	Silence time.Duration
	// Log receives what the watcher meets; nil discards it.
	Log *slog.Logger
}

// Chain is the network, and from when on a block counts.
type Chain struct {
	// Network is the CAIP-2 id, eip155:<ChainID>.
	Network string
	// ChainID is the EIP-155 chain id; it must agree with Network.
	ChainID uint64
	// Name is for people: Base.
	Name string
	// Depth is how many blocks, its own included, a payment needs to count as paid: 1 is in the
	// head. Default 1.
	Depth uint64
	// Finality is the number of blocks, its own included, after which nothing is reorganised; 0
	// asks the node for its "finalized" block instead.
	Finality uint64
	// GenesisHash is block 0's hash that Check demands (0x, 64 hex digits); empty compares nothing,
	// which is for local chains only.
	GenesisHash string
}

// Token is what is paid in, and how.
type Token struct {
	// Asset is the token's address.
	Asset string
	// AssetName and AssetVersion are the token's EIP-712 domain name and version. They differ
	// between networks.
	AssetName, AssetVersion string
	// Symbol is the token's ticker; default USDC.
	Symbol string
	// Transfer is how buyers are asked to pay: "eip3009", which is the default, or "permit2" for a
	// token that knows no authorizations. Who pays by the other one is taken too.
	Transfer string
	// Decimals of the token; default 6.
	Decimals int
	// MaxTimeout is the advertised validity of a payment; default 300 s.
	MaxTimeout time.Duration
	// DomainSeparator is what the token's DOMAIN_SEPARATOR() must be (0x, 64 hex digits); empty
	// compares with the one computed from AssetName and AssetVersion alone.
	DomainSeparator string
}

// Costs are what settling takes.
type Costs struct {
	// CoinPrice is what one coin of the network, 10^18 wei, is worth in atomic units of the asset,
	// from which the cost of settling derives; 0 is no price, and then nothing is offered on the
	// network.
	CoinPrice int64
	// SettleCost is what a Settler takes for settling one payment, in atomic units of the asset. A
	// relayer's cost derives from CoinPrice.
	SettleCost int64
	// Gas is what settling one payment is expected to take before the first estimate; default
	// 105,000, the first transfer to a new address.
	Gas uint64
	// DataFee is the contract that names the fee for a transaction's data on the layer below, where
	// a rollup takes it beside gas (the OP Stack's GasPriceOracle); empty where there is none.
	DataFee string
	// MaxFee is the ceiling of the fee per gas of all our transactions, replacements and fills
	// included, in wei; default 500 gwei.
	MaxFee *big.Int
}

// Sender is who settles.
type Sender struct {
	// Relayer is the key of the account that pays the gas. Needed unless Settler is set.
	Relayer *ecdsa.PrivateKey
	// Relayers are further accounts that pay the gas. Whichever has most room sends.
	Relayers []*ecdsa.PrivateKey
	// GasAlarm is the relayer's balance, in wei, below which Fuel reports low; nil never does.
	GasAlarm *big.Int
	// Stuck is the age at which a transaction that waits in the pool is worth replacing; default 30
	// s.
	Stuck time.Duration
	// Together is how many payments one transaction settles at most, 50 or less; default 50, and 1
	// gives each its own. It takes Multicall3, for which Check looks.
	Together int
	// Factories are the contracts that may be called to deploy a wallet which pays by ERC-6492;
	// none deploys none. What they are told to do is the payer's to choose.
	Factories []string
	// Settler settles through a third party instead of the own relayer; nil means the relayer.
	Settler Settler
}

// Settler is a third party that broadcasts payments, such as a remote x402 facilitator. Nothing
// that it says is believed (package till, M10): an error of any kind leaves the outcome unknown,
// and success only becomes known by Status. Settling the same payment again must be harmless.
type Settler interface {
	// Host names the third party.
	Host() string
	// Settle hands over an x402 v2 request body {x402Version, paymentPayload, paymentRequirements}
	// and returns the transaction that the third party claims to have sent, empty when it claims
	// none.
	Settle(ctx context.Context, request []byte) (tx string, err error)
}

// Rail is one network. Its methods are safe for concurrent use.
type Rail struct {
	cfg       Config
	rpc       *client
	asset     common.Address
	payTo     common.Address
	chainID   *big.Int
	separator common.Hash
	signer    types.Signer
	relayer   common.Address // the first, which simulations come from; zero with a Settler
	relayers  []relayer      // all; none with a Settler
	accounts  []string       // their names, which every quote reads
	factories []common.Address
	witnesses []*witness // the two nodes that are asked by themselves; none where one is configured
	log       *slog.Logger

	index    *index
	nudge    chan struct{} // a Send asks Run to poll now
	several  atomic.Bool   // Check has seen Multicall3
	escrow   atomic.Bool   // and the escrow with a collector
	holds    atomic.Bool   // and the one that holds payments
	holdless atomic.Bool   // and that none does; before that they are held
	alone    atomic.Uint64 // gas of the newest settlement of a payer without code

	mu       sync.Mutex                   // guards what follows
	changed  chan struct{}                // closed at the next block
	coded    map[common.Address]time.Time // contracts seen with code, until when that is believed
	plain    map[common.Address]time.Time // accounts seen without, likewise
	claimed  map[string]common.Hash       // request handed over → transaction that the Settler claims
	lookedAt map[string]time.Time         // claim key → last direct look that found nothing new
	looked   uint64                       // the highest head of a direct look

	each   map[string]estimate      // the gas of one payment among several, by method
	need   *big.Int                 // wei that a settlement may take, when Standing was last asked
	purses map[common.Address]purse // what was read of payers, each at its block
}

var _ rail.Rail = (*Rail)(nil)

// New checks a configuration and returns its rail. It makes no request; Check does.
func New(cfg Config) (*Rail, error) {
	if err := defaults(&cfg); err != nil {
		return nil, fmt.Errorf("network %q: %w", cfg.Network, err)
	}
	c, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", cfg.Network, err)
	}
	r := &Rail{
		cfg: cfg, rpc: c, log: cfg.Log,
		asset:    common.HexToAddress(cfg.Asset),
		payTo:    common.HexToAddress(cfg.PayTo),
		chainID:  new(big.Int).SetUint64(cfg.ChainID),
		index:    newIndex(),
		nudge:    make(chan struct{}, 1),
		changed:  make(chan struct{}),
		coded:    map[common.Address]time.Time{},
		plain:    map[common.Address]time.Time{},
		claimed:  map[string]common.Hash{},
		lookedAt: map[string]time.Time{},

		need:   new(big.Int),
		purses: map[common.Address]purse{}, each: map[string]estimate{},
	}
	r.cfg.Asset, r.cfg.PayTo = r.asset.Hex(), r.payTo.Hex()
	r.signer = types.LatestSignerForChainID(r.chainID)
	r.separator = domainSeparator(cfg.AssetName, cfg.AssetVersion, cfg.ChainID, r.asset)
	if cfg.Settler == nil {
		for _, k := range append([]*ecdsa.PrivateKey{cfg.Relayer}, cfg.Relayers...) {
			a := relayer{address: crypto.PubkeyToAddress(k.PublicKey), key: k}
			a.name = a.address.Hex()
			r.relayers, r.accounts = append(r.relayers, a), append(r.accounts, a.name)
		}
		r.relayer = r.relayers[0].address
	}
	for _, f := range cfg.Factories {
		r.factories = append(r.factories, common.HexToAddress(f))
	}
	if r.witnesses, err = witnesses(cfg); err != nil {
		return nil, fmt.Errorf("network %q: %w", cfg.Network, err)
	}
	return r, nil
}

// Faults are what is wrong with what a keeper writes of a network: where payments go and how they
// come. They name the key, and what it may be. An empty PayTo is none: New takes no such
// configuration.
func (c *Config) Faults() []error {
	var faults []error
	fail := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	// A slip of the pen in pay_to would send all that is earned to nobody: where its case can tell,
	// it does.
	if to, err := wallet.ParseAddress(c.PayTo); c.PayTo != "" && err != nil {
		fail("pay_to: %w: name a wallet of yours, 0x and 40 digits of hex", err)
	} else if c.PayTo != "" && to.IsZero() {
		fail("pay_to is the zero address, where payments would be lost: name a wallet of yours")
	}
	for _, f := range c.Factories {
		switch a, err := wallet.ParseAddress(f); {
		case err != nil:
			fail("factories: %w: name contracts, 0x and 40 digits of hex", err)
		case a.IsZero(), common.Address(a) == common.HexToAddress(c.Asset), common.Address(a) == multicallAddress:
			fail("factories: %s is not a factory of wallets", f)
		}
	}
	if c.Transfer != "" && c.Transfer != method && c.Transfer != methodPermit2 {
		fail("transfer %q is neither %s nor %s", c.Transfer, method, methodPermit2)
	}
	return faults
}

// check says why there is no rail of a configuration.
func (c *Config) check() error {
	switch {
	case c.Network != "eip155:"+strconv.FormatUint(c.ChainID, 10) || c.ChainID == 0:
		return fmt.Errorf("the name does not belong to chain id %d", c.ChainID)
	case c.PayTo == "":
		return errors.New("pay_to is needed")
	case [18]byte(common.HexToAddress(c.PayTo).Bytes()[:18]) == [18]byte{}:
		// A precompiled contract, such as the address in the example of a configuration.
		return errors.New("pay_to is an address that nobody has a key of: put your own there")
	case c.AssetName == "" || c.AssetVersion == "":
		return errors.New("the asset's EIP-712 name and version are needed")
	case c.Settler == nil && c.Relayer == nil:
		return errors.New("a relayer key or a settler is needed")
	case c.Settler != nil && len(c.Relayers) > 0:
		return errors.New("a settler sends with accounts of its own")
	case c.Settler != nil && len(c.Factories) > 0:
		return errors.New("a settler deploys no wallets for this store")
	case c.Settler != nil && c.Transfer == methodPermit2:
		return errors.New("a settler takes no Permit2")
	case c.SettleCost < 0 || c.CoinPrice < 0:
		return errors.New("a cost or a price is negative")
	case c.SettleCost > 0 && c.Settler == nil:
		return errors.New("the settle cost is what a third party takes: with a relayer it derives from the price of " +
			"the coin")
	case c.DataFee != "" && !common.IsHexAddress(c.DataFee):
		return fmt.Errorf("%q is not the address of a contract", c.DataFee)
	}
	if _, err := wallet.ParseAddress(c.Asset); err != nil {
		return fmt.Errorf("asset: %w", err)
	}
	for _, h := range []string{c.GenesisHash, c.DomainSeparator} {
		if h != "" && !isHash(h) {
			return fmt.Errorf("%q is not a 32-byte hash", h)
		}
	}
	if c.Settler == nil {
		used := map[common.Address]bool{common.HexToAddress(c.PayTo): true}
		for _, k := range append([]*ecdsa.PrivateKey{c.Relayer}, c.Relayers...) {
			a := crypto.PubkeyToAddress(k.PublicKey)
			if used[a] {
				return errors.New("the relayers and payTo must be different accounts")
			}
			used[a] = true
		}
	}
	return errors.Join(c.Faults()...)
}

func defaults(c *Config) error {
	if err := c.check(); err != nil {
		return err
	}
	c.Gas, c.Depth, c.Decimals = cmp.Or(c.Gas, 105_000), cmp.Or(c.Depth, 1), cmp.Or(c.Decimals, 6)
	c.Name, c.Symbol, c.Transfer = cmp.Or(c.Name, c.Network), cmp.Or(c.Symbol, "USDC"), cmp.Or(c.Transfer, method)
	c.MaxFee = cmp.Or(c.MaxFee, big.NewInt(500e9))
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&c.MaxTimeout, 300 * time.Second}, {&c.Poll, time.Second}, {&c.Stuck, 30 * time.Second},
		{&c.Silence, 10 * time.Minute}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if c.Together <= 0 || c.Together > MaxTogether {
		c.Together = MaxTogether
	}
	if c.Transfer == methodPermit2 {
		c.Together = 1 // Multicall3 settles by EIP-3009
	}
	return escrowDefaults(c)
}

// Info implements rail.Rail.
func (r *Rail) Info() rail.Info {
	via, several := "self", 1
	if r.cfg.Settler != nil {
		via = r.cfg.Settler.Host()
	} else if r.several.Load() {
		several = r.cfg.Together
	}
	return rail.Info{
		Network: r.cfg.Network, Name: r.cfg.Name, Asset: r.cfg.Asset, Symbol: r.cfg.Symbol,
		PayTo: r.cfg.PayTo, Accounts: r.accounts, Timeout: r.cfg.MaxTimeout, Via: via,
		Together: several, Unit: "wei", Reverted: "invalid_exact_evm_transaction_failed",
	}
}

// Requirement implements rail.Rail.
func (r *Rail) Requirement(amount int64) rail.Requirement {
	extra := map[string]any{"name": r.cfg.AssetName, "version": r.cfg.AssetVersion}
	if r.cfg.Transfer != method {
		extra["assetTransferMethod"] = r.cfg.Transfer
	}
	return rail.Requirement{
		Scheme: "exact", Network: r.cfg.Network, Amount: strconv.FormatInt(amount, 10),
		Asset: r.cfg.Asset, PayTo: r.cfg.PayTo, MaxTimeoutSeconds: int(r.cfg.MaxTimeout / time.Second),
		Extra: extra,
	}
}

// Close lets go of idle connections. The rail stays usable.
func (r *Rail) Close() {
	r.rpc.Close()
	for _, w := range r.witnesses {
		w.Close()
	}
}

// Changed implements rail.Rail.
func (r *Rail) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// announce wakes everybody who waits on Changed.
func (r *Rail) announce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}
