package mpp

import (
	"bytes"
	"encoding/base64"
	"net/http"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// terms are a quote as MPP says it: one challenge for each amount on its network, the least first.
type terms struct {
	protocol
	url     string
	scope   string // without a query
	amounts []amount
}

// amount is one that may be paid, with all of its challenge that is the same in every answer.
type amount struct {
	accept  rail.Requirement
	object  []byte // canonical JSON of the request
	request string // the same in base64url
}

// Terms implements pay.Protocol. There are none where the network of MPP takes no payment.
func (p protocol) Terms(q *pay.Quote) (pay.Terms, error) {
	t := &terms{protocol: p, url: q.URL, scope: scopeOf(q.URL, "")}
	for _, a := range q.Accepts {
		if !offered(a) {
			continue
		}
		object, err := chargeFor(a).canonical()
		if err != nil {
			return nil, err
		}
		t.amounts = append(t.amounts, amount{a, object, base64.RawURLEncoding.EncodeToString(object)})
	}
	return t, nil
}

// offered reports terms that can be paid by MPP: on its network, by an authorization of the token's
// own.
func offered(a rail.Requirement) bool {
	_, otherwise := a.Extra["assetTransferMethod"]
	return a.Network == network && !otherwise
}

// Members implements pay.Terms: none is the same in two answers.
func (t *terms) Members() []pay.Member { return nil }

// required is the value of metaRequired: payment-required data of draft-payment-transport-mcp-00.
type required struct {
	HTTPStatus int         `json:"httpStatus"`
	Challenges []asked     `json:"challenges"`
	Problem    problemData `json:"problem"`
}

// asked is a challenge in the form of MCP.
type asked struct {
	ID      string `json:"id"`
	Realm   string `json:"realm"`
	Method  string `json:"method"`
	Intent  string `json:"intent"`
	Expires string `json:"expires"`
	Digest  string `json:"digest,omitempty"`
	Opaque  string `json:"opaque"`
	Request charge `json:"request"`
}

var canonicalChallenge = http.CanonicalHeaderKey(headerChallenge)

// Say implements pay.Terms. The header asks the least amount, because stock clients pay the first
// challenge they can; the body has all where there are more, or no header says this one. What is
// written by hand here marshals as required.
func (t *terms) Say(to pay.Carrier, f pay.Fill, reason string, b []byte) ([]byte, error) {
	if len(t.amounts) == 0 {
		return b, nil
	}
	scope := t.scope
	if f.Query != "" {
		scope = scopeOf(t.url, f.Query)
	}
	c := challenge{Realm: t.realm, Method: method, Intent: intent, Digest: digestOf(f.Body),
		Opaque: encodeOpaque(f.Key, f.Nonce, scope)}
	body := b
	b = append(b, `,"`+metaRequired+`":`...)
	from := len(b)
	b = append(b, `{"httpStatus":402,"challenges":[`...)
	inHeader := to.Header != nil && taken(f.Asks)
	first := ""
	for i, a := range t.amounts {
		c.Request, c.Expires = a.request, expiry(f.At, a.accept)
		c.ID = c.id(t.keyed)
		if i == 0 {
			first = c.ID
			if inHeader {
				to.Header[canonicalChallenge] = []string{c.field()}
			}
		} else {
			b = append(b, ',')
		}
		b = c.appendObject(b, a.object)
	}
	b = append(appendProblem(append(b, `],"problem":`...), reason, first), '}')
	switch {
	case to.Meta != nil:
		to.Meta[metaRequired] = bytes.Clone(b[from:])
		return body, nil
	case inHeader && len(t.amounts) == 1 && reason == "":
		return body, nil
	}
	return b, nil
}

// Words implements pay.Terms.
func (t *terms) Words() pay.Words {
	if len(t.amounts) == 0 {
		return pay.Words{}
	}
	in := headerChallenge
	if len(t.amounts) > 1 {
		in += ", or one of " + metaRequired + ","
	}
	return pay.Words{
		Payment: headerCredential + ": " + scheme,
		How: "Or by MPP (" + method + "/" + intent + " on " + networkName + "): answer the challenge in " + in +
			" with " + headerCredential + ": " + scheme + ".",
		Steps: []string{"Or with a stock MPP client such as mppx."},
	}
}
