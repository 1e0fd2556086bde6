package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	callTimeout   = 10 * time.Second // one attempt at one node
	restAfterFail = 5 * time.Second  // a node that failed is asked last for this long
	maxAnswer     = 32 << 20         // bytes of one answer, a batch included
)

// client speaks JSON-RPC to one network through several nodes. A node that cannot be reached, answers with another
// HTTP status than 200, or says that it is rate limited, is passed over for the next one. Node addresses often hold
// API keys: errors name the host only.
type client struct {
	nodes []*node
	http  *http.Client
	round atomic.Uint64 // request ids
}

type node struct {
	url, host string
	restUntil atomic.Int64 // Unix milliseconds
}

// call is one request and, after a batch, its answer.
type call struct {
	method string
	params []any
	out    any   // where the result is decoded to; nil discards it
	err    error // *rpcError, errNull, or a decoding error
}

// rpcError is the node's own answer that a call failed.
type rpcError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

// Error implements error with a bounded and printable text.
func (e *rpcError) Error() string {
	return fmt.Sprintf("rpc error %d: %s", e.Code, printable(e.Message, 200))
}

// errNull is the answer null where a value was needed: the node does not know the thing asked for.
var errNull = errors.New("the node does not know it")

func newClient(urls []string) (*client, error) {
	if len(urls) == 0 {
		return nil, errors.New("no RPC address")
	}
	c := &client{http: &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConns:        128,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     60 * time.Second,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			// The text of a parse error would repeat the address.
			return nil, fmt.Errorf("RPC address %d is not an http or https URL", i+1)
		}
		c.nodes = append(c.nodes, &node{url: raw, host: u.Host})
	}
	return c, nil
}

// one makes a single call.
func (c *client) one(ctx context.Context, out any, method string, params ...any) error {
	k := &call{method: method, params: params, out: out}
	if err := c.batch(ctx, k); err != nil {
		return err
	}
	if k.err != nil {
		return fmt.Errorf("%s: %w", method, k.err)
	}
	return nil
}

// batch makes several calls in one round trip to one node. The error says that nothing is known; what a single call
// failed with is in its err.
func (c *client) batch(ctx context.Context, calls ...*call) error {
	body, first, err := c.encode(calls)
	if err != nil {
		return err
	}
	var failed []error
	for _, n := range c.order() {
		err := c.try(ctx, n, body, first, calls)
		if err == nil {
			return nil
		}
		failed = append(failed, fmt.Errorf("rpc %s: %w", n.host, err))
		if ctx.Err() != nil {
			break
		}
		n.restUntil.Store(time.Now().Add(restAfterFail).UnixMilli())
	}
	return errors.Join(failed...)
}

// order lists the rested nodes in configured order, then the others.
func (c *client) order() []*node {
	now := time.Now().UnixMilli()
	up := make([]*node, 0, len(c.nodes))
	var resting []*node
	for _, n := range c.nodes {
		if n.restUntil.Load() <= now {
			up = append(up, n)
		} else {
			resting = append(resting, n)
		}
	}
	return append(up, resting...)
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type response struct {
	ID     uint64         `json:"id"`
	Result jsontext.Value `json:"result"`
	Error  *rpcError      `json:"error"`
}

func (c *client) encode(calls []*call) (body []byte, first uint64, err error) {
	first = c.round.Add(uint64(len(calls))) - uint64(len(calls)) + 1
	rs := make([]request, len(calls))
	for i, k := range calls {
		if k.params == nil {
			k.params = []any{}
		}
		rs[i] = request{"2.0", first + uint64(i), k.method, k.params}
	}
	if len(rs) == 1 {
		body, err = json.Marshal(rs[0])
	} else {
		body, err = json.Marshal(rs)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("encoding an RPC request: %w", err)
	}
	return body, first, nil
}

func (c *client) try(ctx context.Context, n *node, body []byte, first uint64, calls []*call) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // the URL itself stays out of it
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return decode(raw, first, calls)
}

func decode(raw []byte, first uint64, calls []*call) error {
	var rs []response
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '{' {
		var r response
		if err := json.Unmarshal(raw, &r); err != nil {
			return errors.New("the answer is not JSON-RPC")
		}
		if r.Error != nil && len(calls) > 1 {
			return r.Error // the batch as a whole was refused
		}
		rs = []response{r}
	} else if err := json.Unmarshal(raw, &rs); err != nil {
		return errors.New("the answer is not JSON-RPC")
	}
	if len(rs) != len(calls) {
		return fmt.Errorf("%d answers to %d calls", len(rs), len(calls))
	}
	seen := make([]bool, len(calls))
	for _, r := range rs {
		i := r.ID - first
		if i >= uint64(len(calls)) || seen[i] {
			return errors.New("the answers do not match the calls")
		}
		seen[i] = true
		if r.Error != nil && limited(r.Error) {
			return r.Error
		}
		calls[i].err = settle(r, calls[i].out)
	}
	return nil
}

// settle decodes one answer.
func settle(r response, out any) error {
	switch {
	case r.Error != nil:
		return r.Error
	case out == nil:
		return nil
	case len(r.Result) == 0 || r.Result.Kind() == 'n':
		return errNull
	}
	if err := json.Unmarshal(r.Result, out); err != nil {
		return errors.New("the answer has an unexpected form")
	}
	return nil
}

// limited reports a node that refuses for the rate of requests rather than for what was asked.
func limited(e *rpcError) bool {
	m := strings.ToLower(e.Message)
	return e.Code == 429 || strings.Contains(m, "rate limit") || strings.Contains(m, "too many requests")
}

// printable keeps the printable ASCII of a text from outside, bounded.
func printable(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() >= limit {
			break
		}
		if r >= ' ' && r < 0x7f {
			b.WriteRune(r)
		}
	}
	return b.String()
}
