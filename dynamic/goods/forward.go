// This file asks the HTTP addresses whose answers are sold.
//
// It reaches only what the keeper allows in the configuration, and nothing that a good, an input or
// an answer names beside: an address is allowed by a prefix of scheme, host and path, where the
// path ends at a slash or is the whole. Each allowed prefix has a guarded client of its own
// (package fetch): the name is looked up once and every address checked, private and loopback
// addresses are refused unless the prefix is marked private, plain http likewise; no redirect is
// followed; a request ends after the good's seconds, at most 30; an answer of more than 4 MiB is
// none. At most sixteen requests go to a prefix at once; others wait within their time.
//
// What is sent: the good's own inputs, as a JSON object or a query; Idempotency-Key, which is the
// same for all requests of one order; Accept; the headers of the keeper's secret file, which are
// sent to this prefix alone and never logged. An upstream that was asked twice with one key should
// give one answer; the store sells the first that it keeps.
//
// What is taken: status 200, the type that the good declares, valid JSON where that is JSON. All
// else is a goods.NoAnswer in words of ours: nothing an upstream says in an error is shown to
// anybody.

package goods

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
)

// AllowedUpstream is a prefix of addresses that may be asked.
type AllowedUpstream struct {
	// Prefix is a URL without query and fragment: https://api.example/v1/, http://127.0.0.1:9000/.
	Prefix string
	// Header is sent with each request to the prefix.
	Header http.Header
	// Client reaches the prefix; its rule and its bounds are those of Reach.
	Client *fetch.Client

	at *url.URL
}

// Bounds of requests.
const (
	UpstreamMaxTime = 30 * time.Second
	AtOnce          = 16 // requests to a prefix
)

// Proxied asks what is allowed. It is safe for concurrent use.
type Proxied struct {
	allowed []AllowedUpstream
}

// NewUpstreams checks the prefixes.
func NewUpstreams(allowed []AllowedUpstream) (*Proxied, error) {
	u := &Proxied{allowed: slices.Clone(allowed)}
	for i := range u.allowed {
		at, err := ParseUpstreamPrefix(u.allowed[i].Prefix)
		if err != nil {
			return nil, err
		}
		u.allowed[i].at = at
		if err := checkHeader(u.allowed[i].Header); err != nil {
			return nil, fmt.Errorf("upstream %s: %w", u.allowed[i].Prefix, err)
		}
	}
	return u, nil
}

// ParseUpstreamPrefix reads what may be allowed.
func ParseUpstreamPrefix(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || u.ForceQuery || u.Opaque != "" || clean(u) != u.EscapedPath() {
		return nil, fmt.Errorf("upstream %q is no prefix such as https://api.example/v1/ or http://127.0.0.1:9000/", s)
	}
	return u, nil
}

// clean is the path of an address as a server reads it, which is what is compared.
func clean(u *url.URL) string {
	if u.Path == "" {
		return ""
	}
	return u.JoinPath().EscapedPath()
}

// of is the allowed prefix of an address, nil for none. An address whose path could be read in
// another way is allowed by none.
func (u *Proxied) of(address string) *AllowedUpstream {
	at, err := url.Parse(address)
	if err != nil || at.User != nil || at.Opaque != "" || clean(at) != at.EscapedPath() ||
		strings.Contains(at.EscapedPath(), "%") {
		return nil
	}
	for i, a := range u.allowed {
		if at.Scheme != a.at.Scheme || !strings.EqualFold(at.Host, a.at.Host) {
			continue
		}
		path, prefix := at.Path, a.at.Path
		if path == prefix || prefix == "" || strings.HasSuffix(prefix, "/") && strings.HasPrefix(path, prefix) {
			return &u.allowed[i]
		}
	}
	return nil
}

// Allows implements goods.Upstreams.
func (u *Proxied) Allows(address string) bool { return u.of(address) != nil }

// Ask implements goods.Upstreams.
func (u *Proxied) Ask(ctx context.Context, q Question) ([]byte, error) {
	a := u.of(q.URL)
	if a == nil {
		return nil, &NoAnswer{Why: "its address is not allowed here"}
	}
	req, err := request(q, a.Header)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(time.Duration(q.Seconds)*time.Second, UpstreamMaxTime))
	defer cancel()
	rule := fetch.Rule{PlainHTTP: a.at.Scheme == "http"}
	for name := range req.Header {
		rule.Headers = append(rule.Headers, name)
	}
	x, err := a.Client.Do(ctx, req, rule)
	if refusal, is := errors.AsType[*fetch.Refusal](err); is {
		return nil, &NoAnswer{Why: "its address may not be asked (" + refusal.Code + ")"}
	}
	if err != nil {
		return nil, &NoAnswer{Why: "it could not be asked now"}
	}
	return answer(q.Upstream, x)
}

// request is what is sent for a question.
func request(q Question, header http.Header) (exchange.Request, error) {
	h := header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	h.Set("Idempotency-Key", q.Key)
	h.Set("Accept", q.MediaType)
	body, err := json.Marshal(q.Inputs)
	if err != nil {
		return exchange.Request{}, fmt.Errorf("upstream: the inputs: %w", err)
	}
	if q.Method == http.MethodPost {
		h.Set("Content-Type", "application/json")
		return exchange.Request{Method: q.Method, URL: q.URL, Header: h, Body: body}, nil
	}
	at, err := url.Parse(q.URL)
	if err != nil {
		return exchange.Request{}, fmt.Errorf("upstream: %w", err)
	}
	query := at.Query()
	for name, v := range q.Inputs {
		query.Set(name, fmt.Sprint(v))
	}
	at.RawQuery = query.Encode()
	return exchange.Request{Method: q.Method, URL: at.String(), Header: h}, nil
}

// answer is what an exchange brought that can be sold.
func answer(up content.Upstream, x exchange.Exchange) ([]byte, error) {
	r := x.Response
	switch {
	case x.Error.Stage == exchange.StageDeadline:
		return nil, &NoAnswer{Why: "it took longer than it may"}
	case r.Status == 0 || x.Error.Stage != "":
		return nil, &NoAnswer{Why: "it could not be reached"}
	case r.Status >= 400 && r.Status < 500 && !slices.Contains(later, r.Status):
		return nil, &NoAnswer{Why: fmt.Sprintf("it refused the order (status %d)", r.Status), Final: true}
	case r.Status != http.StatusOK:
		return nil, &NoAnswer{Why: fmt.Sprintf("it answered with status %d", r.Status)}
	case r.Truncated:
		return nil, &NoAnswer{Why: fmt.Sprintf("it sent more than %d bytes", MaxAnswer)}
	case !upstreamTyped(up, r.Header.Get("Content-Type")):
		return nil, &NoAnswer{Why: "what it sent is of another type than is sold"}
	case !up.File && !json.Valid(bytes.TrimSpace(r.Body)):
		return nil, &NoAnswer{Why: "what it sent is no JSON"}
	}
	return r.Body, nil
}

// later are the refusals that may be none when it is asked again.
var later = []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}

// upstreamTyped reports whether an answer is of the type that is sold. One that says nothing is
// believed, since it goes out under our name for it.
func upstreamTyped(up content.Upstream, said string) bool {
	if said == "" || up.MediaType == "application/octet-stream" {
		return true
	}
	got, _, err := mime.ParseMediaType(said)
	want, _, _ := mime.ParseMediaType(up.MediaType)
	return err == nil && (got == want || !up.File && strings.HasSuffix(got, "+json"))
}

// kept are the fields that a request has from us.
var kept = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Cookie", "Forwarded", "Host",
	"Idempotency-Key", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent", "X-Forwarded-For"}

func checkHeader(h http.Header) error {
	for name := range h {
		if slices.Contains(kept, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("the header %s is the store's to set", name)
		}
	}
	return nil
}

// ParseUpstreamHeader reads the fields of a secret file: a line each, "Authorization: Bearer …".
// Lines that are empty or begin with # say nothing.
func ParseUpstreamHeader(text string) (http.Header, error) {
	h := make(http.Header)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || strings.Trim(name, tokens) != "" || name == "" || value == "" ||
			strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, fmt.Errorf("line %d is no header field such as Authorization: Bearer and the key", i+1)
		}
		h.Add(name, value)
	}
	return h, checkHeader(h)
}

const tokens = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
