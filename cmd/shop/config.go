// Package shop puts the parts of a running store together from one configuration file: ledger,
// networks, till, published tree, server. The store's binary and the local devnet both start shops
// here, so what is tested is what runs.
package shop

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"store.example/agentstore/corpus/ots/calendar"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/rail/evm"
)

// Config is the configuration file (TOML). Every key is documented by its doc tag, which `store
// config` prints as an annotated example. Unknown keys are refused. Secrets are never values here:
// they are paths to files of mode 0600. Relative paths are relative to the file's own folder.
type Config struct {
	Addresses
	Folders

	Keys     KeysConfig      `toml:"keys" doc:"Keys. Make them with: store key init"`
	TLS      TLSConfig       `toml:"tls" doc:"TLS without a proxy: certificates from an ACME CA, or one of your own."`
	Networks []NetworkConfig `toml:"network" doc:"The networks payments are taken on, in the order in which they are offered."`
	Gas      GasConfig       `toml:"gas" doc:"What may be spent on settling beyond what payments bring. A day ends at midnight UTC; replicas share it."`
	Vouchers VouchersConfig  `toml:"vouchers" doc:"Purchases out of channels, by vouchers, on the first network: see /docs/vouchers."`
	Observing
	Services

	Desk   DeskConfig   `toml:"desk" doc:"The keeper's desk in a browser: what waits, answers to orders, the monthly note, sales. It is on, on loopback, unless listen says off. Payouts and key handover are done on the command line alone."`
	Server ServerConfig `toml:"server" doc:"Limits of the server. The defaults are right for one machine."`
}

// Addresses are where the store is, and its ledger.
type Addresses struct {
	BaseURL     string `toml:"base_url" doc:"The store's public address, without a slash at its end. Links, offers, receipts and certificates use it; a request's Host header never does."`
	Listen      string `toml:"listen" doc:"Address to serve on. Put a TLS-terminating proxy or CDN in front of anything that is not loopback, or let the store speak TLS itself: see tls."`
	DebugListen string `toml:"debug_listen" doc:"Loopback address for /metrics, /healthz, /readyz and /debug/pprof. Empty serves none."`
	Ledger      string `toml:"ledger" doc:"Where purchases are journalled: bolt:FILE for one process, postgres://… for many. A postgres address may hold a password: use ledger_file then."`
	LedgerFile  string `toml:"ledger_file" doc:"File (0600) that holds the ledger address, instead of ledger."`
}

// Folders are where its files are.
type Folders struct {
	Content   string `toml:"content" doc:"Folder of the site's sources (site.toml, shelf, pages). Empty is the built-in specimen."`
	Stock     string `toml:"stock" doc:"Folder of the private pools (secrets, curios, …). Empty takes the pools folder of content, which only a loopback store may sell from if they are the specimen's."`
	Public    string `toml:"public" doc:"Folder of the published trees: store build makes a new one in it and moves the pointer 'current' to it, and store serve follows the pointer. Or one tree by itself."`
	Record    string `toml:"record" doc:"Folder of the signed record (rounds, observations, proofs). Pages such as the register of retired words are rendered from it."`
	View      string `toml:"view" doc:"Folder for the view of the record: one file from which the server answers by host and by address. store build and the start of store serve make it; it can be thrown away. Empty takes view beside twins."`
	Verifier  string `toml:"verifier" doc:"Folder of the verifier for browsers. Empty takes that of the release: verifier beside the program, or ../share/store/verifier; where neither is, a page says how to get it."`
	HostPages int    `toml:"host_pages_max" doc:"Up to how many hosts of the record have pages as files. Above it, store serve renders them on request, with the same bytes, and a static copy of the site has none. 0 is no limit."`
	Sources   string `toml:"sources" doc:"Private folder where builds keep what their trees were made from, pools included. store serve sells what its tree was made from, whatever became of content since. Empty takes sources beside twins."`
	Twins     string `toml:"twins" doc:"Folder of precompressed twins, by digest. Empty serves everything uncompressed."`
	HighWater string `toml:"high_water" doc:"Append-only file of what must never be given twice. Keep it on another disk than the ledger: a restore needs it. One for each process, which locks it; a restore is given them all. If it is lost, the store does not start until store keeper high-water rebuild has made it anew."`
}

// Observing are the tables of what is observed and recorded.
type Observing struct {
	Instruments InstrumentsConfig `toml:"instruments" doc:"The free instruments: how strangers' doors are reached, and how often."`
	Census      CensusConfig      `toml:"census" doc:"The weekly census: which hosts are walked, and how. store serve runs it on Sundays where seal_hour says so; store census runs it, in as many processes as you like."`
	Arrivals    []ArrivalsConfig  `toml:"arrivals" doc:"Further networks, on which nothing is sold, where the census counts what arrives in USDC at the addresses that doors advertise. Those of network are counted without a word here."`
	Discovery   []DiscoveryConfig `toml:"discovery" doc:"Bazaar-style discovery APIs that name doors to the census, in the order of their weight."`
	Timestamps  TimestampsConfig  `toml:"timestamps" doc:"Proofs of when a round existed, which store stamp makes. Run it after each census and now and then until no proof is pending."`
	Witnesses   []WitnessConfig   `toml:"witness" doc:"Whom store witness shows the head of the record's log, so that nobody can be shown another."`
}

// Services are the tables of what is done with money beside selling for it, and of whom it is done
// for.
type Services struct {
	Facilitator FacilitatorConfig `toml:"facilitator" doc:"What store facilitator does: it settles other sellers' x402 payments over the networks above, by POST /verify and /settle and GET /supported. It is off until listen and pay_to are given. Give it a configuration and relayer accounts of its own, or share one postgres ledger with the store; two ledgers would give out the same numbers of an account."`
	Payouts     PayoutsConfig     `toml:"payouts" doc:"How debts are paid back: refunds, and orders past their window. store keeper pay signs, and store serve never reads the key."`
	Launch      LaunchConfig      `toml:"launch" doc:"Launch checks: a purchase of at most 0.05 USDC at a stranger's door, for whoever paid for that. They are not sold until key is given."`
	Bounties    BountiesConfig    `toml:"bounties" doc:"The bounty board: rewards, posted with store keeper post-bounty, for who buys once at a named door and shows the transaction."`
	Trade       []TradeConfig     `toml:"trade" doc:"Who buys on account: marketplaces that order by signed webhooks and pay later. store keeper accounts says what each owes. The account sandbox is always there."`
	Upstreams   []UpstreamConfig  `toml:"upstream" doc:"The HTTP addresses that goods of kind upstream may ask: any service of yours, sold by its answers. See /docs/goods."`
}

// KeysConfig says where the keys are.
type KeysConfig struct {
	Identity string   `toml:"identity" doc:"Signs certificates, offers, receipts and the published tree (ed25519, PKCS#8 PEM). 'specimen' is the public specimen key, for loopback only."`
	Older    []string `toml:"older" doc:"Identity keys that were handed over but may still have to sign what was sold before."`
	Ring     string   `toml:"ring" doc:"The published halves of all keys, current and retired, with handovers. 'specimen' goes with the specimen key."`
	Secret   string   `toml:"secret" doc:"32 bytes or more that challenge nonces and status tokens derive from. Replicas share it."`
	Log      string   `toml:"log" doc:"Signs the checkpoints of the record's log (ed25519). Whatever writes the record needs it. 'specimen' is the public specimen log key, for loopback only."`
	Webhook  string   `toml:"webhook" doc:"Signs the callbacks that tell buyers of completed orders (ed25519). Without it no callback_url is taken. 'specimen' is the public specimen key, for loopback only."`
	Git      string   `toml:"git" doc:"Signs commits (ed25519): those of store publish, and those of the repository corpus.git, which store build makes if there is this key."`
}

// PayoutsConfig is how debts are paid back.
type PayoutsConfig struct {
	Key string `toml:"key" doc:"File (0600) with the hex key of the account that pays, on every network with EIP-3009. Its own: neither relayer nor pay_to. It holds no more than what is owed. Keep it as long as payouts of it can be redeemed, thirty days: a payout of another account could pay a second time what a restored ledger has forgotten."`
}

// DeskConfig is the keeper's desk in a browser.
type DeskConfig struct {
	Listen string   `toml:"listen" doc:"Loopback address of the desk. Empty is 127.0.0.1:4022, and off turns it off. From another machine reach it through an ssh tunnel, or a proxy of your own that speaks https."`
	Token  string   `toml:"token" doc:"File (0600) with the token that opens the desk for twelve hours. Empty is var/keys/desk.token. store serve makes it and store keeper token prints it; a changed file ends every session."`
	Hosts  []string `toml:"hosts" doc:"What else the desk is called, where an https proxy stands before it: host, or host:port. Any other name is refused, and so are pages elsewhere that lead here."`
}

func (c DeskConfig) check() error {
	if c.Listen == "" || c.Listen == deskOff {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || !Loopback(host) {
		return errors.New("desk.listen must be a loopback address such as 127.0.0.1:4022, or off")
	}
	return nil
}

// What a desk has of which the configuration says nothing.
const (
	deskOff    = "off"
	deskListen = "127.0.0.1:4022"
	deskToken  = "var/keys/desk.token"
)

// Address is where the desk listens, "" where it is off.
func (c DeskConfig) Address() string {
	if c.Listen == deskOff {
		return ""
	}
	return cmp.Or(c.Listen, deskListen)
}

// NetworkConfig is one payment network.
type NetworkConfig struct {
	ID      string   `toml:"id" doc:"CAIP-2 id. Known ones bring asset, domain, genesis hash, depth and cost with them."`
	RPC     []string `toml:"rpc" doc:"JSON-RPC addresses, in order of preference. With two or more, both of the first two must say that a payment is dead, or that one of 1 USDC or more is paid: take them from different houses. For addresses that hold an API key use rpc_file."`
	RPCFile string   `toml:"rpc_file" doc:"File (0600) with one JSON-RPC address a line, instead of rpc."`
	PayTo   string   `toml:"pay_to" doc:"Where payments go. A cold address: the store never holds its key. One for each store, never shared. On Solana its token account for USDC has to exist: the log tells how to make it."`
	Settling
	Depth    uint64 `toml:"depth" doc:"Blocks a payment needs to count, its own included. 0 takes the known network's."`
	Finality uint64 `toml:"finality" doc:"Blocks after which nothing is reorganised. 0 asks the node for its finalized block."`
	Pricing
	GenesisHash string   `toml:"genesis_hash" doc:"Block 0's hash, compared at start. Empty takes the known network's; 'any' compares nothing and is for local chains."`
	GasAlarm    string   `toml:"gas_alarm_wei" doc:"Balance of the relayer below which the alarm sounds, in wei; on Solana in lamports. It sounds in any case when the relayer cannot pay for a settlement; then nothing is sold here."`
	Poll        Duration `toml:"poll" doc:"How often a new block is asked for. 0s takes the known network's."`
}

// Settling is how payments are taken on a network, and by whom they are settled.
type Settling struct {
	RelayerKey  string   `toml:"relayer_key" doc:"File (0600) with the hex key of the account that pays gas; on Solana a key file as solana-keygen writes it. It holds gas money only."`
	RelayerKeys []string `toml:"relayer_keys" doc:"Files like relayer_key, of further accounts that pay gas. Each has at most 48 transactions under way, and whichever has most room sends."`
	Together    int      `toml:"together" doc:"How many payments one transaction settles at most while many buy at once, 50 or fewer; the network needs Multicall3 at its usual address for it. 0 takes 50; 1 gives each payment its own."`
	Facilitator string   `toml:"facilitator" doc:"Settle through this x402 facilitator instead of an own relayer. Its word is believed only after our own RPC shows the payment."`
	Factories   []string `toml:"factories" doc:"Contracts that are called to deploy a wallet which pays before it is deployed (ERC-6492), in one transaction with its payment, when that brings four times what both cost. What they are told to do is the payer's to choose: name only those that answer again for a wallet that is there, such as Coinbase Smart Wallet's, 0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a and 0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842. Empty deploys none."`
	Transfer    string   `toml:"transfer" doc:"How buyers are asked to pay: eip3009, or permit2 for a token that knows no authorizations of its own. By permit2 a buyer first approves the contract Permit2 for the token, payments are not settled together, and MPP is not offered. Empty is eip3009."`
}

// Pricing is what settling costs on a network.
type Pricing struct {
	CoinPrice  string `toml:"coin_price" doc:"What one coin of the network is worth, in USDC. With the network's own fees it says what settling one payment costs: a good is offered here when its price is at least twice as much (the first network may sell below that out of gas.subsidy). Without a price nothing is offered here."`
	PriceDate  string `toml:"coin_price_date" doc:"Day on which coin_price was true, such as 2026-11-20. A price older than ninety days is warned of at start."`
	MaxFee     string `toml:"max_fee_wei" doc:"Ceiling of what is paid for one unit of gas, in wei, whatever hangs on it. Empty takes the known network's."`
	SettleCost string `toml:"settle_cost" doc:"What the facilitator takes for settling one payment, in USDC. With a relayer key of your own the cost follows from coin_price."`
}

// GasConfig bounds what settling may cost.
type GasConfig struct {
	Subsidy string `toml:"subsidy" doc:"What the first network may give a day to sales whose price is below twice the cost of settling, in USDC. When it is spent, that network is left out of their terms too. Empty is 0.50; 0 gives nothing."`
	Reverts string `toml:"reverts" doc:"What each network may lose a day to payments that revert in a block, in USDC. When it is lost, only wallets that have paid here before are taken. Empty is 1; 0 takes those alone from the start."`
}

// FacilitatorConfig is a facilitator for other sellers.
type FacilitatorConfig struct {
	Listen string   `toml:"listen" doc:"Address that store facilitator serves on. Empty is off."`
	PayTo  []string `toml:"pay_to" doc:"The accounts whose payments are settled, in the token of each network. Others are refused, because each settlement costs gas."`
	Wait   Duration `toml:"wait" doc:"How long /settle waits for the chain before it answers settlement_pending, with which the caller asks again. 0s takes 30 s."`
}

// check says what is wrong with the facilitator's table, where it is one.
func (c FacilitatorConfig) check() error {
	var errs []error
	if (c.Listen == "") != (len(c.PayTo) == 0) {
		errs = append(errs, errors.New("facilitator: give listen and pay_to together, or neither"))
	}
	for i, a := range c.PayTo {
		if strings.TrimSpace(a) == "" {
			errs = append(errs, fmt.Errorf("facilitator.pay_to: entry %d is empty", i+1))
		}
	}
	if c.Wait > Duration(maxFacilitatorWait) {
		errs = append(errs, fmt.Errorf("facilitator.wait is longer than %s, for which stock clients wait",
			maxFacilitatorWait))
	}
	return errors.Join(errs...)
}

// ServerConfig bounds the server.
type ServerConfig struct {
	TrustedProxies []string `toml:"trusted_proxies" doc:"Address ranges of proxies whose X-Forwarded-For is believed."`
	SettleWait     Duration `toml:"settle_wait" doc:"How long a purchase waits for the chain before it is answered 'not known yet'. A proxy in front must wait a quarter of a minute longer."`
	Hold           bool     `toml:"hold" doc:"Sell work of yours at /api/hold too: paid when it is done. store doctor says how long relayer_key has to stay."`
	MaxInFlight    int      `toml:"max_in_flight" doc:"Purchases under way at once; more are asked to come back."`
	LogLevel       string   `toml:"log_level" doc:"debug, info, warn or error."`
	LogJSON        bool     `toml:"log_json" doc:"Log JSON lines even on a terminal."`
}

// Duration is a time.Duration written as text: "45s".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration such as 45s", b)
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Example is the configuration that `store config` prints: a keeper's store on two networks.
func Example() Config {
	return Config{
		BaseURL: "https://store.example", Listen: "127.0.0.1:4020", DebugListen: "127.0.0.1:4021",
		Ledger: "bolt:var/ledger.bolt", Content: "content", Stock: "var/stock", Public: "public", Record: "corpus",
		View: "var/view", Sources: "var/sources", Twins: "var/twins", HighWater: "var/high-water.jws",
		Keys: KeysConfig{Identity: "var/keys/identity.pem", Older: []string{}, Ring: "var/keys/ring.json",
			Secret: "var/keys/till.secret", Log: "var/keys/log.pem", Webhook: "var/keys/webhook.pem",
			Git: "var/keys/git.pem"},
		Networks: []NetworkConfig{
			{ID: "eip155:8453", RPCFile: "var/keys/base.rpc", PayTo: "0x0000000000000000000000000000000000000001",
				RelayerKey: "var/keys/relayer.key", RelayerKeys: []string{}, Factories: []string{},
				CoinPrice: "3000", PriceDate: "2026-11-20", GasAlarm: "2000000000000000"},
			{ID: "eip155:137", RPC: []string{"https://polygon.rpc.example"},
				PayTo: "0x0000000000000000000000000000000000000001", RelayerKey: "var/keys/relayer.key",
				RelayerKeys: []string{}, Factories: []string{}, CoinPrice: "0.20", PriceDate: "2026-11-20",
				GasAlarm: "2000000000000000000"},
			{ID: networks.Solana, RPC: []string{"https://solana.rpc.example"},
				PayTo: "11111111111111111111111111111112", RelayerKey: "var/keys/fee-payer.json",
				CoinPrice: "150", PriceDate: "2026-11-20", GasAlarm: "20000000"},
		},
		Gas: GasConfig{Subsidy: "0.50", Reverts: "1"},
		Vouchers: VouchersConfig{Key: "var/keys/vouchers.key", Delay: Duration(336 * time.Hour), MinDeposit: "1",
			Channel: "5", Day: "50", Gas: "1", ClaimSum: "1", ClaimAge: Duration(24 * time.Hour)},
		Instruments: InstrumentsConfig{Contact: "https://store.example/criteria", OwnHosts: []string{},
			OwnAddresses: []string{}, Recordings: "var/recordings"},
		Census: CensusConfig{List: "var/doors.txt", Control: "https://control.store.example/paid", Cap: 20_000,
			Spacing: Duration(time.Second), Recordings: "var/census", SealHour: "6",
			Hourly: true, Walkers: []string{}},
		Discovery: []DiscoveryConfig{
			{Name: "bazaar", URL: "https://facilitator.example/platform/v2/x402"},
			{Name: "second", URL: "https://catalogue.example"},
		},
		Timestamps: TimestampsConfig{Calendars: []string{"https://a.pool.opentimestamps.org",
			"https://b.pool.opentimestamps.org", "https://a.pool.eternitywall.com"},
			Upgrades: calendar.Public(), Headers: "var/bitcoin-headers.txt",
			Explorers: []string{"https://esplora.example/api", "https://other.example/api"}},
		Arrivals: []ArrivalsConfig{{ID: "eip155:42161", RPC: []string{"https://arbitrum.rpc.example"}}},
		Witnesses: []WitnessConfig{{URL: "https://witness.example/prefix",
			Key: "witness.example/w1+0ad7d35e+BIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"}},
		Facilitator: FacilitatorConfig{PayTo: []string{}, Wait: Duration(30 * time.Second)},
		Payouts:     PayoutsConfig{Key: "var/keys/payout.key"},
		Launch:      LaunchConfig{Key: "var/keys/launch.key", Daily: "1"},
		Trade: []TradeConfig{{Account: "bazaar", Partner: "The Bazaar", Secret: "var/keys/bazaar.secret", Credit: "250",
			Daily: "100", Items: []string{}}},
		Upstreams: []UpstreamConfig{{URL: "https://api.example/v1/", Headers: "var/keys/api.headers"}},
		Desk:      DeskConfig{Listen: deskListen, Token: deskToken, Hosts: []string{}},
		Server: ServerConfig{TrustedProxies: []string{}, SettleWait: Duration(45 * time.Second), MaxInFlight: 512,
			LogLevel: "info"},
	}
}

// Load reads a configuration file. Unknown keys, bad values and missing ones are errors that name
// the key.
func Load(file string) (*Config, error) {
	var c Config
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading configuration: %w; hint: store init DIR makes a store with one, -config "+
			"names another", err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	md, err := toml.Decode(string(text), &c)
	if err != nil {
		return nil, fmt.Errorf("reading configuration %s: %w: see store config for how each key is written", file, err)
	}
	if un := md.Undecoded(); len(un) > 0 {
		return nil, unknownKeys(file, string(text), un)
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	c.resolve(dir)
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", file, err)
	}
	return &c, nil
}

// resolve makes relative paths relative to the file's folder.
func (c *Config) resolve(dir string) {
	c.Desk.Token = cmp.Or(c.Desk.Token, deskToken)
	paths := []*string{&c.LedgerFile, &c.Content, &c.Stock, &c.Public, &c.Record, &c.View, &c.Sources, &c.Twins,
		&c.Verifier, &c.HighWater,
		&c.Instruments.Recordings, &c.Census.List, &c.Census.Recordings, &c.Census.Key,
		&c.Timestamps.Headers, &c.Keys.Identity, &c.Keys.Ring, &c.Keys.Secret, &c.Keys.Log, &c.Keys.Webhook,
		&c.Keys.Git, &c.TLS.Storage, &c.TLS.Roots, &c.TLS.Certificate, &c.TLS.Key,
		&c.Desk.Token, &c.Vouchers.Key, &c.Payouts.Key, &c.Launch.Key, &c.Bounties.Key}
	for i, s := range c.Bounties.Screen {
		if !strings.Contains(s, "://") {
			paths = append(paths, &c.Bounties.Screen[i])
		}
	}
	for i := range c.Keys.Older {
		paths = append(paths, &c.Keys.Older[i])
	}
	for i := range c.Trade {
		paths = append(paths, &c.Trade[i].Secret)
	}
	for i := range c.Upstreams {
		paths = append(paths, &c.Upstreams[i].Headers)
	}
	for i := range c.Networks {
		paths = append(paths, &c.Networks[i].RPCFile, &c.Networks[i].RelayerKey)
		for j := range c.Networks[i].RelayerKeys {
			paths = append(paths, &c.Networks[i].RelayerKeys[j])
		}
	}
	for _, p := range paths {
		if *p != "" && *p != Specimen && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	if rest, ok := strings.CutPrefix(c.Ledger, "bolt:"); ok && rest != "" && !filepath.IsAbs(rest) {
		c.Ledger = "bolt:" + filepath.Join(dir, rest)
	}
}

// Specimen names the specimen key or ring.
const Specimen = "specimen"

// Specimen reports whether the configuration signs with the public specimen identity.
func (c *Config) Specimen() bool { return c.Keys.Identity == Specimen }

func (c *Config) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" || u.RawQuery != "" ||
		u.User != nil:
		fail("base_url must be https://host without a path or a slash at its end")
	case u.Scheme == "http" && !Loopback(u.Hostname()):
		fail("base_url must be https unless it is a loopback address")
	}
	if c.HostPages < 0 {
		fail("host_pages_max is negative: 0 is no limit")
	}
	if c.Ledger == "" == (c.LedgerFile == "") {
		fail("give exactly one of ledger and ledger_file")
	} else if c.Ledger != "" {
		if err := dynamic.CheckAddress(c.Ledger); err != nil {
			fail("ledger: %w", err)
		}
	}
	if err := checkListen(c.Listen); err != nil {
		fail("listen: %w", err)
	}
	if c.Keys.Identity == "" || c.Keys.Ring == "" || c.Keys.Secret == "" {
		fail("keys.identity, keys.ring and keys.secret are needed: make them with store key init")
	}
	if c.DebugListen != "" {
		host, _, err := net.SplitHostPort(c.DebugListen)
		if err != nil || !Loopback(host) {
			fail("debug_listen must be a loopback address such as 127.0.0.1:4021")
		}
	}
	errs = append(errs, c.checkNetworks(), c.checkServer())
	for i, n := range c.Networks {
		if n.ID == "" || n.PayTo == "" {
			fail("network %d: id and pay_to are needed", i+1)
		}
		if len(n.RPC) == 0 == (n.RPCFile == "") {
			fail("network %s: give exactly one of rpc and rpc_file", n.ID)
		}
		if n.RelayerKey == "" == (n.Facilitator == "") {
			fail("network %s: give exactly one of relayer_key and facilitator", n.ID)
		}
		if n.Together < 0 || n.Together > evm.MaxTogether {
			fail("network %s: together is %d: it is between 0 and %d", n.ID, n.Together, evm.MaxTogether)
		}
		if len(n.RelayerKeys) > 0 && n.RelayerKey == "" {
			fail("network %s: relayer_keys are of further accounts beside relayer_key", n.ID)
		}
		errs = append(errs, n.checkCost(), n.checkKind())
	}
	_, err = c.Gas.amounts()
	errs = append(errs, err, c.checkVouchers(), c.TLS.check(c.BaseURL), c.Instruments.check(), c.checkCensus(),
		c.Timestamps.check(),
		c.checkWitnesses(), c.Facilitator.check(), c.Desk.check(), c.Launch.check(), c.Bounties.check(), c.checkTrade(),
		c.checkUpstreams())
	return errors.Join(errs...)
}

func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// secretFile reads a file that only its owner may read.
func ReadSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others than its owner: chmod 600 it", path)
	}
	if st.Size() > 64<<10 {
		return nil, fmt.Errorf("%s is too large for a secret", path)
	}
	b := make([]byte, st.Size())
	_, err = f.ReadAt(b, 0)
	return b, err
}
