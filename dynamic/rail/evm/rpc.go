package evm

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync/atomic"

	"store.example/agentstore/dynamic/rail"
)

// maxAnswer is how many bytes one answer may have, a batch included.
const maxAnswer = 32 << 20

// client speaks JSON-RPC to one network through several nodes, several calls at a time.
type client struct {
	*rail.Nodes
	round atomic.Uint64 // request ids
}

// call is one request and, after a batch, its answer.
type call struct {
	method string
	params []any
	out    any   // where the result is decoded to; nil discards it
	err    error // *rail.NodeError, rail.ErrNodeNull, or a decoding error
}

func newClient(cfg Config) (*client, error) {
	nodes, err := rail.NewNodes(cfg.RPC, maxAnswer)
	if err != nil {
		return nil, err
	}
	nodes.Asked = cfg.Asked
	return &client{Nodes: nodes}, nil
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

// batch makes several calls in one round trip to one node. The error says that nothing is known;
// what a single call failed with is in its err.
func (c *client) batch(ctx context.Context, calls ...*call) error {
	body, first, err := c.encode(calls)
	if err != nil {
		return err
	}
	return c.Ask(ctx, body, func(answer []byte) error { return decode(answer, first, calls) })
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type response struct {
	ID     uint64          `json:"id"`
	Result jsontext.Value  `json:"result"`
	Error  *rail.NodeError `json:"error"`
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
		if r.Error != nil && r.Error.Limited() {
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
		return rail.ErrNodeNull
	}
	if err := json.Unmarshal(r.Result, out); err != nil {
		return errors.New("the answer has an unexpected form")
	}
	return nil
}
