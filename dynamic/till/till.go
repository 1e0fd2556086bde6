// Package till is where money moves: the purchase state machine and its journal. It takes an order
// for an offer, a good or a paid page, and gives a sale, or an [Error] with a code and data. It
// knows no HTTP and no protocol: package counter reads orders and payments, and says the codes in
// words.
//
//	(challenge: stateless) ─► claimed ─► (goods_ready ─►) settling ─► settled ─► (promised ─►) delivered
//	                             │             │            ├──► not_settled  (final only past validBefore, at depth)
//	                             └─ refused    └─ failed    └──► unknown ──(the worker reads the chain)──► settled | not_settled
//	settling | unknown ─► asking ─► settled | refund_owed, where what was bought is asked of an upstream once it is paid for
//	a Transfer that lands after failed | refused | not_settled ─► settled_late ─► delivered | refund_owed
//	promised | delivered, then reorganised away ─► reversed
//	settled ─► held ─► capturing ─► settled ─► delivered, or held | capturing ─► voiding ─► released (holds.go)
//
// Every arrow is one ledger transaction, written before the step's effect leaves the process. Goods
// are made first, the payment is settled next, the certificate is signed last. Whoever pushes a
// purchase forward, the request that brought it or the worker that found it lying, goes through the
// same steps, and a step that another took already changes nothing: each transaction names the
// state it starts from.
//
// What a hostile payer can make the store lose to settlements that revert, at most
// (railtest.Hostile has the rows). Reverts and gas are of one authorization, in brackets what was
// measured on a local chain; open is how many of its authorizations may be under way at once, of
// all wallets where a row speaks of several; a day is per network, beside what was gained from
// those who paid. What costs no money is how many refused payments a process checks in a minute,
// before so many of a client are checked at a time, what a node spends on reading one, and how much
// is kept. Packages gas and checks keep the limits. TestHostileContractsCostOneRevert,
// TestHostilePayersCostTheirBudget, TestMoneyThatIsGoneInEachBlock, TestOneWalletHoldsOneUnit,
// TestHoldEndsAtTheFirstRevert, TestMoneyForOnePaysForOne and the conformance test of rails show
// them.
//
//	payer                                            reverts  gas                open  a day
//	code that accepts while simulated, then reverts  1        300,000 (43,000)   8     1 USDC
//	the same, and burns all it is given              1        300,000 (118,600)  8     1 USDC
//	an estimate made to burn                         0        0 (0)              0     nothing
//	code that looks at the block number              1        300,000 (45,100)   8     1 USDC
//	code that flips when it sees the settlement      1        300,000 (45,100)   8     1 USDC
//	one code for any number of wallets               1        300,000 (43,000)   24    1 USDC
//	a wallet that its payment deploys, then reverts  1        600,000 (111,000)  8     1 USDC
//	the same, and its creation burns all it is given 1        600,000 (600,000)  8     1 USDC
//	a plain wallet that cancels                      2        600,000 (39,600)   8     4 USDC
//	a plain wallet that spends the money elsewhere   2        600,000 (140,000)  8     4 USDC
//	a plain wallet that moves account or allowance   1        300,000 (60,000)   8     4 USDC
//	a plain wallet that holds a counted good         1        300,000 (70,000)   1     4 USDC, a unit 120 s
//	code that holds a counted good                   1        300,000 (43,000)   1     1 USDC, a unit 120 s
//	a plain wallet with money for one of hundreds    0        0 (0)              1     nothing
//	one of three with code by the block, burns       1        900,000 (226,000)  8     1 USDC
//	the same, and would accept alone                 1        900,000 (56,000)   8     1 USDC
//	the same, and calls the token back               1        900,000 (226,000)  8     1 USDC
//	a deposit into a channel that is cancelled       2        600,000 (160,000)  8     4 USDC
//	channels that are funded, and buy nothing        0        0 (0)              0     1 USDC
//	a deposit that a reorganisation takes            0        0 (0)              0     50 USDC
//	a contract that denies what it signed            0        0 (0)              0     50 USDC
//	who buys out of a channel and withdraws          0        0 (0)              0     nothing
//	a plain wallet that cancels what is to be held   1        300,000 (94,000)   1     4 USDC
//	code that burns what is to be held               1        300,000 (216,000)  1     1 USDC
//	anybody, with signatures that are not its own    0        0 (0)              0     600 checks/min, then 4
//	code that burns when its signature is read       0        0 (0)              0     the same, of 300,000 gas
//	who bought once, with fresh payments of its key  0        0 (0)              0     40 rows a purchase
//	all of these together, on one network                                              55 USDC
//
// Of the last line 51 are of channels, where vouchers are taken: the gas of those that bring
// nothing, and what both kinds of doubtful money buy together (package channels).
// The budget is 1 USDC. What a payer with code may burn is held against it when its settlement is
// signed for, so that any number at once pass it by nothing. When it is spent, payers with code are
// refused, but for one that settled itself, has the code that it had then and burned less that day
// than it ever paid; plain wallets that have not settled here go one at a time, until three budgets
// more are lost, and may pass the first one by what was under way when it was reached. An estimate
// made to burn is refused unclaimed. Payers with code have 32 authorizations open together, a
// quarter of them kept for who has settled before. A plain wallet that has settled before may
// revert once more for each payment that it settles. A unit is held for the two minutes of its
// authorization, and until the chain is deep enough, or to the first revert. Of a flood only what
// the wallet's money covers is ever sent: each of the others would burn 70,000 gas. A plain wallet
// that shares a transaction and has code by the time of the block burns what all of it were given,
// some 60,000 gas for each, once: nobody who has code shares one, and neither do more than ten who
// have not settled before (TestOneOfSeveralBurnsTheGasOfAll).
// Who has an order held and is declined has cost an authorization and a void, 200,000 gas, and
// a place of the week; nobody's code is called by what ends a hold (TestHostileHolds).
//
// The money rules that this repository keeps and cites by their numbers:
//
//	M1   A payment that comes again finds its purchase if it is the same header byte for byte and holds a nonce of ours;
//	     everything else with a used authorization is told only what its chain shows to everybody.
//	M2   An authorization is claimed for ever by network, asset, method, payer and nonce, whichever protocol brings it; a
//	     nonce that is of one challenge is claimed for every payer. One that was used on chain before it was first
//	     presented is never a payment.
//	M3   What proves a payment is the token's Transfer to payTo at the log directly after its AuthorizationUsed. It credits
//	     one purchase.
//	M4   An authorization is valid for no longer than was asked and 300 s; what failed is final only past that, at depth,
//	     and what lands later is delivered or owed.
//	M5   Before settlement goods are made and nothing is published. Three payments of a payer in a day that fail by what is
//	     shown to be its doing, and nothing is made ahead for it.
//	M6   Stock is taken in the transaction that claims, and given back when the purchase fails.
//	M7   Number, id, date and key of a certificate are fixed in the transaction that settles, its signature is stored in the
//	     one that delivers, and the answer leaves after that. A settled payment is watched until it is final.
//	M8   Nothing about a purchase is cached, and a HEAD never pays.
//	M10  A settler's word is no proof: M3 is. A facilitator settles only for the accounts it is told of.
//	M11  Where there is a queue one transaction settles several payments: of payers without code, one of each, with 60 s left,
//	     at most 50, ten of them of payers who never settled before, simulated as a whole. What became of each M3 tells;
//	     what it did not settle goes alone, a replacement has exactly the same, and nobody is blamed for gas that another
//	     took (packages settle and evm, together.go).
//	M12  Due work is taken by the ledger's clock, under a number that is checked in every Update or, of a purchase, with
//	     the state that each of its Updates starts from (package schedule); relayer numbers are given out in Update.
//	M13  A restored store is closed until nothing that was sent before can land any more, reads the chains, and gives nothing
//	     twice that its high-water files name. Money that no purchase credits is owed once it is final; from
//	     where on it is looked for is noted before the first terms that ask for it.
//	M15  Gas is money: what a settlement may cost, what a day may lose to reverts, and how many payments one payer, and all
//	     payers with code, may have open (packages settle and gas, open.go, the table above).
//	M16  Transactions go out in the order of their numbers, at most 48 unmined of an account, over several accounts of a
//	     network (package settle). A run that only waits holds no place among those under way. A counted good is held for two minutes at most, told as
//	     held, one unit a payer, and given back at the first revert.
//	M17  A voucher is its own idempotency key. It is held in the transaction that claims, and charged in the one that
//	     delivers (vouchers.go, package channels, which says what a channel can cost).
//	M18  What is authorized for the keeper's work is held. Its capture is journalled with the completion, in one transaction,
//	     and brings number and certificate; a void is decided in one that sees no completion (holds.go, package holds, which
//	     says who can lose what).
package till

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
)

// Config is what a till stands on.
type Config struct {
	Basis
	Makers
	Waits
	Listeners
}

// Basis is what every till needs.
type Basis struct {
	BaseURL string           // https://store.example, without a slash at the end
	Site    content.Editions // what is sold; a purchase keeps to what it was claimed under
	Shelves []Shelf          // where what is sold is found; nil means those of the table
	Kinds   []goods.Kind     // how goods are made; nil means those of package goods, and nothing is read
	DB      ledger.DB
	Rails   []rail.Rail // in the order in which they are offered; the first takes every price
	Keys    []*attest.Key
	Ring    attest.Ring
	Secret  []byte // at least 32 bytes: challenge nonces and status tokens derive from it
	Log     *slog.Logger
	// Exclusive says that no other process uses the ledger, so that whatever lies there at start
	// was left by us.
	Exclusive bool
	// HighWater keeps what must not be given twice outside the ledger (M13); nil keeps nothing.
	HighWater HighWater
	// Now is the wall clock by which challenges are dated; nil is time.Now. Tests put it forward.
	Now func() time.Time
}

// Waits are how long is waited, and for how many.
type Waits struct {
	// SettleWait is how long a buyer's request waits for the chain before it is answered "unknown";
	// 0 means 45 s.
	SettleWait time.Duration
	// RepeatWait is how long a repeat waits for the first; 0 means 20 s.
	RepeatWait time.Duration
	// Patience is how long a purchase may lie before the worker takes it up, which may be up to a
	// quarter sooner; 0 means 20 s.
	Patience time.Duration
	// OpenWait is how long a payment waits for its payer's others to end; 0 means 5 s (M15).
	OpenWait time.Duration
	// Sweep is the time between two readings of what arrived (M13); 0 means 30 s.
	Sweep time.Duration
	// Poll is the time between two looks for what is due, and at what is closed; 0 means 1 s.
	Poll time.Duration
	// MaxInFlight bounds the purchases under way in this process; 0 means 512. One that only waits
	// for the chain is not counted (M16).
	MaxInFlight int
}

// Makers are what some goods and the settling of all of them take. What is nil is not sold.
type Makers struct {
	// Gas decides what may be spent on settling; nil is one with the defaults. Run keeps it up to
	// date.
	Gas *settle.GasGuard
	// Tell has word sent of what is completed; nil sends none.
	Tell func(tx ledger.Tx, n goods.Notice) error
	// Files hold what goods of files are made of; nil sells none of them.
	Files goods.Files
	// Upstreams ask the addresses whose answers are sold; nil sells none of them.
	Upstreams goods.Upstreams
	// Holds says that the keeper's work is sold by holds too, on networks that can.
	Holds bool
	// Vouchers bound what is sold out of payers' channels; nil takes none.
	Vouchers *channels.Limits
	// KeyPlace says where the log of the record shows an identity key, by its kid; nil where it
	// does not yet. A nil function says that of all.
	KeyPlace func(kid string) *attest.KeyPlace
}

// Listeners are told of what happens; nil tells nobody.
type Listeners struct {
	// Outcome is told of each purchase that came to rest, by network and state; nil tells nobody.
	Outcome func(network string, s State)
	// Money is told of the same, with what was paid, in atomic units; nil tells nobody.
	Money func(network string, s State, atomic int64)
	// Quoted is told of each offer whose terms were asked for; nil tells nobody.
	Quoted func(offer string)
	// Refused is told why each payment that is refused was; nil tells nobody.
	Refused func(reason string)
	// Late is told of each piece of due work that is begun, and how long after its time; nil tells
	// nobody.
	Late func(t schedule.Task, late time.Duration)
	// AfterStep is called when a journal step is durable, with its name. Tests stop the process
	// there.
	AfterStep func(step string)
}

// Till sells.
type Till struct {
	cfg      Config
	host     string // of BaseURL, with its port
	wallets  *challenge.Maker
	tokenKey []byte
	byNet    map[string]rail.Rail
	begun    map[string]*beginning // by network
	settles  *settle.Driver

	offers sync.Map // id → *found
	reads  *budget.Set
	checks settle.Checks
	uses   uses

	mu       sync.Mutex
	runs     map[string]*run // purchases being driven in this process; guarded by mu
	settling map[string]int  // network → payments taken here that are being settled; guarded by mu
	active   int             // of the runs, how many do not merely wait for the chain; guarded by mu
	gate     settle.OpenGate // of payments that wait for room
	closing  atomic.Bool
	shut     atomic.Pointer[map[string]bool] // networks that were not reopened after a restore, as far as Run knows
	seen     atomic.Pointer[time.Time]       // the block up to which payers' withdrawals were seen; nil until Run knows
}

// Settles sends what the till settles.
func (t *Till) Settles() *settle.Driver { return t.settles }

// run is one purchase being driven; done is closed when the driving stops.
type run struct {
	done   chan struct{}
	end    *Purchase // as it was stored when the driving stopped, nil where that is to be read; set before done closes
	waits  bool      // for the chain alone; guarded by Till.mu
	onDone []func()  // called when the driving stops; guarded by Till.mu
}

// New checks the configuration and makes a till. Run must be running for purchases to be recovered.
func New(cfg Config) (*Till, error) {
	if cfg.Site == nil || cfg.DB == nil || len(cfg.Keys) == 0 || cfg.Log == nil {
		return nil, errors.New("till: site, ledger, keys and log are required")
	}
	if len(cfg.Rails) == 0 {
		return nil, errors.New("till: no network is configured, so nothing can be paid for")
	}
	if len(cfg.Secret) < 32 {
		return nil, errors.New("till: the secret must hold at least 32 bytes")
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || strings.HasSuffix(cfg.BaseURL, "/") {
		return nil, fmt.Errorf("till: base URL %q must be scheme://host without a slash at the end", cfg.BaseURL)
	}
	cfg.defaults()
	t := &Till{
		cfg: cfg, host: u.Host, wallets: challenge.NewMaker(cfg.Secret),
		tokenKey: derive(cfg.Secret, "store-status-token/v1"), byNet: make(map[string]rail.Rail),
		begun: make(map[string]*beginning), runs: make(map[string]*run), settling: make(map[string]int),
	}
	if t.reads, err = budget.New(nil, chainReads); err != nil {
		return nil, fmt.Errorf("till: %w", err)
	}
	for _, r := range cfg.Rails {
		if _, twice := t.byNet[r.Info().Network]; twice {
			return nil, fmt.Errorf("till: network %s is configured twice", r.Info().Network)
		}
		t.byNet[r.Info().Network], t.begun[r.Info().Network] = r, &beginning{turn: make(chan struct{}, 1)}
	}
	if cfg.Gas == nil {
		if t.cfg.Gas, err = settle.NewGasGuard(settle.GasConfig{DB: cfg.DB, Rails: cfg.Rails,
			Log: cfg.Log}); err != nil {
			return nil, fmt.Errorf("till: %w", err)
		}
	}
	t.settles, err = settle.New(settle.Config{DB: cfg.DB, Rails: cfg.Rails, Gas: t.cfg.Gas, Log: cfg.Log,
		AfterStep: cfg.AfterStep})
	if err != nil {
		return nil, fmt.Errorf("till: %w", err)
	}
	if err := t.noteShut(context.Background()); err != nil {
		return nil, fmt.Errorf("till: reading whether the store is closed: %w", err)
	}
	return t, nil
}

// defaults fills in what may be left out.
func (cfg *Config) defaults() {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&cfg.SettleWait, 45 * time.Second}, {&cfg.RepeatWait, 20 * time.Second}, {&cfg.Patience, 20 * time.Second},
		{&cfg.OpenWait, 5 * time.Second}, {&cfg.Sweep, 30 * time.Second}, {&cfg.Poll, time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = 512
	}
	if cfg.Kinds == nil {
		cfg.Kinds = goods.Kinds(goods.Reader{}, nil)
	}
	if cfg.Shelves == nil && len(cfg.Keys) > 0 {
		cfg.Shelves = Shelves(cfg.Keys[0], cfg.Kinds)
	}
	if cfg.HighWater == nil {
		cfg.HighWater = noHighWater{}
	}
	if cfg.Money == nil {
		cfg.Money = func(string, State, int64) {}
	}
	if cfg.Outcome == nil {
		cfg.Outcome = func(string, State) {}
	}
	if cfg.Quoted == nil {
		cfg.Quoted = func(string) {}
	}
	if cfg.Refused == nil {
		cfg.Refused = func(string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.AfterStep == nil {
		cfg.AfterStep = func(string) {}
	}
}

// Config is what the till stands on, with its defaults filled in.
func (t *Till) Config() Config { return t.cfg }

// Host is the store's, with its port.
func (t *Till) Host() string { return t.host }

// KeyURL names a signing key in its DID document.
func (t *Till) KeyURL(k *attest.Key) string { return attest.DIDURL(t.host, k.KID()) }

// Drain refuses new purchases and waits until those under way here are answered or ctx ends. What
// is left then is taken up by the next process.
func (t *Till) Drain(ctx context.Context) error {
	t.closing.Store(true)
	for {
		var f *run
		t.mu.Lock()
		for _, f = range t.runs {
			break
		}
		t.mu.Unlock()
		if f == nil {
			return nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return fmt.Errorf("till: purchases still under way: %w", ctx.Err())
		}
	}
}

func derive(secret []byte, label string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(label))
	return m.Sum(nil)
}

// Prefixes of ids.
const (
	prefixPurchase = "pur_"
	prefixCert     = "cert_"
)

// statusToken is the private bearer token of a purchase: HMAC(key, purchase id), so nothing is
// stored.
func (t *Till) statusToken(id string) string {
	m := hmac.New(sha256.New, t.tokenKey)
	m.Write([]byte(id))
	return "st_" + attest.Base32.EncodeToString(m.Sum(nil))[:48]
}

// key returns the signing key with a kid.
func (t *Till) key(kid string) (*attest.Key, error) {
	for _, k := range t.cfg.Keys {
		if k.KID() == kid {
			return k, nil
		}
	}
	return nil, fmt.Errorf("till: the signing key %s is not loaded; start the store with it until its purchases are "+
		"delivered", kid)
}

// signer is the key that signs now.
func (t *Till) signer() *attest.Key { return t.cfg.Keys[0] }
