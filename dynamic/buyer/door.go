package buyer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/dynamic/pay/x402"
)

// The headers of x402 version 2 and of the Idempotency-Key draft, as net/http spells them.
var (
	headerRequired  = http.CanonicalHeaderKey(x402.HeaderRequired)
	headerSignature = http.CanonicalHeaderKey(x402.HeaderSignature)
	headerResponse  = http.CanonicalHeaderKey(x402.HeaderResponse)
)

const headerKey = "Idempotency-Key"

// guarded is the client without redirects, cookies and a timeout of its own (each request has one).
func guarded(c *http.Client, roots *x509.CertPool) *http.Client {
	g := &http.Client{}
	if c != nil {
		*g = *c
	} else {
		g.Transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			TLSClientConfig:        &tls.Config{RootCAs: roots},
			TLSHandshakeTimeout:    15 * time.Second,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: maxHeaders,
		}
	}
	g.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	g.Jar, g.Timeout = nil, 0
	return g
}

// parseURL accepts https, and http to this machine.
func parseURL(s string) (*url.URL, error) {
	if len(s) > 8<<10 {
		return nil, errors.New("reading the URL: it is longer than 8 kB")
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("reading the URL: it is not one")
	}
	switch {
	case u.Host == "" || u.Hostname() == "":
		return nil, errors.New("reading the URL: it names no host")
	case u.User != nil:
		return nil, errors.New("reading the URL: it holds a user name or password, which would be journalled")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("reading the URL: %s is plain http; anybody on the way could take or change the "+
			"payment, so https is needed except to this machine", u.Host)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("reading the URL: scheme %.20q is not https", u.Scheme)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// place is a URL without its query, for logs and comparison.
func place(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host + cmp.Or(u.EscapedPath(), "/")
}

// request is a request as it is sent and journalled: the same bytes every time.
type request struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body,omitempty"`
}

// reserved are the headers that are the buyer's or the transport's own.
var reserved = []string{headerSignature, headerResponse, headerRequired, headerKey, headerApart, "X-Payment", "Host",
	"Content-Length", "Transfer-Encoding", "Connection", "Te", "Trailer", "Upgrade"}

// request makes the unpaid request.
func (o Options) request(u *url.URL) (request, error) {
	r := request{Method: o.Method, URL: u.String(), Header: o.Header.Clone(), Body: o.Body}
	r.Method = cmp.Or(r.Method, http.MethodGet)
	if r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return request{}, fmt.Errorf("making the request: %s never carries a payment", r.Method)
	}
	if len(r.Body) > maxRequestBody {
		return request{}, fmt.Errorf("making the request: the body is larger than %d bytes", maxRequestBody)
	}
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	if p := o.Choice.protocol(); p != ByX402 && p != ByMPP {
		return request{}, fmt.Errorf("making the request: protocol %.20q is neither %s nor %s", p, ByX402, ByMPP)
	}
	scheme, _, _ := strings.Cut(r.Header.Get(headerCredential), " ")
	if strings.EqualFold(scheme, schemePayment) {
		return request{}, fmt.Errorf("making the request: a payment in the header %s is not the caller's to set",
			headerCredential)
	}
	for name := range r.Header {
		if slices.Contains(reserved, http.CanonicalHeaderKey(name)) {
			return request{}, fmt.Errorf("making the request: the header %s is not the caller's to set", name)
		}
	}
	setDefault := func(name, value string) {
		if r.Header.Get(name) == "" {
			r.Header.Set(name, value)
		}
	}
	setDefault("Accept", "application/json, */*;q=0.8")
	setDefault("User-Agent", "agentstore-buyer/1")
	if o.Choice.protocol() == ByMPP {
		setDefault(headerAccept, acceptPayment)
	}
	return r, nil
}

// digest is the same for requests that ask for the same thing, whatever their payment and key.
func (r request) digest() string {
	h := sha256.New()
	for _, part := range []string{r.Method, r.URL, string(r.Body)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// answer is a door's answer, bounded.
type answer struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"` // the few that matter, see kept
	Body      []byte      `json:"body,omitempty"`
	Truncated bool        `json:"truncated,omitempty"` // the body was longer than MaxBody
	At        time.Time   `json:"at"`
}

// kept are the headers of an answer that anybody looks at.
var kept = []string{headerRequired, headerResponse, headerChallenge, headerReceipt, "Content-Type", "Location",
	"Retry-After", "Idempotent-Replayed", "Allow", headerDelivery, headerExtensions}

// exchange sends a request once and reads the answer whole. An answer that breaks off is an error.
func (b *Buyer) exchange(ctx context.Context, r request, limit int64) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, errors.New("making the request: method or URL cannot be sent")
	}
	if len(r.Body) == 0 {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	}
	req.Header = r.Header.Clone()
	resp, err := b.client.Do(req)
	if err != nil {
		// The error of the client repeats the URL with its query.
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return nil, fmt.Errorf("asking %s: %w", place(req.URL), err)
	}
	defer resp.Body.Close()
	size := 0
	for name, values := range resp.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > maxHeaders {
		return nil, fmt.Errorf("asking %s: the answer's headers are larger than %d bytes", place(req.URL), maxHeaders)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("asking %s: reading the answer: %w", place(req.URL), err)
	}
	a := &answer{Status: resp.StatusCode, Header: make(http.Header), Body: body, At: b.cfg.Now().UTC()}
	if int64(len(body)) > limit {
		a.Body, a.Truncated = body[:limit], true
	}
	for _, name := range kept {
		if v := resp.Header.Values(name); len(v) > 0 {
			a.Header[name] = v
		}
	}
	return a, nil
}

// said is what an error answer may say in its body: RFC 9457 members, and what became of the
// payment.
type said struct {
	Type   string `json:"type"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Error  string `json:"error"`
	Billed string `json:"billed"`
	Retry  string `json:"retry"`
}

// readLenient reads JSON of any shape as far as it fits.
func readLenient(b []byte, v any) bool { return len(b) > 0 && json.Unmarshal(b, v) == nil }

// said reads an error body as far as it can be read.
func (a *answer) said() said {
	var s said
	if len(a.Body) == 0 || len(a.Body) > 256<<10 || json.Unmarshal(a.Body, &s) != nil {
		return said{}
	}
	if s.Code == "" {
		s.Code = s.Type[strings.LastIndexByte(s.Type, '/')+1:]
	}
	return s
}

// DoorError is an answer that is neither the good nor terms that can be read.
type DoorError struct {
	Status int
	Code   string // the door's own code, where it has one
	Detail string // in the door's words, made printable
}

// Error implements error.
func (e *DoorError) Error() string {
	s := fmt.Sprintf("the door answered %d", e.Status)
	if t := http.StatusText(e.Status); t != "" {
		s += " " + t
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

func (a *answer) doorError() *DoorError {
	s := a.said()
	e := &DoorError{Status: a.Status, Code: printable(s.Code, 60), Detail: printable(cmp.Or(s.Detail, s.Error, s.Title),
		400)}
	if a.Status >= 300 && a.Status < 400 {
		e.Detail = "it redirects to " + printable(a.Header.Get("Location"), 200) + "; redirects are not followed"
	}
	return e
}
