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
// challenge they can; the body has all. What is written by hand here marshals as required.
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
	b = append(b, `,"`+metaRequired+`":`...)
	from := len(b)
	b = append(b, `{"httpStatus":402,"challenges":[`...)
	first := ""
	for i, a := range t.amounts {
		c.Request, c.Expires = a.request, expiry(f.At, a.accept)
		c.ID = c.id(t.keyed)
		if i == 0 {
			first = c.ID
			if to.Header != nil && taken(f.Asks) {
				to.Header[canonicalChallenge] = []string{c.field()}
			}
		} else {
			b = append(b, ',')
		}
		b = c.appendObject(b, a.object)
	}
	b = append(appendProblem(append(b, `],"problem":`...), reason, first), '}')
	if to.Meta != nil {
		to.Meta[metaRequired] = bytes.Clone(b[from:])
	}
	return b, nil
}

// Words implements pay.Terms.
func (t *terms) Words() pay.Words {
	if len(t.amounts) == 0 {
		return pay.Words{}
	}
	return pay.Words{
		Payment: headerCredential + ": " + scheme,
		How: "Or pay by MPP (" + method + "/" + intent + " on " + networkName + "): answer the challenge in " +
			headerChallenge + " with " +
			headerCredential + ": " + scheme + ". " + metaRequired +
			" in this body has one for each amount, also where the header has no room for any.",
		Steps: []string{"Or pay with a stock MPP client such as mppx: it reads the " + headerChallenge +
			" header, which asks the least amount."},
	}
}
