package mpp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// credential is one as its payer sent it: well-formed JSON without duplicate names, the echo of a
// challenge and what was signed for it. Nothing in it has been compared with anything yet.
type credential struct {
	challenge
	way    *way
	in     string         // the field that it came in, or metaCredential
	echo   jsontext.Value // the challenge as it came back
	asks   charge         // what Request says
	opaque opaque         // what Opaque says
	source string         // "" where it is left out
	wire   []byte         // what was signed, as the payload of scheme exact

	authorization authorization // of ways that read one
	transaction   transaction   // the same
	bytes         [sha256.Size]byte
	binding       []byte
	payer         string // who is to have signed it
}

// expires is when the challenge ends.
func (c *credential) expires() (time.Time, error) {
	end, err := time.Parse(time.RFC3339, c.Expires)
	if err != nil {
		return end, refuse(invalidChallenge, "the challenge does not say when it ends")
	}
	return end, nil
}

type wireCredential struct {
	Challenge jsontext.Value            `json:"challenge"`
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
	Header  *string                   `json:"header"`
	Unknown map[string]jsontext.Value `json:",embed"` // description, and what there may be one day
}

func refuse(reason, format string, args ...any) *rail.Refusal {
	return &rail.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// came is a credential as it came.
type came struct{ in, text string }

// credentials are those of a request: the values of Authorization whose scheme is Payment, in any
// case, and all of Payment-Authorization, without the scheme.
func credentials(f pay.Fields) []came {
	var out []came
	for _, field := range []string{headerCredential, headerApart} {
		for _, v := range f.Values(field) {
			name, rest, _ := strings.Cut(strings.TrimLeft(v, " \t"), " ")
			switch {
			case strings.EqualFold(name, scheme):
				out = append(out, came{field, strings.Trim(rest, " \t")})
			case field == headerApart:
				out = append(out, came{field, ""})
			}
		}
	}
	for _, v := range f.Values(metaCredential) {
		out = append(out, came{metaCredential, v})
	}
	return out
}

// another reports a value of Authorization that is no credential of ours.
func another(value string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(value, " \t"), " ")
	return name != "" && !strings.EqualFold(name, scheme)
}

// Read implements pay.Protocol. What is not ours to take is *pay.Unfit: two credentials, or one for
// another method.
func (protocol) Read(f pay.Fields) (*pay.Presented, error) {
	held := credentials(f)
	if len(held) == 0 {
		return nil, nil
	}
	if len(held) > 1 {
		return nil, &pay.Unfit{Reason: badRequest,
			Message: "There are two Payment credentials in this request. Send one."}
	}
	in := held[0]
	if len(in.text) > MaxCredential {
		return nil, refuse(malformedCredential, "the credential is longer than %d bytes", MaxCredential)
	}
	raw := []byte(in.text)
	if in.in != metaCredential {
		var err error
		if raw, err = decode(in.text); err != nil {
			return nil, refuse(malformedCredential, "the credential is not base64url without padding")
		}
	}
	c, err := parse(raw)
	if err != nil {
		return nil, err
	}
	c.in = in.in
	return c.presented(in), nil
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
	var ch wireChallenge
	if jsonx.Unmarshal(raw, &w) != nil || w.Challenge.Kind() != '{' || jsonx.Unmarshal(w.Challenge, &ch) != nil ||
		w.Payload.Kind() != '{' {
		return nil, refuse(malformedCredential, "the credential is not JSON with a challenge and a payload, or names "+
			"a member twice")
	}
	if !spoken(ch.Method) || ch.Intent != intent {
		return nil, &pay.Unfit{Reason: methodUnsupported, Message: "MPP is taken by the methods " + methods(", ") +
			" with intent " + intent + " alone."}
	}
	c := &credential{ID: ch.ID, Realm: ch.Realm, Method: ch.Method, Intent: ch.Intent,
		Expires: ch.Expires, Digest: ch.Digest, Opaque: ch.Opaque, echo: w.Challenge}
	if ch.Header != nil && *ch.Header != headerApart {
		return nil, refuse(invalidChallenge, "the challenge names a header that was not asked for")
	}
	if ch.Header != nil {
		c.Header = *ch.Header
	}
	var err error
	if c.asks, err = readCharge(ch.Request); err != nil {
		return nil, err
	}
	if c.way = c.asks.way(c.Method); c.way == nil {
		return nil, refuse(invalidChallenge, "the challenge's request is not one of method %s", c.Method)
	}
	if c.Request, err = c.asks.encode(); err != nil {
		return nil, err
	}
	if b, err := decode(ch.Opaque); err != nil ||
		jsonx.Unmarshal(b, &c.opaque, jsonx.RejectUnknownMembers(true)) != nil {
		return nil, refuse(invalidChallenge, "the challenge's opaque is not what was given")
	}
	if w.Source != nil {
		c.source = *w.Source
	}
	return c, c.way.read(c, w.Payload)
}

// presented is the credential as the store sees it. A replay comes in the same field.
func (c *credential) presented(came came) *pay.Presented {
	if came.in == headerApart {
		came.text = headerApart + ": " + came.text
	}
	return &pay.Presented{
		Accepted: rail.Requirement{Scheme: "exact", Network: c.way.network(c.asks.MethodDetails),
			Amount: c.asks.Amount, Asset: c.asks.Currency, PayTo: c.asks.Recipient},
		Payload: c.wire, Digest: sha256.Sum256([]byte(came.text)), Nonce: c.opaque.Nonce, Key: c.opaque.Key, Data: c,
		Payer: c.payer, Order: orderOf(c.opaque.Nonce),
		Shared: refuse(invalidChallenge, "the order of this challenge was paid already"),
	}
}
