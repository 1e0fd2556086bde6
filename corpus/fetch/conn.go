package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"store.example/agentstore/corpus/exchange"
)

// maxTries is how many addresses of one name are dialled.
const maxTries = 4

// maxErrorText bounds the text of a recorded error.
const maxErrorText = 300

// open dials a checked address, and speaks TLS where the scheme wants it. It returns the stage at
// which it stopped.
func (c *Client) open(ctx context.Context, t target, at []netip.Addr) (conn net.Conn, remote, stage string, err error) {
	at = at[:min(len(at), maxTries)]
	var busy netip.Addr // the first that is
	for i, a := range at {
		leave, free := c.ways.enter(a, t.host)
		if !free {
			if !busy.IsValid() {
				busy = a
			}
			continue
		}
		remote = netip.AddrPortFrom(a, t.port).String()
		if conn, err = c.dial(ctx, remote, len(at)-i); err == nil {
			conn = &leasedConn{Conn: conn, leave: leave}
			break
		}
		leave()
		if errors.As(err, new(*Refusal)) || ctx.Err() != nil {
			break
		}
	}
	if conn == nil && busy.IsValid() && !errors.As(err, new(*Refusal)) {
		return nil, remote, exchange.StageConnect, &Busy{busy} // it may be the one that answers
	}
	if err != nil {
		return nil, remote, exchange.StageConnect, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		// The context ends reads too, but this holds whatever reads.
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, remote, exchange.StageConnect, errors.Join(err, conn.Close())
		}
	}
	// Headers, body and framing fit several times over; what does not end is cut here at the
	// latest.
	conn = &bounded{Conn: conn, left: 4 * (c.cfg.MaxBytes + MaxHeaderBytes + 64<<10)}
	if t.scheme == "http" {
		return conn, remote, "", nil
	}
	secure := tls.Client(conn, &tls.Config{
		ServerName: t.host, RootCAs: c.cfg.Roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		Time: c.cfg.Now, CurvePreferences: t.curves(),
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close() // the handshake's error says more
		return nil, remote, exchange.StageTLS, err
	}
	return secure, remote, "", nil
}

// curves are the key exchanges that are offered. What a stranger's door says to everybody need not
// stay secret for decades, so a reading offers none that is hybrid, as most clients still do not:
// its key share makes the hello too large for one packet, which some middleboxes drop, and costs an
// eighth of all that a reading costs. For anything else Go's own choice holds.
func (t target) curves() []tls.CurveID {
	if t.secret {
		return nil
	}
	return []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}
}

// dial tries one of the addresses that are left with a fair share of the time.
func (c *Client) dial(ctx context.Context, remote string, left int) (net.Conn, error) {
	if err := c.checkDial(remote); err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return c.cfg.Dialer.DialContext(ctx, "tcp", remote)
}

// bounded is a connection from which no more than left bytes are read.
type bounded struct {
	net.Conn
	left int64 // one goroutine reads at a time
}

var errTooMuch = errors.New("the other side sent more than is read of it")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// failure is a network error as it is recorded: without addresses, ports and resolvers of ours.
func failure(ctx context.Context, stage string, err error) exchange.Error {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		text := "the time ran out at stage " + stage
		if errors.Is(ctx.Err(), context.Canceled) {
			text = "given up at stage " + stage
		}
		return exchange.Error{Stage: exchange.StageDeadline, Text: text}
	}
	return exchange.Error{Stage: stage, Text: exchange.Bounded(phrase(err), maxErrorText)}
}

func phrase(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case e.IsNotFound:
			return "no such name"
		case e.IsTimeout:
			return "the lookup timed out"
		}
		return "the lookup went wrong"
	}
	if errors.Is(err, errNoAddress) {
		return errNoAddress.Error()
	}
	if errors.Is(err, errTooMuch) {
		return errTooMuch.Error()
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return "the other side says: " + e.Error()
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return certificate(e.Err)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Err != nil {
		return e.Err.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed early"
	}
	return err.Error()
}

// certificate says what is wrong with one in words that do not change with the clock or the
// machine.
func certificate(err error) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the certificate is not for " + strconv.Quote(e.Host)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the certificate has expired or is not yet valid"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is signed by an unknown authority"
	}
	return err.Error()
}
