package services

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// place is where every name leads, over pipes, in a bubble.
type place struct {
	t       *testing.T
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
	address netip.Addr
	client  *fetch.Client
	db      ledger.DB
	serve   http.HandlerFunc

	mu    sync.Mutex
	came  []string  // guarded by mu
	spent time.Time // until when the budget is spent; guarded by mu
}

func (p *place) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *place) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *place) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(8, 8, 4, 4), Port: 80} }

func (p *place) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{p.address}, nil
}

func (p *place) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return mine, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// visits are the requests that came so far.
func (p *place) visits() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.came)
}

func openPlace(t *testing.T, serve http.HandlerFunc) *place {
	t.Helper()
	p := &place{t: t, conns: make(chan net.Conn), closed: make(chan struct{}), serve: serve,
		address: netip.MustParseAddr("8.8.4.4"), db: ledger.NewMem(ledger.MemOptions{})}
	server := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			p.came = append(p.came, r.Method+" "+r.Host+r.URL.String())
			p.mu.Unlock()
			p.serve(w, r)
		})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(p) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-ended); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	var err error
	p.client, err = fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Resolver: p, Dialer: p,
		Key: attest.SpecimenKey(), Agent: "https://store.example", OwnHosts: []string{"store.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs processes until the returned function is called.
func (p *place) run(n int) (stop func()) {
	p.t.Helper()
	return run(p.t, p.db, 10*time.Second, &signs{check: p.sign}, several(n, p.config())...)
}

func (p *place) config() Config {
	return Config{DB: p.db, Visits: p.client, Spend: p.spend, Log: quiet}
}

// spend is the budget of the instruments, which is spent until a time.
func (p *place) spend(_ context.Context, url string) (bool, time.Duration, error) {
	if !strings.HasPrefix(url, "http://door.example.com") {
		p.t.Errorf("a request to the host of %s is spent", url)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.spent), time.Minute, nil
}

const checkID = "check_abcdefghij2345672345"

// sign signs as the till does.
func (p *place) sign(_ context.Context, purchase string, c attest.Look, at time.Time) (*till.SignedArtifact, error) {
	c.CheckID, c.Class, c.URL = checkID, attest.ClassCheck, "http://door.example.com/"
	c.Promise = "sha256:" + strings.Repeat("ab", 32)
	c.Date, c.DueAt = at.Format(time.RFC3339), p.due().Format(time.RFC3339)
	proof, err := attest.SignPayload(attest.SpecimenKey(), c)
	if err == nil {
		_, err = attest.ParseArtifact([]byte(proof.SignedPayload))
	}
	return &till.SignedArtifact{ID: checkID, Class: attest.ClassCheck, Purchase: purchase, Proof: proof}, err
}

func (p *place) due() (at time.Time) {
	p.t.Helper()
	if err := p.db.View(context.Background(), func(tx ledger.Tx) error {
		rec, err := ledger.GetJSON[Visit](tx, ledger.LookKey(checkID))
		at = rec.Due
		return err
	}); err != nil {
		p.t.Error(err)
	}
	return at
}

func (p *place) update(f func(ledger.Tx) error) {
	p.t.Helper()
	if err := p.db.Update(context.Background(), f); err != nil {
		p.t.Fatal(err)
	}
}

// sold has a visit bought now, as the till's transactions do.
func (p *place) sold() {
	p.t.Helper()
	k := New(p.config()).phantom()
	o := &goods.Order{ID: "p1", Good: content.Good{Kind: k.Name}, Artifact: checkID,
		Inputs: map[string]string{"url": "http://door.example.com"}}
	g, err := k.Make(p.t.Context(), goods.Maker{}, o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.update(func(tx ledger.Tx) error {
		o.Settled = tx.Now()
		return errors.Join(k.Reserve(goods.Maker{}, tx, o), k.Settle(goods.Maker{}, tx, o, g),
			k.Complete(goods.Maker{}, tx, o, g),
			ledger.SetJSON(tx, ledger.PurchaseKey("p1"), till.Purchase{ID: "p1", State: till.Delivered}))
	})
}

// told is what was signed in the end, nil for nothing, and what is left of the work.
func (p *place) told() (c *attest.Look, left int) {
	p.t.Helper()
	p.update(func(tx ledger.Tx) error {
		c, left = nil, 0
		for _, name := range []string{"due", "task", "look", "goods"} {
			prefix := ledger.Key(name)
			for _, err := range tx.Scan(ledger.Prefix(prefix)) {
				if err != nil {
					return err
				}
				left++
			}
		}
		a, err := ledger.GetJSON[till.SignedArtifact](tx, ledger.LaterKey(checkID, "p1"))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		c = new(attest.Look)
		return errors.Join(err, attest.ParseCanonical([]byte(a.Proof.SignedPayload), c))
	})
	return c, left
}

// An address is looked at once, six hours later, by any number of processes, whatever it answers.
func TestOneLookSixHoursLater(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  func(a attest.Answer) bool
	}{
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "abc")
		}, func(a attest.Answer) bool {
			return a == attest.Answer{HTTPStatus: 200, ContentType: "text/plain", BodyBytes: 3,
				BodySHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
		}},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, func(a attest.Answer) bool { return a.HTTPStatus == 302 }},
		"without end": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		}, func(a attest.Answer) bool {
			return a.HTTPStatus == 200 && a.Truncated && a.BodyBytes == fetch.DefaultMaxBytes
		}},
		"silence": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(a attest.Answer) bool { return a.HTTPStatus == 0 && a.Failed == "deadline" }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openPlace(t, c.serve)
				stop := p.run(3)
				p.sold()
				time.Sleep(VisitAfter - time.Minute)
				if len(p.visits()) != 0 {
					t.Errorf("looked too soon: %v", p.visits())
				}
				time.Sleep(24 * time.Hour)
				stop()
				seen, left := p.told()
				if len(p.visits()) != 1 || p.visits()[0] != "GET door.example.com/" || left != 0 {
					t.Errorf("came %v, %d entries left", p.visits(), left)
				}
				if seen == nil || seen.Status != attest.CheckObserved || seen.Answer == nil || !c.want(*seen.Answer) {
					t.Errorf("told %+v", seen)
				}
			})
		})
	}
}

// A look that was begun by a process that died is told as missed and is not made again; so is one
// for which the store stood still, and one whose name leads inside by then. Of a payment that was
// taken back nothing is looked at.
func TestMissedLooks(t *testing.T) {
	for name, c := range map[string]struct {
		sleep time.Duration // before any process runs
		do    func(p *place)
		says  string // "" for nothing
	}{
		"interrupted": {VisitAfter, func(p *place) {
			p.update(func(tx ledger.Tx) error {
				rec, err := ledger.GetJSON[Visit](tx, ledger.LookKey(checkID))
				rec.Begun = tx.Now().Add(-time.Minute)
				return errors.Join(err, ledger.SetJSON(tx, ledger.LookKey(checkID), rec))
			})
		}, "was stopped while it looked"},
		"past its grace": {VisitAfter + VisitGrace + 2*time.Second, func(*place) {}, "stood still"},
		"rebound": {0, func(p *place) { p.address = netip.MustParseAddr("169.254.169.254") },
			"not a public address"},
		"reversed": {0, func(p *place) {
			p.update(func(tx ledger.Tx) error {
				return ledger.SetJSON(tx, ledger.PurchaseKey("p1"), till.Purchase{ID: "p1", State: till.Reversed})
			})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openPlace(t, func(w http.ResponseWriter, _ *http.Request) {})
				p.sold()
				time.Sleep(c.sleep)
				c.do(p)
				stop := p.run(2)
				time.Sleep(24 * time.Hour)
				stop()
				seen, left := p.told()
				if len(p.visits()) != 0 || left != 0 {
					t.Errorf("came %v, %d entries left", p.visits(), left)
				}
				if (seen == nil) != (c.says == "") || seen != nil && (seen.Status != attest.CheckMissed ||
					!strings.Contains(seen.Missed, c.says)) {
					t.Errorf("told %+v", seen)
				}
			})
		})
	}
}

// Within its grace a late look is made, and says when.
func TestLateLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPlace(t, func(w http.ResponseWriter, _ *http.Request) {})
		p.sold()
		due := p.due()
		time.Sleep(VisitAfter + VisitGrace - time.Minute)
		stop := p.run(2)
		time.Sleep(time.Hour)
		stop()
		at := due.Add(VisitGrace - time.Minute).Format(time.RFC3339)
		if seen, _ := p.told(); seen == nil || seen.Status != attest.CheckObserved || seen.LookedAt != at {
			t.Errorf("told %+v, not at %s", seen, at)
		}
	})
}

// What is never looked at is refused when it is ordered.
func TestTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPlace(t, nil)
		for url, host := range map[string]string{
			"http://A.Example.com/x?y=1": "a.example.com", "https://a.example.com": "a.example.com",
			"http://a.example.com:8080/": "", "http://169.254.169.254/latest": "", "https://store.example/": "",
			"gopher://a.example.com/": "", "http://localhost/": "", "https://u:p@a.example.com/": "",
		} {
			_, got, err := New(p.config()).visitTarget(url)
			var bad *goods.BadInput
			if got != host || (err == nil) != (host != "") || err != nil && !errors.As(err, &bad) {
				t.Errorf("%s: %q, %v", url, got, err)
			}
		}
	})
}

// A look is one of the instruments' requests: while their budget is spent it waits, within its
// grace, and is made once when there is more.
func TestALookWaitsForTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		spent  time.Duration // beyond the time of the look
		status string
		visits int
	}{
		"for an hour": {time.Hour, attest.CheckObserved, 1},
		"for the day": {24 * time.Hour, attest.CheckMissed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openPlace(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "abc") })
				p.sold()
				p.mu.Lock()
				p.spent = p.due().Add(c.spent)
				p.mu.Unlock()
				stop := p.run(2)
				time.Sleep(VisitAfter + VisitGrace + time.Hour)
				stop()
				got, left := p.told()
				if got == nil || got.Status != c.status || len(p.visits()) != c.visits || left != 0 {
					t.Fatalf("told %+v after %v, %d left", got, p.visits(), left)
				}
				at, err := time.Parse(time.RFC3339, got.LookedAt)
				if c.visits > 0 && (err != nil || at.Before(p.spent)) {
					t.Errorf("looked at %s, before there was a place for it", got.LookedAt)
				}
			})
		})
	}
}

// A store that visits nothing sells no visits, and says so before terms are made and where an order
// for one is claimed all the same.
func TestVisitsAreAwayWhereNothingIsVisited(t *testing.T) {
	k, m := New(Config{}).phantom(), goods.Maker{}
	o := &goods.Order{Good: content.Good{ID: "phantom_check"}, Inputs: map[string]string{"url": "http://door.example"}}
	for name, err := range map[string]error{"listed": k.Available(m, nil, o.Good, nil),
		"asked for": k.Available(m, nil, o.Good, o.Inputs), "claimed": k.Reserve(m, nil, o)} {
		if away, is := errors.AsType[*goods.Away](err); !is || away.Item != o.Good.ID {
			t.Errorf("%s: %v, want that it is away", name, err)
		}
	}
}
