package mpp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
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
}

// id is the MAC over all other parts, by the seven slots of the draft.
func (c *challenge) id(keyed *pay.MACs) string {
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(keyed.Append(sum[:0], c.Realm, c.Method, c.Intent, c.Request,
		c.Expires, c.Digest, c.Opaque))
}

// hash is the nonce that an authorization for the challenge has, as 0x and hex.
func (c *challenge) hash() string {
	sum := wallet.Keccak256([]byte(c.ID), []byte(c.Realm))
	return "0x" + hex.EncodeToString(sum[:])
}

// field is the challenge as WWW-Authenticate has it, in the stock order. No part of ours holds a
// quote.
func (c *challenge) field() string {
	var said []string
	for _, p := range [...][2]string{{"id", c.ID}, {"realm", c.Realm}, {"method", c.Method}, {"intent", c.Intent},
		{"request", c.Request}, {"digest", c.Digest}, {"expires", c.Expires}, {"opaque", c.Opaque}} {
		if p[1] != "" {
			said = append(said, p[0]+`="`+p[1]+`"`)
		}
	}
	return scheme + " " + strings.Join(said, ", ")
}

// charge is the request of intent charge, its members in canonical order.
type charge struct {
	Amount        string  `json:"amount"`   // atomic units
	Currency      string  `json:"currency"` // address of the token
	MethodDetails details `json:"methodDetails"`
	Recipient     string  `json:"recipient"`
}

type details struct {
	ChainID         uint64   `json:"chainId"`
	CredentialTypes []string `json:"credentialTypes"`
	Decimals        int      `json:"decimals"`
}

// chargeFor asks for a requirement.
func chargeFor(r rail.Requirement) charge {
	return charge{Amount: r.Amount, Currency: r.Asset, Recipient: r.PayTo,
		MethodDetails: details{ChainID: chainID, CredentialTypes: []string{credType}, Decimals: decimals}}
}

// canonical is the request as RFC 8785 has it: the members stand in order, and nothing in ours is
// escaped otherwise there.
func (r charge) canonical() ([]byte, error) { return json.Marshal(r) }

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

// source is a payer as a DID of the method pkh.
func source(address string) string {
	return "did:pkh:eip155:" + strconv.Itoa(chainID) + ":" + address
}
