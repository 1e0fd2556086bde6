package shop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/a2a"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/budget"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/roster"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/dynamic/trade"
	"store.example/agentstore/dynamic/visitors"
	"store.example/agentstore/templates"
)

// Shop is a running store: everything but its listeners.
type Shop struct {
	Config Config
	Site   content.Editions // what is said and sold, which follows the published tree where there is one
	Ring   attest.Ring
	DB     ledger.DB
	Rails  []rail.Rail
	Till   *till.Till
	Desk   *desk.Desk
	Keeper *keeper.Inbox
	// Visitors is the free counter.
	Visitors *visitors.Service
	// Bounties is the board of rewards.
	Bounties *bounty.Service
	// Trade is the counter of who buys on account.
	Trade  *trade.Counter
	Server *dynamic.Server
	Log    *slog.Logger

	tree        *dynamic.Site // nil: no tree is served
	chrome      func() *templates.Chrome
	callers     *dynamic.Callers
	archive     *archive.Archive // nil: no record is configured
	seen        atomic.Pointer[seenWeather]
	hostPages   dynamic.HostPages
	client      *fetch.Client            // reads what strangers serve; the desk's
	refused     func(host string) string // why a host is never asked
	highWater   *restore.HighWaterFile
	exclusive   bool // no other process uses the ledger
	drawer      *desk.Drawer
	launch      launchWallet
	budgets     *budget.Set
	refusals    *keeper.Refusals
	quotes      *keeper.Quotes
	services    *services.Services
	runs        []func(context.Context) error
	jobs        []schedule.Job                                    // what is due beside the till's
	certificate *OwnCertificate                                   // nil: none of the keeper's own
	asked       func(network, outcome string, took time.Duration) // nil while nobody measures
	reach       func(*fetch.Config)
	now         func() time.Time // of the census; nil is time.Now
}

// Options are what a caller adds to a configuration.
type Options struct {
	Log   *slog.Logger
	Level *slog.LevelVar
	// AfterStep is handed to the till.
	AfterStep func(step string)
	// Reach changes how strangers' doors are reached: resolver, dialer and roots, for a street of
	// doors on loopback.
	Reach func(*fetch.Config)
	// Ledger puts something before the ledger; nil puts nothing there. Tests put its clock forward.
	Ledger func(ledger.DB) ledger.DB
}

// API describes every route of the service: what the generator renders the API description from. A
// part that does not work yet has the rows of one that does.
func API() []api.Route {
	return route.Describe(slices.Concat(counter.Described(goodsKinds()).Rows(), new(services.Services).Rows(nil),
		new(counter.Clock).Rows(), new(desk.Desk).Rows(), new(roster.Reasons).Rows(), new(mcp.Doors).Rows(),
		new(visitors.Service).Rows(), new(a2a.Door).Rows(), new(bounty.Service).Rows(), new(trade.Counter).Rows()))
}

// LeastSecret is how many bytes the till's secret has at least.
const LeastSecret = 32

// Open puts a shop together and looks at its networks once. Those that cannot settle are left out
// until they can. Close it.
func Open(ctx context.Context, c *Config, o Options) (_ *Shop, err error) {
	s := &Shop{Config: *c, Log: o.Log, reach: o.Reach, refusals: keeper.NewRefusals()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	if err := s.MayServe(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.openSite(), CheckOrigin(c)); err != nil {
		return nil, err
	}
	secret, err := ReadSecret(c.Keys.Secret)
	if err == nil && len(secret) < LeastSecret {
		err = fmt.Errorf("%s holds %d bytes, and %d bytes are the least", c.Keys.Secret, len(secret), LeastSecret)
	}
	if err != nil {
		return nil, missingKey("keys.secret", err)
	}
	spec, err := LedgerSpec(c)
	if err != nil {
		return nil, err
	}
	high, err := s.openLedger(ctx, spec, keys[0])
	if err != nil {
		return nil, err
	}
	if o.Ledger != nil {
		s.DB = o.Ledger(s.DB)
	}
	s.exclusive = !strings.HasPrefix(spec, "postgres")
	metrics := dynamic.NewMetrics()
	if err := s.openRails(metrics); err != nil {
		return nil, err
	}
	guard, err := s.guard(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	if s.archive, err = s.openArchive(ctx); err != nil {
		return nil, err
	}
	budgets, err := budget.New(s.DB, c.Instruments.budgets(dynamic.Budgets()))
	if err != nil {
		return nil, err
	}
	s.budgets = budgets
	if err := s.openLaunchWallet(o); err != nil {
		return nil, err
	}
	if s.Desk, err = s.openDesk(keys[0], secret, budgets, o); err != nil {
		return nil, err
	}
	if err := s.openTill(o, metrics, guard, high, tillKeys{keys, secret}); err != nil {
		return nil, err
	}
	sells, err := counter.New(counter.Config{Till: s.Till, Recorded: recorded(s.archive), Issued: s.issuedIn(),
		Classes: s.classes(), Door: s.doorPage, Later: s.services, Weather: s.weather,
		Stamp: func(ctx context.Context) (string, string, error) { return s.Visitors.WeeksStamp(ctx) }})
	if err != nil {
		return nil, err
	}
	s.runs = append(s.runs, s.watchContact, func(ctx context.Context) error { return s.Till.Run(ctx, s.jobs...) },
		func(ctx context.Context) error { return s.serveControl(ctx, spec) })
	if c.Census.Hourly {
		s.runs = append(s.runs, s.hourly)
	}
	if err := errors.Join(s.openWeekly(ctx), s.openVouchers(ctx), s.openVisitors(keys[0]),
		s.openBounties(keys[0], guard.Ready),
		s.openTrade(sells, budgets)); err != nil {
		return nil, err
	}
	return s, s.openServer(sells, o.Level, metrics, budgets)
}

// tillKeys are the identity's keys, the current one first, and the secret of tokens.
type tillKeys struct {
	keys   []*attest.Key
	secret []byte
}

// openTill opens the till behind the desk, whose readings it sells, and what does later what it has
// sold.
func (s *Shop) openTill(o Options, metrics *dynamic.Metrics, guard *settle.GasGuard, high till.HighWater,
	k tillKeys) error {
	c := &s.Config
	if err := s.openServices(o, metrics); err != nil {
		return err
	}
	ask, err := s.upstreams(o)
	if err != nil {
		return err
	}
	s.warnUpstreams(ask)
	vouchers, err := c.Vouchers.limits()
	if err != nil {
		return err
	}
	s.quotes = keeper.NewQuotes(s.DB)
	s.runs = append(s.runs, s.quotes.Run, s.measure(metrics))
	kinds := s.services.Kinds()
	s.Till, err = till.New(till.Config{
		BaseURL: c.BaseURL, Site: s.Site, DB: s.DB, Rails: s.Rails, Gas: guard, Keys: k.keys, Ring: s.Ring,
		Kinds: kinds, Shelves: []till.Shelf{till.Goods(kinds), till.Pages(k.keys[0]), till.Porch(s.weather),
			till.Commissions},
		Secret: k.secret, Log: s.Log, SettleWait: time.Duration(c.Server.SettleWait), MaxInFlight: c.Server.MaxInFlight,
		Exclusive: s.exclusive, HighWater: high, AfterStep: o.AfterStep, Late: metrics.Late,
		Outcome: func(network string, state till.State) { metrics.Purchase(network, string(state)) },
		Money: func(network string, state till.State, atomic int64) {
			metrics.Money(network, string(state), atomic)
		},
		Quoted: s.quotes.Add, Refused: s.refusals.Add, Tell: services.Tell, Files: filesOf(c), Upstreams: ask,
		KeyPlace: s.keyPlace, Vouchers: vouchers, Holds: c.Server.Hold,
	})
	if err != nil {
		return err
	}
	if s.launch.key != nil {
		s.runs = append(s.runs, s.watchLaunchWallet(metrics))
	}
	s.jobs = append(s.jobs, s.services.Jobs(s.Till)...)
	s.openKeeper()
	return nil
}

// openServer puts the rows of all instruments and the published tree behind one handler.
func (s *Shop) openServer(sells *counter.Counter, level *slog.LevelVar, metrics *dynamic.Metrics,
	budgets *budget.Set) error {
	c := &s.Config
	proxies, err := prefixes(c.Server.TrustedProxies)
	if err != nil {
		return err
	}
	why := &roster.Reasons{Store: roster.New(s.DB), BaseURL: c.BaseURL, Now: time.Now, Record: lastRow(s.archive),
		Refused: s.refused, Hourly: c.Census.Hourly}
	doors, err := s.openDoors(sells)
	if err != nil {
		return err
	}
	hours := &counter.Clock{BaseURL: c.BaseURL, Site: s.Site, Chrome: s.chrome, Weather: s.weather,
		Now: time.Now}
	s.Server, err = dynamic.New(dynamic.Config{
		Rows: slices.Concat(sells.Rows(), s.services.Rows(sells), hours.Rows(), s.Desk.Rows(), why.Rows(),
			doors.Rows(), s.Visitors.Rows(),
			s.Bounties.Rows(),
			s.Trade.Rows(),
			(&a2a.Door{Tool: doors.Call, Timeout: sells.BuyTime()}).Rows()),
		Serves: func(path string) bool { return s.Site.Now().Serves(path) },
		Site:   s.tree, BaseURL: c.BaseURL, Log: s.Log, Level: level, Metrics: metrics, Budgets: budgets,
		TrustedProxies: proxies, Drains: []dynamic.Drain{s.Till, s.Desk}, Callers: s.callers,
		Ready:     []func(context.Context) error{s.ledgerReady, s.sellsSomewhere},
		Renderers: s.renderers(),
	})
	return err
}

// renderers make what is not in the tree: pages of hosts where there are too many of them for that.
func (s *Shop) renderers() map[string]dynamic.Renderer {
	return map[string]dynamic.Renderer{"host": s.hostPages}
}

// openLedger opens the ledger and, where one is configured, the mark of how far it has come, which
// is nil otherwise.
func (s *Shop) openLedger(ctx context.Context, spec string, key *attest.Key) (high till.HighWater, err error) {
	if s.DB, err = dynamic.Open(ctx, spec); err != nil || s.Config.HighWater == "" {
		return nil, err
	}
	if err := restore.CheckHighWater(ctx, s.DB, s.Config.HighWater); err != nil {
		return nil, err
	}
	if s.highWater, err = restore.OpenHighWater(s.Config.HighWater, key); err != nil {
		return nil, err
	}
	return s.highWater, nil
}

// openRails opens a rail for each network.
func (s *Shop) openRails(metrics *dynamic.Metrics) error {
	s.asked = metrics.Asked
	for _, n := range s.Config.Networks {
		r, err := s.OpenRail(n)
		if err != nil {
			return fmt.Errorf("network %s: %w", n.ID, err)
		}
		s.Rails = append(s.Rails, r)
		s.runs = append(s.runs, r.Run, s.watchGas(r, metrics))
	}
	return nil
}

// openSite opens the published tree with what it was built from, or, where no tree is served here,
// the sources.
func (s *Shop) openSite() error {
	c := &s.Config
	if c.Public == "" {
		site, err := LoadSite(c)
		if err != nil {
			return err
		}
		if SourcesDir(c) != "" {
			if err := keepFiles(c, site); err != nil {
				return err
			}
		}
		e, err := s.editionOf(site)
		if err != nil {
			return err
		}
		s.Site, s.chrome = e.Site, func() *templates.Chrome { return e.Chrome }
		return nil
	}
	tree, err := dynamic.OpenSite(dynamic.SiteConfig{Pointer: c.Public, Twins: c.Twins, Ring: s.Ring,
		BaseURL: c.BaseURL, Edition: s.edition})
	if err != nil {
		return err
	}
	s.tree, s.Site, s.chrome = tree, tree, tree.Chrome
	return nil
}

// Close frees what the shop holds. Nothing may be running any more.
func (s *Shop) Close() error {
	var errs []error
	if s.highWater != nil {
		errs = append(errs, s.highWater.Close())
	}
	if s.drawer != nil {
		errs = append(errs, s.drawer.Close())
	}
	if s.DB != nil {
		errs = append(errs, s.DB.Close())
	}
	return errors.Join(errs...)
}

// LoadSite reads the sources of a configuration, with its base URL.
func LoadSite(c *Config) (*content.Site, error) {
	if err := checkFolders(c); err != nil {
		return nil, err
	}
	site, err := content.Load(sources(c))
	if err != nil {
		return nil, fmt.Errorf("loading the site: %w", err)
	}
	site.Config.BaseURL = c.BaseURL
	return site, nil
}

// sources are the folders that the site of a configuration is read from.
func sources(c *Config) (src content.Sources) {
	if c.Content != "" {
		src.Content = os.DirFS(c.Content)
	}
	if c.Stock != "" {
		src.Stock, src.StockName = os.DirFS(c.Stock), stockName(c)
	}
	return src
}

// Keys loads the identity keys, the one in force first, and the ring.
func (s *Shop) Keys() ([]*attest.Key, error) {
	c := s.Config.Keys
	k, err := IdentityKey(&s.Config)
	if err != nil {
		return nil, err
	}
	keys := []*attest.Key{k}
	for _, f := range c.Older {
		k, err := attest.LoadKey(f)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if s.Ring, err = Ring(&s.Config); err != nil {
		return nil, err
	}
	return keys, identityInForce(k, s.Ring)
}

// identityInForce demands that a key is the ring's identity: another key of the same ring would
// sign what nobody accepts.
func identityInForce(k *attest.Key, ring attest.Ring) error {
	if ring.Identity().KID != k.KID() {
		return fmt.Errorf("keys.identity %s is not the identity in force in keys.ring: name that one's file, or "+
			"finish the handover with store key handover", k.KID())
	}
	return nil
}

// IdentityKey loads the key that signs.
func IdentityKey(c *Config) (*attest.Key, error) {
	if c.Specimen() {
		return attest.SpecimenKey(), nil
	}
	k, err := attest.LoadKey(c.Keys.Identity)
	if err != nil {
		return nil, missingKey("keys.identity", err)
	}
	return k, nil
}

// LogKey loads the key that signs the checkpoints of the record's log, and demands that it is the
// one in force.
func LogKey(c *Config, ring attest.Ring) (*attest.Key, error) {
	if c.Keys.Log == "" {
		return nil, errors.New("keys.log is needed to write the record: make it with store key init")
	}
	return InForce(c.Keys.Log, attest.PurposeLog, ring)
}

// InForce loads the key of a purpose, and demands that it is the one in force.
func InForce(file string, p attest.Purpose, ring attest.Ring) (*attest.Key, error) {
	name := "keys." + string(p)
	k := attest.SpecimenKeyFor(p)
	if file != Specimen {
		var err error
		if k, err = attest.LoadKey(file); err != nil {
			return nil, missingKey(name, err)
		}
	}
	if in, ok := ring.For(p); !ok || in.KID != k.KID() {
		return nil, fmt.Errorf("%s %s is not the %s key in force in keys.ring", name, k.KID(), p)
	}
	return k, nil
}

// LedgerSpec is the ledger's address, which may be kept in a file because it holds a password.
func LedgerSpec(c *Config) (string, error) {
	spec := c.Ledger
	if c.LedgerFile != "" {
		b, err := ReadSecret(c.LedgerFile)
		if err != nil {
			return "", fmt.Errorf("reading ledger_file: %w", err)
		}
		spec = strings.TrimSpace(string(b))
	}
	if strings.HasPrefix(spec, "mem:") {
		return "", errors.New("a ledger in memory forgets what was paid for: name one with bolt: or postgres:")
	}
	return spec, nil
}

// OpenLedger opens the configured ledger alone.
func OpenLedger(ctx context.Context, c *Config) (ledger.DB, error) {
	spec, err := LedgerSpec(c)
	if err != nil {
		return nil, err
	}
	return dynamic.Open(ctx, spec)
}

func prefixes(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, p := range list {
		pre, err := netip.ParsePrefix(p)
		if err != nil {
			return nil, err
		}
		out = append(out, pre)
	}
	return out, nil
}

// DirFS is a folder as a file system, nil where it does not exist.
func DirFS(dir string) fs.FS {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil
	}
	return os.DirFS(dir)
}
