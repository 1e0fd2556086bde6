package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"store.example/agentstore/corpus/exchange"
)

// exchange sends x.Request to t and fills in what becomes of it. Its error is a *Refusal.
func (c *Client) exchange(ctx context.Context, t target, x *exchange.Exchange) error {
	at, err := c.addresses(ctx, t)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		x.Error = exchange.Error{Stage: exchange.StageRefused, Text: exchange.Bounded(refusal.Error(), maxErrorText)}
		return refusal
	}
	if err != nil {
		x.Error = failure(ctx, exchange.StageResolve, err)
		return nil
	}
	conn, remote, stage, err := c.open(ctx, t, at)
	if busy, ok := errors.AsType[*Busy](err); ok {
		x.Error = exchange.Error{Stage: exchange.StageRefused, Text: busy.Error()}
		return busy
	}
	x.RemoteAddr = remote
	if err != nil {
		x.Error = failure(ctx, stage, err)
		return nil
	}
	defer conn.Close() // everything to be read has been read, or is not wanted
	x.Error = c.roundTrip(ctx, conn, t, x, c.secrets(remote))
	return nil
}

var errOneConnection = errors.New("the connection broke before a response came")

// secrets are the fields that are sent to an address and recorded nowhere.
func (c *Client) secrets(remote string) http.Header {
	at, err := netip.ParseAddrPort(remote)
	if err != nil || c.cfg.Allow == nil || !slices.ContainsFunc(c.cfg.Allow.Networks,
		func(p netip.Prefix) bool { return p.Contains(at.Addr()) }) {
		return nil
	}
	return c.cfg.Allow.Header
}

// roundTrip speaks HTTP on one connection, once.
func (c *Client) roundTrip(ctx context.Context, conn net.Conn, t target, x *exchange.Exchange,
	secrets http.Header) exchange.Error {
	req, err := http.NewRequestWithContext(ctx, x.Request.Method, x.Request.URL, bytes.NewReader(x.Request.Body))
	if err != nil {
		return exchange.Error{Stage: exchange.StageWrite, Text: exchange.Bounded(err.Error(), maxErrorText)}
	}
	if len(x.Request.Body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Header, req.Host = x.Request.Header.Clone(), t.authority()
	for name, values := range secrets {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}

	ready := make(chan net.Conn, 1)
	conn, heard := hear(conn)
	ready <- conn
	take := func(context.Context, string, string) (net.Conn, error) {
		select {
		case c := <-ready:
			return c, nil
		default:
			return nil, errOneConnection
		}
	}
	transport := &http.Transport{
		DialContext: take, DialTLSContext: take, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		DisableCompression: true, MaxResponseHeaderBytes: MaxHeaderBytes,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: int(c.cfg.MaxBytes),
			MaxReceiveBufferPerConnection: int(c.cfg.MaxBytes + 64<<10)},
	}
	defer transport.CloseIdleConnections()
	var wrote atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
			wrote.Store(i.Err == nil)
		}}))
	resp, err := transport.RoundTrip(req)
	if err != nil {
		if wrote.Load() {
			return failure(ctx, exchange.StageHeaders, err)
		}
		return failure(ctx, exchange.StageWrite, err)
	}
	defer resp.Body.Close() // the connection is given up anyway

	x.Response.Status, x.Response.Proto, x.Response.HeadFault = resp.StatusCode, resp.Proto, heard.fault()
	var whole bool
	if x.Response.Header, whole = boundHeader(resp.Header); !whole {
		return exchange.Error{Stage: exchange.StageHeaders,
			Text: fmt.Sprintf("the response has more than %d header fields or %d bytes of them", exchange.MaxHeaders,
				MaxHeaderBytes)}
	}
	if x.Request.Method == http.MethodHead {
		return exchange.Error{}
	}
	x.Response.Body, x.Response.Truncated, err = c.body(resp)
	if err != nil {
		return failure(ctx, exchange.StageBody, err)
	}
	return exchange.Error{}
}

// body reads at most MaxBytes of the body, what a gzip coding holds counted as much as what comes
// over the wire.
func (c *Client) body(resp *http.Response) (body []byte, truncated bool, err error) {
	wire := &io.LimitedReader{R: resp.Body, N: c.cfg.MaxBytes + 1}
	var r io.Reader = wire
	if coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); coding == "gzip" ||
		coding == "x-gzip" {
		r = &unzip{wire: wire}
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r, c.cfg.MaxBytes+1))
	truncated = n > c.cfg.MaxBytes || wire.N <= 0
	body = b.Bytes()[:min(n, c.cfg.MaxBytes)]
	if len(body) == 0 {
		body = nil
	}
	if truncated {
		err = nil // what is missing was not read, whatever it is
	}
	return body, truncated, err
}

// unzip decodes gzip from the first Read on; an empty body is not an error.
type unzip struct {
	wire io.Reader
	gzip *gzip.Reader
}

func (u *unzip) Read(p []byte) (int, error) {
	if u.gzip == nil {
		r, err := gzip.NewReader(u.wire)
		if err != nil {
			return 0, err // io.EOF for no byte at all
		}
		u.gzip = r
	}
	return u.gzip.Read(p)
}

// boundHeader copies what of a header an exchange can hold, in the order of names; whole is false
// when that is not all.
func boundHeader(in http.Header) (out http.Header, whole bool) {
	out = http.Header{}
	values, size := 0, 0
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if len(in[name]) == 0 {
			continue
		}
		size += len(name)
		for _, v := range in[name] {
			values, size = values+1, size+len(v)
			if values > exchange.MaxHeaders || size > exchange.MaxHeader {
				return out, false
			}
			out[name] = append(out[name], v)
		}
	}
	return out, true
}
