package shop

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/roster"
)

// InstrumentsConfig says how strangers' doors are reached, how often, and what is kept of it.
type InstrumentsConfig struct {
	Contact         string   `toml:"contact" doc:"Address of a page that says who probes and how to reach him; it stands in the User-Agent of every probe. Empty takes base_url and /criteria."`
	OwnHosts        []string `toml:"own_hosts" doc:"Further names of this store, which its instruments never read. The host of base_url is one by itself."`
	OwnAddresses    []string `toml:"own_addresses" doc:"Addresses of this store and its neighbours, which its instruments never read under any name."`
	Recordings      string   `toml:"recordings" doc:"Private folder for the raw recordings of probes, one for each process. Empty keeps none, and the badge of a door then has no reading to show."`
	RecordingsMax   int      `toml:"recordings_max" doc:"Recordings that are kept; the oldest go first. 0 takes 20000."`
	RecordingsBytes int64    `toml:"recordings_bytes" doc:"Bytes of recordings that are kept. 0 takes 512 MiB."`
	Walks           int      `toml:"walks" doc:"Doors that are read at once; more wait their turn. It bounds memory. 0 takes 64."`
	Share           Duration `toml:"share" doc:"How long a finished probe answers others who ask for the same URL. 0s takes 5s."`

	PreflightProcess int `toml:"preflight_process" doc:"Probes a minute in one process, shared by preflight, look, before-you-pay and /try. 0 takes 30."`
	PreflightShared  int `toml:"preflight_shared" doc:"The same over all processes of this ledger, exactly. 0 takes 60."`
	A2AProcess       int `toml:"a2a_process" doc:"Agent cards that are checked a minute in one process. 0 takes 30."`
	A2AShared        int `toml:"a2a_shared" doc:"Agent cards that are checked a minute over all processes. 0 takes 60."`
	ReadingsProcess  int `toml:"readings_process" doc:"Directories, pages and keys that are fetched a minute in one process, and, counted by themselves, hosts whose own list of doors is read. 0 takes 30."`
	ReadingsShared   int `toml:"readings_shared" doc:"Directories, pages and keys that are fetched a minute over all processes. 0 takes 60."`
	HostRequests     int `toml:"host_requests" doc:"Requests a minute to one host, whoever has it read, over all processes; half is kept for what was paid for. The census has its own turns. 0 takes 10."`
}

func (c InstrumentsConfig) check() error {
	var errs []error
	if u, err := url.Parse(c.Contact); c.Contact != "" && (err != nil || u.Host == "") {
		errs = append(errs, errors.New("instruments.contact must be an absolute URL, such as "+
			"https://store.example/criteria"))
	}
	for name, n := range map[string]int64{"recordings_max": int64(c.RecordingsMax),
		"recordings_bytes": c.RecordingsBytes, "walks": int64(c.Walks),
		"preflight_process": int64(c.PreflightProcess), "preflight_shared": int64(c.PreflightShared),
		"a2a_process": int64(c.A2AProcess), "a2a_shared": int64(c.A2AShared),
		"readings_process": int64(c.ReadingsProcess), "readings_shared": int64(c.ReadingsShared),
		"host_requests": int64(c.HostRequests)} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("instruments.%s is negative: 0 takes the usual", name))
		}
	}
	for _, s := range c.OwnAddresses {
		if _, err := netip.ParseAddr(s); err != nil {
			errs = append(errs, fmt.Errorf("instruments.own_addresses: %q is no address such as 192.0.2.7", s))
		}
	}
	return errors.Join(errs...)
}

// budgets are the table with what is configured otherwise.
func (c InstrumentsConfig) budgets(table []budget.Limit) []budget.Limit {
	set := func(into *int, n int) {
		if n > 0 {
			*into = n
		}
	}
	for i := range table {
		l := &table[i]
		switch l.Name {
		case desk.BudgetPreflight:
			set(&l.Process, c.PreflightProcess)
			set(&l.Shared, c.PreflightShared)
		case desk.BudgetA2A:
			set(&l.Process, c.A2AProcess)
			set(&l.Shared, c.A2AShared)
		case desk.BudgetHost:
			set(&l.Each, c.HostRequests)
			l.Kept = desk.HostKept(l.Each)
		case desk.BudgetReadings, desk.BudgetDeclare:
			set(&l.Process, c.ReadingsProcess)
			set(&l.Shared, c.ReadingsShared)
		}
	}
	return table
}

// fetchConfig is how strangers are reached. The key that signs certificates also signs the
// requests, because its published half is what a reader of the signature finds.
func (c *Config) fetchConfig(key *attest.Key) (fetch.Config, error) {
	in := c.Instruments
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return fetch.Config{}, err
	}
	contact := in.Contact
	if contact == "" {
		contact = c.BaseURL + "/criteria"
	}
	out := fetch.Config{UserAgent: "store/1 (+" + contact + ")", Key: key, Agent: c.BaseURL,
		OwnHosts: append([]string{base.Host}, in.OwnHosts...)}
	for _, s := range in.OwnAddresses {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return out, fmt.Errorf("instruments.own_addresses: %w", err)
		}
		out.OwnAddresses = append(out.OwnAddresses, a)
	}
	return out, nil
}

// openDesk makes the counter of the free instruments. secret is the till's.
func (s *Shop) openDesk(key *attest.Key, secret []byte, budgets *budget.Set, o Options) (*desk.Desk, error) {
	c := s.Config
	cfg, err := c.fetchConfig(key)
	if err != nil {
		return nil, err
	}
	if o.Reach != nil {
		o.Reach(&cfg)
	}
	client, err := fetch.New(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.openCallers(cfg); err != nil {
		return nil, err
	}
	if c.Instruments.Recordings != "" {
		if s.drawer, err = desk.OpenDrawer(c.Instruments.Recordings, c.Instruments.RecordingsMax,
			c.Instruments.RecordingsBytes); err != nil {
			return nil, err
		}
	}
	s.client, s.refused = client, refused(client)
	s.hostPages = dynamic.HostPages{Archive: s.archive, Chrome: s.chrome, BaseURL: strings.TrimSuffix(c.BaseURL, "/"),
		Spell: speller(client)}
	record := desk.Rounds{Archive: s.archive, BaseURL: strings.TrimSuffix(c.BaseURL, "/")}
	walker, err := c.walkerKey()
	if err != nil {
		return nil, err
	}
	control, err := s.controlDoor(key, o)
	if err != nil {
		return nil, err
	}
	nodes, err := c.accountNodes()
	if err != nil {
		return nil, err
	}
	return desk.New(desk.Config{
		BaseURL: strings.TrimSuffix(c.BaseURL, "/"), Site: s.Site, DB: s.DB, Secret: secret, Budgets: budgets,
		Client: client, Nodes: nodes, Key: key, Ring: s.Ring, Record: record, Archive: s.archive,
		Roster: roster.New(s.DB), Hourly: c.Census.Hourly,
		Walker: walker, Keep: s.drawer, Chrome: s.chrome, Log: s.Log, Share: time.Duration(c.Instruments.Share),
		Walks: c.Instruments.Walks, Control: control, Payable: s.payable(),
	})
}
