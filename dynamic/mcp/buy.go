package mcp

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaKey is where a buyer's own idempotency key stands.
const metaKey = "x402/idempotency-key"

// buy orders one item. path is where it is bought over HTTP, for problem documents.
func (d *Doors) buy(q *request, item, path string, args jsontext.Value) (any, error) {
	body, err := inputs(args)
	if err != nil {
		return d.wrong(q, path, "arguments", "must be one object")
	}
	order := counter.Request{Item: item, Method: http.MethodPost, Payment: q.Meta, Asks: q.Meta, Meta: true,
		Inputs: &counter.Inputs{Body: body}, Agent: q.agent, Client: route.Address(q.http)}
	if v, given := q.Meta[metaKey]; given {
		var key string
		if jsonx.Unmarshal(v, &key) != nil {
			key = "" // which is no key, and refused as one
		}
		order.Keys = []string{key}
	}
	a, err := d.Buy(q.http.Context(), order)
	switch e, refused := errors.AsType[*problem.Error](err); {
	case refused:
		return d.refused(q, path, e, a)
	case err != nil:
		return nil, err
	case a.Status == http.StatusPaymentRequired:
		return q.revision.unpaid(q, a.Body, a.Carrier.Meta)
	}
	return delivered(a), nil
}

// inputs are the arguments in the one spelling by which a challenge is bound to them, whatever the
// order and spacing of a client; none is no body.
func inputs(args jsontext.Value) ([]byte, error) {
	if args == nil || string(args) == "null" {
		return nil, nil
	}
	v := bytes.Clone(args)
	one := (*jsontext.Value)(&v)
	if one.Kind() != '{' {
		return nil, errors.New("not an object")
	}
	if err := one.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return nil, err
	}
	var members map[string]jsontext.Value
	if err := jsonx.Unmarshal(v, &members); err != nil {
		return nil, err
	}
	given := len(members)
	maps.DeleteFunc(members, func(_ string, v jsontext.Value) bool { return v.Kind() == 'n' }) // null is left out
	switch len(members) {
	case 0:
		return nil, nil
	case given:
		return v, nil
	}
	return jsonx.Marshal(members, jsonx.Deterministic(true))
}

// delivered is what was bought, and its receipts beside it.
func delivered(a *counter.Answer) *result {
	out := &result{meta: a.Carrier.Meta, structured: a.Body, text: a.Body}
	if bytes.Contains(a.Body, []byte(`"svg":"`)) {
		var d struct {
			Deliverable struct {
				SVG string `json:"svg"`
			} `json:"deliverable"`
		}
		if json.Unmarshal(a.Body, &d) == nil && d.Deliverable.SVG != "" {
			out.more = []sdk.Content{&sdk.ImageContent{Data: []byte(d.Deliverable.SVG), MIMEType: "image/svg+xml"}}
		}
	}
	return out
}

// termsAsError answers with terms in an error.
func termsAsError(body []byte, beside pay.Meta) error {
	return &jsonrpc.Error{Code: codePayment, Message: "Payment required", Data: with(body, beside)}
}

// termsAsResult answers with terms in a result. They stand once: a model reads what it costs and
// what to do, its client the rest.
func termsAsResult(body []byte, beside pay.Meta) (any, error) {
	var told struct {
		Detail string `json:"detail"`
		Next   string `json:"next_step"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return nil, err
	}
	return &result{failed: true, meta: beside, structured: body,
		text: []byte(strings.TrimSpace(screen.Clip(told.Detail, 150)+" "+screen.Clip(told.Next, 100)) + payHere)}, nil
}

// with is an object and the members that an error has no other place for.
func with(doc []byte, beside pay.Meta) []byte {
	b := bytes.TrimSuffix(bytes.TrimSpace(doc), []byte("}"))
	for _, name := range slices.Sorted(maps.Keys(beside)) {
		b = pay.Member{Name: name, Value: beside[name]}.Append(b)
	}
	return append(b, '}')
}

// refused answers an order that was not taken. Terms stand in the answer only where its status is
// 402; an outcome that is not known is an error that stock clients do not pay on.
func (d *Doors) refused(q *request, path string, e *problem.Error, a *counter.Answer) (any, error) {
	var beside pay.Meta
	if a != nil {
		beside = a.Carrier.Meta
	}
	told := *e
	told.Extra = maps.Clone(e.Extra)
	if told.Extra == nil {
		told.Extra = make(map[string]any)
	}
	if e.Retry > 0 {
		told.Extra["retry_after_seconds"] = int64((e.Retry + time.Second - 1) / time.Second)
	}
	status, doc := problem.Document(path, d.BaseURL, &told)
	if e.Err != nil && status >= http.StatusInternalServerError {
		d.Log.ErrorContext(q.http.Context(), "mcp order failed", "code", e.Code, "err", e.Err.Error())
	}
	switch {
	case e.Payment != nil && e.Payment.Billed == "unknown":
		return nil, &jsonrpc.Error{Code: codeUnknown, Data: with(doc, beside),
			Message: "The outcome of this payment is not known yet. " +
				"Send the same call with the same payment again; sign no other."}
	case status == http.StatusPaymentRequired:
		return q.revision.unpaid(q, doc, beside)
	}
	out := failed(doc)
	out.meta = beside
	return out, nil
}

// outcomeUnknown is the answer to a paid call that failed by a fault of ours, perhaps after its
// payment was taken.
func (d *Doors) outcomeUnknown() *jsonrpc.Error {
	_, doc := problem.Document("/mcp", d.BaseURL, &problem.Error{Code: "internal",
		Status: http.StatusServiceUnavailable,
		Extra:  map[string]any{"retry_after_seconds": 5},
		Payment: &problem.Payment{Billed: "unknown", Retry: "same_payment",
			NextStep: "Send the identical call with the identical payment again: if it was taken it is recognised, " +
				"and " +
				"it is never charged twice."}})
	return &jsonrpc.Error{Code: codeUnknown, Data: doc, Message: "Something went wrong here, and the outcome of this " +
		"payment is not known. Send the same call with the same payment again; sign no other."}
}

// unused says of a payment that nobody looked at it.
var unused = problem.Payment{Billed: "no", Retry: "same_payment",
	NextStep: "This call did not use the payment that came along. Correct it and send the same payment."}

// wrong answers arguments that are not looked at further.
func (d *Doors) wrong(q *request, path, field, why string) (any, error) {
	e := &problem.Error{Code: "invalid_input", Fields: []problem.Field{{Field: field, Problem: why}},
		Detail: field + " " + why + "."}
	if counter.Paying(q.Meta) {
		e.Payment = &unused
	}
	return d.problem(path, e)
}
