package x402

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// Row is x402 among the protocols.
var Row = pay.Row{
	Name: "x402",
	Presented: func(f pay.Fields) bool {
		return len(f.Values(canonicalSignature))+len(f.Values(MetaPayment)) > 0
	},
	Params: []api.Param{{Name: HeaderSignature, In: api.Header, Type: "string", MaxLength: MaxHeader,
		Description: "base64 JSON of an x402 v2 payment"}},
	Terms:   []string{HeaderRequired},
	Answers: []string{HeaderResponse},
	Body:    api.SchemaFor[members](),
	// As a stock seller does: 402 with PAYMENT-RESPONSE and without PAYMENT-REQUIRED.
	NotSettled: "payment_invalid",
	New:        func(s pay.Store) pay.Protocol { return protocol{s, pay.NewNonces(s.Secret)} },
}

// members are what x402 adds to the body of a 402: the header's object, each part of it once.
type members struct {
	X402Version int                  `json:"x402Version"`
	Resource    Resource             `json:"resource"`
	Accepts     []rail.Requirement   `json:"accepts"`
	Offers      []Offer              `json:"offers"`     // that of accepts[0], over HTTP
	OffersURL   string               `json:"offers_url"` // the others, over HTTP
	Extensions  map[string]Extension `json:"extensions"` // over HTTP without the one that offers says
}

type protocol struct {
	store  pay.Store
	nonces *pay.Nonces
}

// terms are a quote as x402 says it.
type terms struct {
	required Required // with blanks for what varies
	header   pay.Form // its JSON
	members  []pay.Member
	url      string
}

// Offers signs the offers that the first n entries of accepts make.
func Offers(q *pay.Quote, sign pay.SignOffer, n int) ([]Offer, error) {
	offers := make([]Offer, n)
	for i, a := range q.Accepts[:n] {
		jws, err := sign(a, q.URL, q.Until.Add(time.Duration(a.MaxTimeoutSeconds)*time.Second))
		if err != nil {
			return nil, err
		}
		offers[i] = Offer{Format: "jws", AcceptIndex: i, Signature: jws}
	}
	return offers, nil
}

// Terms implements pay.Protocol. The signed offer of accepts[0] is said, and where the others are.
func (p protocol) Terms(q *pay.Quote) (pay.Terms, error) {
	offers, err := Offers(q, p.store.SignOffer, 1)
	if err != nil {
		return nil, err
	}
	t := &terms{url: q.URL, required: Required{
		X402Version: Version, Error: "Payment required", Accepts: pay.VaryingOf(q.Accepts).Mark(q.Accepts),
		Extensions: echoed(q, q.Method == http.MethodPost), Resource: Resource{URL: q.URL, Description: q.Description,
			MimeType: q.MediaType, ServiceName: q.Service},
	}}
	short := maps.Clone(t.required.Extensions) // of a body that has the offer in offers
	if t.required.Extensions[ExtOffers], err = OffersExtension(offers...); err != nil {
		return nil, err
	}
	if len(q.SignIn) > 0 {
		t.required.Extensions[ExtSignIn] = SignInExtension(q.SignIn)
	}
	type member struct {
		name  string
		value any
	}
	r := t.required
	said := []member{{"x402Version", r.X402Version}, {"resource", r.Resource}, {"accepts", r.Accepts}}
	if q.Meta {
		said = append(said, member{"extensions", r.Extensions})
	} else {
		said = append(said, member{"offers", offers}, member{"offers_url", q.OffersURL}, member{"extensions", short})
	}
	for _, m := range said {
		b, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		t.members = append(t.members, pay.Member{Name: m.name, Value: b})
	}
	header, err := json.Marshal(r)
	t.header = pay.NewForm(header)
	return t, err
}

// Members implements pay.Terms.
func (t *terms) Members() []pay.Member { return t.members }

var (
	canonicalRequired  = http.CanonicalHeaderKey(HeaderRequired)
	canonicalSignature = http.CanonicalHeaderKey(HeaderSignature)
)

// Say implements pay.Terms. Over MCP the body says it all.
func (t *terms) Say(to pay.Carrier, f pay.Fill, reason string, body []byte) ([]byte, error) {
	body, err := t.correct(f, body)
	if err != nil || to.Header == nil {
		return body, err
	}
	header := t.header
	if reason != "" {
		r := t.required
		r.Error, r.Extensions = reason, maps.Clone(r.Extensions)
		r.Accepts = corrected(r.Accepts, f.Channel)
		b, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		header = pay.NewForm(b)
	}
	to.Header[canonicalRequired] = []string{base64.StdEncoding.EncodeToString(header.Fill(f))}
	return body, nil
}

// Words implements pay.Terms.
func (t *terms) Words() pay.Words {
	return pay.Words{
		Payment: HeaderSignature,
		How:     "Sign one of accepts and repeat the request with " + HeaderSignature + ".",
		Steps: []string{
			"Pay with a stock x402 client, or run: store buy " + t.url,
		},
	}
}

// echoed are the extensions of a challenge that a buyer has to send back as they were, if at all.
func echoed(q *pay.Quote, post bool) map[string]Extension {
	return map[string]Extension{
		ExtBazaar:    bazaar(q.Inputs, post),
		ExtPaymentID: PaymentIDExtension(),
		ExtChallenge: ChallengeExtension(),
	}
}

// Read implements pay.Protocol. Two payments are one malformed payment, and one that is there and
// empty is malformed, not absent.
func (protocol) Read(f pay.Fields) (*pay.Presented, error) {
	x, err := read(f)
	if x == nil || err != nil {
		return nil, err
	}
	p := &pay.Presented{Accepted: x.Accepted, Payload: x.Payload, Digest: x.Digest, Nonce: EchoedNonce(x), Data: x}
	id, ok := PaymentID(x)
	p.Key, p.BadKey = id, !ok
	return p, nil
}

func read(f pay.Fields) (*Presented, error) {
	if vs := f.Values(canonicalSignature); len(vs) > 1 {
		return nil, &rail.Refusal{Reason: "invalid_payload",
			Message: "there are two fields " + HeaderSignature + " in this request; send one"}
	} else if len(vs) == 1 && vs[0] == "" {
		return Decode(",")
	} else if len(vs) == 1 {
		return Decode(vs[0])
	}
	vs := f.Values(MetaPayment)
	if len(vs) == 0 {
		return nil, nil
	}
	if len(vs) > 1 || len(vs[0]) > MaxHeader {
		return nil, &rail.Refusal{Reason: "invalid_payload", Message: "the payment in _meta is longer than can be read"}
	}
	if strings.HasPrefix(vs[0], `"`) { // the header's base64, as some clients send it
		var text string
		if jsonx.Unmarshal([]byte(vs[0]), &text) != nil {
			return Decode(",")
		}
		return Decode(text)
	}
	return parse([]byte(vs[0]), "the payment in _meta")
}

// Match implements pay.Protocol.
func (by protocol) Match(p *pay.Presented, q *pay.Quote) (rail.Requirement, error) {
	x, ok := p.Data.(*Presented)
	if !ok {
		return rail.Requirement{}, errors.New("x402: this payment is of another protocol")
	}
	i := Match(x, q.Accepts)
	if i < 0 {
		return rail.Requirement{}, &rail.Refusal{Reason: noMatch,
			Message: "accepted must equal one entry of accepts"}
	}
	// The order is the same in the query and in a body, so terms that were asked for in one form
	// are paid in the other.
	if !EchoHolds(x.Extensions, echoed(q, false)) && !EchoHolds(x.Extensions, echoed(q, true)) {
		return rail.Requirement{}, &rail.Refusal{Reason: "extension_echo_mismatch"}
	}
	if x.Resource != "" && x.Resource != q.URL {
		return rail.Requirement{}, &rail.Refusal{Reason: "invalid_payload",
			Message: "the payment was signed for another resource"}
	}
	return by.bind(p, q.Accepts[i], q.URL)
}

// bind adds to terms what they said in the 402 whose nonce came back, and demands that it came back
// with them.
func (by protocol) bind(p *pay.Presented, want rail.Requirement, url string) (rail.Requirement, error) {
	bound := pay.Bound(want, p.Nonce, url)
	if len(bound) == 0 {
		return want, nil
	}
	if !by.nonces.Valid(p.Nonce) {
		return rail.Requirement{}, &rail.Refusal{Reason: "extension_echo_mismatch",
			Message: "a payment on this network is for one challenge: send back " + ExtChallenge + " as it stood there"}
	}
	want.Extra = maps.Clone(want.Extra)
	for name, value := range bound {
		if p.Accepted.Extra[name] != value {
			return rail.Requirement{}, &rail.Refusal{Reason: noMatch,
				Message: "accepted.extra." + name + " is not that of the challenge which " + ExtChallenge + " names"}
		}
		want.Extra[name] = value
	}
	return want, nil
}

// noMatch is what stock sellers say of terms that are not among theirs.
const noMatch = "No matching payment requirements"

// Answer implements pay.Protocol: PAYMENT-RESPONSE, with the signed receipt where there is one.
func (protocol) Answer(to pay.Carrier, _ *pay.Presented, o pay.Outcome) error {
	r := SettleResponse{Success: o.Success, ErrorReason: o.Reason, Payer: o.Payer, Transaction: o.Transaction,
		Network: o.Network}
	if o.Success {
		r.Amount = strconv.FormatInt(o.Amount, 10)
		if o.Receipt != "" { // where something was bought
			receipt, err := ReceiptExtension(o.Receipt)
			if err != nil {
				return err
			}
			r.Extensions = map[string]Extension{ExtOffers: receipt}
		}
		if o.Channel != nil {
			r.Extra = extraOf(o.Channel)
		}
		if o.Channel != nil && o.Amount == 0 {
			r.Amount = "" // a voucher moves nothing
		}
	}
	if to.Header != nil {
		v, err := Encode(r)
		if err != nil {
			return err
		}
		to.Header.Set(HeaderResponse, v)
	}
	if to.Meta != nil {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		to.Meta[MetaResponse] = b
	}
	return nil
}

// MaxHeader is the longest PAYMENT-SIGNATURE that is read, in bytes of base64. A stock payment that
// echoes our largest challenge is under 8 kB.
const MaxHeader = 24 << 10

// Presented is a PAYMENT-SIGNATURE as a buyer sent it: decoded, well-formed JSON without duplicate
// names, version 2. Nothing in it has been compared with anything yet.
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

// Decode reads a PAYMENT-SIGNATURE header value. Every error is a *rail.Refusal: a malformed
// payment is the payer's mistake and never ours.
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
