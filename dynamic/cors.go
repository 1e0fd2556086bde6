package dynamic

import (
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/templates"
)

// A buyer in a browser needs these on the challenge, on the goods and on every refusal. Credentials
// are never involved. The stock client sends Access-Control-Expose-Headers as a request field, so
// that has to be allowed too.
var (
	anyOrigin    = []string{"*"}
	allowMethods = []string{"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}
	maxAge       = []string{"86400"}
	allowHeaders = []string{fields("Content-Type", payments) +
		", X-PAYMENT, SIGN-IN-WITH-X, Access-Control-Expose-Headers, Idempotency-Key, Accept, MCP-Protocol-Version, " +
		"Mcp-Method, Mcp-Name, A2A-Version"}
	exposeHeaders = []string{strings.TrimPrefix(fields("", termsAndAnswers), ", ") +
		", X-PAYMENT-RESPONSE, Idempotent-Replayed, Retry-After, " +
		"RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Deprecation, Sunset, " +
		"ETag, Link, X-Request-Id, X-Purchase-Id, X-Status-Url, X-Delivery-Receipt"}
)

// fields appends to a list of header fields those of every protocol.
func fields(list string, of func(pay.Row) []string) string {
	for _, p := range counter.Protocols {
		for _, name := range of(p) {
			list += ", " + name
		}
	}
	return list
}

func payments(p pay.Row) (names []string) {
	for _, f := range p.Params {
		names = append(names, f.Name)
	}
	return names
}

func termsAndAnswers(p pay.Row) []string { return slices.Concat(p.Terms, p.Answers) }

// allowOrigins lets any page read an answer.
func allowOrigins(h http.Header) {
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Access-Control-Expose-Headers"] = exposeHeaders
}

// security are the fields that every answer carries, but for workers, which have policies of their
// own.
var (
	security        = securityFields("/")
	securityWorkers = func() map[string][]field {
		fields := make(map[string][]field)
		for _, w := range templates.Workers {
			fields[w.Path] = securityFields(w.Path)
		}
		return fields
	}()
)

func securityFields(path string) (fields []field) {
	for _, f := range templates.SecurityFields(path) {
		fields = append(fields, field{f.Name, []string{f.Value}})
	}
	return fields
}

// securityAt are the security fields of the answers at a path.
func securityAt(path string) []field {
	if fields, ok := securityWorkers[path]; ok {
		return fields
	}
	return security
}

// preflight answers OPTIONS free, for every path.
func (s *Server) preflight(c *call, r *http.Request) {
	h := c.Header()
	if !crooked(r) {
		if m := s.allowed(r.URL.Path); m != nil {
			h.Set("Allow", strings.Join(m, ", "))
		}
	}
	h["Access-Control-Allow-Methods"] = allowMethods
	h["Access-Control-Allow-Headers"] = allowHeaders
	h["Access-Control-Max-Age"] = maxAge
	c.WriteHeader(http.StatusNoContent)
}
