package buyer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// ahead is a ledger whose clock is put forward, by which leases of the dead end.
type ahead struct {
	ledger.DB
	by time.Duration
}

type aheadTx struct {
	ledger.Tx
	by time.Duration
}

func (x aheadTx) Now() time.Time { return x.Tx.Now().Add(x.by) }

func (d ahead) View(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.View(ctx, func(tx ledger.Tx) error { return f(aheadTx{tx, d.by}) })
}

func (d ahead) Update(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.Update(ctx, func(tx ledger.Tx) error { return f(aheadTx{tx, d.by}) })
}

// place names a journal that several processes can open.
type journalPlace string

// open opens it, as it is when some time has passed.
func (p journalPlace) open(t testing.TB, after time.Duration) Journal {
	t.Helper()
	if dir, is := strings.CutPrefix(string(p), "folder:"); is {
		return Folder(dir)
	}
	db, err := postgres.Open(context.Background(), string(p), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return InLedger(ahead{db, after}, "wallet-1")
}

// eachJournal runs a test on every journal that processes share.
func eachJournal(t *testing.T, test func(t *testing.T, at journalPlace)) {
	t.Run("folder", func(t *testing.T) { test(t, journalPlace("folder:"+filepath.Join(t.TempDir(), "journal"))) })
	t.Run("ledger", func(t *testing.T) { test(t, journalPlace(ledgertest.Postgres(t))) })
}

// What every journal keeps to, and one in a ledger in memory beside.
func TestJournal(t *testing.T) {
	eachJournal(t, func(t *testing.T, at journalPlace) { keepsTo(t, at.open(t, 0), at.open(t, 0)) })
	t.Run("memory", func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		keepsTo(t, InLedger(db, "wallet-1"), InLedger(db, "wallet-1"))
	})
}

// keepsTo tests a journal that was opened twice.
func keepsTo(t *testing.T, one, two Journal) {
	ctx := t.Context()
	asked := func(url string) request { return request{Method: "GET", URL: url, Header: http.Header{}} }
	a, b := asked("https://shop.example/a"), asked("https://shop.example/b")
	h, err := one.hold(ctx, a.digest(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []Journal{one, two} {
		if _, err := j.hold(ctx, a.digest(), time.Minute); !errors.Is(err, ErrBusy) {
			t.Errorf("a request is held twice: %v", err)
		}
	}
	other, err := two.hold(ctx, b.digest(), time.Minute)
	if err != nil {
		t.Fatalf("another request waits: %v", err)
	}
	p := &purchase{Format: journalFormat, ID: "20261122T000000Z-1", State: Intended, Nonce: "0x01", Request: a}
	if err := h.create(ctx, p); err != nil {
		t.Fatal(err)
	}
	if err := h.create(ctx, p); err == nil {
		t.Error("a purchase is created twice")
	}
	p.State = Signed
	p.Request.Header = http.Header{headerKey: {"key-of-a"}, headerSignature: {"signed"}}
	if err := h.update(ctx, p); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		ask  func() (bool, error)
		want bool
	}{
		{"a nonce that was used", func() (bool, error) { return other.known(ctx, "0x01") }, true},
		{"another nonce", func() (bool, error) { return other.known(ctx, "0x02") }, false},
		{"the key of the same request", func() (bool, error) { return h.elsewhere(ctx, "key-of-a") }, false},
		{"the key of another", func() (bool, error) { return other.elsewhere(ctx, "key-of-a") }, true},
		{"a new key", func() (bool, error) { return other.elsewhere(ctx, "key-of-b") }, false},
	} {
		if got, err := c.ask(); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	list, err := two.unfinished(ctx)
	if err != nil || len(list) != 1 || list[0].ID != p.ID || list[0].State != Signed ||
		list[0].Request.Header.Get(headerSignature) != "signed" {
		t.Errorf("unfinished: %+v, %v", list, err)
	}
	p.State, p.Answer = Delivered, &answer{Status: 200, Body: []byte("the good")}
	if err := errors.Join(h.keep(ctx, time.Hour), h.update(ctx, p)); err != nil {
		t.Fatal(err)
	}
	config := rail.Channel{Payer: baseUSD, Signer: baseUSD, Receiver: payTo, Authorizer: payTo, Token: baseUSD,
		Delay: 900, Salt: nonceText([32]byte{})}
	config.ID = nonceText(channelConfig(config).ID(8453))
	put := &channel{Format: channelFormat, Network: "eip155:8453", Channel: config, Charged: 5}
	if c, err := two.channel(ctx, config.ID); err != nil || c != nil {
		t.Errorf("a channel that is not there: %+v, %v", c, err)
	}
	err = h.putChannel(ctx, put)
	put.Charged = 7
	if err := errors.Join(err, h.putChannel(ctx, put)); err != nil {
		t.Fatal(err)
	}
	c, err := two.channel(ctx, config.ID)
	all, bad := two.channels(ctx)
	if err := errors.Join(err, bad); err != nil || *c != *put || len(all) != 1 || *all[0] != *put {
		t.Errorf("a channel: %+v, %+v, %v", c, all, err)
	}
	if _, err := decodeChannel([]byte(strings.Replace(string(must(encodeChannel(put))), `"delay": 900`, `"delay": 901`, 1)),
		config.ID); err == nil {
		t.Error("a channel is read under the id of another")
	}
	if bought, err := two.bought(ctx); err != nil || len(bought) != 1 || bought[0].ID != p.ID {
		t.Errorf("bought: %+v, %v", bought, err)
	}
	if list, err := two.unfinished(ctx); err != nil || len(list) != 0 {
		t.Errorf("unfinished after its end: %+v, %v", list, err)
	}
	if got, err := h.read(ctx, p.ID); err != nil || got.State != Delivered || string(got.Answer.Body) != "the good" {
		t.Errorf("read: %+v, %v", got, err)
	}
	if err := errors.Join(h.release(), other.release()); err != nil {
		t.Fatal(err)
	}
	again, err := two.hold(ctx, a.digest(), time.Minute)
	if err != nil {
		t.Fatalf("a request that was given back: %v", err)
	}
	if known, err := again.known(ctx, "0x01"); err != nil || !known {
		t.Errorf("a nonce of an ended purchase is forgotten: %v", err)
	}
	if err := again.release(); err != nil {
		t.Error(err)
	}
}

// must is a value without an error.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Who slept through the end of a hold writes nothing any more and presents nothing.
func TestAHoldThatEnded(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	r := request{Method: "GET", URL: "https://shop.example/a"}
	slept, err := InLedger(db, "wallet-1").hold(t.Context(), r.digest(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := InLedger(ahead{db, time.Hour}, "wallet-1").hold(t.Context(), r.digest(), time.Minute)
	if err != nil {
		t.Fatalf("a hold that ended is not given away: %v", err)
	}
	p := &purchase{Format: journalFormat, ID: "20261122T000000Z-1", State: Intended, Nonce: "0x01", Request: r}
	for what, err := range map[string]error{"create": slept.create(t.Context(), p),
		"keep":    slept.keep(t.Context(), time.Minute),
		"channel": slept.putChannel(t.Context(), &channel{Network: "eip155:8453"})} {
		if !errors.Is(err, errNotHeld) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := slept.release(); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := taken.create(t.Context(), p); err != nil {
		t.Errorf("the one who holds it: %v", err)
	}
	d := simpleDoor(func(int, *http.Request) (*http.Response, error) { return delivered(), nil })
	b := newBuyer(t, d, func(c *Config) { c.Journal = InLedger(db, "wallet-1") })
	if _, err := b.finish(t.Context(), slept, p); !errors.Is(err, errNotHeld) || !errors.Is(err, ErrUnknown) ||
		len(d.payment) != 0 {
		t.Errorf("finish = %v after %d presentations", err, len(d.payment))
	}
}

// till is a door that takes each payment once, gives the good again to the same payment, and notes
// whether two of one request were ever under way at once.
type till struct {
	mu      sync.Mutex
	sold    map[string]string // by payment: the request
	first   func()            // the first payment waits for it
	under   map[string]int    // by request: payments under way
	clashes int
}

func (d *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pay := r.Header.Get(headerSignature)
	if pay == "" {
		w.Header().Set(x402.HeaderRequired, b64(required(entry(nil))))
		w.WriteHeader(402)
		return
	}
	d.mu.Lock()
	if d.first != nil {
		wait := d.first
		d.first = nil
		d.mu.Unlock()
		wait()
		d.mu.Lock()
	}
	d.sold[pay] = r.URL.Path
	if d.under[r.URL.Path]++; d.under[r.URL.Path] > 1 {
		d.clashes++
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.under[r.URL.Path]--
	}()
	w.Write([]byte("the good"))
}

// payments is how many different ones it was given.
func (d *till) payments() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sold)
}

func openTill(t *testing.T) (*till, string) {
	d := &till{sold: map[string]string{}, under: map[string]int{}}
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	return d, s.URL
}

// mortal is a journal whose process is killed at a write: before it where n is even, after it where
// n is odd.
type mortal struct {
	Journal
	n *int
}

type mortalHold struct {
	hold
	n *int
}

func die() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func (m mortal) hold(ctx context.Context, digest string, ttl time.Duration) (hold, error) {
	h, err := m.Journal.hold(ctx, digest, ttl)
	return mortalHold{h, m.n}, err
}

func (m mortalHold) write(f func(context.Context, *purchase) error, ctx context.Context, p *purchase) error {
	if *m.n == 0 {
		die()
	}
	err := f(ctx, p)
	if *m.n == 1 {
		die()
	}
	*m.n -= 2
	return err
}

func (m mortalHold) create(ctx context.Context, p *purchase) error {
	return m.write(m.hold.create, ctx, p)
}
func (m mortalHold) update(ctx context.Context, p *purchase) error {
	return m.write(m.hold.update, ctx, p)
}

// inAChild runs TestChild as a process of its own.
func inAChild(t *testing.T, at journalPlace, url string, n int, rounds int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, "-test.run=^TestChild$")
	c.Env = append(os.Environ(), "BUYER_TEST_PLACE="+string(at), "BUYER_TEST_URL="+url,
		fmt.Sprintf("BUYER_TEST_WRITE=%d", n), fmt.Sprintf("BUYER_TEST_ROUNDS=%d", rounds))
	c.Stdout, c.Stderr = t.Output(), t.Output()
	return c
}

// TestChild is a process of the tests below; on its own it has nothing to do.
func TestChild(t *testing.T) {
	at := journalPlace(os.Getenv("BUYER_TEST_PLACE"))
	if at == "" {
		return
	}
	var n, rounds int
	if _, err := fmt.Sscan(os.Getenv("BUYER_TEST_WRITE")+" "+os.Getenv("BUYER_TEST_ROUNDS"), &n, &rounds); err != nil {
		t.Fatal(err)
	}
	b := newBuyer(t, http.DefaultTransport, func(c *Config) { c.Journal = mortal{at.open(t, 0), &n} })
	for i := range rounds {
		_, err := b.Buy(t.Context(), fmt.Sprintf("%s/%d", os.Getenv("BUYER_TEST_URL"), i%3), Options{})
		if err != nil && !errors.Is(err, ErrBusy) {
			t.Errorf("round %d: %v", i, err)
		}
	}
}

// A process is killed before and after each write of a purchase. Whoever comes after it resumes
// what was signed, buys what was not, and the door is given one payment.
func TestKilledAtEachWrite(t *testing.T) {
	eachJournal(t, func(t *testing.T, at journalPlace) {
		for n := range 7 {
			d, url := openTill(t)
			err := inAChild(t, at, url, n, 1).Run()
			if _, killed := errors.AsType[*exec.ExitError](err); killed != (n < 6) {
				t.Fatalf("write %d: %v", n, err)
			}
			b := newBuyer(t, http.DefaultTransport, func(c *Config) { c.Journal = at.open(t, time.Hour) })
			results, err := b.Resume(t.Context())
			if err != nil {
				t.Fatalf("write %d: Resume = %v", n, err)
			}
			signed := n == 3 || n == 4 // journalled with its signature, and not with its answer
			if signed != (len(results) == 1) {
				t.Errorf("write %d: %d purchases were resumed", n, len(results))
			}
			if n < 3 { // nothing that was signed left the process
				if _, err := b.Buy(t.Context(), url+"/0", Options{}); err != nil {
					t.Errorf("write %d: Buy = %v", n, err)
				}
			}
			if d.payments() != 1 {
				t.Errorf("write %d: the door was given %d payments", n, d.payments())
			}
		}
	})
}

// Two processes buy with one wallet: never the same request at once, and others beside it.
func TestTwoProcesses(t *testing.T) {
	eachJournal(t, func(t *testing.T, at journalPlace) {
		d, url := openTill(t)
		one, two := inAChild(t, at, url, 1000, 12), inAChild(t, at, url, 1000, 12)
		if err := errors.Join(one.Start(), two.Start()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(one.Wait(), two.Wait()); err != nil {
			t.Fatal(err)
		}
		if n := d.payments(); d.clashes != 0 || n < 3 || n > 24 {
			t.Errorf("%d payments, %d of a request that was under way", n, d.clashes)
		}
		list, err := at.open(t, 0).unfinished(t.Context())
		if err != nil || len(list) != 0 {
			t.Errorf("unfinished: %+v, %v", list, err)
		}
	})
}

// While one process waits for its answer another gets nothing of the same request, and buys others.
func TestAnotherProcessMeanwhile(t *testing.T) {
	eachJournal(t, func(t *testing.T, at journalPlace) {
		d, url := openTill(t)
		arrived, answer := make(chan struct{}), make(chan struct{})
		d.mu.Lock()
		d.first = func() { close(arrived); <-answer }
		d.mu.Unlock()
		child := inAChild(t, at, url, 1000, 1)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		select {
		case <-arrived:
		case err := <-ended:
			t.Fatalf("the other process ended: %v", err)
		}
		b := newBuyer(t, http.DefaultTransport, func(c *Config) { c.Journal = at.open(t, 0) })
		if _, err := b.Buy(t.Context(), url+"/0", Options{}); !errors.Is(err, ErrBusy) {
			t.Errorf("Buy = %v, want ErrBusy", err)
		}
		if _, err := b.Resume(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("Resume = %v, want ErrBusy", err)
		}
		if _, err := b.Buy(t.Context(), url+"/1", Options{}); err != nil {
			t.Errorf("another request: %v", err)
		}
		close(answer)
		if err := <-ended; err != nil {
			t.Errorf("the other process: %v", err)
		}
		if results, err := b.Resume(t.Context()); err != nil || len(results) != 0 || d.payments() != 2 {
			t.Errorf("Resume = %v, %v after %d payments", results, err, d.payments())
		}
	})
}

// While a request is being bought nobody else buys it, and others go on.
func TestOthersGoOnMeanwhile(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	dir := t.TempDir()
	for name, open := range map[string]func() Journal{
		"folder": func() Journal { return Folder(dir) },
		"ledger": func() Journal { return InLedger(db, "wallet-1") },
	} {
		t.Run(name, func(t *testing.T) {
			const other = "https://shop.example/other"
			var b *Buyer
			d := simpleDoor(nil)
			d.paid = func(_ int, r *http.Request) (*http.Response, error) {
				if r.URL.String() != other {
					second := newBuyer(t, d, func(c *Config) { c.Journal = open() })
					for _, buyer := range []*Buyer{b, second} {
						if _, err := buyer.Buy(t.Context(), doorURL, Options{}); !errors.Is(err, ErrBusy) {
							t.Errorf("Buy = %v, want ErrBusy", err)
						}
						if _, err := buyer.Resume(t.Context()); !errors.Is(err, ErrBusy) {
							t.Errorf("Resume = %v, want ErrBusy", err)
						}
						if _, err := buyer.Buy(t.Context(), other, Options{}); err != nil {
							t.Errorf("another request: %v", err)
						}
					}
				}
				return delivered(), nil
			}
			b = newBuyer(t, d, func(c *Config) { c.Journal = open() })
			for range 2 { // the hold is given back
				if _, err := b.Buy(t.Context(), doorURL, Options{}); err != nil {
					t.Fatal(err)
				}
			}
			if len(d.payment) != 6 {
				t.Errorf("%d payments", len(d.payment))
			}
		})
	}
}
