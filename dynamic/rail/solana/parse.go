package solana

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"math/big"

	"store.example/agentstore/dynamic/rail"
)

const (
	maxPayload = 8 << 10 // bytes of a scheme payload
	method     = "spl"
	// maxRead bounds the memory of transactions that were taken apart.
	maxRead = 4096
)

// Parse implements rail.Rail. What the stock facilitator finds wrong with a transaction before it
// looks at the terms is refused here, with its codes. Two payloads with one message are one
// payment: the slot of the fee payer's signature, which anybody can write anything into, is
// emptied.
func (r *Rail) Parse(payload []byte, accepted rail.Requirement) (*rail.Payment, error) {
	if accepted.Network != r.cfg.Network || accepted.Asset != r.cfg.Asset {
		return nil, malformed("the accepted entry is not of this network and asset")
	}
	if len(payload) > maxPayload {
		return nil, malformed("the payload is too long")
	}
	var w struct {
		Transaction *string `json:"transaction"`
	}
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, malformed("the payload is not the JSON object that the scheme asks for")
	}
	if w.Transaction == nil {
		return nil, malformed("transaction is missing")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(*w.Transaction)
	if err != nil {
		return nil, refuse(reasonUndecodable, "the transaction is not base64")
	}
	t, err := parseTransaction(raw)
	if errors.Is(err, errVersion) || err == nil && t.version == 1 {
		return nil, refuse(reasonVersion, "the transaction is not of version 0")
	}
	if err != nil {
		return nil, refuse(reasonUndecodable, "%v", err)
	}
	o, ref := r.read(t, false)
	if ref != nil {
		return nil, ref
	}
	t.signatures[0] = [64]byte{}
	p := &rail.Payment{
		Network: r.cfg.Network, Asset: r.cfg.Asset, Method: method, Payer: o.name, Nonce: t.hash(),
		Amount: new(big.Int).SetUint64(o.amount), Signature: bytes.Clone(t.signatures[1][:]), Wire: t.wire(),
	}
	r.remember(sha256.Sum256(p.Wire), reading{t, o})
	// Where it goes is a token account. Of all but the store's own nobody could say whose it is
	// without asking.
	if p.PayTo = o.to.String(); o.to == r.account {
		p.PayTo = r.cfg.PayTo
	}
	return p, nil
}

// taken takes a payment apart again, which Parse made; one that is settled may have been taken
// under other settings.
func (r *Rail) taken(p *rail.Payment, settled bool) (*transaction, order, *rail.Refusal) {
	t, o, ref := r.readOnce(p.Wire, settled)
	if t == nil {
		return nil, order{}, ref
	}
	same := p.Network == r.cfg.Network && p.Method == method && p.Nonce == t.hash() && p.Payer == o.name
	if ref == nil && !same {
		ref = malformed("the payment is not that of its transaction")
	}
	return t, o, ref
}

// reading is what was read of a transaction that could be taken. Nobody changes it.
type reading struct {
	t *transaction
	o order
}

// readOnce takes a transaction apart and reads it, which is the same each time: one that could be
// taken is remembered, because each step of its payment asks for it and checking the signature is
// what takes longest.
func (r *Rail) readOnce(wire []byte, settled bool) (*transaction, order, *rail.Refusal) {
	id := sha256.Sum256(wire)
	r.mu.Lock()
	known, ok := r.readings[id]
	r.mu.Unlock()
	if ok {
		return known.t, known.o, nil
	}
	t, err := parseTransaction(wire)
	if err != nil {
		return nil, order{}, refuse(reasonUndecodable, "%v", err)
	}
	o, ref := r.read(t, settled)
	if ref == nil && !settled {
		r.remember(id, reading{t, o})
	}
	return t, o, ref
}

// remember keeps what was read of a transaction, by the SHA-256 of its wire.
func (r *Rail) remember(wire [sha256.Size]byte, read reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.readings) >= maxRead {
		clear(r.readings)
	}
	r.readings[wire] = read
}
