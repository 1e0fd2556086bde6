package street

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// A certificate's fault.
type certFault int

const (
	certGood certFault = iota
	certOtherName
	certExpired
	certNotYet
	certSelfSigned
)

// certFaults are their names in rows.txt.
var certFaults = []string{"", "other-name", "expired", "not-yet", "self-signed"}

// authority makes certificates for one run.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	now func() time.Time

	mu   sync.Mutex // guards what follows
	made map[certOf]*tls.Certificate
	next int64 // serial number
}

// certOf names a certificate.
type certOf struct {
	host  string
	fault certFault
}

func newAuthority(now func() time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, now: now, made: map[certOf]*tls.Certificate{}, next: 2}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Street of test doors"},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: now().Add(-time.Hour), NotAfter: now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	return a, nil
}

// certificate returns the certificate of a host, with its fault. All have the authority's key.
func (a *authority) certificate(host string, fault certFault) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.made[certOf{host, fault}]; c != nil {
		return c, nil
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(a.next), DNSNames: []string{host},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: a.now().Add(-time.Hour),
		NotAfter: a.now().AddDate(0, 6, 0)}
	a.next++
	parent := a.cert
	switch fault {
	case certOtherName:
		template.DNSNames = []string{"another." + Domain}
	case certExpired:
		template.NotBefore, template.NotAfter = a.now().AddDate(0, -2, 0), a.now().AddDate(0, -1, 0)
	case certNotYet:
		template.NotBefore = a.now().AddDate(0, 1, 0)
	case certSelfSigned:
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for %s: %w", host, err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	a.made[certOf{host, fault}] = c
	return c, nil
}

// chanListener is a listener whose connections are handed to it.
type chanListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	addr   net.Addr
}

// hand gives a connection to whoever accepts, and reports whether that happened.
func (l *chanListener) hand(c net.Conn) bool {
	select {
	case l.conns <- c:
		return true
	case <-l.closed:
		return false
	}
}

func (l *chanListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *chanListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *chanListener) Addr() net.Addr { return l.addr }

// lingering tells when a connection is closed by this side.
type lingering struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *lingering) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}

// raw is a door that reads one request and then speaks bytes of its own.
func raw(speak func(v *visit, c net.Conn)) func(*visit, net.Conn) {
	return func(v *visit, c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		v.Request = r
		speak(v, c)
	}
}

// head is the beginning of a good answer, without the empty line that would end it.
func (v *visit) head(proto string) string {
	return proto + " 402 Payment Required\r\nContent-Type: application/json\r\nPayment-Required: " +
		base64.StdEncoding.EncodeToString(encode(good(v).challenge(v))) + "\r\n"
}

// say answers with the beginning of a good answer and a text, and closes. A whole answer has to say
// so: a client that keeps the connection asks again while it is closed.
func say(text string) func(*visit, net.Conn) {
	return raw(func(v *visit, c net.Conn) { io.WriteString(c, v.head("HTTP/1.1")+text) })
}

// bomb is 64 MB of zeros in gzip: one member of a megabyte, again and again, so that making it
// takes no time.
func bomb() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 1<<20)) // a buffer takes everything
	z.Close()
	return bytes.Repeat(b.Bytes(), 64)
}

// hold reads until the other side gives up.
func hold(c net.Conn) { io.Copy(io.Discard, c) }

// forever repeats a text until the other side gives up.
func forever(c io.Writer, text string) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}
