// Package facilitator speaks the HTTP API of x402 facilitators (POST /verify, POST /settle, GET
// /supported), on both sides: Client lets a third party settle our payments, Handler settles other
// people's over our rails.
//
// Nothing that a remote facilitator says is proof of payment. A timeout, a status other than 2xx
// and a malformed answer leave the outcome unknown; so does success, until the chain shows the
// transfer (package till, M10). Client is the settler of an evm.Rail and holds no opinion of its
// own.
//
//	c, err := facilitator.New(facilitator.Config{URL: "https://facilitator.example"})
//	cfg.Settler = c
package facilitator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"store.example/agentstore/dynamic/rail"
)

const (
	// Timeout is how long one call to a facilitator may take, its body included; the stock client's
	// own limit.
	Timeout   = 90 * time.Second
	maxAnswer = 1 << 20
)

// Request is the body of /verify and /settle.
type Request struct {
	Version      int              `json:"x402Version"`
	Payload      Payload          `json:"paymentPayload"`
	Requirements rail.Requirement `json:"paymentRequirements"`
}

// Payload is the part of an x402 PaymentPayload that a facilitator reads.
type Payload struct {
	Version  int              `json:"x402Version"`
	Payload  rawObject        `json:"payload"`
	Accepted rail.Requirement `json:"accepted"`
}

// Verified is the answer of /verify.
type Verified struct {
	Valid   bool   `json:"isValid"`
	Payer   string `json:"payer,omitempty"`
	Reason  string `json:"invalidReason,omitempty"`
	Message string `json:"invalidMessage,omitempty"`
	Extra   *State `json:"extra,omitempty"` // of a channel's payment that is good
}

// Settled is the answer of /settle. Transaction is empty when nothing was broadcast.
type Settled struct {
	Success     bool   `json:"success"`
	Payer       string `json:"payer,omitempty"`
	Transaction string `json:"transaction"`
	Network     string `json:"network"`
	Amount      string `json:"amount,omitempty"`
	Reason      string `json:"errorReason,omitempty"`
	Message     string `json:"errorMessage,omitempty"`
	Extra       *Extra `json:"extra,omitempty"` // of a channel's payment that succeeded
}

// Pending is the reason of a settlement that was broadcast and is in no block yet.
const Pending = "settlement_pending"

// Supported is the answer of /supported.
type Supported struct {
	Kinds      []Kind              `json:"kinds"`
	Extensions []string            `json:"extensions"`
	Signers    map[string][]string `json:"signers"`
}

// Kind is one scheme on one network.
type Kind struct {
	Version int            `json:"x402Version"`
	Scheme  string         `json:"scheme"`
	Network string         `json:"network"`
	Extra   map[string]any `json:"extra,omitempty"`
}

// Config describes a remote facilitator.
type Config struct {
	// URL is its base address: https, or http on a loopback address.
	URL string
	// Header is sent with every request; it may hold credentials and is never shown.
	Header http.Header
	// Timeout of one call; default 90 s.
	Timeout time.Duration
}

// Client is a remote facilitator. It is safe for concurrent use.
type Client struct {
	base   string
	host   string
	header http.Header
	http   *http.Client
	flight singleflight.Group // one settlement of one payment at a time
}

// Declined is a facilitator's word that it did not settle. It is no proof that nothing was settled.
type Declined struct {
	Host   string
	Reason string // bounded, printable
}

// Error implements error.
func (d *Declined) Error() string { return fmt.Sprintf("%s declined: %s", d.Host, d.Reason) }

// New checks a configuration and returns its client. It makes no request.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the facilitator's address is not a plain URL")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("facilitator %s: http is for loopback addresses only", u.Host)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("facilitator %s: the scheme must be https", u.Host)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = Timeout
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"), host: u.Host, header: cfg.Header.Clone(),
		http: &http.Client{
			Timeout:       cfg.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Host is the facilitator's host and port.
func (c *Client) Host() string { return c.host }

// Settle hands a request body over and returns the transaction that the facilitator says it sent. A
// *Declined is its refusal; every error leaves the outcome unknown. The same body is under way once
// at a time.
func (c *Client) Settle(ctx context.Context, request []byte) (string, error) {
	sum := sha256.Sum256(request)
	ch := c.flight.DoChan(string(sum[:]), func() (any, error) {
		// Callers share this call, so it outlives each of them; the client's timeout ends it.
		return c.settle(context.WithoutCancel(ctx), request)
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-ch:
		return r.Val.(string), r.Err
	}
}

func (c *Client) settle(ctx context.Context, request []byte) (string, error) {
	var req Request
	if err := json.Unmarshal(request, &req); err != nil {
		return "", errors.New("not a settle request")
	}
	var a struct {
		Success     *bool   `json:"success"`
		Transaction *string `json:"transaction"`
		Network     *string `json:"network"`
		Reason      string  `json:"errorReason"`
	}
	if err := c.call(ctx, http.MethodPost, "/settle", request, &a); err != nil {
		return "", err
	}
	switch {
	case a.Success == nil || a.Transaction == nil || a.Network == nil:
		return "", fmt.Errorf("facilitator %s: the answer lacks success, transaction or network", c.host)
	case *a.Network != req.Requirements.Network:
		return "", fmt.Errorf("facilitator %s: the answer is about another network", c.host)
	case !*a.Success && a.Reason != Pending:
		return rail.Printable(*a.Transaction, 128), &Declined{c.host, rail.Printable(a.Reason, 100)}
	}
	return rail.Printable(*a.Transaction, 128), nil
}

// Verify asks whether a payment is good.
func (c *Client) Verify(ctx context.Context, request []byte) (Verified, error) {
	var a struct {
		Valid   *bool  `json:"isValid"`
		Payer   string `json:"payer"`
		Reason  string `json:"invalidReason"`
		Message string `json:"invalidMessage"`
	}
	if err := c.call(ctx, http.MethodPost, "/verify", request, &a); err != nil {
		return Verified{}, err
	}
	if a.Valid == nil {
		return Verified{}, fmt.Errorf("facilitator %s: the answer lacks isValid", c.host)
	}
	return Verified{Valid: *a.Valid, Payer: rail.Printable(a.Payer, 128), Reason: rail.Printable(a.Reason, 100),
		Message: rail.Printable(a.Message, 500)}, nil
}

// Supported asks for the kinds that the facilitator settles.
func (c *Client) Supported(ctx context.Context) (Supported, error) {
	var s Supported
	if err := c.call(ctx, http.MethodGet, "/supported", nil, &s); err != nil {
		return Supported{}, err
	}
	return s, nil
}

// call makes one request. Errors name the host and nothing else of the address.
func (c *Client) call(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("facilitator %s: the request cannot be made", c.host)
	}
	maps.Copy(req.Header, c.header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return fmt.Errorf("facilitator %s: %w", c.host, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("facilitator %s: reading the answer: %w", c.host, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("facilitator %s: HTTP status %d", c.host, resp.StatusCode)
	case len(raw) > maxAnswer:
		return fmt.Errorf("facilitator %s: the answer is longer than %d bytes", c.host, maxAnswer)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("facilitator %s: the answer is not the JSON that it should be", c.host)
	}
	return nil
}
