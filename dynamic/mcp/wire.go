package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Codes of errors beside those of JSON-RPC.
const (
	codePayment         = 402    // the terms are in data
	codeUnknown         = -32000 // the outcome of a payment is not known, or it is one that no terms follow
	codeHeaders         = -32020 // the header is not what the body says (2026-07-28)
	codeWrongRevision   = -32022 // (2026-07-28)
	codeParse           = jsonrpc.CodeParseError
	codeInvalidRequest  = jsonrpc.CodeInvalidRequest
	codeMethodNotFound  = jsonrpc.CodeMethodNotFound
	codeInvalidParams   = jsonrpc.CodeInvalidParams
	codeInternal        = jsonrpc.CodeInternalError
	maxID               = 256      // bytes, as it came
	maxMeta             = 64 << 10 // bytes of _meta, as it came
	messageNotJSONOrTwo = "the body is not one JSON object in which no member stands twice"
)

// message is what a POST holds: a request, a notification, or the answer to a request that we never
// make. Its params are a *params, or anything where only the rest matters.
type message[P any] struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  P              `json:"params"`
	Meta    pay.Meta       `json:"_meta"` // some payers put it beside params
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// params are those of every method that takes some.
type params struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	URI       string         `json:"uri"`
	Cursor    jsontext.Value `json:"cursor"`
	Meta      pay.Meta       `json:"_meta"`
}

// request is a message, as far as it could be read.
type request struct {
	params
	id       jsontext.Value // what the answer carries, byte for byte as it came; null for none
	method   string
	silent   bool // it is not answered
	revision *revision
	http     *http.Request
	place    *endpoint
	// asResult: an unpaid call is answered with a result.
	asResult bool
	// paysByExtension: the client takes terms as a result of the extension org.x402/payment.
	paysByExtension bool
	agent           *route.Agent // who signed the body, nil for nobody
}

var null = jsontext.Value("null")

// metaUnpaid is the member of _meta that asks for terms in a result.
const metaUnpaid = "store/unpaid"

func fault(code int64, format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// read takes a message apart, strictly. The request that it gives back holds what could be read,
// also beside an error.
func (d *Doors) read(p *endpoint, r *http.Request, body []byte) (*request, error) {
	q := &request{id: null, revision: oldest, http: r, place: p,
		asResult: route.Inputs(r).String("unpaid") == "result"}
	if v := jsontext.Value(body); v.Kind() == '[' {
		return q, fault(codeInvalidRequest, "batches are not taken: send one message")
	}
	var m message[*params]
	var wrong bool // params that are not what they should be
	if err := jsonx.Unmarshal(body, &m); err != nil {
		var loose message[jsontext.Value]
		if jsonx.Unmarshal(body, &loose) != nil {
			if v := jsontext.Value(body); v.IsValid() && v.Kind() == '{' {
				return q, fault(codeInvalidRequest, "a member of the message is of the wrong type")
			}
			return q, fault(codeParse, messageNotJSONOrTwo)
		}
		wrong = true
		m = message[*params]{JSONRPC: loose.JSONRPC, ID: loose.ID, Method: loose.Method, Result: loose.Result,
			Error: loose.Error}
	}
	switch {
	case m.JSONRPC != "2.0":
		return q, fault(codeInvalidRequest, `jsonrpc must be "2.0"`)
	case m.ID == nil && m.Method != "", // a notification: nothing is done for one that nobody answers
		m.Method == "" && (m.Result != nil || m.Error != nil): // an answer, though we asked nothing
		q.silent = true
		return q, q.speak()
	case !goodID(m.ID):
		return q, fault(codeInvalidRequest, "id must be a string of at most %d bytes or an integer", maxID)
	}
	q.id, q.method = m.ID, m.Method
	switch {
	case m.Method == "":
		return q, fault(codeInvalidRequest, "the message has no method")
	case wrong:
		return q, fault(codeInvalidParams, "params must be an object with members of the right types")
	}
	if m.Params != nil {
		q.params = *m.Params
	}
	if q.Meta == nil {
		q.Meta = make(pay.Meta)
	}
	var bad error
	size := 0
	for name, value := range m.Meta {
		if _, have := q.Meta[name]; have {
			bad = fault(codeInvalidParams, "a member stands in params._meta and in _meta beside params: send it once")
		}
		q.Meta[name] = value
	}
	for name, value := range q.Meta {
		size += len(name) + len(value)
	}
	if size > maxMeta {
		bad = fault(codeInvalidParams, "_meta is longer than %d bytes", maxMeta)
	}
	if a := route.Of(r).Agent; a.SignedBody(r.Header, body) {
		q.agent = a
	}
	if string(q.Meta[metaUnpaid]) == `"result"` {
		q.asResult = true
	}
	return q, cmp.Or(q.speak(), bad)
}

// goodID reports whether an id can be given back as it came: a string, or an integer.
func goodID(id jsontext.Value) bool {
	if len(id) > maxID {
		return false
	}
	switch id.Kind() {
	case '"':
		return true
	case '0':
		_, err := strconv.ParseInt(string(id), 10, 64)
		return err == nil
	}
	return false
}

// serve answers one POST.
func (d *Doors) serve(p *endpoint, w http.ResponseWriter, r *http.Request) error {
	if why := d.foreign(r); why != "" {
		q := &request{id: null, revision: oldest}
		return q.write(w, http.StatusForbidden, nil, fault(codeInvalidRequest, "%s", why))
	}
	body, err := route.ReadBody(r)
	if e, said := errors.AsType[*problem.Error](err); said {
		e.Payment = &unused
	}
	if err != nil {
		return err
	}
	q, err := d.read(p, r, body)
	var value any
	switch {
	case err != nil:
	case q.silent:
		w.WriteHeader(http.StatusAccepted)
		return nil
	default:
		value, err = d.answer(q)
	}
	status := http.StatusOK
	if e, said := errors.AsType[*jsonrpc.Error](err); said {
		status = cmp.Or(q.revision.status[e.Code], status)
	}
	if string(q.id) == "null" {
		status = http.StatusBadRequest
	}
	return q.write(w, status, value, err)
}

// write writes an answer. An error that is no *jsonrpc.Error is a fault of ours.
func (q *request) write(w http.ResponseWriter, status int, value any, err error) error {
	name, beside := `,"result":`, []pay.Member(nil)
	if err == nil {
		beside = q.revision.beside(q, value)
	} else {
		e, ok := err.(*jsonrpc.Error)
		if !ok {
			e = fault(codeInternal, "something went wrong here")
		}
		if e.Code != codePayment && e.Code != codeUnknown && (q.Meta == nil || counter.Paying(q.Meta)) {
			e.Data = withUnused(e.Data)
		}
		name, value = `,"error":`, e
	}
	b, bad := encode(value)
	if bad != nil {
		return bad
	}
	out := make([]byte, 0, len(b)+len(q.id)+512)
	out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), q.id...), name...)
	out = append(out, b[:len(b)-1]...)
	for _, m := range beside {
		out = m.Append(out)
	}
	return route.Send(w, status, api.JSON, append(out, "}}"...)) // a client that left comes back with the same call
}

// withUnused adds to the data of an error that the payment which came along, if any, was not used.
func withUnused(data []byte) []byte {
	b, _ := json.Marshal(unused)
	if len(data) == 0 {
		return b
	}
	return append(append(bytes.Clone(data[:len(data)-1]), ','), b[1:]...)
}

// encode marshals an answer; what is JSON already is taken as it is.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return v, nil
	case *result:
		return v.marshal()
	}
	return json.Marshal(v)
}

// messageSchema describes a message as far as this door reads it.
func messageSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Required: []string{"jsonrpc", "method"},
		PropertyOrder: []string{"jsonrpc", "id", "method", "params"},
		Properties: map[string]*jsonschema.Schema{
			"jsonrpc": {Type: "string", Enum: []any{"2.0"}},
			"id":      {Types: []string{"string", "integer"}, Description: "left out in a notification"},
			"method":  {Type: "string", Description: "such as tools/list or tools/call"},
			"params":  {Type: "object", Description: "of a call: name, arguments, and the payment in _meta"},
		}}
}

func answerSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Required: []string{"jsonrpc", "id"},
		PropertyOrder: []string{"jsonrpc", "id", "result", "error"},
		Properties: map[string]*jsonschema.Schema{
			"jsonrpc": {Type: "string", Enum: []any{"2.0"}},
			"id":      {Types: []string{"string", "integer", "null"}},
			"result":  {Type: "object"},
			"error": {Type: "object", Required: []string{"code", "message"},
				PropertyOrder: []string{"code", "message", "data"},
				Properties: map[string]*jsonschema.Schema{"code": {Type: "integer"}, "message": {Type: "string"},
					"data": {Description: "for code 402 the terms, else a problem document where there is one"}}},
		}}
}
