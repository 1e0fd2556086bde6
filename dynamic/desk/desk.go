// Package desk is the counter of the free instruments: it probes a stranger's door and says what
// was seen and whose fault it is, judges offers, receipts, cards, directories and pages, looks
// things up on the shelf, lets an owner read the record about an address, and keeps practice doors
// that are wrong on purpose. It judges nothing itself and makes no request itself: checkers under
// corpus judge, the guarded client fetches. What is its own is the budget of each instrument, the
// sharing of one probe among those who ask at once, the private keeping of raw recordings, and the
// shape of the answers.
//
// A refusal of an input is a 400 and spends nothing; a verdict of any kind is a 200.
//
//	d, err := desk.New(desk.Config{BaseURL: "https://store.example", Site: site, DB: db, Secret: secret, Budgets: budgets, Client: client, Key: key, Ring: ring, Record: desk.Rounds{}})
//	rows := d.Rows()
package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"

	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/templates"
)

// The names of the desk's budgets.
const (
	BudgetPreflight  = "preflight"
	BudgetA2A        = "a2a_check"
	BudgetReadings   = "readings"
	BudgetProvenance = "provenance"
	BudgetDeclare    = "declare_door"
)

// Budgets are the budgets that the desk's rows name, as they are unless configured otherwise.
func Budgets() []budget.Limit {
	return []budget.Limit{
		{Name: BudgetPreflight, Window: time.Minute, Process: 30, Shared: 60, Fair: true,
			Doc: "Doors that are probed for anybody: preflight, batch, look, before-you-pay and the page where a " +
				"person pastes a URL."},
		{Name: BudgetA2A, Window: time.Minute, Process: 30, Shared: 60, Fair: true,
			Doc: "Agent cards that are fetched and judged."},
		{Name: BudgetReadings, Window: time.Minute, Process: 30, Shared: 60, Fair: true,
			Doc: "Signature directories, pages, and the keys of offers and receipts that are fetched to be judged."},
		{Name: BudgetDeclare, Window: time.Minute, Process: 30, Shared: 60, Fair: true,
			Doc: "Hosts whose own list of doors is read by hand. Each host is read once in 24 hours besides."},
		{Name: BudgetHost, Window: time.Minute, Each: 10, Kept: HostKept(10),
			Doc: "Requests to one host, over everybody who has it read. Half is kept for what was paid for. What " +
				"is remembered of the host does not count."},
		{Name: BudgetProvenance, Window: time.Minute, Client: 30,
			Doc: "Challenges and answers of those who prove an address, right or wrong. By client alone, so that " +
				"nobody crowds out another."},
	}
}

// Client makes the desk's requests; *fetch.Client is one.
type Client interface {
	fetch.Asker
	// Check says whether a URL would be contacted, without contacting it.
	Check(ctx context.Context, raw string, rule fetch.Rule) error
}

// Config is what a Desk is made of.
type Config struct {
	BaseURL string
	Site    content.Editions
	DB      ledger.DB
	Budgets *budget.Set
	Client  Client
	DeskKeys
	Record Record // what the signed record holds
	// Archive is the record that discovery lists; nil for none.
	Archive *archive.Archive
	Roster  Roster                   // what the census of the week does; nil where there is none
	Hourly  bool                     // the store fires the census at every full hour by itself
	Keep    *Drawer                  // where raw recordings are kept, nil for nowhere
	Chrome  func() *templates.Chrome // of the pages that are rendered on request
	Log     *slog.Logger             // nil: nothing is logged
	Walking
}

// DeskKeys are by what is signed and judged.
type DeskKeys struct {
	Secret []byte // the store's, at least 32 bytes: what owners of addresses sign derives from it
	// Key signs the directory of the keys that sign our requests, and the conformance fixtures.
	Key *attest.Key
	// Ring are the published keys, current and retired, by which what this store signed is judged.
	Ring attest.Ring
	// Walker signs the requests of the census and stands in the directory beside Key; nil, or Key,
	// for none of its own.
	Walker *attest.Key
}

// Walking is how doors are walked.
type Walking struct {
	// Nodes read the accounts without which what is signed at a door does not settle; nil: nobody
	// is asked.
	Nodes fetch.Nodes
	// Share is how long a finished probe answers others who ask for the same URL; 0 is
	// DefaultShare.
	Share time.Duration
	// Time bounds one walk; 0 is fetch.DefaultWalkTime. Half a minute more includes the wait for
	// its turn, which a handler's time must allow.
	Time time.Duration
	// Walks bounds how many doors are walked at once, and with it memory; 0 is DefaultWalks. More
	// wait.
	Walks int
	// Payable says why nothing could be bought at a door that is asked with a method, in words of
	// our own; "" where something could. It asks the door unpaid, once. nil: nothing is bought at
	// doors.
	Payable func(ctx context.Context, url, method string) (why string)
	// Control reports whether a door that is known to be well can be read. Where there is none,
	// nothing that is sold calls a door unreachable.
	Control func(ctx context.Context) bool
}

// The defaults of Config.
const (
	DefaultShare = 5 * time.Second
	DefaultWalks = 64
)

// Desk answers the routes of the instruments. It may be used by many goroutines at once.
type Desk struct {
	cfg       Config
	host      string
	did       string // of this store
	document  []byte // its DID document
	directory signedDirectory
	looks     sharing[look]
	readings  sharing[reading]
	pins      pins
	slots     chan struct{}
	owners    *challenge.Maker
	lookTime  time.Duration // of all requests of one look
}

// New checks cfg and returns a desk.
func New(cfg Config) (*Desk, error) {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("opening the desk: base URL %q", cfg.BaseURL)
	case cfg.Site == nil || cfg.DB == nil || cfg.Budgets == nil || cfg.Client == nil || cfg.Key == nil ||
		cfg.Record == nil || cfg.Chrome == nil:
		return nil, errors.New("opening the desk: the site, ledger, budgets, client, key, record or chrome is missing")
	case len(cfg.Secret) < 32:
		return nil, errors.New("opening the desk: the secret must hold at least 32 bytes")
	case cfg.Share < 0 || cfg.Time < 0 || cfg.Walks < 0:
		return nil, errors.New("opening the desk: a bound is negative")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	lookTime := cmp.Or(cfg.Time, probe.MaxTime)
	cfg.Share, cfg.Time = cmp.Or(cfg.Share, DefaultShare), cmp.Or(cfg.Time, fetch.DefaultWalkTime)
	if !cfg.Budgets.Has(BudgetHost) {
		return nil, fmt.Errorf("opening the desk: there is no budget %s", BudgetHost)
	}
	cfg.Client = &ownFiles{Client: &limited{cfg.Client, cfg.Budgets}}
	cfg.Walks = cmp.Or(cfg.Walks, DefaultWalks)
	document, err := attest.DIDDocument(u.Host, cfg.Ring)
	if err != nil {
		return nil, fmt.Errorf("opening the desk: %w", err)
	}
	d := &Desk{cfg: cfg, host: u.Host, did: attest.DID(u.Host), document: document,
		slots: make(chan struct{}, cfg.Walks), lookTime: lookTime,
		owners: challenge.NewMaker(cfg.Secret)}
	d.looks.keep, d.readings.keep = cfg.Share, cfg.Share
	d.directory = signedDirectory{keys: []*attest.Key{cfg.Key}, authority: u.Host}
	if cfg.Walker != nil && cfg.Walker.KID() != cfg.Key.KID() {
		d.directory.keys = append(d.directory.keys, cfg.Walker)
	}
	return d, nil
}

// Drain waits for the walks under way, which end by themselves within seconds.
func (d *Desk) Drain(ctx context.Context) error {
	return errors.Join(d.looks.wait(ctx), d.readings.wait(ctx))
}
