package till_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// town is where every name leads, over pipes, in a bubble: doors that are looked at, and receivers
// of word. What a host does is its own fate, by its name.
type town struct {
	dice  *dice
	https street
	http  street
	roots *x509.CertPool
	// meets is called when a request of a process has come, before it is answered.
	meets func(agent, place string)

	mu    sync.Mutex
	looks map[string][]time.Time // by URL: when it was asked for over plain http
	reads map[string][]time.Time // by target: when it was read
	words map[string][]string    // by host: what it was told, as id and digest
	opens int                    // connections at present
	most  int                    // and at most
}

// street is a listener over pipes.
type street struct {
	conns chan net.Conn
	once  *sync.Once
	ended chan struct{}
}

func newStreet() street {
	return street{conns: make(chan net.Conn), once: new(sync.Once), ended: make(chan struct{})}
}

// Accept implements [net.Listener].
func (s street) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (s street) Close() error { s.once.Do(func() { close(s.ended) }); return nil }

// Addr implements [net.Listener].
func (s street) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(8, 8, 4, 4), Port: 443} }

// newTown opens both streets until the test ends.
func newTown(t *testing.T, d *dice) (w *town, closes func()) {
	t.Helper()
	w = &town{dice: d, https: newStreet(), http: newStreet(), looks: map[string][]time.Time{},
		reads: map[string][]time.Time{}, words: map[string][]string{}, meets: func(string, string) {}}
	cert, err := townCertificate()
	if err != nil {
		t.Fatal(err)
	}
	w.roots = x509.NewCertPool()
	w.roots.AddCert(cert.Leaf)
	server := &http.Server{Handler: w, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	var done sync.WaitGroup
	for _, l := range []net.Listener{w.http, tls.NewListener(w.https, &tls.Config{
		Certificates: []tls.Certificate{cert}})} {
		done.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
	}
	return w, func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		done.Wait()
	}
}

func townCertificate() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "town"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(5, 0, 0),
		DNSNames: []string{"*.example.com"},
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, public, private)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err = x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}, err
}

// LookupNetIP implements [fetch.Resolver].
func (w *town) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil
}

// piped is a connection that is counted while it is open.
type piped struct {
	net.Conn
	once *sync.Once
	w    *town
}

// Close implements [net.Conn].
func (c piped) Close() error {
	c.once.Do(func() {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.w.opens--
	})
	return c.Conn.Close()
}

// DialContext implements [fetch.Dialer].
func (w *town) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	to := w.https
	if strings.HasSuffix(address, ":80") {
		to = w.http
	}
	mine, theirs := net.Pipe()
	select {
	case to.conns <- theirs:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.opens++
		w.most = max(w.most, w.opens)
		return piped{mine, new(sync.Once), w}, nil
	case <-to.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// client is a process's way into the town; its agent names it.
func (w *town) client(agent string, timeout time.Duration) (*fetch.Client, error) {
	return fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example/" + agent + ")", Resolver: w, Dialer: w,
		Key: attest.SpecimenKey(), Agent: "https://store.example", OwnHosts: []string{"store.example"}, Roots: w.roots,
		Timeout: timeout})
}

// ServeHTTP implements [http.Handler].
func (w *town) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_, agent, _ := strings.Cut(r.UserAgent(), "store.example/")
	agent = strings.TrimSuffix(agent, ")")
	if r.TLS != nil {
		w.told(rw, r, agent)
		return
	}
	w.mu.Lock()
	url := "http://" + r.Host + r.URL.String()
	w.looks[url] = append(w.looks[url], time.Now())
	w.mu.Unlock()
	w.meets(agent, "visit")
	switch fate := w.dice.intN("door "+r.Host, 10); {
	case fate < 2: // it takes its time
		w.dice.wait("door "+r.Host, 9*time.Second)
		rw.WriteHeader(http.StatusOK)
	case fate < 3: // it says nothing
		<-r.Context().Done()
	case fate < 5:
		rw.WriteHeader(http.StatusNotFound)
	default:
		rw.WriteHeader(http.StatusPaymentRequired)
	}
}

// told receives word. A receiver is always well, away for its first tries, gone for good, or never
// answers what it is asked.
func (w *town) told(rw http.ResponseWriter, r *http.Request, agent string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	sum := sha256.Sum256(body)
	w.mu.Lock()
	w.words[r.Host] = append(w.words[r.Host], r.Header.Get("Webhook-Id")+" "+hex.EncodeToString(sum[:]))
	n := len(w.words[r.Host])
	w.mu.Unlock()
	w.meets(agent, "word")
	kind, _, _ := strings.Cut(r.Host, "-")
	switch {
	case kind == "away" && n < 6, kind == "never":
		rw.WriteHeader(http.StatusInternalServerError)
	case kind == "gone":
		rw.WriteHeader(http.StatusGone)
	default:
		rw.WriteHeader(http.StatusNoContent)
	}
}

// eyes are a process's readings of doors in the town.
type eyes struct {
	w  *town
	of string
}

// Target implements [goods.Readings].
func (eyes) Target(_ string, inputs map[string]string) (target, host string, err error) {
	host, _, _ = strings.Cut(strings.TrimPrefix(inputs["url"], "https://"), "/")
	return inputs["url"], host, nil
}

// Room implements [goods.Readings].
func (eyes) Room(ledger.Tx, string, string) error { return nil }

// Read implements [goods.Readings].
func (e eyes) Read(_ context.Context, _ string, inputs map[string]string) (*goods.Reading, error) {
	url, host, _ := e.Target("", inputs)
	fate := e.w.dice.intN("reading "+host, 100)
	if fate < 3 { // nothing is sent
		return nil, &goods.Unread{Code: goods.CodeBudget, Detail: "Enough was read today."}
	}
	at := time.Now().UTC()
	e.w.mu.Lock()
	e.w.reads[url] = append(e.w.reads[url], at)
	e.w.mu.Unlock()
	e.w.meets(e.of, "reading")
	e.w.dice.wait("reading "+host, 20*time.Second)
	switch {
	case fate < 6:
		return nil, &goods.Unread{Code: goods.CodeNotRead, Detail: "Something before the door answered.", Sent: true}
	case fate < 8:
		return nil, errors.New("planted")
	}
	verdict := []string{"ready", "ready", "not_ready"}[fate%3]
	read := at.Format(time.RFC3339)
	return &goods.Reading{Target: url, Host: host, ReadAt: read, Verdict: verdict,
		Findings: []attest.Finding{{Checker: "preflight/v2", Verdict: verdict, Report: jsontext.Value(`{}`)}},
		Evidence: []attest.Seen{{Method: "GET", URL: url, At: read, Status: 402}}}, nil
}
