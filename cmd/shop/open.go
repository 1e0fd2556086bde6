package shop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"agentstore/content"
	"agentstore/content/api"
	"agentstore/corpus/attest"
	"agentstore/corpus/fetch"
	"agentstore/corpus/record"
	"agentstore/dynamic"
	"agentstore/dynamic/archive"
	"agentstore/dynamic/budget"
	"agentstore/dynamic/counter"
	"agentstore/dynamic/desk"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/evm"
	"agentstore/dynamic/rail/facilitator"
	"agentstore/dynamic/roster"
	"agentstore/dynamic/till"
	"agentstore/templates"
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
	Server *dynamic.Server
	Log    *slog.Logger

	tree      *dynamic.Site // nil: no tree is served
	chrome    func() *templates.Chrome
	archive   *archive.Archive // nil: no record is configured
	hostPages dynamic.HostPages
	refused   func(host string) string // why a host is never asked
	highWater *till.HighWaterFile
	drawer    *desk.Drawer
	runs      []func(context.Context) error
	reach     func(*fetch.Config)
	now       func() time.Time // of the census; nil is time.Now
}

// Options are what a caller adds to a configuration.
type Options struct {
	Log   *slog.Logger
	Level *slog.LevelVar
	// AfterStep is handed to the till.
	AfterStep func(step string)
	// Reach changes how strangers' doors are reached: resolver, dialer and roots, for a street of doors on loopback.
	Reach func(*fetch.Config)
}

// API describes every route of the service: what the generator renders the API description from.
func API() []api.Route {
	return slices.Concat(counter.Routes(nil), dynamic.Describe((*desk.Desk)(nil).Rows()), dynamic.Describe((*roster.Desk)(nil).Rows()))
}

// Open puts a shop together and looks at its networks once. Those that cannot settle are left out until they can. Close it.
func Open(ctx context.Context, c *Config, o Options) (_ *Shop, err error) {
	s := &Shop{Config: *c, Log: o.Log, reach: o.Reach}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	keys, err := s.keys()
	if err != nil {
		return nil, err
	}
	if err := s.mayServe(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.openSite(), checkOrigin(c)); err != nil {
		return nil, err
	}
	secret, err := secretFile(c.Keys.Secret)
	if err != nil {
		return nil, missingKey("keys.secret", err)
	}
	spec, err := ledgerSpec(c)
	if err != nil {
		return nil, err
	}
	high, err := s.openLedger(ctx, spec, keys[0])
	if err != nil {
		return nil, err
	}
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
	s.Till, err = till.New(till.Config{
		BaseURL: c.BaseURL, Site: s.Site, DB: s.DB, Rails: s.Rails, Gas: guard, Keys: keys, Ring: s.Ring, Secret: secret, Log: s.Log,
		SettleWait: time.Duration(c.Server.SettleWait), MaxInFlight: c.Server.MaxInFlight,
		Exclusive: !strings.HasPrefix(spec, "postgres"), HighWater: high, AfterStep: o.AfterStep,
		Outcome: func(network string, state till.State) { metrics.Purchase(network, string(state)) }, Late: metrics.Late,
	})
	if err != nil {
		return nil, err
	}
	sells, err := counter.New(counter.Config{Till: s.Till, Recorded: recorded(s.archive), Classes: s.classes()})
	if err != nil {
		return nil, err
	}
	s.runs = append(s.runs, s.Till.Run, func(ctx context.Context) error { return s.serveControl(ctx, spec) })
	if c.Census.Hourly {
		s.runs = append(s.runs, s.hourly)
	}
	budgets, err := budget.New(s.DB, c.Instruments.budgets(dynamic.Budgets()))
	if err != nil {
		return nil, err
	}
	if s.Desk, err = s.openDesk(keys[0], secret, budgets, o); err != nil {
		return nil, err
	}
	return s, s.openServer(sells, o.Level, metrics, budgets)
}

// openServer puts the rows of all instruments and the published tree behind one handler.
func (s *Shop) openServer(sells *counter.Counter, level *slog.LevelVar, metrics *dynamic.Metrics, budgets *budget.Set) error {
	c := &s.Config
	proxies, err := prefixes(c.Server.TrustedProxies)
	if err != nil {
		return err
	}
	why := &roster.Desk{Store: roster.New(s.DB), BaseURL: c.BaseURL, Now: time.Now, Record: lastRow(s.archive), Refused: s.refused, Hourly: c.Census.Hourly}
	s.Server, err = dynamic.New(dynamic.Config{
		Rows: slices.Concat(sells.Rows(), s.Desk.Rows(), why.Rows()), Site: s.tree, BaseURL: c.BaseURL, Log: s.Log, Level: level, Metrics: metrics, Budgets: budgets, TrustedProxies: proxies,
		Drains: []dynamic.Drain{s.Till, s.Desk}, Renderers: map[string]dynamic.Renderer{"host": s.hostPages},
	})
	return err
}

// openLedger opens the ledger and, where one is configured, the mark of how far it has come, which is nil otherwise.
func (s *Shop) openLedger(ctx context.Context, spec string, key *attest.Key) (high till.HighWater, err error) {
	if s.DB, err = dynamic.Open(ctx, spec); err != nil || s.Config.HighWater == "" {
		return nil, err
	}
	if err := till.CheckHighWater(ctx, s.DB, s.Config.HighWater); err != nil {
		return nil, err
	}
	if s.highWater, err = till.OpenHighWater(s.Config.HighWater, key); err != nil {
		return nil, err
	}
	return s.highWater, nil
}

// openRails opens a rail for each network.
func (s *Shop) openRails(metrics *dynamic.Metrics) error {
	for _, n := range s.Config.Networks {
		r, err := s.openRail(n)
		if err != nil {
			return fmt.Errorf("network %s: %w", n.ID, err)
		}
		s.Rails = append(s.Rails, r)
		s.runs = append(s.runs, r.Run, s.watchGas(r, metrics))
	}
	return nil
}

// openSite opens the published tree with what it was built from, or, where no tree is served here, the sources.
func (s *Shop) openSite() error {
	c := &s.Config
	if c.Public == "" {
		site, err := LoadSite(c)
		if err != nil {
			return err
		}
		e, err := s.editionOf(site)
		if err != nil {
			return err
		}
		s.Site, s.chrome = e.Site, func() *templates.Chrome { return e.Chrome }
		return nil
	}
	tree, err := dynamic.OpenSite(dynamic.SiteConfig{Pointer: c.Public, Twins: c.Twins, Ring: s.Ring, BaseURL: c.BaseURL, Edition: s.edition})
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

// Serve serves on ln, and metrics on debug where that is given, until ctx ends; then it finishes what is under way.
func (s *Shop) Serve(ctx context.Context, ln, debug net.Listener) error {
	// The background work outlives the listener: purchases under way need the chain's watchers to the end.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	for _, run := range s.runs {
		wg.Go(func() {
			if err := run(background); err != nil && background.Err() == nil {
				s.Log.Error("background work ended", "err", err)
			}
		})
	}
	if debug != nil {
		wg.Go(func() {
			if err := s.Server.ServeDebug(background, debug); err != nil && background.Err() == nil {
				s.Log.Error("debug listener ended", "err", err)
			}
		})
	}
	err := s.Server.Serve(ctx, ln)
	stop()
	wg.Wait()
	return err
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
		src.Stock = os.DirFS(c.Stock)
	}
	return src
}

// keys loads the identity keys, the one in force first, and the ring.
func (s *Shop) keys() ([]*attest.Key, error) {
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

// identityInForce demands that a key is the ring's identity: another key of the same ring would sign what nobody accepts.
func identityInForce(k *attest.Key, ring attest.Ring) error {
	if ring.Identity().KID != k.KID() {
		return fmt.Errorf("keys.identity %s is not the identity in force in keys.ring: name that one's file, or finish the handover with store key handover", k.KID())
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

// LogKey loads the key that signs the checkpoints of the record's log, and demands that it is the one in force.
func LogKey(c *Config, ring attest.Ring) (*attest.Key, error) {
	if c.Keys.Log == "" {
		return nil, errors.New("keys.log is needed to write the record: make it with store key init")
	}
	k := attest.SpecimenKeyFor(attest.PurposeLog)
	if c.Keys.Log != specimen {
		var err error
		if k, err = attest.LoadKey(c.Keys.Log); err != nil {
			return nil, missingKey("keys.log", err)
		}
	}
	if inForce, ok := ring.For(attest.PurposeLog); !ok || inForce.KID != k.KID() {
		return nil, fmt.Errorf("keys.log %s is not the log key in force in keys.ring", k.KID())
	}
	return k, nil
}

// Ring loads the published keys. Those of the specimen are in its record once a key of it was handed over.
func Ring(c *Config) (attest.Ring, error) {
	if c.Keys.Ring == specimen {
		return specimenRing(c.Record)
	}
	b, err := os.ReadFile(c.Keys.Ring)
	if err != nil {
		return attest.Ring{}, missingKey("keys.ring", err)
	}
	return attest.ParseRing(b)
}

func specimenRing(rec string) (attest.Ring, error) {
	b, err := os.ReadFile(filepath.Join(rec, record.RingFile))
	if rec == "" || errors.Is(err, fs.ErrNotExist) {
		return attest.SpecimenRing(), nil
	}
	if err != nil {
		return attest.Ring{}, fmt.Errorf("reading the specimen's keys: %w", err)
	}
	held, err := attest.ParseRing(b)
	if err == nil && held.Continues(attest.SpecimenRing()) != nil {
		err = held.Continues(attest.SpecimenRingBefore())
	}
	if err != nil {
		return attest.Ring{}, fmt.Errorf("reading the specimen's keys in %s: %w", rec, err)
	}
	return held, nil
}

// ledgerSpec is the ledger's address, which may be kept in a file because it holds a password.
func ledgerSpec(c *Config) (string, error) {
	spec := c.Ledger
	if c.LedgerFile != "" {
		b, err := secretFile(c.LedgerFile)
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
	spec, err := ledgerSpec(c)
	if err != nil {
		return nil, err
	}
	return dynamic.Open(ctx, spec)
}

// chain is how a configured network is read.
func (n NetworkConfig) chain() (evm.Config, error) {
	cfg, known := evm.Preset(n.ID)
	if !known {
		return cfg, errors.New("is not a network this store knows; it is one row in the table of networks")
	}
	cfg.RPC = n.RPC
	if n.RPCFile != "" {
		b, err := secretFile(n.RPCFile)
		if err != nil {
			return cfg, fmt.Errorf("reading rpc_file: %w", err)
		}
		cfg.RPC = strings.Fields(string(b))
	}
	if n.Depth > 0 {
		cfg.Depth = n.Depth
	}
	if n.Finality > 0 {
		cfg.Finality = n.Finality
	}
	if n.Poll > 0 {
		cfg.Poll = time.Duration(n.Poll)
	}
	switch n.GenesisHash {
	case "":
	case "any":
		cfg.GenesisHash = ""
	default:
		cfg.GenesisHash = n.GenesisHash
	}
	return cfg, nil
}

// openRail makes the rail of one configured network.
func (s *Shop) openRail(n NetworkConfig) (rail.Rail, error) {
	cfg, err := n.chain()
	if err != nil {
		return nil, err
	}
	cfg.PayTo, cfg.Log = n.PayTo, s.Log
	if err := n.costs(&cfg); err != nil {
		return nil, err
	}
	if n.Facilitator != "" {
		f, err := facilitator.New(facilitator.Config{URL: n.Facilitator})
		if err != nil {
			return nil, err
		}
		cfg.Settler = f
		return evm.New(cfg)
	}
	for i, file := range append([]string{n.RelayerKey}, n.RelayerKeys...) {
		b, err := secretFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading relayer_key: %w", err)
		}
		key, err := crypto.HexToECDSA(strings.TrimPrefix(strings.TrimSpace(string(b)), "0x"))
		if err != nil {
			return nil, errors.New("relayer_key does not hold 32 bytes of hex")
		}
		if i == 0 {
			cfg.Relayer = key
		} else {
			cfg.Relayers = append(cfg.Relayers, key)
		}
	}
	return evm.New(cfg)
}

func prefixes(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, p := range list {
		pre, err := netip.ParsePrefix(p)
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies: %w", err)
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
