package solana

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync/atomic"

	"store.example/agentstore/dynamic/rail"
)

// maxAnswer is how many bytes one answer may have.
const maxAnswer = 8 << 20

// client speaks JSON-RPC 2.0 to one network through several nodes, as Solana's nodes do: one call a
// request, since few providers take several.
type client struct {
	*rail.Nodes
	round atomic.Uint64 // request ids
}

// Codes of Solana's nodes.
const (
	codeUnhealthy = -32005
	codeVersion   = -32015 // a transaction of a version that was not asked for
	codeBehind    = -32016 // minContextSlot was not reached
)

func newClient(urls []string, asked func(rail.Asked)) (*client, error) {
	nodes, err := rail.NewNodes(urls, maxAnswer)
	if err != nil {
		return nil, err
	}
	nodes.Asked = asked
	return &client{Nodes: nodes}, nil
}

// call makes a call and decodes its result into out, which null is no value of. The error is an
// *rail.NodeError where a node said no, rail.ErrNodeNull, or says that nothing is known.
func (c *client) call(ctx context.Context, out any, method string, params ...any) error {
	id := c.round.Add(1)
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      uint64 `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}{"2.0", id, method, params})
	if err != nil {
		return fmt.Errorf("encoding an RPC request: %w", err)
	}
	var final error
	err = c.Ask(ctx, body, func(answer []byte) error {
		err := decode(answer, id, out)
		said, is := errors.AsType[*rail.NodeError](err)
		if errors.Is(err, rail.ErrNodeNull) || is && !passing(said) {
			final, err = err, nil
		}
		return err
	})
	if final != nil {
		return fmt.Errorf("%s: %w", method, final)
	}
	return err
}

// decode reads the answer to the call of an id.
func decode(raw []byte, id uint64, out any) error {
	var r struct {
		ID     uint64          `json:"id"`
		Result jsontext.Value  `json:"result"`
		Error  *rail.NodeError `json:"error"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return errors.New("the answer is not JSON-RPC")
	}
	switch {
	case r.ID != id:
		return errors.New("the answer is to another call")
	case r.Error != nil:
		return r.Error
	case len(r.Result) == 0 || r.Result.Kind() == 'n':
		return rail.ErrNodeNull
	}
	if err := json.Unmarshal(r.Result, out); err != nil {
		return errors.New("the answer has an unexpected form")
	}
	return nil
}

// passing reports an answer that another node, or the same one later, may give otherwise: it says
// nothing of what was asked.
func passing(e *rail.NodeError) bool {
	return e.Limited() || e.Code == codeUnhealthy || e.Code == codeBehind
}
