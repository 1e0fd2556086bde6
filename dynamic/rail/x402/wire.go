// Package x402 is the wire form of x402 version 2 over HTTP: the three headers and the objects in them, strict reading
// of what a buyer presents, matching it against what was asked, and building challenges that are cheap to repeat.
// It moves no money and knows no network: payloads are parsed by the rail they name.
//
// Formats: x402 v2 transport for HTTP; the objects as the stock packages 2.27 read and write them.
package x402

import (
	"encoding/base64"
	"encoding/json"

	"agentstore/dynamic/rail"
)

// Version is the only protocol version spoken.
const Version = 2

// The three headers. Values are base64 (standard alphabet, padded) of JSON.
const (
	HeaderRequired  = "PAYMENT-REQUIRED"
	HeaderSignature = "PAYMENT-SIGNATURE"
	HeaderResponse  = "PAYMENT-RESPONSE"
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
	Info   json.RawMessage `json:"info"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Required is the object of the PAYMENT-REQUIRED header.
type Required struct {
	X402Version int                  `json:"x402Version"`
	Error       string               `json:"error,omitempty"`
	Resource    Resource             `json:"resource"`
	Accepts     []rail.Requirement   `json:"accepts"`
	Extensions  map[string]Extension `json:"extensions,omitempty"`
}

// SettleResponse is the object of the PAYMENT-RESPONSE header. Transaction is "" when nothing was broadcast.
type SettleResponse struct {
	Success     bool                 `json:"success"`
	ErrorReason string               `json:"errorReason,omitempty"`
	Payer       string               `json:"payer,omitempty"`
	Transaction string               `json:"transaction"`
	Network     string               `json:"network"`
	Amount      string               `json:"amount,omitempty"`
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
