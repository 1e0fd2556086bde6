package till

import (
	"encoding/json"
	"fmt"

	"store.example/agentstore/corpus/attest"
)

// usdcDecimals are those of every amount of a till, which content.FormatUSDC writes.
const usdcDecimals = 6

// bindAnswer writes a delivery as it is kept, with the receipt that binds what stands before it.
func (t *Till) bindAnswer(p *Purchase, d *Delivery) ([]byte, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return attest.PutDelivery(body, func(bound []byte) (string, error) { return t.Bind(p, "application/json", bound) })
}

// Bind signs that a body answered the payment of a purchase (attest.Delivery), by the key that is
// in force now. Of JSON it is the part that is bound.
func (t *Till) Bind(p *Purchase, contentType string, body []byte) (string, error) {
	offer, err := t.offerOf(p)
	if err != nil {
		return "", err
	}
	key := t.signer()
	d := attest.Delivery{Amount: fmt.Sprint(p.Amount), Asset: p.Payment.Asset, Decimals: usdcDecimals,
		IssuedAt: t.cfg.Now().Unix(), Network: p.Payment.Network, Payer: p.Payment.Payer,
		ResourceURL: t.cfg.BaseURL + offer.Path, SettledAt: p.SettledAt().Unix(), Transaction: p.paidIn()}
	if t.cfg.KeyPlace != nil {
		d.KeyLog = t.cfg.KeyPlace(key.KID())
	}
	d.Bind(contentType, body)
	jws, err := attest.SignDelivery(key, t.KeyURL(key), d)
	if err != nil {
		return "", fmt.Errorf("signing what was delivered for %s: %w", p.ID, err)
	}
	return jws, nil
}
