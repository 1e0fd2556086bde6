package shop

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/goods"
)

// UpstreamConfig is a prefix of addresses whose answers may be sold.
type UpstreamConfig struct {
	URL     string `toml:"url" doc:"What may be asked by goods of kind upstream: an address, or with a slash at its end all addresses that begin so, such as https://api.example/v1/. Redirects are not followed."`
	Headers string `toml:"headers" doc:"File (0600) of header fields that are sent to these addresses alone, one a line, such as Authorization: Bearer and a key. Empty sends none."`
	Private bool   `toml:"private" doc:"The addresses are on this machine or in a network of your own: loopback, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or fc00::/7, by http where you like. Without it these are refused, whatever a name leads to."`
}

// ownNetworks are what a private upstream may be in, beside the public ones.
var ownNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("fc00::/7")}

func (c *Config) checkUpstreams() error {
	var errs []error
	for i, up := range c.Upstreams {
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("upstream %d: url: "+format, append([]any{i + 1}, args...)...))
		}
		at, err := goods.ParseUpstreamPrefix(up.URL)
		switch {
		case err != nil:
			fail("%w", err)
		case at.Scheme == "http" && !up.Private:
			fail("http is for private addresses: write https, or private = true where it is on this machine or in " +
				"your own network")
		case sameOrigin(at, c.BaseURL):
			fail("is this store, which would ask itself: name the service behind it")
		}
	}
	return errors.Join(errs...)
}

func sameOrigin(at *url.URL, base string) bool {
	own, err := url.Parse(base)
	return err == nil && own.Scheme == at.Scheme && own.Host == at.Host
}

// upstreams asks what the configuration allows; nil where it allows nothing.
func (s *Shop) upstreams(o Options) (goods.Upstreams, error) {
	var all []goods.AllowedUpstream
	for _, up := range s.Config.Upstreams {
		a := goods.AllowedUpstream{Prefix: up.URL}
		if up.Headers != "" {
			secret, err := ReadSecret(up.Headers)
			if err == nil {
				a.Header, err = goods.ParseUpstreamHeader(string(secret))
			}
			if err != nil {
				return nil, fmt.Errorf("upstream.headers: %w", err)
			}
		}
		var err error
		if a.Client, err = up.client(&s.Config, o); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return goods.NewUpstreams(all)
}

// warnUpstreams says which goods are not sold because their addresses are not allowed.
func (s *Shop) warnUpstreams(ask goods.Upstreams) {
	for _, g := range s.Site.Now().Goods {
		if g.Upstream != nil && (ask == nil || !ask.Allows(g.Upstream.URL)) {
			s.Log.Warn("not sold: the good asks an address that the configuration does not allow; hint: name it, or "+
				"what it begins with, in a table [[upstream]]", "good", g.ID, "url", g.Upstream.URL)
		}
	}
}

// client reaches the addresses of a prefix and no others' networks.
func (up UpstreamConfig) client(c *Config, o Options) (*fetch.Client, error) {
	at, err := url.Parse(up.URL)
	if err != nil {
		return nil, err
	}
	cfg, err := c.fetchConfig(nil)
	if err != nil {
		return nil, err
	}
	cfg.Unsigned, cfg.Agent, cfg.Allow = true, "", nil
	cfg.Unrecorded, cfg.MaxBytes, cfg.Timeout = true, goods.MaxAnswer, goods.UpstreamMaxTime
	cfg.PerHost = goods.AtOnce
	if at.Port() != "" || up.Private {
		port := cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme])
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("upstream %s: its port: %w", up.URL, err)
		}
		cfg.Allow = &fetch.Allow{Ports: []uint16{uint16(n)}}
	}
	if up.Private { // its address may be one of ours, at another port
		cfg.Allow.Networks, cfg.OwnHosts, cfg.OwnAddresses = ownNetworks, nil, nil
	}
	if o.Reach != nil && !up.Private {
		o.Reach(&cfg)
	}
	return fetch.New(cfg)
}

// files is where the store keeps what goods of files are made of.
func files(c *Config) goods.Vault { return goods.Vault(filepath.Join(SourcesDir(c), "files")) }

// filesOf is the same as the till has it; nil for a configuration without a private folder.
func filesOf(c *Config) goods.Files {
	if SourcesDir(c) == "" {
		return nil
	}
	return files(c)
}

// keepFiles puts the files that a site sells into the vault.
func keepFiles(c *Config, site *content.Site) error {
	for _, f := range site.Files() {
		if err := keepFile(c, f); err != nil {
			return fmt.Errorf("keeping the sources: %w", err)
		}
	}
	return nil
}

func keepFile(c *Config, f content.File) error {
	if files(c).Holds(f) {
		return nil
	}
	r, err := sources(c).OpenFile(f)
	if err != nil {
		return err
	}
	defer r.Close()
	return files(c).Keep(f, r)
}

// stockName is what errors call the stock folder: as seen from where the program runs.
func stockName(c *Config) string {
	here, err := os.Getwd()
	if err != nil {
		return c.Stock
	}
	if rel, err := filepath.Rel(here, c.Stock); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return c.Stock
}
