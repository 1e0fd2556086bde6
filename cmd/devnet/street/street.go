// Package street is a street of test doors on loopback: many host names, each with an address that
// looks public, behind one TLS listener with a certificate authority made for the run. Some doors
// sell as they should, in every way that is sold; the others are wrong, each in one way, as rows
// that say which verdict they must get. Nobody is paid here: every payment that is presented is
// ignored.
//
// The street hands out a resolver and a dialer for the guarded client, which are asked after its
// guard, so that what is tested is the client that walks the real world:
//
//	s, err := street.Open()
//	c, err := fetch.New(s.Config(fetch.Config{UserAgent: …, Key: …, Agent: …}))
//	x, err := c.Do(ctx, exchange.Request{Method: "GET", URL: s.Doors()[0].URL()}, fetch.Rule{})
package street

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
)

// Domain is what the doors without a name of their own stand under. It belongs to nobody.
const Domain = "doors.street"

// The addresses of the street are handed out from these networks, in the order of the rows: amateur
// radio's, and one that no registry has given away.
var (
	firstIPv4 = netip.MustParseAddr("44.44.0.1")
	firstIPv6 = netip.MustParseAddr("2a10:ffff::1")
)

// Street is an open street. Its resolver and dialer may be used by several goroutines at once.
type Street struct {
	doors  []Door
	sights []Sight
	beside []Door // the sights' hosts
	byHost map[string]*Door
	play   *stage // nil on a street that stays as it is
	now    func() time.Time
	seller *attest.Key // signs the offers of all doors
	ring   attest.Ring

	authority *authority
	tls       net.Listener
	plain     net.Listener
	own       map[string]net.Listener // of doors that are wrong before TLS, by host
	server    *http.Server
	secure    *chanListener
	bomb      func() []byte // made when it is first asked for
	wg        sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	conns  map[net.Conn]bool
	visits map[string]int // by host, see Visits
}

// Open makes keys and certificates and opens every door on 127.0.0.1.
func Open() (*Street, error) {
	seller, err := attest.Generate(rand.Reader)
	if err != nil {
		return nil, err
	}
	return open(Doors(), nil, seller, time.Now)
}

// open opens doors, or a stage of which the doors are no more than its props.
func open(doors []Door, play *stage, seller *attest.Key, now func() time.Time) (_ *Street, err error) {
	s := &Street{doors: doors, play: play, now: now, seller: seller, byHost: map[string]*Door{}, sights: Sights(),
		own:   map[string]net.Listener{},
		conns: map[net.Conn]bool{}, visits: map[string]int{}, bomb: sync.OnceValue(bomb)}
	if s.ring, err = attest.NewRing("2026-08-01",
		map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: s.seller.Public()}); err != nil {
		return nil, err
	}
	if s.authority, err = newAuthority(now); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.beside = asDoors(s.sights); play != nil {
		s.sights, s.beside = nil, nil
	}
	four, six := firstIPv4, firstIPv6
	var all []*Door
	for i := range s.doors {
		all = append(all, &s.doors[i])
	}
	for i := range s.beside {
		all = append(all, &s.beside[i])
	}
	for _, d := range all {
		if s.byHost[d.Host] != nil {
			return nil, fmt.Errorf("opening the street: two doors at %s", d.Host)
		}
		d.addresses = []netip.Addr{four, six}
		four, six = four.Next(), six.Next()
		s.byHost[d.Host] = d
		if d.wire != nil {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("opening the street: %w", err)
			}
			s.own[d.Host] = ln
			s.accept(ln, func(c net.Conn) {
				s.visited(d.Host)
				d.wire(&visit{street: s, door: d}, c)
			})
		}
	}
	if s.tls, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("opening the street: %w", err)
	}
	if s.plain, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("opening the street: %w", err)
	}
	s.secure = &chanListener{conns: make(chan net.Conn), closed: make(chan struct{}), addr: s.tls.Addr()}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: time.Minute,
		ErrorLog:  log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{NextProtos: []string{"h2", "http/1.1"}}}
	s.accept(s.tls, s.serveTLS)
	s.wg.Go(func() { s.server.Serve(s.secure) }) // ends with Close
	s.wg.Go(func() { s.server.Serve(s.plain) })
	return s, nil
}

// Close shuts every door and waits until all are shut.
func (s *Street) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close() // whoever holds it notices
	}
	s.mu.Unlock()
	var errs []error
	if s.server != nil {
		errs = append(errs, s.server.Close())
	}
	for _, ln := range append(slices.Collect(maps.Values(s.own)), s.tls, s.plain) {
		if ln == nil {
			continue
		}
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.wg.Wait()
	return errors.Join(errs...)
}

// Doors returns the rows as they stand on this street.
func (s *Street) Doors() []Door { return s.doors }

// Sights returns the rows beside the doors as they stand on this street.
func (s *Street) Sights() []Sight { return s.sights }

// Config points a client's configuration to the street.
func (s *Street) Config(cfg fetch.Config) fetch.Config {
	cfg.Resolver, cfg.Dialer, cfg.Roots = s, s, s.Roots()
	return cfg
}

// Roots is a pool that holds the street's authority alone.
func (s *Street) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.authority.cert)
	return pool
}

// PEM is the authority's certificate in the form that tools want.
func (s *Street) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.authority.cert.Raw})
}

// Listen is the loopback address behind a door, for tools that do not ask the street's resolver; ""
// when the door is wrong before there is a connection.
func (s *Street) Listen(d Door) string {
	switch {
	case d.lookup != nil || d.dial != nil:
		return ""
	case s.own[d.Host] != nil:
		return s.own[d.Host].Addr().String()
	case d.Plain:
		return s.plain.Addr().String()
	}
	return s.tls.Addr().String()
}

// find returns the door of a host, nil for none. A number in front of the host leads to the same
// door, so that many can be at one door without standing in each other's way.
func (s *Street) find(host string) *Door {
	if s.play != nil {
		return s.play.door(host, s.now())
	}
	if d := s.byHost[host]; d != nil {
		return d
	}
	first, rest, _ := strings.Cut(host, ".")
	if strings.Trim(first, "0123456789") != "" {
		return nil
	}
	return s.byHost[rest]
}

// LookupNetIP resolves the names of the street and no other.
func (s *Street) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	d := s.find(strings.TrimSuffix(host, "."))
	if d == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if d.lookup != nil {
		return d.lookup(ctx)
	}
	return slices.Clone(d.addresses), nil
}

// DialContext leads an address of the street to its listener on loopback; every other address is
// unreachable.
func (s *Street) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	d := s.behind(ap.Addr())
	if d == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ENETUNREACH}
	}
	if d.dial != nil {
		return nil, d.dial(ctx)
	}
	to := s.Listen(*d)
	if d.Plain != (ap.Port() == 80) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	var nd net.Dialer
	return nd.DialContext(ctx, "tcp", to)
}

// behind finds the door at an address that can be reached, nil for none.
func (s *Street) behind(a netip.Addr) *Door {
	if s.play != nil {
		host := s.play.byAddr[a]
		if s.play.out(s.Moment(host)) {
			return nil
		}
		return s.play.door(host, s.now())
	}
	for _, doors := range [][]Door{s.doors, s.beside} {
		if i := slices.IndexFunc(doors, func(d Door) bool { return slices.Contains(d.addresses, a) }); i >= 0 {
			return &doors[i]
		}
	}
	return nil
}

// accept hands each connection of a listener to serve, which closes it when it is done.
func (s *Street) accept(ln net.Listener, serve func(net.Conn)) {
	s.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return // the listener was closed
			}
			if !s.keep(c) {
				continue
			}
			s.wg.Go(func() {
				defer s.drop(c)
				serve(c)
			})
		}
	})
}

func (s *Street) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close() // came too late
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Street) drop(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.Close() // it may be closed already
}

// serveTLS shakes hands under the name that is asked for, and hands the connection to the door or
// to the HTTP server.
func (s *Street) serveTLS(raw net.Conn) {
	var door *Door
	gone := &lingering{Conn: raw, closed: make(chan struct{})}
	conn := tls.Server(gone, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if door = s.find(hello.ServerName); door == nil {
			return nil, fmt.Errorf("no door is called %q", hello.ServerName)
		}
		cert, err := s.authority.certificate(hello.ServerName, door.cert)
		if err != nil {
			return nil, err
		}
		cfg := &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"h2", "http/1.1"}}
		if door.conn != nil {
			cfg.NextProtos = []string{"http/1.1"}
		}
		return cfg, nil
	}})
	if conn.Handshake() != nil {
		return
	}
	if door.conn != nil {
		s.visited(conn.ConnectionState().ServerName)
		v := &visit{street: s, door: door}
		if s.play != nil {
			v.role = s.play.byHost[door.Host].role
		}
		door.conn(v, conn)
		return
	}
	if s.secure.hand(conn) {
		<-gone.closed
	}
}

// serveHTTP finds the door by the name under which it was called.
func (s *Street) serveHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	d := s.find(host)
	if d == nil || d.Plain != (r.TLS == nil) {
		http.NotFound(w, r)
		return
	}
	v := &visit{ResponseWriter: w, Request: r, street: s, door: d}
	if s.play != nil {
		v.role = s.play.byHost[d.Host].role
	}
	if r.URL.Path == "/"+path && r.Method == http.MethodGet {
		s.visited(host)
	}
	switch {
	case s.play != nil && s.play.serve(v):
	case d.beside != nil && d.beside(v):
	case d.at != "" && r.URL.Path == d.at:
		d.serve(v)
	case r.URL.Path == "/.well-known/did.json":
		doc, err := attest.DIDDocument(host, s.ring)
		if err != nil {
			http.Error(w, "no document", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/did+json")
		w.Write(doc)
	case r.URL.Path == "/.well-known/x402" && d.Declares != "":
		v.json(http.StatusOK, map[string]any{"version": 1,
			"resources": []any{map[string]any{"url": v.url(), "method": d.Declares}}})
	case d.at != "" || r.URL.Path != "/"+path:
		http.NotFound(w, r)
	case d.serve == nil:
		sells()(v) // for callers whom its fault did not stop
	default:
		d.serve(v)
	}
}
