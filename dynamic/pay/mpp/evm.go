package mpp

import (
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"math/big"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
)

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

// readAuthorization reads one, and makes the payload of scheme exact of it.
func readAuthorization(c *credential, payload jsontext.Value) error {
	a := &c.authorization
	if jsonx.Unmarshal(payload, a) != nil || len(a.Unknown) > 0 {
		return refuse(invalidPayload, "the payload is not an authorization")
	}
	if a.Type != credType {
		return refuse(invalidPayload, "the credential type is not %s", credType)
	}
	var err error
	c.wire, err = json.Marshal(map[string]any{"signature": a.Signature, credType: map[string]string{
		"from": a.From, "to": a.To, "value": a.Value, "validAfter": a.ValidAfter, "validBefore": a.ValidBefore,
		"nonce": a.Nonce,
	}})
	return err
}

// paysEVM compares an authorization with the terms. A challenge that has ended is refused with its
// authorization, which may be valid for no longer: the rail knows whether it paid before.
func paysEVM(c *credential, want *rail.Requirement, _ time.Time) error {
	if !strings.EqualFold(c.authorization.Nonce, c.hash()) {
		return refuse(verificationFailed, "the authorization's nonce is not the hash of the challenge")
	}
	return c.authorizes(*want, source(want.Network))
}

// authorizes compares an authorization with the terms but for its nonce. A source is one of some
// prefixes with the payer's address.
func (c *credential) authorizes(want rail.Requirement, sources ...string) error {
	a := c.authorization
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
	expires, err := c.expires()
	if err != nil {
		return err
	}
	if before, err := strconv.ParseInt(a.ValidBefore, 10, 64); err != nil || before > expires.Unix() {
		return refuse(verificationFailed, "the authorization outlives its challenge")
	}
	if c.source == "" {
		return nil
	}
	for _, prefix := range sources {
		if account, ok := strings.CutPrefix(c.source, prefix); ok && sameAddress(account, a.From) {
			return nil
		}
	}
	return refuse(verificationFailed, "the source is not the payer on this chain")
}

// source is what stands before a payer's address in a DID of the method pkh.
func source(network string) string { return "did:pkh:" + network + ":" }

// sameAddress compares addresses by their bytes, whatever the case of their digits.
func sameAddress(a, b string) bool {
	return len(a) == len("0x")+40 && strings.HasPrefix(a, "0x") && strings.EqualFold(a, b)
}
