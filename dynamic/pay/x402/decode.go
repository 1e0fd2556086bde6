package x402

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"agentstore/dynamic/rail"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxHeader is the longest PAYMENT-SIGNATURE that is read, in bytes of base64. A stock payment that echoes our
// largest challenge is under 8 kB.
const MaxHeader = 24 << 10

// Presented is a PAYMENT-SIGNATURE as a buyer sent it: decoded, well-formed JSON without duplicate names, version 2.
// Nothing in it has been compared with anything yet.
type Presented struct {
	Accepted   rail.Requirement
	Payload    []byte // the rail's own JSON object
	Resource   string // resource.url as echoed, "" when left out
	Extensions map[string]Extension
	// Digest is the SHA-256 of the payment exactly as it came: what a replay must equal.
	Digest [sha256.Size]byte
	// accepted's top-level members that no requirement has.
	unknown bool
}

// wirePayload leaves room for members we do not know: buyers may add them.
type wirePayload struct {
	X402Version jsontext.Value            `json:"x402Version"`
	Payload     jsontext.Value            `json:"payload"`
	Extensions  map[string]jsontext.Value `json:"extensions"`
	Resource    jsontext.Value            `json:"resource"`
	Accepted    *wireAccepted             `json:"accepted"`
}

type wireAccepted struct {
	Scheme            string                    `json:"scheme"`
	Network           string                    `json:"network"`
	Amount            string                    `json:"amount"`
	Asset             string                    `json:"asset"`
	PayTo             string                    `json:"payTo"`
	MaxTimeoutSeconds jsontext.Value            `json:"maxTimeoutSeconds"`
	Extra             jsontext.Value            `json:"extra"`
	Unknown           map[string]jsontext.Value `json:",embed"`
}

// Decode reads a PAYMENT-SIGNATURE header value. Every error is a *rail.Refusal: a malformed payment is the payer's
// mistake and never ours.
func Decode(header string) (*Presented, error) {
	bad := func(format string, args ...any) (*Presented, error) {
		return nil, &rail.Refusal{Reason: "invalid_payload", Message: fmt.Sprintf(format, args...)}
	}
	if header == "" {
		return bad("the %s header is empty", HeaderSignature)
	}
	if len(header) > MaxHeader {
		return bad("the %s header is longer than %d bytes", HeaderSignature, MaxHeader)
	}
	raw, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(header, "="))
	if err != nil || len(header)-len(strings.TrimRight(header, "=")) > 2 || strings.ContainsAny(header, "\r\n") {
		return bad("the %s header is not base64 in the standard alphabet", HeaderSignature)
	}
	p, err := parse(raw, "the "+HeaderSignature+" header")
	if err != nil {
		return nil, err
	}
	p.Digest = sha256.Sum256([]byte(header))
	return p, nil
}

// parse reads the JSON of a payment; name is what it came in.
func parse(raw []byte, name string) (*Presented, error) {
	bad := func(format string, args ...any) (*Presented, error) {
		return nil, &rail.Refusal{Reason: "invalid_payload", Message: fmt.Sprintf(format, args...)}
	}
	var w wirePayload
	if err := jsonx.Unmarshal(raw, &w); err != nil {
		return bad("%s is not the JSON of a payment, or names a member twice", name)
	}
	if string(bytes.TrimSpace(w.X402Version)) != "2" {
		return nil, &rail.Refusal{Reason: "invalid_x402_version", Message: "x402Version must be 2"}
	}
	if w.Accepted == nil || w.Payload.Kind() != '{' {
		return bad("accepted and payload must be objects")
	}
	p := &Presented{Payload: []byte(w.Payload), Digest: sha256.Sum256(raw), unknown: len(w.Accepted.Unknown) > 0}
	p.Accepted = rail.Requirement{
		Scheme: w.Accepted.Scheme, Network: w.Accepted.Network, Amount: w.Accepted.Amount,
		Asset: w.Accepted.Asset, PayTo: w.Accepted.PayTo,
	}
	if err := jsonx.Unmarshal(w.Accepted.MaxTimeoutSeconds, &p.Accepted.MaxTimeoutSeconds); err != nil {
		return bad("accepted.maxTimeoutSeconds must be a whole number")
	}
	switch w.Accepted.Extra.Kind() {
	case '{':
		if err := jsonx.Unmarshal(w.Accepted.Extra, &p.Accepted.Extra); err != nil {
			return bad("accepted.extra must be an object")
		}
	case 0, 'n':
	default:
		return bad("accepted.extra must be an object")
	}
	if k := w.Resource.Kind(); k == '{' {
		var r struct {
			URL     string                    `json:"url"`
			Unknown map[string]jsontext.Value `json:",embed"`
		}
		if err := jsonx.Unmarshal(w.Resource, &r); err != nil {
			return bad("resource.url must be a string")
		}
		p.Resource = r.URL
	} else if k != 0 && k != 'n' {
		return bad("resource must be an object")
	}
	p.Extensions = make(map[string]Extension, len(w.Extensions))
	for name, v := range w.Extensions {
		if v.Kind() != '{' {
			return bad("extensions.%.40s must be an object", name)
		}
		var e struct {
			Info    jsontext.Value            `json:"info"`
			Schema  jsontext.Value            `json:"schema"`
			Unknown map[string]jsontext.Value `json:",embed"`
		}
		if err := jsonx.Unmarshal(v, &e); err != nil {
			return bad("extensions.%.40s cannot be read", name)
		}
		p.Extensions[name] = Extension{Info: json.RawMessage(e.Info)}
	}
	return p, nil
}
