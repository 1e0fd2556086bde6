// Package api describes the service's routes and documents as plain data: method, pattern,
// parameters with types and limits, request and response schemas, how a route is served. It knows
// neither the server nor the generator; both read it. The mux, /openapi.json, tool definitions,
// metrics labels and the markdown of the API are derived from it, so no route is described twice.
package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Serve says where the bytes of a route come from and therefore how a cache may treat it.
type Serve string

const (
	File       Serve = "file"       // a static file; immutable, or a short max-age for heads
	Negotiated Serve = "negotiated" // one URL, several representations by Accept; origin only at a CDN
	Query      Serve = "query"      // a canonical file answered for a query with the same bytes
	Clock      Serve = "clock"      // changes with the hour or the week
	Ledger     Serve = "ledger"     // read from the ledger; short or no caching
	Paid       Serve = "paid"       // private, no-store
	Private    Serve = "private"    // free, but personal: private, no-store
	Metered    Serve = "metered"    // a free instrument with a budget: no-store, RateLimit fields
)

// In is where a parameter is read from.
type In string

const (
	Path   In = "path"
	QueryP In = "query"
	Header In = "header"
)

// Param is one parameter of a route. Lengths count Unicode code points. Empty limits mean none, but
// a string parameter without MaxLength is refused by the table's test: every input has a limit.
type Param struct {
	Name        string
	In          In
	Type        string // string, integer, number, boolean
	Format      string // uri, date, … as in OpenAPI
	Required    bool
	MinLength   int
	MaxLength   int
	Pattern     string // RE2, anchored
	Enum        []string
	Minimum     *float64
	Maximum     *float64
	Multiline   bool // line breaks and tabs are allowed; other control characters never are
	Description string
	Example     string // a value that works, "" for none
	// Examples are those of several uses, each by its name, in place of Example.
	Examples []Example
}

// Example is a value that works, by what it is an example of.
type Example struct {
	Name  string
	Value any
}

// Body is a request body. Schema describes JSON; Limit is in bytes. An Optional body may be left
// out.
type Body struct {
	Optional    bool
	ContentType string
	Schema      *jsonschema.Schema
	Limit       int64
	Description string
	Examples    []Example
	// NotJSON is the code with which a body of another media type than JSON is refused, "" for
	// unsupported_media_type.
	NotJSON string
}

// Image reports whether what a route answers is an image. Whoever shows one sees an image or
// nothing, so its refusals are images too.
func (r Route) Image() bool {
	return slices.ContainsFunc(r.Responses, func(a Response) bool {
		return a.Status == http.StatusOK && a.ContentType == SVG
	})
}

// Response is one answer a route may give. Schema is nil where the body is not JSON.
type Response struct {
	Status      int
	ContentType string
	Schema      *jsonschema.Schema
	Headers     []string
	Description string
}

// Route is the description of one route: everything but its handler.
type Route struct {
	Name        string // operationId, metrics label; snake_case; permanent
	Method      string
	Pattern     string // /api/buy/{item_id}
	Summary     string // one line
	Description string // markdown
	Tag         string
	Params      []Param
	Body        *Body
	Responses   []Response
	Serve       Serve
	Paid        bool
	// Prices are what it asks, in atomic units of USDC, where it has prices of its own. Quoted says
	// that they stand nowhere but in the terms of one order.
	Prices     []int64
	Quoted     bool
	Tool       string        // name of the free tool that it is, one of FreeTools; empty: not a tool
	Budget     string        // name of the shared budget it spends; empty: none
	Timeout    time.Duration // whole-request limit; 0: the server's default
	Version    string        // "v1" where the path carries one
	Since      string        // UTC date from which Version is served, YYYY-MM-DD; empty where Version is
	Deprecated time.Time     // when deprecation began or begins (RFC 9745); zero: never
	Sunset     time.Time     // when it stops being served (RFC 8594); zero: never
	Uncounted  bool          // its requests are counted in no metric
	Internal   bool          // not in the public API description (keeper's desk, debug)
}
