// Package bounty is the bounty board: the keeper posts a reward for buying once at a named door,
// whoever bought there claims it with the transaction of the purchase, and is paid by an
// authorization (EIP-3009) that anybody may redeem for him.
//
// Nothing is believed that a chain does not show: the purchase is read at finalized depth, by
// payer, receiver and exact amount, in a block after the bounty was posted. Only then is anything
// taken, all in one ledger transaction: the bounty, the settlement, the domain's place in the week,
// and the week's budget. So a refusal holds nothing, and of any number of claims one is paid.
//
// A claim that was taken is a paid walk on the host's page. What the claimant says of the answer
// is a claim and stands there as one; free text is for the keeper alone.
//
//	bounty/posted/<id>                    a Bounty
//	bounty/opened/<unix seconds>/<id>     every bounty, oldest first
//	bounty/held/<id>                      those whose payout is not known to be redeemed
//	bounty/settled/<network>/<tx>         which bounty a settlement was paid out for
//	bounty/week/<week>/spent              rewards of the week, atomic units
//	bounty/week/<week>/domain/<domain>    which bounty of a domain was paid out in the week
package bounty

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// The bounds of the board. Amounts are atomic units of USDC.
const (
	MaxReward    = 250_000
	WeeklyBudget = 10_000_000
	MaxOpen      = 100
	MaxNote      = 500 // characters of the keeper's note
	MaxText      = 500 // characters of a claimant's own words
	// OpenFor is how long a bounty may be claimed.
	OpenFor = 7 * 24 * time.Hour
	// PayoutFor is how long a payout may be redeemed; then it is signed anew for who asks.
	PayoutFor = 30 * 24 * time.Hour
)

// How a bounty stands.
const (
	StatusOpen    = "open"
	StatusHeld    = "held" // claimed; its payout is signed and not known to be redeemed
	StatusPaid    = "paid" // redeemed, in a block that is final
	StatusExpired = "expired"
)

// Door is what a door asks for, as it was read when its bounty was posted.
type Door struct {
	URL     string `json:"url"`
	Host    string `json:"host"`
	Network string `json:"network"` // CAIP-2
	Asset   string `json:"asset"`
	PayTo   string `json:"pay_to"`
	Amount  int64  `json:"amount"` // atomic units
}

// Bounty is a reward that the keeper posted.
type Bounty struct {
	Door
	ID     string `json:"id"`
	Domain string `json:"domain"` // registrable, of which one bounty is paid a week
	Reward int64  `json:"reward"`
	Note   string `json:"note,omitzero"`
	// Opened is when it was posted, and OpenedBlock the head of Network then: a settlement is in a
	// later block.
	Opened      time.Time `json:"opened"`
	OpenedBlock uint64    `json:"opened_block"`
	Expires     time.Time `json:"expires"`
	// PayoutNetwork is where the reward is paid, and PayoutBlock a block there before any payout.
	PayoutNetwork string `json:"payout_network"`
	PayoutBlock   uint64 `json:"payout_block"`
	Claim         *Claim `json:"claim,omitempty"` // that was taken
}

// Claim is the claim that a bounty is paid for.
type Claim struct {
	Tx          string            `json:"tx"`
	Payer       string            `json:"payer"`
	PayoutTo    string            `json:"payout_to"`
	At          time.Time         `json:"at"`
	Said        string            `json:"said,omitzero"` // the claimant's own words, for the keeper
	Report      *record.WalkClaim `json:"report,omitempty"`
	Observation int64             `json:"observation"` // number of the paid walk
	Payouts     []Payout          `json:"payouts"`     // oldest first, at least one
	// Trouble is why the newest payout could not be redeemed when it was tried last.
	Trouble string       `json:"trouble,omitzero"`
	Paid    *rail.Proof  `json:"paid,omitempty"`
	Proof   attest.Proof `json:"proof"` // of the newest payout, signed by the store
}

// Payout is a signed authorization that pays a reward.
type Payout struct {
	From        string    `json:"from"`
	ValidBefore int64     `json:"valid_before"` // Unix seconds
	Signature   []byte    `json:"signature"`
	At          time.Time `json:"at"`
}

// Status says how a bounty stands at a time. It is the one judgement of that: the list, the claims
// and the keeper's desk ask it.
func (b *Bounty) Status(now time.Time) string {
	switch {
	case b.Claim != nil && b.Claim.Paid != nil:
		return StatusPaid
	case b.Claim != nil:
		return StatusHeld
	case !now.Before(b.Expires):
		return StatusExpired
	}
	return StatusOpen
}

// Account pays rewards.
type Account interface {
	Address() string
	// Sign signs an authorization of the account's own. It reads no chain.
	Sign(p *rail.Payment) error
}

// Wallets judges whether an address signed a text, as till.Till does.
type Wallets interface {
	ProveText(ctx context.Context, address, signature, text, client string) (who, why string, err error)
}

// Config is what a Service is made of.
type Config struct {
	BaseURL string
	DB      ledger.DB
	Key     *attest.Key // signs payouts as the store
	Rails   []rail.Rail
	// Ready is nil for a network whose node was seen to be the configured one: another is not
	// believed.
	Ready   func(ctx context.Context, network string) error
	Account Account // nil: no rewards are paid
	// Own are the addresses of the store's own wallets that buy: what they bought is on the record
	// as the store's, once.
	Own     []string
	Wallets Wallets
	Screen  *Screen // nil: no rewards are paid
	// Read reads the terms of a door. What its guard, or the host itself, refuses is an error of
	// its own.
	Read func(ctx context.Context, url string) (Door, error)
	// OptedOut reads a host's own file and reports that it is not to be read. What cannot be read
	// says nothing of that sort.
	OptedOut func(ctx context.Context, host string) bool
	Chrome   func() *templates.Chrome
	Log      *slog.Logger // nil: nothing is logged
}

// Service is the board. It may be used by many goroutines at once, and by any number of processes
// on one ledger.
type Service struct {
	cfg  Config
	host string
	nets map[string]rail.Rail

	mu    sync.Mutex
	float map[string]Float // by network, as it was read last
}

// New checks cfg and returns a service.
func New(cfg Config) (*Service, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || strings.HasSuffix(cfg.BaseURL, "/") {
		return nil, fmt.Errorf("opening the bounty board: base URL %q", cfg.BaseURL)
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	d := &Service{cfg: cfg, host: u.Host, nets: map[string]rail.Rail{}, float: map[string]Float{}}
	for _, r := range cfg.Rails {
		d.nets[r.Info().Network] = r
	}
	return d, nil
}

// notOwn refuses a payer that is a wallet of the store's.
func (d *Service) notOwn(payer string) error {
	if !slices.ContainsFunc(d.cfg.Own, func(own string) bool { return spelled(own) == spelled(payer) }) {
		return nil
	}
	return route.Invalid(problem.Field{Field: "payer", Problem: "is a wallet of this store's, whose purchases it " +
		"puts on the record itself"})
}

// ErrNone says that no bounty has an id.
var ErrNone = errors.New("no bounty has this id")

func postedKey(id string) []byte { return ledger.BountyKey("posted", id) }

func openedKey(b *Bounty) []byte {
	return ledger.BountyKey("opened", ledger.Number(uint64(b.Opened.Unix())), b.ID)
}

func heldKey(id string) []byte { return ledger.BountyKey("held", id) }

func settledKey(network, tx string) []byte { return ledger.BountyKey("settled", network, tx) }

func spentKey(week string) []byte { return ledger.BountyKey("week", week, "spent") }

func domainKey(week, domain string) []byte { return ledger.BountyKey("week", week, "domain", domain) }

// bountyOf reads one; ErrNone for an unknown id.
func bountyOf(tx ledger.Tx, id string) (Bounty, error) {
	b, err := ledger.GetJSON[Bounty](tx, postedKey(id))
	if errors.Is(err, ledger.ErrNotFound) {
		return b, ErrNone
	}
	return b, err
}

// Bounty finds one, and what the ledger's clock says.
func (d *Service) Bounty(ctx context.Context, id string) (b Bounty, now time.Time, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		now = tx.Now().UTC()
		b, err = bountyOf(tx, id)
		return err
	})
	return b, now, err
}
