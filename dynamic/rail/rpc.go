// This file is what the clients of all chains share: nodes that answer JSON-RPC 2.0 over HTTP,
// asked one after another until one answers. What is asked, and what an answer says, belongs to the
// rail.

package rail

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	callTimeout   = 10 * time.Second // one attempt at one node
	restAfterFail = 5 * time.Second  // a node that failed is asked last for this long
)

// Nodes are the nodes of one network. One that cannot be reached, answers with another HTTP status
// than 200, or gives no answer that can be used, is passed over for the next one. Their addresses
// often hold API keys: errors name the host only.
type Nodes struct {
	nodes []*node
	http  *http.Client
	most  int64

	// Asked is told of each question to a node; nil tells nobody. Set it before the first.
	Asked func(Asked)
}

// Asked is one question to one node.
type Asked struct {
	Outcome string
	Took    time.Duration
}

// The outcomes of a question. One that its caller gave up has none.
const (
	Answered = "answered"
	Refused  = "refused" // the node said no, or what nobody understands
	Silent   = "silent"  // no answer came, or one that is no answer of HTTP
)

type node struct {
	url, host string
	restUntil atomic.Int64 // Unix milliseconds
}

// NodeError is the node's own answer that a call failed.
type NodeError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

// NodeError implements error with a bounded and printable text.
func (e *NodeError) Error() string {
	return fmt.Sprintf("rpc error %d: %s", e.Code, Printable(e.Message, 200))
}

// Limited reports a node that refuses for the rate of requests rather than for what was asked.
func (e *NodeError) Limited() bool {
	m := strings.ToLower(e.Message)
	return e.Code == 429 || strings.Contains(m, "rate limit") || strings.Contains(m, "too many requests")
}

// ErrNodeNull is the answer null where a value was needed: the node does not know the thing asked
// for.
var ErrNodeNull = errors.New("the node does not know it")

// NewNodes returns the nodes at some addresses, whose answers are at most so many bytes.
func NewNodes(urls []string, most int64) (*Nodes, error) {
	if len(urls) == 0 {
		return nil, errors.New("no RPC address")
	}
	c := &Nodes{most: most, http: &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			// As many as may be asked for at once by what is under way: one more than is kept costs
			// both ends a connection for each question.
			MaxIdleConns:        512,
			MaxIdleConnsPerHost: 512,
			IdleConnTimeout:     60 * time.Second,
			ForceAttemptHTTP2:   true,
			// What a node answers is short, and packing it costs both ends more than sending it.
			DisableCompression: true,
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

// Ask sends a request until use takes a node's answer. An error of use says that the answer is of
// no use, and the next node is asked; Ask's error says that nothing is known.
func (c *Nodes) Ask(ctx context.Context, body []byte, use func(answer []byte) error) error {
	var failed []error
	for _, n := range c.order() {
		begun, outcome := time.Now(), Silent
		answer, err := c.try(ctx, n, body)
		took := time.Since(begun)
		if err == nil {
			outcome, err = Answered, use(answer)
		}
		if err != nil && outcome == Answered {
			outcome = Refused
		}
		if c.Asked != nil && (outcome != Silent || ctx.Err() == nil) {
			c.Asked(Asked{outcome, took})
		}
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

// Raw returns a node's answer to a question as it came, if it is JSON.
func (c *Nodes) Raw(ctx context.Context, question []byte) (answer []byte, err error) {
	err = c.Ask(ctx, question, func(said []byte) error {
		if answer = said; !jsontext.Value(said).IsValid() {
			return errors.New("the answer is no JSON")
		}
		return nil
	})
	return answer, err
}

// First is the host of the node that is asked first.
func (c *Nodes) First() string { return c.nodes[0].host }

// Close closes the connections that nobody uses.
func (c *Nodes) Close() { c.http.CloseIdleConnections() }

// order lists the rested nodes in configured order, then the others.
func (c *Nodes) order() []*node {
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

func (c *Nodes) try(ctx context.Context, n *node, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // the URL itself stays out of it
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		return nil, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, c.most+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if int64(len(raw)) > c.most {
		return nil, fmt.Errorf("the answer is longer than %d bytes", c.most)
	}
	return raw, nil
}
