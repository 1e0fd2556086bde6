// Package buyer buys from any x402 version 2 door, with an EVM wallet by EIP-3009 authorization or
// with a Solana wallet by a token transfer, or from an MPP door where it is told to (evm/charge and
// usdc/charge on EVM networks), and is careful with the money: it pays known dollar tokens only,
// never above its ceiling, and signs once per purchase.
//
// A signed payment is worth its amount to whoever holds it, and an answer can be lost after the
// money has moved. So the whole request, signature included, is journalled durably before it is
// sent; when the answer is lost the same bytes are presented again, which cannot cost more; and a
// second authorization is never signed for a purchase whose outcome is open. A purchase that a
// crash cut short is finished by Resume.
//
//	b, err := buyer.New(buyer.Config{Wallet: key, Journal: buyer.Folder("purchases")})
//	terms, err := b.Terms(ctx, url, buyer.Options{}) // free; terms.Text() is for people
//	result, err := b.Buy(ctx, url, buyer.Options{Agreed: terms})
//
// Where it is told to it pays by vouchers out of channels, which stand in the journal beside the
// purchases (scheme batch-settlement), and lets a payment be held until the seller has delivered
// (auth-capture). What lies in an escrow it gets back without the seller: Withdraw and Reclaim.
//
// It is not a wallet: balances, top-ups and chains are not its business. What it knows of a
// payment's fate is what the door says; whether the money moved is to be read on the chain.
package buyer

import (
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
)

// Bounds and defaults.
const (
	// DefaultCeiling is the most that one purchase may cost, 1 USD, as stock clients have it.
	DefaultCeiling int64 = 1_000_000
	// DefaultValidity is the longest that a signature is made valid for.
	DefaultValidity = 10 * time.Minute
	// DefaultTimeout bounds one request with its answer. Doors settle before they answer, which
	// takes blocks.
	DefaultTimeout = 90 * time.Second
	// MaxBody is the most that is read of an answer.
	MaxBody = 4 << 20

	maxRequestBody = 1 << 20
	maxHeader      = 32 << 10 // one x402 header value
	maxHeaders     = 64 << 10 // all headers of an answer
	maxAccepts     = 32
	minValidity    = 6 // seconds; stock sellers refuse what expires sooner
)

// Errors a caller may want to tell apart. All of them but ErrUnknown mean that nothing was signed.
var (
	// ErrCeiling is returned when the door asks for more than the ceiling.
	ErrCeiling = errors.New("the price is above the ceiling")
	// ErrNotPayable is returned when no entry of the door's accepts can be paid from here.
	ErrNotPayable = errors.New("nothing that the door accepts can be paid")
	// ErrChanged is returned when the door asks for something else than what was agreed to.
	ErrChanged = errors.New("the terms changed after they were agreed to")
	// ErrBusy is returned when the same request is being bought on the same journal.
	ErrBusy = errors.New("another purchase of the same is under way on this journal")
	// ErrRepeated is returned when the door's terms lead to a payment that was signed before, which
	// would be presented for two purchases.
	ErrRepeated = errors.New("the terms are those of an earlier purchase, whose payment would be presented again")
	// ErrUnfinished is returned when the journal holds a payment for the same request whose outcome
	// is open.
	ErrUnfinished = errors.New("an earlier payment for the same request has no answer yet")
	// ErrNone is returned when no purchase of an ID was signed that could be gone on with.
	ErrNone = errors.New("no payment was signed for it")
	// ErrUnknown is returned when a payment was presented and no answer came while it was valid, or
	// before the context ended. The money may have moved. Resume asks again.
	ErrUnknown = errors.New("the payment was presented and its outcome is not known")
)

// Config says with what and how far a Buyer may pay.
type Config struct {
	// Wallet pays on EVM networks, Solana on those of Solana; either may be left out. Terms works
	// without any.
	Wallet *wallet.Key
	Solana ed25519.PrivateKey
	// SolanaRPC is a node's address, which is asked for a recent blockhash where a door gives none.
	// Empty: what such a door asks on Solana is not paid.
	SolanaRPC string
	// Nodes are addresses of nodes of EVM networks, by CAIP-2, from which channels and holds are
	// read and to which their calls are sent. Without that of a network nothing is paid by voucher
	// there.
	Nodes map[string]string
	// Hold bounds payments that are held in an escrow. The zero value makes none.
	Hold HoldLimits
	// Journal keeps the purchases: Folder or InLedger.
	Journal Journal
	// Ceiling is the most that one purchase may cost, and the most that one deposit puts into a
	// channel, in atomic USDC. 0 is DefaultCeiling.
	Ceiling int64
	// MaxValidity is the longest a signature is made valid for; a door may ask for less. Solana's
	// are good for up to two minutes, whatever is asked for. 0 is DefaultValidity.
	MaxValidity time.Duration
	// Timeout bounds each request. 0 is DefaultTimeout.
	Timeout time.Duration
	// Client sends the requests. Its redirect policy, cookies and timeout are not used: nothing is
	// followed, no cookies are kept. nil is a client with bounded headers.
	Client *http.Client
	// Roots are the certificates of CAs that doors are trusted by, where Client is nil. nil are the
	// system's.
	Roots *x509.CertPool
	// Networks are the CAIP-2 networks that may be paid on. Empty: all of Assets.
	Networks []string
	// Tokens are those that may be paid in, of Assets. Empty: all of them.
	Tokens []Token
	// Now is the clock. nil is time.Now.
	Now func() time.Time
	// Log gets what happens, without queries and signatures. nil discards it.
	Log *slog.Logger
}

// Token names a token by its network and address.
type Token struct{ Network, Address string }

// Options describe one purchase. The zero value is a GET that pays the first entry that can be
// paid.
type Options struct {
	Method string      // GET when empty
	Header http.Header // further request headers; they are journalled
	Body   []byte      // at most 1 MiB
	// Choice narrows which entry of accepts is paid.
	Choice Choice
	// IdempotencyKey is sent instead of the door's suggested key or a random one: 16 to 128 of
	// [A-Za-z0-9_-].
	IdempotencyKey string
	// ID names the purchase in the journal, for ever: a purchase of one ID is signed once, and Buy
	// of an ID that the journal has gives what came of it, or presents its payment again where that
	// is open. At most 64 of [A-Za-z0-9_-]; empty makes a new one.
	ID string
	// Signed only goes on with the purchase of ID: where none was signed the error is ErrNone.
	Signed bool
	// Agreed are terms that somebody said yes to; they take the place of Choice. Buy reads the
	// terms anew and pays only what was agreed to: same network, asset and payTo, and no more than
	// the amount.
	Agreed *Terms
	// Again allows a payment although an earlier one for the same request has no answer yet. It may
	// pay twice.
	Again bool
}

// Choice picks among what a door accepts. The zero value picks the first entry that can be paid.
type Choice struct {
	Network string // CAIP-2; empty: any
	Amount  int64  // atomic USDC, for doors with several prices; 0: any
	// Protocol is ByX402 or ByMPP; empty is ByX402.
	Protocol string
	// Scheme is one of Schemes; empty: the first of them that the door takes.
	Scheme string
}

func (c Choice) protocol() string {
	if c.Protocol == "" {
		return ByX402
	}
	return c.Protocol
}

// Buyer buys. It is safe for concurrent use, but one purchase at a time of a request runs on a
// journal: a second gets ErrBusy.
type Buyer struct {
	cfg    Config
	client *http.Client
	log    *slog.Logger
}

// New checks the configuration. It does no I/O.
func New(cfg Config) (*Buyer, error) {
	if cfg.Ceiling < 0 || cfg.MaxValidity < 0 || cfg.Timeout < 0 {
		return nil, errors.New("configuring the buyer: a limit is negative")
	}
	cfg.Ceiling, cfg.MaxValidity = cmp.Or(cfg.Ceiling, DefaultCeiling), cmp.Or(cfg.MaxValidity, DefaultValidity)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	if n := len(cfg.Solana); n != 0 && n != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("configuring the buyer: a Solana key has %d bytes", ed25519.PrivateKeySize)
	}
	if cfg.MaxValidity < minValidity*time.Second {
		return nil, fmt.Errorf("configuring the buyer: a validity below %d s is refused by sellers", minValidity)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	for _, n := range cfg.Networks {
		if !slices.ContainsFunc(assets, func(a Asset) bool { return a.Network == n }) {
			return nil, fmt.Errorf("configuring the buyer: no token is known on network %q", n)
		}
	}
	for _, t := range cfg.Tokens {
		if _, known := findAsset(t.Network, t.Address); !known {
			return nil, fmt.Errorf("configuring the buyer: token %q is not known on network %q", t.Address, t.Network)
		}
	}
	for n := range cfg.Nodes {
		if f, known := familyOf(n); !known || f.namespace != wallet.NamespaceEVM || chainName(n) == "" {
			return nil, fmt.Errorf("configuring the buyer: a node is configured for %q, which is no EVM network that "+
				"is paid on", n)
		}
	}
	if cfg.Hold.Longest < 0 || cfg.Hold.FeeBps < 0 {
		return nil, errors.New("configuring the buyer: a limit of holds is negative")
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Buyer{cfg: cfg, client: guarded(cfg.Client, cfg.Roots), log: log}, nil
}

// USDC writes an amount of atomic units as dollars, without trailing zeros: 0.01.
func USDC(atomic int64) string {
	s := fmt.Sprintf("%d.%06d", atomic/1_000_000, atomic%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
