package route

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// Agent is who signed a request by Web Bot Auth.
type Agent struct {
	Name   string                  // the host of its key directory, and the thumbprint of its key
	Covers func(field string) bool // whether the signature covers a field of the head, in lower case
}

// SignedBody reports whether the signature covers the body too: by a Content-Digest that is covered
// and is the body's (RFC 9530, SHA-256).
func (a *Agent) SignedBody(h http.Header, body []byte) bool {
	if a == nil || !a.Covers("content-digest") {
		return false
	}
	sum := sha256.Sum256(body)
	want := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	digests := strings.Split(strings.Join(h.Values("Content-Digest"), ","), ",")
	return slices.ContainsFunc(digests, func(d string) bool { return strings.TrimSpace(d) == want })
}
