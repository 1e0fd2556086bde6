// Package x402 is x402 version 2: the objects on the wire and their strict reading, for buyers and
// sellers, and the seller's side as a protocol of package pay. A challenge stands in
// PAYMENT-REQUIRED and in the members of the 402's body, a payment comes in PAYMENT-SIGNATURE or in
// MCP's _meta["x402/payment"], what became of it is told in PAYMENT-RESPONSE or
// _meta["x402/payment-response"].
//
// Formats: x402 v2 transports for HTTP and MCP; the objects as the stock packages 2.27 read and
// write them. The extensions spoken are bazaar, offer-receipt, payment-identifier,
// sign-in-with-x and the store's own store-challenge, which carries the nonce of rule M1.
package x402

import (
	"encoding/base64"
	"encoding/json"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// Version is the only protocol version spoken.
const Version = 2

// The three headers. Values are base64 (standard alphabet, padded) of JSON.
const (
	HeaderRequired  = "PAYMENT-REQUIRED"
	HeaderSignature = "PAYMENT-SIGNATURE"
	HeaderResponse  = "PAYMENT-RESPONSE"
)

// The names in MCP's _meta, whose values are the objects as JSON.
const (
	MetaPayment  = "x402/payment"
	MetaResponse = "x402/payment-response"
)

// Resource says what is being paid for. URL is base_url + path without the query.
type Resource struct {
	URL         string   `json:"url"`
	Description string   `json:"description,omitempty"`
	MimeType    string   `json:"mimeType,omitempty"`
	ServiceName string   `json:"serviceName,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// Extension is one entry of `extensions`: what the seller declares, and its JSON Schema.
type Extension struct {
	Info            json.RawMessage   `json:"info"`
	SupportedChains []pay.SignInChain `json:"supportedChains,omitempty"` // sign-in-with-x
	Schema          json.RawMessage   `json:"schema,omitempty"`
}

// Required is the object of the PAYMENT-REQUIRED header.
type Required struct {
	X402Version int                  `json:"x402Version"`
	Error       string               `json:"error,omitempty"`
	Resource    Resource             `json:"resource"`
	Accepts     []rail.Requirement   `json:"accepts"`
	Extensions  map[string]Extension `json:"extensions,omitempty"`
}

// SettleResponse is the object of the PAYMENT-RESPONSE header. Transaction is "" when nothing was
// broadcast.
type SettleResponse struct {
	Success     bool                 `json:"success"`
	ErrorReason string               `json:"errorReason,omitempty"`
	Payer       string               `json:"payer,omitempty"`
	Transaction string               `json:"transaction"`
	Network     string               `json:"network"`
	Amount      string               `json:"amount,omitempty"`
	Extra       *ChannelExtra        `json:"extra,omitempty"`
	Extensions  map[string]Extension `json:"extensions,omitempty"`
}

// Encode writes an object as a header value.
func Encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}
