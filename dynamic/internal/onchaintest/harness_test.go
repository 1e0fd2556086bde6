package onchaintest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

// shop is a till on fresh chains behind a test server.
type shop struct {
	t     *testing.T
	net   *chaintest.Net
	db    ledger.DB
	till  *till.Till
	count *counter.Counter
	rails []rail.Rail
	url   string
	site  *content.Site
	later *services.Services
	stop  func()
}

type shopOptions struct {
	networks []uint64
	manual   bool
	buyers   int
	config   func(*till.Config)
	services services.Config // but for its ledger
	counter  counter.Config
	rows     func(*counter.Counter) []route.Row // beside the counter's own
	db       ledger.DB
	net      *chaintest.Net
	rail     func(rail.Rail) rail.Rail
	evm      func(*evm.Config)
	site     *content.Site
	chain    chaintest.Options
	more     []rail.Rail // behind those of the chains

	unchecked bool // some network is down
}

func newShop(t *testing.T, o shopOptions) *shop {
	t.Helper()
	s := &shop{t: t, net: o.net, db: o.db}
	if s.net == nil {
		c := o.chain
		c.Networks, c.Manual, c.Buyers = o.networks, o.manual, o.buyers
		s.net = chaintest.New(t, c)
	}
	if s.db == nil {
		db, err := bolt.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.bolt"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		s.db = db
	}
	s.site = o.site
	if s.site == nil {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		s.site = site
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running []chan struct{}
	run := func(f func(context.Context) error) {
		done := make(chan struct{})
		running = append(running, done)
		go func() {
			defer close(done)
			if err := f(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("background: %v", err)
			}
		}()
	}
	var rails []rail.Rail
	for _, c := range s.net.Chains {
		cfg, ok := evm.Preset(fmt.Sprintf("eip155:%d", c.ChainID()))
		if !ok {
			t.Fatalf("no preset for %d", c.ChainID())
		}
		cfg.RPC = []string{c.URL}
		cfg.PayTo = s.net.PayTo.Hex()
		cfg.Relayer = s.net.Relayer.Private
		cfg.GenesisHash, cfg.CoinPrice = "", 1_000_000
		cfg.Depth = 1
		cfg.Poll = 100 * time.Millisecond
		if o.evm != nil {
			o.evm(&cfg)
		}
		r, err := evm.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Check(ctx); err != nil && !o.unchecked {
			t.Fatal(err)
		}
		run(r.Run)
		var rr rail.Rail = r
		if o.rail != nil {
			rr = o.rail(rr)
		}
		rails = append(rails, rr)
	}
	for _, r := range o.more {
		run(r.Run)
		rails = append(rails, r)
	}
	s.rails = rails
	key := attest.SpecimenKey()
	level := slog.LevelWarn
	if os.Getenv("TILL_LOG") != "" {
		level = slog.LevelDebug
	}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	s.url = srv.URL
	secret := bytes.Repeat([]byte("s"), 32)
	cfg := till.Config{
		BaseURL: srv.URL, Site: s.site, DB: s.db, Rails: rails, Keys: []*attest.Key{key}, Ring: attest.SpecimenRing(),
		Secret: secret, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		Exclusive: true, Patience: time.Second,
		// a buyer waits as long as a slow machine takes, unless the test says otherwise
		SettleWait: patience, RepeatWait: patience, OpenWait: patience,
	}
	o.services.BaseURL, o.services.DB, o.services.Log = srv.URL, s.db, cfg.Log
	s.later = services.New(o.services)
	cfg.Kinds = s.later.Kinds()
	if o.config != nil {
		o.config(&cfg)
	}
	tl, err := till.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.till = tl
	counts := o.counter
	counts.Till, counts.Later = tl, s.later
	c, err := counter.New(counts)
	if err != nil {
		t.Fatal(err)
	}
	s.count = c
	rows := append(c.Rows(), s.later.Rows(c)...)
	if o.rows != nil {
		rows = append(rows, o.rows(c)...)
	}
	mux.Handle("/", tilltest.Serve(rows, srv.URL, func(w http.ResponseWriter, r *http.Request, err error) {
		t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}))
	run(func(ctx context.Context) error { return tl.Run(ctx) })
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		srv.Close()
		drain, c := context.WithTimeout(context.Background(), 5*time.Second) // some tests leave what cannot end
		defer c()
		tl.Drain(drain)
		cancel()
		for _, d := range running {
			<-d
		}
	}
	t.Cleanup(s.stop)
	return s
}

func (s *shop) do(method, path string, header map[string]string, body ...string) tilltest.Reply {
	s.t.Helper()
	r, err := s.try(method, path, header, body...)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *shop) try(method, path string, header map[string]string, body ...string) (tilltest.Reply, error) {
	req, err := s.request(method, path, header, body...)
	if err != nil {
		return tilltest.Reply{}, err
	}
	return s.sent(req)
}

func (s *shop) request(method, path string, header map[string]string, body ...string) (*http.Request, error) {
	var rd io.Reader
	if len(body) > 0 {
		rd = strings.NewReader(body[0])
	}
	req, err := http.NewRequest(method, s.url+path, rd)
	if err != nil {
		return nil, err
	}
	if rd != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return req, nil
}

// buyers keep as many connections as a load has open at once: what one costs is the buyer's.
var buyers = func() *http.Client {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 0, 512
	return &http.Client{Transport: tr}
}()

// send is do for a request that is made already.
func (s *shop) send(req *http.Request) tilltest.Reply {
	s.t.Helper()
	r, err := s.sent(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *shop) sent(req *http.Request) (tilltest.Reply, error) {
	r, err := answerTo(req)
	if err == nil {
		s.judge(req, &r)
	}
	return r, err
}

// answerTo is sent without a look at the answer, for a load: what a buyer makes of it is no work of
// the store's.
func answerTo(req *http.Request) (tilltest.Reply, error) {
	resp, err := buyers.Do(req)
	if err != nil {
		return tilltest.Reply{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return tilltest.Reply{}, err
	}
	return tilltest.Reply{Status: resp.StatusCode, Header: resp.Header, Raw: raw}, nil
}

// judge decodes an answer and demands what every answer to a payment says.
func (s *shop) judge(req *http.Request, r *tilltest.Reply) {
	json.Unmarshal(r.Raw, &r.Body)
	if counter.Paying(req.Header) && req.Method != "HEAD" {
		if err := tilltest.AnswersPayment(*r, req.Header.Get("PAYMENT-SIGNATURE") != ""); err != nil {
			s.t.Errorf("%s %s = %d %s: %v", req.Method, req.URL, r.Status, r.Raw, err)
		}
	}
}

// challenge reads a 402.
func (s *shop) challenge(path string) map[string]any {
	s.t.Helper()
	r := s.do("GET", path, nil)
	if r.Status != 402 {
		s.t.Fatalf("GET %s = %d %s, want 402", path, r.Status, r.Raw)
	}
	return tilltest.DecodeChallenge(s.t, r.Header.Get("PAYMENT-REQUIRED"))
}

// pay signs accepts[i] of a challenge and returns the header.
func (s *shop) pay(ch map[string]any, i int, from chaintest.Key) string {
	s.t.Helper()
	return s.sign(ch, i, from, nil).header(s.t)
}

// buy pays for a path once with the first offer.
func (s *shop) buy(path string, from chaintest.Key, header map[string]string) (tilltest.Reply, string) {
	s.t.Helper()
	pay := s.pay(s.challenge(path), 0, from)
	h := map[string]string{"PAYMENT-SIGNATURE": pay}
	maps.Copy(h, header)
	return s.do("GET", path, h), pay
}
