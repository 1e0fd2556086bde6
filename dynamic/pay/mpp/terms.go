package mpp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// terms are a quote as MPP says it.
type terms struct {
	protocol
	url    string
	scope  string // without a query
	offers []offer
}

// offer is one way to pay one of the quote's terms.
type offer struct {
	way    *way
	accept rail.Requirement
	named  bool // it is made only to who names its method in Accept-Payment
}

// Terms implements pay.Protocol: by each method the terms that can be paid so, in their order.
// There are none where no network of MPP takes payments. Of a method with several networks the
// first is enough for who does not ask.
func (p protocol) Terms(q *pay.Quote) (pay.Terms, error) {
	t := &terms{protocol: p, url: q.URL, scope: scopeOf(q.URL, "")}
	usual := map[string]bool{}
	for i, w := range ways {
		for _, a := range q.Accepts {
			if _, ok := w.asks(a, ""); ok {
				t.offers = append(t.offers, offer{&ways[i], a, usual[w.method] && w.method != ways[0].method})
				usual[w.method] = true
			}
		}
	}
	return t, nil
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
	Header  string `json:"header,omitempty"`
	Opaque  string `json:"opaque"`
	Request charge `json:"request"`
}

var canonicalChallenge = http.CanonicalHeaderKey(headerChallenge)

// maxFields is how many challenges a header has at most: with those of x402 they stay within what
// proxies take.
const maxFields = 2

// Say implements pay.Terms. The header asks the least amount by each way, because stock clients pay
// the first challenge they can; the body has all where there are more, or no header says this one.
func (t *terms) Say(to pay.Carrier, f pay.Fill, reason string, b []byte) ([]byte, error) {
	if len(t.offers) == 0 {
		return b, nil
	}
	list, taken := choose(f.Asks, t.offers)
	all := required{HTTPStatus: http.StatusPaymentRequired}
	var fields []string
	said := map[*way]bool{}
	for _, o := range list {
		c, charge, err := t.challenge(o, f)
		if err != nil {
			return nil, err
		}
		if !said[o.way] && len(fields) < maxFields {
			said[o.way], fields = true, append(fields, c.field())
		}
		all.Challenges = append(all.Challenges, asked{c.ID, c.Realm, c.Method, c.Intent, c.Expires, c.Digest, c.Header,
			c.Opaque, charge})
	}
	inHeader := to.Header != nil && taken
	if inHeader {
		to.Header[canonicalChallenge] = fields
	}
	if inHeader && len(list) == len(fields) && reason == "" {
		return b, nil
	}
	all.Problem = problemOf(reason, all.Challenges[0].ID)
	body, err := json.Marshal(all)
	if to.Meta != nil {
		to.Meta[metaRequired] = body
		return b, err
	}
	return pay.Member{Name: metaRequired, Value: body}.Append(b), err
}

// challenge is that of an offer in one answer. Who has something else in Authorization keeps it
// there.
func (t *terms) challenge(o offer, f pay.Fill) (c challenge, asks charge, err error) {
	scope := t.scope
	if f.Query != "" {
		scope = scopeOf(t.url, f.Query)
	}
	c = challenge{Realm: t.realm, Method: o.way.method, Intent: intent, Expires: expiry(f.At, o.accept),
		Digest: digestOf(f.Body)}
	if f.Asks != nil && slices.ContainsFunc(f.Asks.Values(headerCredential), another) {
		c.Header = headerApart
	}
	asks, _ = o.way.asks(o.accept, orderOf(f.Nonce))
	if c.Request, err = asks.encode(); err != nil {
		return c, asks, err
	}
	if c.Opaque, err = encodeOpaque(opaque{Key: f.Key, Nonce: f.Nonce, Scope: scope}); err != nil {
		return c, asks, err
	}
	c.ID = c.id(t.keyed)
	return c, asks, nil
}

// Words implements pay.Terms.
func (t *terms) Words() pay.Words {
	if len(t.offers) == 0 {
		return pay.Words{}
	}
	in, say := headerChallenge, []string{}
	for _, o := range t.offers {
		if what := o.way.method + "/" + intent; !slices.Contains(say, what) {
			say = append(say, what)
		}
	}
	if list, _ := choose(nil, t.offers); len(list) > len(say) {
		in += ", or one of " + metaRequired + ","
	}
	return pay.Words{
		Payment: headerCredential + ": " + scheme,
		How: "Or by MPP (" + strings.Join(say, " or ") + "): answer a challenge in " + in +
			" with " + headerCredential + ": " + scheme + ".",
		Steps: []string{"Or with a stock MPP client such as mppx."},
	}
}
