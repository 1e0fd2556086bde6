package shop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// OwnCertificate is a certificate in files of the keeper's, which may be replaced while it is in
// use.
type OwnCertificate struct {
	Config  TLSConfig
	Host    string
	Current atomic.Pointer[tls.Certificate]
}

// Load reads the files. Where they have a fault, the certificate in use stays.
func (o *OwnCertificate) Load() error {
	chain, err := os.ReadFile(o.Config.Certificate)
	if err != nil {
		return fmt.Errorf("tls.certificate: %w; store key tls -host %s makes one for trying, a CA gives one for "+
			"strangers", err, o.Host)
	}
	key, err := ReadSecret(o.Config.Key)
	if err != nil {
		return fmt.Errorf("tls.key: %w", err)
	}
	c, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("tls.certificate %s and tls.key %s: %w; want a chain in PEM, the store's own certificate "+
			"first, and the key of that one", o.Config.Certificate, o.Config.Key, err)
	}
	if err := c.Leaf.VerifyHostname(o.Host); err != nil {
		return fmt.Errorf("tls.certificate %s: %w; want one for the host of base_url", o.Config.Certificate, err)
	}
	if time.Now().After(c.Leaf.NotAfter) {
		return fmt.Errorf("tls.certificate %s: it ended at %s; put a new one in its place", o.Config.Certificate,
			c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	o.Current.Store(&c)
	return nil
}

// secureOwn makes a listener speak TLS with the keeper's own certificate.
func (s *Shop) secureOwn(ln net.Listener, base *url.URL) (net.Listener, error) {
	own := &OwnCertificate{Config: s.Config.TLS, Host: base.Hostname()}
	if err := own.Load(); err != nil {
		return nil, err
	}
	s.certificate = own
	return tls.NewListener(ln, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.Current.Load(), nil },
	}), nil
}

// Reload takes up what may be replaced while the shop serves: the files of its own certificate.
// Connections that are open keep the one before.
func (s *Shop) Reload() error {
	if s.certificate == nil {
		return nil
	}
	return s.certificate.Load()
}

// certificateLasts is how long a certificate holds that vouches for itself.
const certificateLasts = 365 * 24 * time.Hour

// MakeCertificate makes a certificate for a host that nobody but itself vouches for, tls.pem, and
// its key, tls.key, in a folder. Nothing that exists is touched.
func MakeCertificate(dir, host string) (file string, err error) {
	file = filepath.Join(dir, "tls.pem")
	now := time.Now().UTC()
	c := &x509.Certificate{Subject: pkix.Name{CommonName: host}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(certificateLasts), KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else if host == "" || len(host) > 253 || strings.ContainsAny(host, "/: \t\n") {
		return "", fmt.Errorf("%q is no host: want the one of base_url, such as 127.0.0.1 or store.example", host)
	} else {
		c.DNSNames = []string{host}
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return "", err
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		return "", err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	key := filepath.Join(dir, "tls.key")
	err = WriteNew(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600)
	if err == nil {
		err = WriteNew(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
	}
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%w: it may be in use; move tls.pem and tls.key away first, and send SIGHUP after", err)
	}
	return file, err
}
