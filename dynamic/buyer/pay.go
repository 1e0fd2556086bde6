package buyer

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"store.example/agentstore/dynamic/pay/x402"
)

// intend decides on a payment: everything that will be signed, and nothing signed yet.
func (b *Buyer) intend(ctx context.Context, t *Terms, r request, u *url.URL) (*purchase, error) {
	e := t.Entries[t.Chosen]
	s, _, _ := schemeOf(e.Scheme, e.Network)
	f, _ := familyOf(e.Network)
	now := b.cfg.Now().UTC().Truncate(time.Second)
	end := now.Unix() + t.ValidSeconds
	if e.challenge != nil {
		end = min(end, e.end.Unix())
	}
	r.URL = u.String()
	p := &purchase{
		Format: journalFormat, ID: newID(now), State: Intended, CreatedAt: now, Protocol: t.Protocol,
		Network: e.Network, Asset: e.asset.Address, Amount: e.Atomic, PayTo: e.payTo,
		Payer: f.payer(&b.cfg), ValidBefore: end, Resource: t.Resource, Request: r, again: t.again,
	}
	if e.Scheme != schemeExact {
		p.Scheme = e.Scheme
	}
	if err := s.draft(ctx, b, p, e); err != nil {
		return nil, errors.Join(fmt.Errorf("making the payment: %w", err), p.letGo())
	}
	return p, nil
}

// sign signs what was decided on and makes the whole request that presents it.
func (b *Buyer) sign(p *purchase, t *Terms, key string) error {
	e := t.Entries[t.Chosen]
	s, _, _ := schemeOf(e.Scheme, e.Network)
	payload, err := s.sign(b, p, e)
	if err != nil {
		return fmt.Errorf("signing the payment: %w", err)
	}
	name, value := headerSignature, ""
	if e.challenge != nil {
		name = cmp.Or(e.CredentialHeader, headerCredential)
		value, err = credentialFor(e, payload.(wirePayload)) // challenges are of EVM networks
	} else {
		value, err = paymentFor(t, e, payload, key)
	}
	if err != nil {
		return fmt.Errorf("making the payment: %w", err)
	}
	p.Request.Header = p.Request.Header.Clone()
	p.Request.Header.Set(name, value)
	p.Request.Header.Set(headerKey, key)
	p.State = Signed
	return nil
}

// paymentFor is the header value that presents a signed payload for an entry of accepts.
func paymentFor(t *Terms, e Entry, payload any, key string) (string, error) {
	extensions, err := echo(t.extensions, key)
	if err != nil {
		return "", fmt.Errorf("echoing the extensions: %w", err)
	}
	return encodeHeader(wirePayment{X402Version: x402.Version, Payload: payload, Extensions: extensions,
		Resource: t.resource, Accepted: e.raw})
}

// echo gives the extensions back as they came. Where the door declares payment-identifier, the
// idempotency key is added as its id, as the extension asks of buyers; an id that stands there
// already is the door's and is kept.
func echo(declared map[string]jsontext.Value, key string) (map[string]jsontext.Value, error) {
	raw, ok := declared[x402.ExtPaymentID]
	if !ok {
		return declared, nil
	}
	var ext, info map[string]jsontext.Value
	if err := json.Unmarshal(raw, &ext); err != nil {
		return nil, err
	}
	if ext["info"].Kind() != '{' {
		return declared, nil
	}
	if err := json.Unmarshal(ext["info"], &info); err != nil {
		return nil, err
	}
	if _, ok := info["id"]; ok {
		return declared, nil
	}
	var err error
	if info["id"], err = json.Marshal(key); err != nil {
		return nil, err
	}
	if ext["info"], err = json.Marshal(info, json.Deterministic(true)); err != nil {
		return nil, err
	}
	out := make(map[string]jsontext.Value, len(declared))
	maps.Copy(out, declared)
	out[x402.ExtPaymentID], err = json.Marshal(ext, json.Deterministic(true))
	return out, err
}
