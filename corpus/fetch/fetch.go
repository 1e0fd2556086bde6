// Package fetch is the one way by which anything of ours reaches a stranger's address: a guarded
// HTTP client that makes one request, follows nothing, and records what became of it as an
// exchange.
//
// What it holds to, whatever it is asked: https on its default port; no credentials and no fragment
// in the URL; a name is resolved once, every address it has is checked, and the address that is
// dialled is the one that was checked; no private, loopback, link-local, multicast, reserved,
// documentation or translated address and never our own host, under any spelling, before a packet
// leaves; TLS verified; 8 seconds and 256 KiB, counted after decompression; no cookie, no
// credential and no header that the caller's own rule does not name; a stated User-Agent and a Web
// Bot Auth signature (RFC 9421) on every request; one connection at a time to a host.
//
// The resolver and the dialer are parameters, so that tests and the local street of doors can map
// public-looking names and addresses to loopback. They are asked after the guard, which cannot be
// switched off:
//
//	c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example/bot)", Key: key, Agent: "https://store.example"})
//	x, err := c.Do(ctx, exchange.Request{Method: "GET", URL: "https://door.example/paid"}, fetch.Rule{})
//
// An error of Do is a *Refusal: nothing was sent, and it says nothing about the host. What went
// wrong on the network stands in the exchange. Where the client lets one request at a time go to an
// address, it may also be a *Busy.
package fetch

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

// The bounds of a request that Config does not change.
const (
	DefaultTimeout    = 8 * time.Second
	DefaultMaxBytes   = 256 << 10
	DefaultConcurrent = 256
	MaxHeaderBytes    = exchange.MaxHeader
	MaxRequestBody    = 256 << 10

	// Where nothing is kept as a recording:
	MaxUnrecorded     = 4 << 20  // of Config.MaxBytes
	MaxUnrecordedBody = 32 << 20 // of a request's body, in place of MaxRequestBody
)

// A Resolver finds the addresses of a name; *net.Resolver is one. The client asks it once a
// request, for network "ip", and checks each address of the answer. It may be called by several
// goroutines at once.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Dialer opens one TCP connection; *net.Dialer is one. The client hands it only addresses that
// passed the guard, as address and port. It may be called by several goroutines at once.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config says who asks and within which bounds.
type Config struct {
	Identity
	Guarded
	Pace

	Timeout  time.Duration // of one request, from the lookup of the name to the last byte; 0 is DefaultTimeout
	MaxBytes int64         // of one body, after decompression; 0 is DefaultMaxBytes, at most exchange.MaxBody
	// Unrecorded says that no exchange is encoded, so that MaxBytes may be up to MaxUnrecorded, and
	// the body of a request up to MaxUnrecordedBody.
	Unrecorded bool

	Now    func() time.Time // the clock of recordings, signatures and certificates; nil is time.Now
	Random io.Reader        // for nonces; nil is crypto/rand
}

// Identity is who asks.
type Identity struct {
	// UserAgent is sent with every request and holds the URL at which the operator can be reached.
	UserAgent string
	// Key signs every request and Agent is the origin at which its directory stands, such as
	// https://store.example.
	Key   *attest.Key
	Agent string
	// Unsigned leaves signatures out, for a program without an address at which its key could be
	// looked up: a door that verifies signatures would refuse what it cannot verify. Key is nil
	// then.
	Unsigned bool
}

// Guarded is what is never contacted, and by what means the rest is.
type Guarded struct {
	// OwnHosts and OwnAddresses are never contacted. OwnHosts may be in any spelling.
	OwnHosts     []string
	OwnAddresses []netip.Addr
	// Refuse holds further networks that are never contacted.
	Refuse []netip.Prefix
	// Allow opens a private corpus, nil for none.
	Allow *Allow

	Resolver Resolver       // nil: the system's, asked for the rooted name
	Dialer   Dialer         // nil: a net.Dialer that checks the address once more before it connects
	Roots    *x509.CertPool // nil: the system's
}

// Pace is how many requests are made at once, and how far apart.
type Pace struct {
	Spacing time.Duration // between the end of a request to a host and the next one to it
	// OnePerAddress lets one request at a time go to an address, whatever the names, and spaces
	// them: another is a *Busy.
	OnePerAddress bool
	PerHost       int // requests to one host at once; 0 is one, and with Spacing there is no more
	Concurrent    int // requests under way at once, which bounds memory; 0 is DefaultConcurrent
}

// Allow is what a keeper opens to read doors of his own company. Everything read through a client
// that has one is private (Client.Private) and must not be published.
type Allow struct {
	Networks []netip.Prefix // in spite of the guard; our own addresses stay refused
	Ports    []uint16       // beside the default port
	// Header is sent beside the rest with every request to an address in Networks, such as a token
	// that a staging server asks for. It is not recorded.
	Header http.Header
	Roots  *x509.CertPool // instead of Config.Roots
}

// Rule is what one caller's kind of request may do beyond a plain GET over https. The zero Rule
// allows nothing more.
type Rule struct {
	// PlainHTTP allows http on port 80. Only phantom_check uses it.
	PlainHTTP bool
	// Headers names the headers of exchange.Request that are sent. Accept and Content-Type always
	// may be. Names that the client sets itself and names that carry a visitor's identity are never
	// taken.
	Headers []string
}

// Client makes guarded requests. It may be used by several goroutines at once.
type Client struct {
	cfg   Config
	guard guard
	lanes lanes
	slots chan struct{}
	ways  ways
}

// Busy is the error of Do where no address that a name has is free (Config.OnePerAddress): it is
// being asked already, or was a moment ago. Nothing was sent: the same request can be made later.
type Busy struct {
	Addr netip.Addr // the first of those that are not
}

func (*Busy) Error() string { return "its address is being asked already" }

// New checks cfg and returns a client.
func New(cfg Config) (*Client, error) {
	if !strings.Contains(cfg.UserAgent, "://") || !plainText(cfg.UserAgent) {
		return nil, errors.New("making a client: the user agent must hold a contact URL and be plain ASCII")
	}
	if cfg.Unsigned != (cfg.Key == nil) {
		return nil, errors.New("making a client: no key to sign requests with, or one for a client that signs none")
	}
	if !cfg.Unsigned && !isOrigin(cfg.Agent) {
		return nil, fmt.Errorf("making a client: signature agent %q is not an origin", cfg.Agent)
	}
	most := int64(exchange.MaxBody)
	if cfg.Unrecorded {
		most = MaxUnrecorded
	}
	if cfg.MaxBytes < 0 || cfg.MaxBytes > most || cfg.Timeout < 0 || cfg.Spacing < 0 || cfg.Concurrent < 0 ||
		cfg.PerHost < 0 || cfg.PerHost > 1 && cfg.Spacing > 0 {
		return nil, errors.New("making a client: bounds out of range")
	}
	g, err := newGuard(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	cfg.Concurrent = cmp.Or(cfg.Concurrent, DefaultConcurrent)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Random = cmp.Or(cfg.Random, rand.Reader)
	if cfg.Resolver == nil {
		cfg.Resolver = rooted{net.DefaultResolver}
	}
	if cfg.Allow != nil && cfg.Allow.Roots != nil {
		cfg.Roots = cfg.Allow.Roots
	}
	c := &Client{cfg: cfg, guard: g, lanes: lanes{spacing: cfg.Spacing, wide: max(cfg.PerHost, 1)},
		slots: make(chan struct{}, cfg.Concurrent),
		ways:  ways{alone: cfg.OnePerAddress, spacing: cfg.Spacing}}
	if cfg.Dialer == nil {
		c.cfg.Dialer = &net.Dialer{ControlContext: c.control}
	}
	return c, nil
}

// Private reports whether what this client reads belongs to a private corpus and must not be
// published.
func (c *Client) Private() bool { return c.cfg.Allow != nil }

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" &&
		s == u.Scheme+"://"+u.Host && plainText(s) && !strings.ContainsAny(s, `"\`)
}

// Parse reads a URL as Do would and returns the URL in the form in which it would be requested and
// recorded. Its error is a *Refusal. It looks up no name and sends nothing.
func (c *Client) Parse(raw string, rule Rule) (string, error) {
	t, err := c.guard.target(raw, rule)
	if err != nil {
		return "", err
	}
	return t.url(), nil
}

// Check says whether Do would contact a URL: it parses it, looks its name up and checks the
// addresses, and connects to nothing. A *Refusal is for good; any other error is of the lookup.
func (c *Client) Check(ctx context.Context, raw string, rule Rule) error {
	t, err := c.guard.target(raw, rule)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	_, err = c.addresses(ctx, t)
	return err
}

// Do makes one request and records it. The request has a method (GET, HEAD, POST or OPTIONS), a
// URL, perhaps a body, and of its header what the rule lets through; the recorded request is what
// was sent. Redirects are recorded and not followed. A *Refusal is returned, and recorded at
// exchange.StageRefused, when nothing was sent because of what the request asks for; every failure
// of the network is recorded alone. The recorded body is what the response's gzip coding, if any,
// held; its header is as it came.
func (c *Client) Do(ctx context.Context, req exchange.Request, rule Rule) (exchange.Exchange, error) {
	x := exchange.Exchange{StartedAt: c.now(), Request: exchange.Request{
		Method: exchange.Bounded(req.Method, 32), URL: exchange.Bounded(req.URL, exchange.MaxURL),
		Header: http.Header{}, Body: req.Body}}
	t, err := c.guard.target(req.URL, rule)
	if err == nil {
		x.Request.URL = t.url()
		t.secret = c.Private() || len(req.Body) > 0 || len(rule.Headers) > 0
		most := int64(MaxRequestBody)
		if c.cfg.Unrecorded {
			most = MaxUnrecordedBody
		}
		err = checkRequest(req, most)
	}
	if err != nil {
		if len(x.Request.Body) > exchange.MaxBody {
			x.Request.Body = nil
		}
		x.Error = exchange.Error{Stage: exchange.StageRefused, Text: exchange.Bounded(err.Error(), maxErrorText)}
		return x, err
	}
	leave, err := c.enter(ctx, t.host)
	if err != nil {
		x.Error = exchange.Error{Stage: exchange.StageDeadline,
			Text: "the time ran out while waiting for earlier requests"}
		return x, nil
	}
	defer leave()

	x.StartedAt = c.now()
	if x.Request.Header, err = c.header(req, t, rule, x.StartedAt); err != nil {
		return x, err
	}
	began := c.cfg.Now()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	err = c.exchange(ctx, t, &x)
	x.Duration = max(0, c.cfg.Now().Sub(began))
	return x, err
}

// Hop returns the request to which an exchange redirects, if that is a GET of the same scheme and
// host.
func Hop(x exchange.Exchange) (exchange.Request, bool) {
	at, err := url.Parse(x.Request.URL)
	locations := x.Response.Header.Values("Location")
	if err != nil || !exchange.IsRedirect(x.Response.Status) || len(locations) != 1 ||
		x.Request.Method != http.MethodGet {
		return exchange.Request{}, false
	}
	to, err := at.Parse(locations[0])
	if err != nil || to.Scheme != at.Scheme ||
		!strings.EqualFold(strings.TrimSuffix(to.Host, ":"+strconv.Itoa(int(defaultPort(to.Scheme)))), at.Host) ||
		to.User != nil {
		return exchange.Request{}, false
	}
	to.Fragment, to.RawFragment, to.Host = "", "", at.Host
	return exchange.Request{Method: http.MethodGet, URL: to.String()}, true
}

// now is the time that is recorded.
func (c *Client) now() time.Time { return c.cfg.Now().UTC().Round(0) }

// enter waits for a slot of the client and for the host's turn.
func (c *Client) enter(ctx context.Context, host string) (leave func(), err error) {
	turn, err := c.lanes.enter(ctx, host)
	if err != nil {
		return nil, err
	}
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots; turn() }, nil
	case <-ctx.Done():
		turn()
		return nil, ctx.Err()
	}
}

func checkRequest(req exchange.Request, most int64) error {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		if len(req.Body) > 0 {
			return refuse("a %s with a body", req.Method)
		}
	case http.MethodPost:
	default:
		return refuse("method %q", exchange.Bounded(req.Method, 32))
	}
	if int64(len(req.Body)) > most {
		return refuse("a body of %d bytes, and at most %d are sent", len(req.Body), most)
	}
	return nil
}

// plainText reports whether s is printable ASCII.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
