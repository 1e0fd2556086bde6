// Package exchange holds a recorded HTTP request and its response: what went
// out, what came back, when, and where it stopped if it did.
//
// An Exchange is data, bounded and self-contained: checkers judge it years
// later without a network. It has a file form (Format, JSON with base64
// bodies, strict to read) for the private record, and a published form
// (Redact) that shows the terms a door asked for with stand-ins in the place of
// the addresses it wants to be paid at, so that any client of x402 reads them.
// Of this module the package imports networks alone.
//
//	raw, err := x.Encode()       // private: var/
//	red, err := x.Redact()       // public
//	digest := red.Digest()       // evidence_digest
package exchange

import (
	"net/http"
	"strings"
	"time"
)

// Format names the file form of an Exchange.
const Format = "store-exchange/v1"

// Bounds of a recorded exchange. A recorder that meets more stops and sets
// Truncated; Encode and Decode refuse more.
const (
	MaxBody    = 1 << 20  // bytes of one body
	MaxHeaders = 256      // values in one header
	MaxHeader  = 64 << 10 // bytes of one header's names and values together
	MaxURL     = 8 << 10
)

// The stages at which an exchange can stop.
const (
	StageRefused  = "refused" // the address or URL is one we do not contact
	StageResolve  = "resolve"
	StageConnect  = "connect"
	StageTLS      = "tls"
	StageWrite    = "write"
	StageHeaders  = "headers" // no complete response head
	StageBody     = "body"    // the body broke off
	StageDeadline = "deadline"
)

var headFaults = []string{"", HeadLengthTwice, HeadLengthChunked, HeadLineFeed, HeadContinue, HeadVersion}

// Exchange is one request and what became of it.
type Exchange struct {
	Request    Request
	Response   Response // zero when none came
	StartedAt  time.Time
	Duration   time.Duration
	RemoteAddr string // address and port connected to, "" if none
	Error      Error  // zero when the response is complete
}

// Request is what was sent.
type Request struct {
	Method string
	URL    string // absolute
	Header http.Header
	Body   []byte
}

// Response is what came back.
type Response struct {
	Status    int    // 0: no response
	Proto     string // such as HTTP/2.0
	Header    http.Header
	Body      []byte // at most MaxBody bytes
	Truncated bool   // the body went on
	HeadFault string // Head…, "" for none
}

// How a head of HTTP/1 may be written that some clients read and others refuse.
const (
	HeadLengthTwice   = "length-twice"        // Content-Length stands twice, and is the same
	HeadLengthChunked = "length-and-encoding" // Content-Length beside Transfer-Encoding
	HeadLineFeed      = "bare-line-feed"      // no carriage return behind a field
	HeadContinue      = "unasked-100"         // 100 Continue that nobody asked for
	HeadVersion       = "http-version"        // no version that there is
)

// Error says where an exchange stopped and why.
type Error struct {
	Stage string `json:"stage"` // Stage…, "" for none
	Text  string `json:"text"`
}

// Bounded returns s as valid UTF-8 of at most n bytes.
func Bounded(s string, n int) string { return strings.ToValidUTF8(s[:min(n, len(s))], "?") }

// IsRedirect reports whether a status leads elsewhere.
func IsRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}
