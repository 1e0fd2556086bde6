// Package solana takes payments on Solana: the x402 scheme "exact" by TransferChecked of the
// classic token program, in a token such as USDC.
//
// A Rail is one cluster. It implements rail.Rail: it parses and verifies the transaction that a
// buyer signed, signs it as fee payer, sends it, and reads what became of it. What differs from
// networks like Ethereum's:
//
//   - The authorization is the transaction itself, message and all, and needs our own signature
//     beside the payer's. Nobody else can make it land, nobody can cancel it, and it lands once at
//     most. Its nonce is the SHA-256 of its message, which no signature changes, its id is our
//     signature, which is known before anything is sent.
//   - It ends with a block height and not at a time. Until then the same bytes are sent again and
//     again, and nothing is ever signed in its place; past it, by a finalized block, what was not
//     seen can never land (Signed.Sequence is that height). There are no numbers, so no account of
//     ours waits for another's transaction.
//   - A transaction that lands with an error moves nothing and costs its whole fee: a revert.
//
// Nothing that was signed by both is shown to a node before the ledger has it: simulations run
// without our signature. What a node says of a payment's end is believed only where its answers
// agree with each other: a status alone pays for nothing, and a height alone ends nothing (see
// status.go).
//
// What the package does not know: goods, purchases, HTTP, and the journal. The fee payer's key
// holds lamports for fees and nothing else; payTo is never needed as a key.
//
//	cfg, _ := solana.Preset(networks.Solana)
//	cfg.RPC, cfg.PayTo, cfg.FeePayer = []string{url}, "4vJ9…", key
//	r, err := solana.New(cfg)
//	go r.Run(ctx)
package solana

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// Config describes one cluster. New fills what Preset's rows leave open with the defaults named
// here.
type Config struct {
	// Network is the CAIP-2 id, solana:<the first 32 characters of the genesis hash>.
	Network string
	// Name is for people: Solana.
	Name string
	// RPC are the nodes' http(s) addresses in order of preference. They may hold API keys and are
	// never shown.
	RPC []string
	// Asked is told of each question to one of them; nil tells nobody.
	Asked func(rail.Asked)
	// Asset is the token's mint, of the classic token program.
	Asset string
	// Symbol is the token's ticker; default USDC.
	Symbol string
	// Decimals of the token; default 6.
	Decimals int
	// PayTo owns the associated token account that receives the payments, which must exist.
	PayTo string
	// FeePayer pays the fees, in lamports, and holds nothing else.
	FeePayer ed25519.PrivateKey
	// CoinPrice is what one coin of the network, 10^9 lamports, is worth in atomic units of the
	// asset, from which the cost of settling derives; 0 is no price, and then nothing is offered on
	// the network.
	CoinPrice int64
	Bounds
	// AnyGenesis takes whatever cluster the node is of, which is for local chains only.
	AnyGenesis bool
	// Poll is how often Run asks for what is new; default 500 ms.
	Poll time.Duration
	// GasAlarm is the fee payer's balance, in lamports, below which Fuel reports low; nil never
	// does.
	GasAlarm *big.Int
	// Log receives what the watcher meets; nil discards it.
	Log *slog.Logger
}

// Bounds are what a payment may ask of the fee payer.
type Bounds struct {
	// MaxUnits is how many compute units a payment may ask for; default 100,000. A stock payment
	// asks for 20,000.
	MaxUnits uint32
	// MaxPrice is what a payment may offer for a compute unit, in millionths of a lamport; default
	// 50,000, which for MaxUnits is as much as one signature costs. A stock payment offers 1.
	MaxPrice uint64
}

// timeout is the advertised validity: the 150 blocks for which a blockhash is good take about as
// long.
const timeout = 60 * time.Second

// Rail is one cluster. Its methods are safe for concurrent use.
type Rail struct {
	cfg      Config
	rpc      *client
	feePayer key
	// accountNames are the fee payer's, made once: each 402 asks for them.
	accountNames []string
	payTo        key
	mint         key
	account      key // payTo's token account
	log          *slog.Logger
	varying      *rail.Varying

	mu       sync.Mutex    // guards what follows
	changed  chan struct{} // closed when there is something new
	now      view
	hints    map[key]Hint                  // by blockhash, the newest maxHints
	recent   []key                         // of these, the oldest first
	asked    map[string]*asked             // by signature: what Run asks the status of
	tried    map[string]simulated          // by message: the simulation that speaks for the draft after it
	drafted  map[string]time.Time          // by payer: when a payment of it was drafted last
	mine     map[string]ownSignature       // by message, as far as this process knows
	blocks   map[blockAt]*blockRead        // that are being asked for, and final ones
	readings map[[sha256.Size]byte]reading // by wire
	landed   map[string]landing            // by signature: what was read and cannot change in its block
}

var _ rail.Rail = (*Rail)(nil)

// New checks a configuration and returns its rail. It makes no request; Check does.
func New(cfg Config) (*Rail, error) {
	r := &Rail{
		changed: make(chan struct{}), hints: map[key]Hint{}, asked: map[string]*asked{},
		tried: map[string]simulated{}, drafted: map[string]time.Time{}, mine: map[string]ownSignature{},
		landed: map[string]landing{}, blocks: map[blockAt]*blockRead{}, readings: map[[sha256.Size]byte]reading{},
	}
	r.varying = &rail.Varying{Members: varying, Values: r.values}
	if err := r.configure(cfg); err != nil {
		return nil, fmt.Errorf("network %q: %w", cfg.Network, err)
	}
	return r, nil
}

func (r *Rail) configure(c Config) (err error) {
	reference, ok := strings.CutPrefix(c.Network, "solana:")
	if !ok || len(reference) != 32 {
		return errors.New("the name is not one of a Solana cluster")
	}
	if r.payTo, err = parseKey(c.PayTo); err != nil {
		return fmt.Errorf("payTo: %w", err)
	}
	if r.mint, err = parseKey(c.Asset); err != nil {
		return fmt.Errorf("asset: %w", err)
	}
	switch {
	case r.payTo == key{}:
		return errors.New("payTo is the system program: put an address of your own there")
	case len(c.FeePayer) != ed25519.PrivateKeySize:
		return errors.New("a fee payer's key is needed")
	case c.CoinPrice < 0:
		return errors.New("a price is negative")
	}
	r.feePayer = key(c.FeePayer.Public().(ed25519.PublicKey))
	r.accountNames = []string{r.feePayer.String()}
	if r.feePayer == r.payTo {
		return errors.New("the fee payer and payTo must be different accounts")
	}
	r.account = associated(r.payTo, r.mint)
	c.Name, c.Symbol, c.Decimals = cmp.Or(c.Name, c.Network), cmp.Or(c.Symbol, "USDC"), cmp.Or(c.Decimals, 6)
	c.MaxUnits, c.MaxPrice = cmp.Or(c.MaxUnits, 100_000), cmp.Or(c.MaxPrice, 50_000)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Poll <= 0 {
		c.Poll = 500 * time.Millisecond
	}
	r.cfg, r.log = c, c.Log
	r.rpc, err = newClient(c.RPC, c.Asked)
	return err
}

// Info implements rail.Rail.
func (r *Rail) Info() rail.Info {
	return rail.Info{
		Network: r.cfg.Network, Name: r.cfg.Name, Asset: r.cfg.Asset, Symbol: r.cfg.Symbol,
		PayTo: r.cfg.PayTo, Accounts: r.accountNames, Timeout: timeout, Via: "self", Unit: "lamports",
		Reverted: "invalid_exact_svm_transaction_failed", Kind: r.extra(), Unnumbered: true,
	}
}

// Requirement implements rail.Rail. What differs from 402 to 402 is the memo, which Verify asks for
// where it stands in Extra, and the hints.
func (r *Rail) Requirement(amount int64) rail.Requirement {
	return rail.Requirement{
		Scheme: "exact", Network: r.cfg.Network, Amount: strconv.FormatInt(amount, 10), Asset: r.cfg.Asset,
		PayTo: r.cfg.PayTo, MaxTimeoutSeconds: int(timeout / time.Second),
		Extra: r.extra(), Varying: r.varying,
	}
}

// extra is what a buyer needs to know to make a transaction that is taken.
func (r *Rail) extra() map[string]any {
	return map[string]any{"feePayer": r.accountNames[0], "transactionVersions": []int{0}}
}

// Close lets go of idle connections. The rail stays usable.
func (r *Rail) Close() { r.rpc.Close() }

// Changed implements rail.Rail.
func (r *Rail) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}
