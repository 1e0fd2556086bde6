package dynamic

import (
	"net/http"
	"strings"

	"agentstore/templates"
)

// A buyer in a browser needs these on the challenge, on the goods and on every refusal. Credentials are never involved.
// The stock client sends Access-Control-Expose-Headers as a request field, so that has to be allowed too.
var (
	anyOrigin     = []string{"*"}
	allowMethods  = []string{"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}
	maxAge        = []string{"86400"}
	allowHeaders  = []string{"Content-Type, PAYMENT-SIGNATURE, X-PAYMENT, SIGN-IN-WITH-X, Access-Control-Expose-Headers, Idempotency-Key, Authorization, Accept"}
	exposeHeaders = []string{"PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Idempotent-Replayed, Retry-After, " +
		"RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Deprecation, Sunset, ETag, Link, X-Request-Id"}
)

// allowOrigins lets any page read an answer.
func allowOrigins(h http.Header) {
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Access-Control-Expose-Headers"] = exposeHeaders
}

// security are the fields that every answer carries, but for those at a path with a policy of its own.
var (
	security       = securityFields("/")
	securityWorker = securityFields(templates.WorkerPath)
)

func securityFields(path string) (fields []field) {
	for _, f := range templates.SecurityFields(path) {
		fields = append(fields, field{f.Name, []string{f.Value}})
	}
	return fields
}

// securityAt are the security fields of the answers at a path.
func securityAt(path string) []field {
	if path == templates.WorkerPath {
		return securityWorker
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
