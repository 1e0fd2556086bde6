package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/fetch"
)

// The names of the neighbours: two calendars, and the shop of the examples on the shelf.
const exampleShop = "shop.example"

// examples are the paths that the shelf has as examples, with what stands there.
var examples = map[string]string{"/api/paid": "/api/buy/small_blessing", "/about": "/", "/status": "/"}

var calendarNames = []string{"a.calendar.example", "b.calendar.example"}

// neighbourhood is the address of all of them, which looks public and is led to loopback.
var neighbourhood = netip.MustParseAddr("8.8.4.5")

// neighbours are whom the goods of a run reach beyond the store, so that each can be bought: two
// calendars that promise a block, and a shop that sells what this store sells. They listen on
// loopback and are known by name to this store alone.
type neighbours struct {
	listen  map[uint16]net.Listener // by the port that is dialled
	cert    *x509.Certificate
	servers []*http.Server

	resolver fetch.Resolver
	dialer   fetch.Dialer
}

// openNeighbours opens them for the store at an address. They close with Close.
func openNeighbours(baseURL string) (_ *neighbours, err error) {
	to, err := url.Parse(baseURL)
	if err != nil {
		return nil, err
	}
	n := &neighbours{listen: make(map[uint16]net.Listener)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	for _, port := range []uint16{80, 443} {
		if n.listen[port], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	cert, err := n.certificate()
	if err != nil {
		return nil, err
	}
	shop := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if to := examples[r.In.URL.Path]; to != "" {
			r.Out.URL.Path = to
		}
		for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent"} { // of a store at plain http
			r.Out.Header.Del(name)
		}
	}}
	each := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(calendarNames, r.Host) {
			promise(w, r)
			return
		}
		shop.ServeHTTP(w, r)
	})
	for _, ln := range []net.Listener{n.listen[80], tls.NewListener(n.listen[443],
		&tls.Config{Certificates: []tls.Certificate{cert}})} {
		s := &http.Server{Handler: each, ReadHeaderTimeout: time.Minute}
		n.servers = append(n.servers, s)
		go s.Serve(ln) // ends with Close
	}
	return n, nil
}

// certificate makes the certificate of all of them, which is its own authority.
func (n *neighbours) certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		DNSNames:  append(slices.Clone(calendarNames), exampleShop),
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err == nil {
		n.cert, err = x509.ParseCertificate(der)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// Close closes them.
func (n *neighbours) Close() error {
	var errs []error
	for _, s := range n.servers {
		errs = append(errs, s.Close())
	}
	for _, ln := range n.listen {
		if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// equip gives a store what its goods need: the calendars, and a wallet that buys.
func (n *neighbours) equip(cfg *shop.Config, keys string, wallet person) error {
	for _, name := range calendarNames {
		cfg.Timestamps.Calendars = append(cfg.Timestamps.Calendars, "https://"+name)
	}
	cfg.Timestamps.Upgrades = cfg.Timestamps.Calendars // nobody else is asked
	cfg.Launch.Key = filepath.Join(keys, "launch.key")
	return shop.WriteNew(cfg.Launch.Key, []byte(wallet.secret()+"\n"), 0o600)
}

// reach leads a client to them and, to everybody else, as it would go without: then is what leads
// it elsewhere, nil for nothing.
func (n *neighbours) reach(then func(*fetch.Config)) func(*fetch.Config) {
	return func(c *fetch.Config) {
		if then != nil {
			then(c)
		}
		known := &neighbours{listen: n.listen, resolver: c.Resolver, dialer: c.Dialer}
		roots := c.Roots
		if roots == nil {
			var err error
			if roots, err = x509.SystemCertPool(); err != nil { // this machine has none
				roots = x509.NewCertPool()
			}
		} else {
			roots = roots.Clone()
		}
		roots.AddCert(n.cert)
		c.Resolver, c.Dialer, c.Roots = known, known, roots
	}
}

// LookupNetIP implements fetch.Resolver.
func (n *neighbours) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	host = strings.TrimSuffix(host, ".")
	switch {
	case host == exampleShop || slices.Contains(calendarNames, host):
		return []netip.Addr{neighbourhood}, nil
	case n.resolver != nil:
		return n.resolver.LookupNetIP(ctx, network, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, network, host+".")
}

// DialContext implements fetch.Dialer.
func (n *neighbours) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr() == neighbourhood && n.listen[at.Port()] != nil {
		return (&net.Dialer{}).DialContext(ctx, network, n.listen[at.Port()].Addr().String())
	}
	if n.dialer != nil {
		return n.dialer.DialContext(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// promise is a calendar: it takes a digest and promises a block, which never comes.
func promise(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/digest" {
		http.NotFound(w, r)
		return
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, 64)); err != nil {
		http.Error(w, "a digest has up to 64 bytes", http.StatusBadRequest)
		return
	}
	uri := "https://" + r.Host
	w.Write(slices.Concat([]byte{0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, byte(len(uri) + 1),
		byte(len(uri))}, []byte(uri)))
}
