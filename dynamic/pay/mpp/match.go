package mpp

import (
	"cmp"
	"crypto/hmac"
	"errors"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// Match implements pay.Protocol: the rules of a verifier that need no chain, in their order. The
// signature, the payer's money and the times of an authorization are the rail's to judge.
func (p protocol) Match(pr *pay.Presented, q *pay.Quote) (rail.Requirement, error) {
	c, ok := pr.Data.(*credential)
	if !ok {
		return rail.Requirement{}, errors.New("mpp: this payment is of another protocol")
	}
	if !hmac.Equal([]byte(c.ID), []byte(c.id(p.keyed))) {
		return rail.Requirement{}, refuse(invalidChallenge, "the id is not that of a challenge of this store")
	}
	want, err := c.sold(q)
	if err != nil {
		return want, err
	}
	switch {
	case c.Realm != p.realm:
		err = refuse(invalidChallenge, "the challenge is of another realm")
	case c.opaque.Scope != scopeOf(q.URL, q.Query):
		err = refuse(invalidChallenge, "the challenge is of another address or query")
	case c.Digest != digestOf(q.Body):
		err = refuse(invalidChallenge, "the challenge is of another body")
	default:
		if err = c.placed(); err == nil {
			err = c.way.pays(c, &want, q.At)
		}
	}
	return want, err
}

// sold finds the terms that the challenge asked.
func (c *credential) sold(q *pay.Quote) (rail.Requirement, error) {
	order := orderOf(c.opaque.Nonce)
	for _, a := range q.Accepts {
		want, ok := c.way.asks(a, order)
		if !ok {
			continue
		}
		if request, err := want.encode(); err != nil || request == c.Request {
			return a, err
		}
	}
	return rail.Requirement{},
		refuse(invalidChallenge, "this is not sold at the challenge's price, token, recipient and network")
}

// placed refuses a credential that did not come in the field that its challenge named.
func (c *credential) placed() error {
	switch {
	case c.in == metaCredential && c.Header == "", c.in == cmp.Or(c.Header, headerCredential):
		return nil
	}
	return refuse(invalidChallenge, "the challenge asks for its credential in the field %s",
		cmp.Or(c.Header, headerCredential))
}
