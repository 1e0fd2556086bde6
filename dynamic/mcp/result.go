package mcp

import (
	"encoding/json"
	"encoding/json/jsontext"
	"slices"

	"store.example/agentstore/dynamic/pay"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// result is that of a tool, an [sdk.CallToolResult] on the wire. It is written here because what it
// holds is JSON already, and twice: the SDK would parse and copy it five times on its way out.
type result struct {
	kind       string // where it is not complete: terms are structured alone
	failed     bool
	before     string        // a text before the others, "" for none
	text       []byte        // of the answer
	more       []sdk.Content // beside it
	structured []byte        // JSON, nil for none
	meta       pay.Meta      // which is written beside it
}

// marshal writes the result.
func (r *result) marshal() (json.RawMessage, error) {
	if r.kind == kindPayment {
		return slices.Concat([]byte(`{"paymentRequired":`), r.structured, []byte("}")), nil
	}
	b := make([]byte, 0, 256+5*len(r.text)/2+len(r.structured))
	b = append(b, `{"content":[`...)
	if r.before != "" {
		b = append(quote(append(b, `{"type":"text","text":`...), []byte(r.before)), "},"...)
	}
	b = append(quote(append(b, `{"type":"text","text":`...), r.text), '}')
	for _, c := range r.more {
		one, err := c.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = append(append(b, ','), one...)
	}
	b = append(b, ']')
	if r.structured != nil {
		b = append(append(b, `,"structuredContent":`...), r.structured...)
	}
	if r.failed {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}

// quote appends a text as JSON; what is no UTF-8 in it is replaced.
func quote(b, text []byte) []byte {
	b, _ = jsontext.AppendQuote(b, text) // its error says that something was replaced
	return b
}
