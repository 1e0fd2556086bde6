package buyer

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"time"

	"agentstore/corpus/attest/wallet"
	"agentstore/dynamic/pay/x402"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sign makes the one authorization of a purchase: an EIP-3009 TransferWithAuthorization over exactly the chosen
// entry's amount, receiver and token.
func sign(key *wallet.Key, e Entry, validBefore int64, nonce [32]byte) (wirePayload, error) {
	domain, err := e.asset.domain()
	if err != nil {
		return wirePayload{}, fmt.Errorf("signing the payment: %w", err)
	}
	a := wallet.Authorization{
		From: key.Address(), To: e.payTo, Value: wallet.NewUint256(uint64(e.Atomic)),
		ValidBefore: wallet.NewUint256(uint64(validBefore)), Nonce: nonce,
	}
	return wirePayload{
		Authorization: wireAuthorization{
			From: a.From.String(), To: a.To.String(), Value: a.Value.String(),
			ValidAfter: a.ValidAfter.String(), ValidBefore: a.ValidBefore.String(), Nonce: "0x" + hex.EncodeToString(nonce[:]),
		},
		Signature: "0x" + hex.EncodeToString(key.Sign(a.Digest(domain.Separator()))),
	}, nil
}

// intend decides on a payment: everything that will be signed, and nothing signed yet.
func (b *Buyer) intend(t *Terms, r request, u *url.URL) *purchase {
	e := t.Entries[t.Chosen]
	now := b.cfg.Now().UTC().Truncate(time.Second)
	var nonce [32]byte
	rand.Read(nonce[:])
	r.URL = u.String()
	return &purchase{
		Format: journalFormat, ID: newID(now), State: Intended, CreatedAt: now,
		Network: e.Network, Asset: e.asset.Address, Amount: e.Atomic, PayTo: e.payTo.String(), Payer: b.cfg.Wallet.Address().String(),
		Nonce: "0x" + hex.EncodeToString(nonce[:]), ValidBefore: now.Unix() + t.ValidSeconds, Resource: t.Resource, Request: r,
	}
}

// sign signs what was decided on and makes the whole request that presents it.
func (b *Buyer) sign(p *purchase, t *Terms, key string) error {
	e := t.Entries[t.Chosen]
	var nonce [32]byte
	if _, err := hex.Decode(nonce[:], []byte(p.Nonce[2:])); err != nil {
		return fmt.Errorf("signing the payment: %w", err)
	}
	payload, err := sign(b.cfg.Wallet, e, p.ValidBefore, nonce)
	if err != nil {
		return err
	}
	extensions, err := echo(t.extensions, key)
	if err != nil {
		return fmt.Errorf("echoing the extensions: %w", err)
	}
	header, err := encodeHeader(wirePayment{X402Version: x402.Version, Payload: payload, Extensions: extensions, Resource: t.resource, Accepted: e.raw})
	if err != nil {
		return fmt.Errorf("making the payment: %w", err)
	}
	p.Request.Header = p.Request.Header.Clone()
	p.Request.Header.Set(headerSignature, header)
	p.Request.Header.Set(headerKey, key)
	p.State = Signed
	return nil
}

// echo gives the extensions back as they came. Where the door declares payment-identifier, the idempotency key is
// added as its id, as the extension asks of buyers; an id that stands there already is the door's and is kept.
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
