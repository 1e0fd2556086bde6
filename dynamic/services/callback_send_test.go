package services

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// post is a receiver's office in a bubble: every name leads to it over pipes.
type post struct {
	t       *testing.T
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
	address atomic.Pointer[netip.Addr] // of every name
	db      ledger.DB
	client  *fetch.Client
	began   time.Time

	mu   sync.Mutex
	got  []received // guarded by mu
	says func(w http.ResponseWriter, r *http.Request, n int)
}

type received struct {
	after time.Duration
	id    string
	body  string
}

func (p *post) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *post) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *post) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(8, 8, 4, 4), Port: 443} }

func (p *post) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{*p.address.Load()}, nil
}

func (p *post) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return mine, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const token = "st_of_the_buyer"

// ServeHTTP implements http.Handler: it checks what comes as a receiver does.
func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
	}
	wh, err := standardwebhooks.NewWebhookRaw([]byte(token))
	if err == nil {
		err = wh.Verify(body, r.Header)
	}
	if err != nil {
		p.t.Errorf("the official verifier says %v of %v", err, r.Header)
	}
	p.mu.Lock()
	p.got = append(p.got, received{time.Since(p.began).Round(time.Minute), r.Header.Get("webhook-id"), string(body)})
	n := len(p.got)
	p.mu.Unlock()
	p.says(w, r, n)
}

// openPost makes a receiver that answers as says has it.
func openPost(t *testing.T, says func(w http.ResponseWriter, r *http.Request, n int)) *post {
	t.Helper()
	p := &post{t: t, conns: make(chan net.Conn), closed: make(chan struct{}), began: time.Now(), says: says,
		db: ledger.NewMem(ledger.MemOptions{})}
	a := netip.MustParseAddr("8.8.4.4")
	p.address.Store(&a)
	server := &httptest.Server{Listener: p, Config: &http.Server{Handler: p, ErrorLog: slog.NewLogLogger(
		slog.DiscardHandler, 0)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	var err error
	p.client, err = fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Resolver: p, Dialer: p,
		Key: attest.SpecimenKey(), Agent: "https://store.example", OwnHosts: []string{"store.example"}, Roots: roots,
		Timeout: WordTimeout, MaxBytes: WordMaxBytes})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sender is one process of the store.
func (p *post) sender() *Services {
	return New(Config{DB: p.db, Log: quiet, Callbacks: CallbackConfig{Client: p.client,
		Key: attest.SpecimenKeyFor(attest.PurposeWebhook)}})
}

// run runs processes until the returned function is called.
func (p *post) run(senders ...*Services) (stop func()) {
	p.t.Helper()
	return run(p.t, p.db, time.Second, &signs{}, senders...)
}

func (p *post) want(order, url string) {
	p.t.Helper()
	p.update(func(tx ledger.Tx) error {
		return Tell(tx, goods.Notice{Order: order, Purchase: "p1", URL: url, Type: "order.completed",
			Data: goods.Told{OrderID: order, ItemID: "quick_judgment", Status: "completed",
				Deliverable: goods.HumanGoods{Text: "Keep the <cat>."}}})
	})
}

func (p *post) update(f func(ledger.Tx) error) {
	p.t.Helper()
	if err := p.db.Update(context.Background(), f); err != nil {
		p.t.Fatal(err)
	}
}

func (p *post) record(order string) (rec Message) {
	p.t.Helper()
	if err := p.db.View(context.Background(), func(tx ledger.Tx) (err error) {
		rec, err = ReadMessage(tx, order)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
	return rec
}

func (p *post) givenUp() (list []Message) {
	p.t.Helper()
	if err := p.db.View(context.Background(), func(tx ledger.Tx) (err error) {
		list, err = ListGivenUp(tx)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
	return list
}

func (p *post) all() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

func outcomes(rec Message) (all []string) {
	for _, t := range rec.Tries {
		all = append(all, t.Outcome)
	}
	return all
}

// A receiver that takes nothing is told eight times over 27 hours by any number of processes, each
// time once, the same under one id, and then once more when its buyer asks.
func TestEightTriesOver27Hours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPost(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n > 8 {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			http.Redirect(w, r, "https://b.example.com/", http.StatusTemporaryRedirect)
		})
		stop := p.run(p.sender(), p.sender())
		p.want("order_1", "https://a.example.com/hook?key=1")
		time.Sleep(40 * time.Hour)
		rec := p.record("order_1")
		var at []time.Duration
		for _, g := range p.all() {
			at = append(at, g.after)
			if g.id != rec.ID || g.body != string(rec.Body) {
				t.Errorf("sent %+v, not %s", g, rec.ID)
			}
		}
		want := []time.Duration{0, 0, 5 * time.Minute, 35 * time.Minute, 155 * time.Minute, 455 * time.Minute,
			1055 * time.Minute, 1655 * time.Minute}
		if !slices.Equal(at, want) || rec.State != WordGivenUp || rec.Made != 8 || len(rec.Tries) != 8 ||
			rec.Tries[7].Status != 307 || !strings.Contains(rec.Tries[7].Problem, "redirects") {
			t.Errorf("told at %v, %+v", at, rec)
		}
		var body struct {
			Type, Timestamp string
			Data            goods.Told
		}
		if err := json.Unmarshal(rec.Body, &body); err != nil || body.Type != "order.completed" ||
			body.Data.OrderID != "order_1" || body.Timestamp == "" {
			t.Errorf("%s: %v", rec.Body, err)
		}
		if list := p.givenUp(); len(list) != 1 || list[0].Order != "order_1" || !list[0].Last().Equal(rec.Tries[7].At) {
			t.Errorf("given up: %+v", list)
		}
		p.update(func(tx ledger.Tx) error { _, err := replay(tx, "order_1"); return err })
		time.Sleep(30 * time.Second)
		var soon *TooSoon
		err := p.db.Update(t.Context(), func(tx ledger.Tx) error { _, err := replay(tx, "order_1"); return err })
		if !errors.As(err, &soon) || soon.Wait > 30*time.Second {
			t.Errorf("replayed within the minute: %v", err)
		}
		rec = p.record("order_1")
		if rec.State != WordDelivered || rec.Made != 9 || len(p.all()) != 9 || p.all()[8].id != rec.ID {
			t.Errorf("after the replay %+v", rec)
		}
		if list := p.givenUp(); len(list) != 0 {
			t.Errorf("given up after the replay: %+v", list)
		}
		stop()
	})
}

// A process that dies between sending and noting is followed by another, which sends the same under
// the same id; the log says that the outcome of the first is unknown.
func TestKilledBetweenSendAndNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPost(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.WriteHeader(http.StatusOK)
		})
		p.want("order_1", "https://a.example.com/hook")
		dead := p.sender()
		dead.Jobs(&signs{})
		p.update(func(tx ledger.Tx) error { // as a killed process leaves it
			task, err := ledger.GetJSON[schedule.Task](tx, ledger.TaskKey(messages.job, "order_1"))
			task.Fence, task.Tries, task.Until = 1, 1, tx.Now().Add(25*time.Second)
			return errors.Join(err, ledger.SetJSON(tx, ledger.TaskKey(messages.job, "order_1"), task))
		})
		task := schedule.Task{Job: messages.job, ID: "order_1", Fence: 1}
		var rec Message
		at, err := dead.beginTry(t.Context(), task, &rec)
		if err != nil {
			t.Fatal(err)
		}
		dead.send(t.Context(), rec, at)
		stop := p.run(p.sender(), p.sender())
		time.Sleep(20 * time.Second)
		if n := len(p.all()); n != 1 {
			t.Errorf("sent %d times while the dead one may live", n)
		}
		time.Sleep(time.Minute)
		rec = p.record("order_1")
		got := p.all()
		if len(got) != 2 || got[0].id != got[1].id || got[0].body != got[1].body || rec.State != WordDelivered ||
			!slices.Equal(outcomes(rec), []string{TryUnknown, TryTaken}) {
			t.Errorf("sent %+v, %+v", got, rec)
		}
		// The dead one wakes up, and changes nothing.
		if err := dead.endTry(t.Context(), task, counter.Try{Outcome: TryFailed}); !errors.Is(err, schedule.ErrLost) {
			t.Errorf("noting late: %v", err)
		}
		if _, err := dead.beginTry(t.Context(), task, &rec); !errors.Is(err, schedule.ErrLost) {
			t.Errorf("beginning late: %v", err)
		}
		stop()
	})
}

// A host that was asked as often as one host is asked is told later, and that is no try.
func TestAHostThatWasAskedEnoughIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPost(t, func(http.ResponseWriter, *http.Request, int) {})
		s, asked := p.sender(), 0
		s.cfg.Callbacks.Spend = func(_ context.Context, url string) (bool, time.Duration, error) {
			asked++
			if url != "https://example.com/hook" {
				t.Errorf("asked for %s", url)
			}
			return asked > 3, time.Minute, nil
		}
		p.want("order_abcdefghij2345672345", "https://example.com/hook")
		stop := p.run(s)
		time.Sleep(10 * time.Minute)
		stop()
		rec := p.record("order_abcdefghij2345672345")
		if asked != 4 || len(p.got) != 1 || p.got[0].after < 3*time.Minute || rec.State != WordDelivered ||
			rec.Made != 1 {
			t.Errorf("asked %d times, came %v, %+v", asked, p.got, rec)
		}
	})
}

// A process that dies over the last try leaves none to make: eight are eight, and the log says that
// what came of the last is unknown.
func TestKilledOverTheLastTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPost(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusOK) })
		p.want("order_1", "https://a.example.com/hook")
		rec := p.record("order_1")
		rec.Left, rec.Made = 0, 8
		rec.Tries = []counter.Try{{Number: 8, At: time.Now().UTC().Truncate(time.Second), Outcome: TryBegun}}
		p.update(func(tx ledger.Tx) error { return ledger.SetJSON(tx, ledger.CallbackKey("order_1"), rec) })
		stop := p.run(p.sender(), p.sender())
		time.Sleep(time.Hour)
		stop()
		rec = p.record("order_1")
		if n := len(p.all()); n != 0 || rec.State != WordGivenUp || rec.Made != 8 ||
			!slices.Equal(outcomes(rec), []string{TryUnknown}) {
			t.Errorf("sent %d times more, %+v", n, rec)
		}
	})
}

// A receiver that says nothing, says it endlessly, or moves to an address inside costs its ten
// seconds, and keeps nobody else's word waiting; one that is gone is left alone.
func TestHostileReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := map[string]func(http.ResponseWriter, *http.Request){
			"silent.example.com": func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				panic(http.ErrAbortHandler) // or it would answer, to who may still listen
			},
			"endless.example.com": func(w http.ResponseWriter, _ *http.Request) { endless(w, 0) },
			"drips.example.com":   func(w http.ResponseWriter, _ *http.Request) { endless(w, time.Second) },
			"gone.example.com":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
			"good.example.com":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		}
		p := openPost(t, func(w http.ResponseWriter, r *http.Request, _ int) { hosts[r.Host](w, r) })
		s := p.sender()
		for i := range 40 { // more than there are workers, all at one host
			p.want(fmt.Sprintf("order_%02d", i), "https://silent.example.com/")
		}
		for host := range hosts { // the first of the silent one's is among the others
			p.want("order_"+host, "https://"+host+"/")
		}
		stop := p.run(s)
		time.Sleep(4 * time.Minute)
		for host, want := range map[string]string{"endless.example.com": TryTaken,
			"drips.example.com": TryTaken, "gone.example.com": TryRefused, "good.example.com": TryTaken} {
			rec := p.record("order_" + host)
			if len(rec.Tries) == 0 || rec.Tries[0].Outcome != want || rec.Tries[0].Millis > 10_500 {
				t.Errorf("%s: %+v", host, rec)
			}
		}
		silent := 0
		for i := range 40 {
			for _, try := range p.record(fmt.Sprintf("order_%02d", i)).Tries {
				silent++
				if try.Outcome != TryBegun && (try.Outcome != TryFailed || try.Millis > 10_500) {
					t.Errorf("silent: %+v", try)
				}
			}
		}
		if silent < 15 || silent > 25 { // one at a time
			t.Errorf("%d tries at the silent one in four minutes", silent)
		}
		if rec := p.record("order_gone.example.com"); rec.State != WordGivenUp || rec.Made != 1 {
			t.Errorf("gone: %+v", rec)
		}
		if rec := p.record("order_good.example.com"); rec.Tries[0].At.Sub(p.began) > time.Minute {
			t.Errorf("the good one waited until %v", rec.Tries[0].At.Sub(p.began))
		}
		inside := netip.MustParseAddr("169.254.169.254")
		p.address.Store(&inside) // the name moves after it was checked
		p.want("order_rebound", "https://good.example.com/")
		time.Sleep(5 * time.Second)
		rec := p.record("order_rebound")
		sent := slices.ContainsFunc(p.all(), func(r received) bool { return r.id == rec.ID })
		if sent || rec.Tries[0].Outcome != TryFailed ||
			!strings.Contains(rec.Tries[0].Problem, "not a public address") {
			t.Errorf("rebound: %+v", rec)
		}
		stop()
	})
}

func endless(w http.ResponseWriter, pause time.Duration) {
	w.WriteHeader(http.StatusOK)
	chunk := make([]byte, 4096)
	if pause > 0 {
		chunk = chunk[:1]
	}
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// What cannot be told is refused before anybody pays.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPost(t, nil)
		s := p.sender()
		for url, want := range map[string]string{
			"https://a.example.com/hook":      "",
			"http://a.example.com/hook":       "https",
			"https://a.example.com:8443/":     "default port",
			"https://user@a.example.com/":     "credentials",
			"https://169.254.169.254/latest":  "not a public address",
			"https://[::ffff:10.0.0.1]/":      "not a public address",
			"https://localhost/":              "no public name",
			"https://STORE.example./api":      "own host",
			"ftp://a.example.com/":            "https",
			"javascript:alert(1)":             "not an absolute URL",
			"https://a.example.com/#fragment": "fragment",
		} {
			got := s.CheckCallback(t.Context(), "client", url)
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", url, got, want)
			}
		}
		inside := netip.MustParseAddr("10.1.2.3")
		p.address.Store(&inside)
		got := s.CheckCallback(t.Context(), "client", "https://a.example.com/")
		if !strings.Contains(got, "not a public address") {
			t.Errorf("a name that leads inside: %q", got)
		}
	})
}
