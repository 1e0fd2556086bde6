package mpp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// challenge is what a payer is asked, and echoes. Request and Opaque are base64url without padding
// of canonical JSON (RFC 8785).
type challenge struct {
	ID, Realm, Method, Intent string
	Request, Expires          string
	Digest                    string // of the body, "" for none
	Opaque                    string
	Header                    string // the field of its credential, "" for headerCredential
}

// id is the MAC over all other parts, by the slots of the draft: seven, and an eighth for a field
// that is named.
func (c *challenge) id(keyed *pay.MACs) string {
	slots := []string{c.Realm, c.Method, c.Intent, c.Request, c.Expires, c.Digest, c.Opaque, c.Header}
	if c.Header == "" {
		slots = slots[:7]
	}
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(keyed.Append(sum[:0], slots...))
}

// hash is the nonce that an authorization for a challenge of method evm has, as 0x and hex.
func (c *challenge) hash() string { return keccak([]byte(c.ID), []byte(c.Realm)) }

// field is the challenge as WWW-Authenticate has it, in the stock order. No part of ours holds a
// quote.
func (c *challenge) field() string {
	var said []string
	for _, p := range [...][2]string{{"id", c.ID}, {"realm", c.Realm}, {"method", c.Method}, {"intent", c.Intent},
		{"request", c.Request}, {"digest", c.Digest}, {"expires", c.Expires}, {"header", c.Header},
		{"opaque", c.Opaque}} {
		if p[1] != "" {
			said = append(said, p[0]+`="`+p[1]+`"`)
		}
	}
	return scheme + " " + strings.Join(said, ", ")
}

// opaque is what comes back unchanged, its members in canonical order. All are base64url or of the
// alphabet of keys.
type opaque struct {
	Key   string `json:"key"`
	Nonce string `json:"nonce"`
	Scope string `json:"scope"`
}

func encodeOpaque(o opaque) (string, error) {
	b, err := json.Marshal(o)
	return base64.RawURLEncoding.EncodeToString(b), err
}

// scopeOf binds a challenge to the address that it was asked at: the store's base URL and path, and
// the query as it came.
func scopeOf(url, query string) string {
	sum := sha256.Sum256([]byte(url + "?" + query))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// digestOf is the digest of a body in the form of RFC 9530, "" for none.
func digestOf(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// least is how long a challenge stands at least.
const least = 120 * time.Second

// expiry is when a challenge made at a time ends: whole seconds, rounded up, no later than an
// authorization may be valid.
func expiry(at time.Time, r rail.Requirement) string {
	end := at.UTC().Add(max(least, time.Duration(r.MaxTimeoutSeconds)*time.Second))
	if whole := end.Truncate(time.Second); whole.Before(end) {
		end = whole.Add(time.Second)
	}
	return end.Format("2006-01-02T15:04:05Z")
}

// derive makes the key of challenges from the store's secret.
func derive(secret []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("store-mpp-challenge/v1"))
	return m.Sum(nil)
}

// orderOf names what the challenges of one answer are offers of: the store's order, which is told
// in requests and receipts. It is a hash of the answer's nonce, by which a buyer gets back what was
// bought.
func orderOf(nonce string) string {
	sum := sha256.Sum256([]byte("store-order/v1\x00" + nonce))
	return base64.RawURLEncoding.EncodeToString(sum[:27])
}
