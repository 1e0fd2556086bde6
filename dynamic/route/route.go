// Package route joins the description of a route with the handler that answers it. Packages under
// dynamic export their rows; the server joins them into one table and derives the mux from it.
//
// Before a handler runs, the request's inputs were validated against the row: unknown, repeated,
// too long or malformed ones are refused with invalid_input. A row with ValidateLate does that
// itself, by calling [Validate].
package route

import (
	"context"
	"net/http"
	"net/netip"

	"store.example/agentstore/content/api"
)

// Handler answers a request or returns an error. A *problem.Error is written as it says; anything
// else becomes a 500 without detail. Path values are read with r.PathValue, other inputs with
// [Inputs].
type Handler func(http.ResponseWriter, *http.Request) error

// Row is one route: its description and its handler. A part has the same rows before it works: they
// are described, and their handlers are not called.
type Row struct {
	api.Route
	Handle Handler
	// ValidateLate leaves validation to the handler, which calls [Validate]: where a presented
	// payment must be looked up before its inputs are judged.
	ValidateLate bool
	// SpendLate leaves spending the row's Budget to the handler: where it refuses inputs that the
	// row cannot describe and such a refusal must spend nothing.
	SpendLate bool
	// OnAccount says that every refusal tells what became of an order that would be billed to an
	// account: nothing, unless the handler says otherwise.
	OnAccount bool
}

// Describe returns the descriptions of rows.
func Describe(rows []Row) []api.Route {
	routes := make([]api.Route, len(rows))
	for i, r := range rows {
		routes[i] = r.Route
	}
	return routes
}

// Request is what the server knows of a request beside the request itself.
type Request struct {
	ID        string     // for logs and the X-Request-Id field
	Client    netip.Addr // the client's address, through trusted proxies
	Key       string     // thumbprint of the key that signed the request, by which its limits are kept; "" for none
	Agent     *Agent     // who signed the request, nil for nobody
	Validator *Validator // of the row that is being answered
	Inputs    Values     // valid once the row's inputs were validated
}

type contextKey struct{}

// With returns a context that carries q. The server calls it for every request; so does a test of a
// handler that needs it.
func With(ctx context.Context, q *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, q)
}

// Of returns what the server knows of r, or a zero Request where no server is involved.
func Of(r *http.Request) *Request {
	if q, ok := r.Context().Value(contextKey{}).(*Request); ok {
		return q
	}
	return &Request{}
}

// Client is the text by which budgets tell clients apart: the key that signed the request, or else
// its Address.
func Client(r *http.Request) string {
	if key := Of(r).Key; key != "" {
		return "key:" + key
	}
	return Address(r)
}

// Address is the client's IPv4 address, or the /64 of its IPv6 address, since one subscriber holds
// all of it.
func Address(r *http.Request) string {
	a := Of(r).Client.Unmap()
	if !a.IsValid() {
		return ""
	}
	if a.Is4() {
		return a.String()
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return ""
	}
	return p.String()
}
