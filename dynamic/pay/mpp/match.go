package mpp

import (
	"crypto/hmac"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// Match implements pay.Protocol: the rules of a verifier that need no chain, in their order. The
// signature, the payer's money and the times are the rail's to judge. A challenge that has ended is
// refused with its authorization, which may be valid for no longer: the rail knows whether it paid
// before.
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
		err = c.pays(want)
	}
	return want, err
}

// sold finds the terms that the challenge asked.
func (c *credential) sold(q *pay.Quote) (rail.Requirement, error) {
	for _, a := range q.Accepts {
		if !offered(a) || !sameAddress(a.Asset, c.asks.Currency) || !sameAddress(a.PayTo, c.asks.Recipient) {
			continue
		}
		if a.Amount == c.asks.Amount && c.asks.MethodDetails.ChainID == chainID {
			return a, nil
		}
	}
	return rail.Requirement{},
		refuse(invalidChallenge, "this is not sold at the challenge's price, token, recipient and chain")
}

// pays compares the authorization with the terms.
func (c *credential) pays(want rail.Requirement) error {
	a := c.payload
	if !sameAddress(a.To, want.PayTo) {
		return refuse(verificationFailed, "the authorization pays another account")
	}
	value, ok := new(big.Int).SetString(a.Value, 10)
	amount, is := new(big.Int).SetString(want.Amount, 10)
	if !ok || !is || value.Cmp(amount) < 0 {
		return refuse(paymentInsufficient, "the authorization is for less than the price")
	}
	if value.Cmp(amount) > 0 {
		return refuse(verificationFailed, "the authorization is for more than the price")
	}
	if !strings.EqualFold(a.Nonce, c.hash()) {
		return refuse(verificationFailed, "the authorization's nonce is not the hash of the challenge")
	}
	expires, err := time.Parse(time.RFC3339, c.Expires)
	if err != nil {
		return refuse(invalidChallenge, "the challenge does not say when it ends")
	}
	if before, err := strconv.ParseInt(a.ValidBefore, 10, 64); err != nil || before > expires.Unix() {
		return refuse(verificationFailed, "the authorization outlives its challenge")
	}
	if c.source != "" && !c.isSource() {
		return refuse(verificationFailed, "the source is not the payer on this chain")
	}
	return nil
}

// isSource reports whether the source names the payer of the authorization.
func (c *credential) isSource() bool {
	prefix := source("")
	return strings.HasPrefix(c.source, prefix) && sameAddress(c.source[len(prefix):], c.payload.From)
}

// sameAddress compares addresses by their bytes, whatever the case of their digits.
func sameAddress(a, b string) bool {
	return len(a) == len("0x")+40 && strings.HasPrefix(a, "0x") && strings.EqualFold(a, b)
}
