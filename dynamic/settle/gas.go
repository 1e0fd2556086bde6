// A GasGuard says whether a settlement may be paid for: whether a network can settle at all, what
// settling there costs, and how much gas other people's payments may make the store lose (package
// till, M15). Whoever drives settlements, the till or the facilitator, asks it before a payment is
// taken and before each transaction is signed, and tells it what became of them.
//
// It decides by what rails say and by what the ledger counts, below budget/gas-…, so that replicas
// share every limit:
//
//	budget/gas-lost/<network>/<day>      lost to reverts of our own, atomic units
//	budget/gas-subsidy/<network>/<day>   given to sales below twice their cost, atomic units
//	budget/gas-proven/<network>/<payer>  payers that settled and did not revert since, with code what they paid
//	budget/gas-burned/<network>/<day>/<payer>   lost to reverts of a payer's settlements, atomic units
//	budget/gas-alike/<network>           reverts that are not their payers' doing
//
// It sends nothing and drives nothing, and it bans nobody: who is not taken today is told so before
// anything is claimed.
//
//	g, err := NewGasGuard(GasConfig{DB: db, Rails: rails})
//	go g.Run(ctx)
//	if err := g.Take(ctx, network, price, under); err != nil { … } // before the claim
//	alone, err := g.Admit(tx, network, payer, code)            // in the claim

package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
)

// Defaults, in atomic units a day.
const (
	DefaultGasSubsidy = 500_000   // 0.50 USDC
	DefaultReverts    = 1_000_000 // 1 USDC
)

// MostReverts is what a network may lose in a day at most, of a budget for reverts: to payers with
// code the budget itself, to all payers together what those without code may burn beside it.
func MostReverts(budget int64) (coded, all int64) { return budget, (1 + rest) * budget }

const (
	// gasPatience is how long one reading of a network may take.
	gasPatience = 3 * time.Second
	// oldest is the age of a head beyond which a network does not move.
	oldest = 60 * time.Second
)

// Limits on the transactions of our own that one authorization draws.
const (
	// maxReverts of a payer without code, and of one with code, of whose next try a simulation says
	// nothing.
	maxReverts      = 2
	maxRevertsCoded = 1
	// maxNumbers is how many sequence numbers are signed for at most. A number that somebody else's
	// transaction took is no revert; but a node may also lie about it.
	maxNumbers      = 4
	maxNumbersCoded = 2
)

// GasConfig is what a Guard stands on.
type GasConfig struct {
	DB ledger.DB
	// Rails in the order in which they are offered. The first may sell below twice its cost out of
	// the subsidy.
	Rails []rail.Rail
	// Subsidy is what the first network may give to such sales a day, and Reverts what each network
	// may lose a day to reverts of its own; atomic units, 0 for the defaults and below 0 for
	// nothing.
	Subsidy, Reverts int64
	// Every is how often a network's standing is read; 0 is 5 s. A standing is held for true for
	// four times as long when no newer one can be read: a hiccup closes nothing.
	Every time.Duration
	// Log is told of outages; nil discards.
	Log *slog.Logger
}

// GasGuard decides. Its methods may be called by many goroutines at once.
type GasGuard struct {
	cfg      GasConfig
	networks map[string]*network
}

// network is what is known of one network.
type network struct {
	rail    rail.Rail
	name    string
	subsidy int64 // 0 for all but the first
	// most is what the newest settlement of a payer with code could burn, as it was signed for in
	// this process: the next one is refused before it is claimed where there is not as much left.
	most atomic.Int64

	reading sync.Mutex // held while the network is read
	view    atomic.Pointer[view]
}

// view is a network as it was last read.
type view struct {
	at      time.Time // when, successfully or not
	good    time.Time // when last successfully
	checked bool      // it is the configured chain
	out     string    // why nothing is taken, for buyers; empty when payments are
	stand   rail.Standing
	left    int64 // of the subsidy
}

// GasOutage says that a network takes no payment at present, and why. It is safe to show.
type GasOutage struct {
	Network, Name, Reason string
	// Retry is when the same payment may be presented again with some hope.
	Retry time.Duration
}

// Error implements error.
func (o *GasOutage) Error() string {
	return fmt.Sprintf("no payment is taken on %s: %s", o.Name, o.Reason)
}

// GasSpent says that the day's gas for strangers' reverts is used up, and that this payer is not
// one who goes on nevertheless.
type GasSpent struct {
	Network string
	Retry   time.Duration // until the next day
}

// Error implements error.
func (s *GasSpent) Error() string {
	return "the store's gas for payments that revert is spent for today on " + s.Network
}

// ErrGasDear says that a settlement costs more than its payment brings, and that the subsidy does
// not cover it.
var ErrGasDear = errors.New("settling costs more than the price")

// ErrGasUnchecked says that a network's node was not yet seen to be on the configured chain:
// nothing it says is believed.
var ErrGasUnchecked = errors.New("the network was not checked yet")

// NewGasGuard returns a guard that knows nothing yet of its networks. It makes no request.
func NewGasGuard(cfg GasConfig) (*GasGuard, error) {
	if cfg.DB == nil || len(cfg.Rails) == 0 {
		return nil, errors.New("gas: a ledger and a network are needed")
	}
	cfg.Subsidy, cfg.Reverts = max(0, cmp.Or(cfg.Subsidy, DefaultGasSubsidy)), max(0,
		cmp.Or(cfg.Reverts, DefaultReverts))
	if cfg.Every <= 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	g := &GasGuard{cfg: cfg, networks: make(map[string]*network)}
	for i, r := range cfg.Rails {
		info := r.Info()
		n := &network{rail: r, name: info.Name}
		if i == 0 {
			n.subsidy = cfg.Subsidy
		}
		g.networks[info.Network] = n
	}
	return g, nil
}

// Run keeps reading every network until ctx ends. One that was out is taken in again as soon as
// what took it out is over.
func (g *GasGuard) Run(ctx context.Context) error {
	return schedule.Every(ctx, g.cfg.Every, func(ctx context.Context) { g.Read(ctx) })
}

// Read reads every network once, all at the same time, and returns what is out.
func (g *GasGuard) Read(ctx context.Context) []*GasOutage {
	var wg sync.WaitGroup
	for id, n := range g.networks {
		wg.Go(func() { g.read(ctx, id, n, g.cfg.Every/2) })
	}
	wg.Wait()
	var out []*GasOutage
	for _, r := range g.cfg.Rails {
		if o := g.outage(r.Info().Network, g.networks[r.Info().Network].view.Load()); o != nil {
			out = append(out, o)
		}
	}
	return out
}

// Suspect reads a network anew, because something failed there that may be more than one payment's
// trouble; at most ten times as often as it is read anyhow.
func (g *GasGuard) Suspect(ctx context.Context, id string) {
	g.read(ctx, id, g.networks[id], g.cfg.Every/10)
}

func (g *GasGuard) believed() time.Duration { return 4 * g.cfg.Every }

// Count runs f on the ledger that the guard counts in, for who has no transaction of its own to
// count in.
func (g *GasGuard) Count(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return g.cfg.DB.Update(ctx, f)
}

// newest is the newest view of a network, read now where nobody has read it for long.
func (g *GasGuard) newest(ctx context.Context, id string) *view {
	n := g.networks[id]
	if v := n.view.Load(); v != nil && time.Since(v.at) < g.believed() {
		return v
	}
	g.read(ctx, id, n, g.cfg.Every)
	return n.view.Load()
}

// Ready returns nil where the network was seen to be the configured one, else ErrUnchecked.
func (g *GasGuard) Ready(ctx context.Context, id string) error {
	if g.networks[id] != nil && g.newest(ctx, id).checked {
		return nil
	}
	return fmt.Errorf("%s: %w", id, ErrGasUnchecked)
}

// Offer says whether a price may be asked on a network: nil, or an *Outage that says why not.
func (g *GasGuard) Offer(ctx context.Context, id string, price int64) *GasOutage {
	v := g.newest(ctx, id)
	if o := g.outage(id, v); o != nil {
		return o
	}
	if n := short(price, v.stand.Cost); n > v.left {
		return g.out(id, fmt.Sprintf("settling there costs about %s USDC, more than half the price",
			usdc(v.stand.Cost)), time.Hour)
	}
	return nil
}

// Take says whether a payment may be claimed: nil, or an *Outage. under is how many settlements of
// the network are under way in this process, all of which the relayer must be able to pay for.
func (g *GasGuard) Take(ctx context.Context, id string, price int64, under int) error {
	v := g.newest(ctx, id)
	if o := g.outage(id, v); o != nil {
		return o
	}
	if s := v.stand; s.Balance != nil {
		need := new(big.Int).Mul(s.Need, big.NewInt(int64(under)+1))
		if s.Balance.Cmp(need) < 0 {
			return g.out(id, "the store's account that pays for gas there can pay for no more settlements than are "+
				"under way", 5*time.Second)
		}
	}
	if v.stand.Cost > price && short(price, v.stand.Cost) > v.left {
		return g.out(id, fmt.Sprintf("settling there costs about %s USDC at present, more than was paid",
			usdc(v.stand.Cost)), time.Minute)
	}
	return nil
}

// Least is the smallest amount that somebody else's payment must have to be settled: twice what
// settling costs.
func (g *GasGuard) Least(ctx context.Context, id string) int64 {
	return 2 * g.newest(ctx, id).stand.Cost
}

func (g *GasGuard) outage(id string, v *view) *GasOutage {
	if v.out == "" {
		return nil
	}
	return g.out(id, v.out, 30*time.Second)
}

func (g *GasGuard) out(id, why string, retry time.Duration) *GasOutage {
	return &GasOutage{Network: id, Name: g.networks[id].name, Reason: why, Retry: retry}
}

// short is what a price lacks to twice the cost of settling.
func short(price, cost int64) int64 {
	if cost > 1<<61 {
		return 1 << 62
	}
	return max(0, 2*cost-price)
}

// usdc writes atomic units with six decimals, and no zeros at the end.
func usdc(n int64) string {
	return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64)
}

// MayDraft says whether an authorization may draw another transaction of our own after some: how
// many of them reverted, for how many sequence numbers was signed, and whether its payer has, or
// had, code.
func MayDraft(coded bool, reverts, numbers int) bool {
	if coded {
		return reverts < maxRevertsCoded && numbers < maxNumbersCoded
	}
	return reverts < maxReverts && numbers < maxNumbers
}
