package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"

	"store.example/agentstore/corpus/exchange"
)

// Transport lets code that speaks net/http make guarded requests. Each is one of Do by a rule, with
// all that Do holds to; a network failure is an error, and a body that is longer than MaxBytes ends
// there without one.
func (c *Client) Transport(rule Rule) http.RoundTripper { return transport{c, rule} }

type transport struct {
	client *Client
	rule   Rule
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	req := exchange.Request{Method: r.Method, URL: r.URL.String(), Header: r.Header}
	if r.Body != nil {
		body, err := io.ReadAll(io.LimitReader(r.Body, MaxRequestBody+1))
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
		req.Body = body
	}
	x, err := t.client.Do(r.Context(), req, t.rule)
	if err != nil {
		return nil, err
	}
	if x.Response.Status == 0 || x.Error.Stage != "" {
		return nil, errors.New(x.Error.Text)
	}
	h := x.Response.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	// What these say is of the bytes on the wire.
	if slices.Contains(h["Content-Encoding"], "gzip") {
		h.Del("Content-Encoding")
	}
	h.Del("Content-Length")
	return &http.Response{StatusCode: x.Response.Status, Status: http.StatusText(x.Response.Status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, ContentLength: int64(len(x.Response.Body)),
		Body: io.NopCloser(bytes.NewReader(x.Response.Body)), Request: r}, nil
}
