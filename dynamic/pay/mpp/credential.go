package mpp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"fmt"
	"strconv"
	"strings"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// credential is one as its payer sent it: well-formed JSON without duplicate names, the echo of a
// challenge and an authorization. Nothing in it has been compared with anything yet.
type credential struct {
	challenge
	asks    charge // what Request says
	opaque  opaque // what Opaque says
	source  string // "" where it is left out
	payload authorization
}

// authorization is the payload of credential type authorization.
type authorization struct {
	Type        string                    `json:"type"`
	From        string                    `json:"from"`
	To          string                    `json:"to"`
	Value       string                    `json:"value"`
	ValidAfter  string                    `json:"validAfter"`
	ValidBefore string                    `json:"validBefore"`
	Nonce       string                    `json:"nonce"`
	Signature   string                    `json:"signature"`
	Unknown     map[string]jsontext.Value `json:",embed"`
}

type wireCredential struct {
	Challenge *wireChallenge            `json:"challenge"`
	Source    *string                   `json:"source"`
	Payload   jsontext.Value            `json:"payload"`
	Unknown   map[string]jsontext.Value `json:",embed"`
}

type wireChallenge struct {
	ID      string                    `json:"id"`
	Realm   string                    `json:"realm"`
	Method  string                    `json:"method"`
	Intent  string                    `json:"intent"`
	Request jsontext.Value            `json:"request"` // base64url of JSON, or over MCP an object
	Expires string                    `json:"expires"`
	Digest  string                    `json:"digest"`
	Opaque  string                    `json:"opaque"`
	Header  *string                   `json:"header"` // we ask for none
	Unknown map[string]jsontext.Value `json:",embed"` // description, and what there may be one day
}

// strictCharge is a charge with nothing beside what we ask.
type strictCharge struct {
	Amount        string `json:"amount"`
	Currency      string `json:"currency"`
	MethodDetails struct {
		ChainID         uint64   `json:"chainId"`
		CredentialTypes []string `json:"credentialTypes"`
		Decimals        int      `json:"decimals"`
	} `json:"methodDetails"`
	Recipient string `json:"recipient"`
}

func refuse(reason, format string, args ...any) *rail.Refusal {
	return &rail.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// credentials are the values of Authorization whose scheme is Payment, without the scheme, in any
// case.
func credentials(f pay.Fields) []string {
	var out []string
	for _, v := range f.Values(headerCredential) {
		name, rest, _ := strings.Cut(strings.TrimLeft(v, " \t"), " ")
		if strings.EqualFold(name, scheme) {
			out = append(out, strings.Trim(rest, " \t"))
		}
	}
	return out
}

// Read implements pay.Protocol. What is not ours to take is *pay.Unfit: two credentials, or one for
// another method.
func (protocol) Read(f pay.Fields) (*pay.Presented, error) {
	held, inMeta := credentials(f), f.Values(metaCredential)
	if len(held)+len(inMeta) > 1 {
		return nil, &pay.Unfit{Reason: badRequest,
			Message: "There are two Payment credentials in this request. Send one."}
	}
	var raw []byte
	var came string
	switch {
	case len(held) == 1:
		came = held[0]
		if len(came) > MaxCredential {
			return nil, refuse(malformedCredential, "the credential is longer than %d bytes", MaxCredential)
		}
		var err error
		if raw, err = decode(came); err != nil {
			return nil, refuse(malformedCredential, "the credential is not base64url without padding")
		}
	case len(inMeta) == 1:
		came = inMeta[0]
		if len(came) > MaxCredential {
			return nil, refuse(malformedCredential, "the credential is longer than %d bytes", MaxCredential)
		}
		raw = []byte(came)
	default:
		return nil, nil
	}
	c, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return c.presented(came)
}

// decode reads base64url in its one spelling.
func decode(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") { // which encoding/base64 passes over
		return nil, base64.CorruptInputError(0)
	}
	return base64.RawURLEncoding.Strict().DecodeString(s)
}

// parse reads the JSON of a credential.
func parse(raw []byte) (*credential, error) {
	var w wireCredential
	if jsonx.Unmarshal(raw, &w) != nil || w.Challenge == nil || w.Payload.Kind() != '{' {
		return nil, refuse(malformedCredential, "the credential is not JSON with a challenge and a payload, or names "+
			"a member twice")
	}
	ch := w.Challenge
	if ch.Method != method || ch.Intent != intent {
		return nil, &pay.Unfit{Reason: methodUnsupported, Message: "MPP is taken by method " + method +
			" with intent " + intent + " alone."}
	}
	c := &credential{ID: ch.ID, Realm: ch.Realm, Method: ch.Method, Intent: ch.Intent,
		Expires: ch.Expires, Digest: ch.Digest, Opaque: ch.Opaque}
	if ch.Header != nil {
		return nil, refuse(invalidChallenge, "the challenge names a header that was not asked for")
	}
	var err error
	if c.asks, err = readCharge(ch.Request); err != nil {
		return nil, err
	}
	object, err := c.asks.canonical()
	if err != nil {
		return nil, err
	}
	c.Request = base64.RawURLEncoding.EncodeToString(object)
	if b, err := decode(ch.Opaque); err != nil ||
		jsonx.Unmarshal(b, &c.opaque, jsonx.RejectUnknownMembers(true)) != nil {
		return nil, refuse(invalidChallenge, "the challenge's opaque is not what was given")
	}
	if w.Source != nil {
		c.source = *w.Source
	}
	if jsonx.Unmarshal(w.Payload, &c.payload) != nil || len(c.payload.Unknown) > 0 {
		return nil, refuse(invalidPayload, "the payload is not an authorization")
	}
	if c.payload.Type != credType {
		return nil, refuse(invalidPayload, "the credential type is not %s", credType)
	}
	return c, nil
}

// readCharge reads a request that was echoed: as it was given, or written anew by a client that
// took it apart.
func readCharge(v jsontext.Value) (charge, error) {
	bad := refuse(invalidChallenge, "the challenge's request is not one of this store")
	if v.Kind() == '"' {
		var text string
		if jsonx.Unmarshal(v, &text) != nil {
			return charge{}, bad
		}
		b, err := decode(text)
		if err != nil {
			return charge{}, bad
		}
		v = b
	}
	var r strictCharge
	if v.Kind() != '{' || jsonx.Unmarshal(v, &r, jsonx.RejectUnknownMembers(true)) != nil {
		return charge{}, bad
	}
	return charge{Amount: r.Amount, Currency: r.Currency, MethodDetails: details(r.MethodDetails),
		Recipient: r.Recipient}, nil
}

// presented is the credential as the store sees it: its payload is that of scheme exact.
func (c *credential) presented(came string) (*pay.Presented, error) {
	a := c.payload
	payload, err := json.Marshal(map[string]any{"signature": a.Signature, credType: map[string]string{
		"from": a.From, "to": a.To, "value": a.Value, "validAfter": a.ValidAfter, "validBefore": a.ValidBefore,
		"nonce": a.Nonce,
	}})
	if err != nil {
		return nil, err
	}
	return &pay.Presented{
		Accepted: rail.Requirement{Scheme: "exact", Network: "eip155:" +
			strconv.FormatUint(c.asks.MethodDetails.ChainID, 10),
			Amount: c.asks.Amount, Asset: c.asks.Currency, PayTo: c.asks.Recipient},
		Payload: payload, Digest: sha256.Sum256([]byte(came)), Nonce: c.opaque.Nonce, Key: c.opaque.Key, Data: c,
		Shared: refuse(invalidChallenge, "another wallet has answered this challenge"),
	}, nil
}
