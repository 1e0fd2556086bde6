package shop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// TLSConfig is how a store that has no proxy before it speaks TLS.
type TLSConfig struct {
	Storage string `toml:"storage" doc:"Folder of certificates, their keys and the account with the CA; replicas share it. Given, listen speaks HTTPS (HTTP/1.1 and 2) with a certificate for the host of base_url, which is had from the CA by ACME and renewed by itself. By giving it you accept the CA's terms. Empty is off: put a proxy or CDN in front then."`
	// The keeper's own certificate, in the place of a CA that is asked.
	Certificate string `toml:"certificate" doc:"File (PEM) of a certificate of your own for the host of base_url, its chain after it, instead of storage; store key tls makes one for trying. Replaced files are taken up at SIGHUP."`
	Key         string `toml:"key" doc:"File (0600, PEM) of the key of certificate."`
	Redirect    string `toml:"redirect" doc:"Address, such as 0.0.0.0:80, on which plain HTTP is sent on to base_url and the CA's HTTP challenges are answered. Empty serves none, and the CA has to reach listen at port 443."`
	Email       string `toml:"email" doc:"Where the CA writes to when a certificate is in danger. Empty gives none."`
	CA          string `toml:"ca" doc:"Directory of the CA (RFC 8555). Empty is Let's Encrypt."`
	Roots       string `toml:"roots" doc:"File (PEM) of the certificates by which ca itself is trusted, for a CA of your own. Empty is the system's."`
}

// Speaks reports whether the store speaks TLS itself.
func (c TLSConfig) Speaks() bool { return c.Storage != "" || c.Certificate != "" }

// check says what is wrong with the table, for a store at an address.
func (c TLSConfig) check(baseURL string) error {
	if c == (TLSConfig{}) {
		return nil
	}
	own := c.Certificate != "" || c.Key != ""
	var errs []error
	switch {
	case own && (c.Certificate == "" || c.Key == ""):
		errs = append(errs, errors.New("tls.certificate and tls.key go together: name both files"))
	case own && c != (TLSConfig{Certificate: c.Certificate, Key: c.Key, Redirect: c.Redirect}):
		errs = append(errs, errors.New("tls.certificate is your own, so no CA is asked: leave storage, email, ca "+
			"and roots empty, or certificate and key"))
	case !own && c.Storage == "":
		return errors.New("tls.storage is needed, a folder such as var/tls, or certificate and key; without them " +
			"redirect, email, ca and roots say nothing")
	}
	if !strings.HasPrefix(baseURL, "https://") {
		errs = append(errs, errors.New("[tls] is given, so base_url has to begin with https://"))
	}
	if u, err := url.Parse(c.CA); c.CA != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		errs = append(errs, fmt.Errorf("tls.ca = %q: want the https address of an ACME directory", c.CA))
	}
	if _, _, err := net.SplitHostPort(c.Redirect); c.Redirect != "" && err != nil {
		errs = append(errs, fmt.Errorf("tls.redirect = %q: %w; want an address and a port, such as 0.0.0.0:80",
			c.Redirect, err))
	}
	return errors.Join(errs...)
}

// Secure makes a listener speak TLS where [tls] says so, and returns it as it is otherwise. Serve
// then has the certificate made and renewed, and until there is one handshakes fail. plain is where
// HTTP is redirected; it may be nil, and is closed with the shop's serving.
func (s *Shop) Secure(ln, plain net.Listener) (net.Listener, error) {
	c := s.Config.TLS
	if !c.Speaks() {
		return ln, nil
	}
	base, err := url.Parse(s.Config.BaseURL)
	if err != nil {
		return nil, err
	}
	if c.Certificate != "" {
		if plain != nil {
			s.redirects(plain, toHTTPS(s.Config.BaseURL))
		}
		return s.secureOwn(ln, base)
	}
	issuer := certmagic.ACMEIssuer{CA: c.CA, Email: c.Email, Agreed: true, DisableHTTPChallenge: plain == nil,
		Logger: zap.NewNop()}
	if issuer.CA == "" {
		issuer.CA = certmagic.LetsEncryptProductionCA
	}
	if c.Roots != "" {
		if issuer.TrustedRoots, err = roots(c.Roots); err != nil {
			return nil, fmt.Errorf("tls.roots: %w", err)
		}
	}
	// The challenges arrive at our own listeners; these say to the library that they are its.
	if at, ok := ln.Addr().(*net.TCPAddr); ok {
		issuer.ListenHost, issuer.AltTLSALPNPort = host(at), at.Port
	}
	if plain != nil {
		if at, ok := plain.Addr().(*net.TCPAddr); ok {
			issuer.AltHTTPPort = at.Port
		}
	}
	var magic *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{Logger: zap.NewNop(),
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return magic, nil }})
	magic = certmagic.New(cache, certmagic.Config{Logger: zap.NewNop(), OnEvent: s.certificateEvent,
		Storage: &certmagic.FileStorage{Path: c.Storage}})
	acme := certmagic.NewACMEIssuer(magic, issuer)
	magic.Issuers = []certmagic.Issuer{acme}

	s.runs = append(s.runs, func(ctx context.Context) error {
		defer cache.Stop()
		if err := magic.ManageAsync(ctx, []string{base.Hostname()}); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		<-ctx.Done()
		return nil
	})
	if plain != nil {
		s.redirects(plain, acme.HTTPChallengeHandler(toHTTPS(s.Config.BaseURL)))
	}
	config := magic.TLSConfig()
	config.NextProtos = append([]string{"h2", "http/1.1"}, config.NextProtos...)
	return tls.NewListener(ln, config), nil
}

// host is the address that a listener is bound to, or nothing where it is bound to all.
func host(at *net.TCPAddr) string {
	if at.IP.IsUnspecified() {
		return ""
	}
	return at.IP.String()
}

// roots reads certificates of CAs.
func roots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

// certificateEvent tells of a certificate that was had, or was not.
func (s *Shop) certificateEvent(ctx context.Context, event string, data map[string]any) error {
	switch event {
	case "cert_obtained":
		s.Log.Info("certificate had from the CA", "host", data["identifier"], "renewal", data["renewal"])
	case "cert_failed":
		s.Log.Error("no certificate from the CA; it is asked again. See that the host's name leads here, and that "+
			"the CA reaches listen at port 443, or tls.redirect at port 80", "host",
			data["identifier"], "err", data["error"])
	case "cert_ocsp_revoked":
		s.Log.Log(ctx, slog.LevelWarn, "the certificate was revoked; another is asked for", "hosts", data["subjects"])
	}
	return nil
}

// toHTTPS sends every request on to the same path at the store's own address, whatever host it was
// sent to.
func toHTTPS(baseURL string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.EscapedPath()
		if !strings.HasPrefix(to, "/") {
			http.Error(w, "This address only redirects: ask for a path, such as /.", http.StatusBadRequest)
			return
		}
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", baseURL+to)
		w.WriteHeader(http.StatusPermanentRedirect)
	})
}

// redirects has plain HTTP served while the shop serves.
func (s *Shop) redirects(plain net.Listener, h http.Handler) {
	s.runs = append(s.runs, func(ctx context.Context) error { return redirect(ctx, plain, h) })
}

// redirect serves plain HTTP until ctx ends.
func redirect(ctx context.Context, ln net.Listener, h http.Handler) error {
	const patience = 10 * time.Second
	server := &http.Server{Handler: h, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("redirecting on %s: %w", ln.Addr(), err)
	}
	return nil
}
