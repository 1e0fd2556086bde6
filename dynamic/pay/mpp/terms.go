package mpp

import (
	"encoding/base64"
	"encoding/json"
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
	charge  charge
	request string // its canonical JSON in base64url
}

// Terms implements pay.Protocol. There are none where the network of MPP takes no payment.
func (p protocol) Terms(q *pay.Quote) (pay.Terms, error) {
	t := &terms{protocol: p, url: q.URL, scope: scopeOf(q.URL, "")}
	for _, a := range q.Accepts {
		if !offered(a) {
			continue
		}
		charge := chargeFor(a)
		object, err := charge.canonical()
		if err != nil {
			return nil, err
		}
		t.amounts = append(t.amounts, amount{a, charge, base64.RawURLEncoding.EncodeToString(object)})
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
// challenge they can; the body has all where there are more, or no header says this one.
func (t *terms) Say(to pay.Carrier, f pay.Fill, reason string, b []byte) ([]byte, error) {
	if len(t.amounts) == 0 {
		return b, nil
	}
	scope := t.scope
	if f.Query != "" {
		scope = scopeOf(t.url, f.Query)
	}
	binds, err := encodeOpaque(opaque{Key: f.Key, Nonce: f.Nonce, Scope: scope})
	if err != nil {
		return nil, err
	}
	all := required{HTTPStatus: http.StatusPaymentRequired}
	inHeader := to.Header != nil && taken(f.Asks)
	for i, a := range t.amounts {
		c := challenge{Realm: t.realm, Method: method, Intent: intent, Request: a.request,
			Expires: expiry(f.At, a.accept), Digest: digestOf(f.Body), Opaque: binds}
		c.ID = c.id(t.keyed)
		if i == 0 && inHeader {
			to.Header[canonicalChallenge] = []string{c.field()}
		}
		all.Challenges = append(all.Challenges, asked{c.ID, c.Realm, c.Method, c.Intent, c.Expires, c.Digest, c.Opaque,
			a.charge})
	}
	if inHeader && len(t.amounts) == 1 && reason == "" {
		return b, nil
	}
	all.Problem = problemOf(reason, all.Challenges[0].ID)
	said, err := json.Marshal(all)
	if to.Meta != nil {
		to.Meta[metaRequired] = said
		return b, err
	}
	return pay.Member{Name: metaRequired, Value: said}.Append(b), err
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
