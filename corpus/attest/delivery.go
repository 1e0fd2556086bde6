package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DeliveryType names the signed statement of what was delivered for a payment
// (/spec/delivery-receipt/v1). No receipt of the x402 extension has a member type.
const DeliveryType = "store-delivery/v1"

// DeliveryMember is the member of a JSON answer that holds its delivery receipt.
const DeliveryMember = "delivery_receipt"

// unboundMembers are those that may stand behind the delivery receipt of an answer. It binds none
// of them: the way back to the purchase, which has a secret, and what a repeat says otherwise.
var unboundMembers = []string{"recovery", "idempotent_replay", "first_served_at", "charged_now", "to_buy_another"}

// maxBound is the longest answer that is looked at, in bytes.
const maxBound = 4 << 20

// maxMoment is the end of the year 9999, the last that RFC 3339 can write, in Unix seconds.
const maxMoment = 253402300799

// ErrNotDelivered is returned for a body that is not the one a delivery receipt was signed for.
var ErrNotDelivered = errors.New("this is not what the delivery receipt was signed for")

// Delivery is the payload of a delivery receipt: which body answered which payment. Its fields
// stand in the order of RFC 8785.
type Delivery struct {
	Amount      string      `json:"amount"`             // the whole sum settled, atomic units
	Asset       string      `json:"asset"`              // the token's contract or mint
	Canonical   *BodyDigest `json:"canonical,omitzero"` // of the RFC 8785 form, of JSON that has one
	ContentType string      `json:"contentType"`        // without parameters
	Decimals    int         `json:"decimals"`           // of Amount
	IssuedAt    int64       `json:"issuedAt"`           // when it was signed, Unix seconds
	KeyLog      *KeyPlace   `json:"keyLog,omitzero"`    // nil where no log shows the key yet
	Network     string      `json:"network"`            // CAIP-2
	Payer       string      `json:"payer"`
	ResourceURL string      `json:"resourceUrl"`
	BodyDigest              // of the bytes
	SettledAt   int64       `json:"settledAt"`   // the time of the payment's block, Unix seconds
	Transaction string      `json:"transaction"` // "" of a voucher, which no transaction settles
	Type        string      `json:"type"`        // DeliveryType
}

// BodyDigest is a digest of a body, by the names of the proposal for x402 receipts of version 2.
type BodyDigest struct {
	Hash     string `json:"responseHash"`         // 0x and 64 digits of hex
	Alg      string `json:"responseHashAlg"`      // sha256
	Encoding string `json:"responseHashEncoding"` // raw | jcs
}

// The encodings of a BodyDigest.
const (
	BodyRaw = "raw" // the bytes as they are without a content coding
	BodyJCS = "jcs" // RFC 8785
)

// KeyPlace is where a store's log shows a key of its identity: the leaf of the event by which the
// key came in force, or leaf 0 for the first key of the log, which signed it.
type KeyPlace struct {
	EntrySHA256 Digest `json:"entrySha256"` // of the bytes of the leaf
	ID          string `json:"id"`          // for /api/verify/{id}
	Leaf        int64  `json:"leaf"`
	Origin      string `json:"origin"` // the log's name
}

func digestOf(body []byte, encoding string) BodyDigest {
	sum := sha256.Sum256(body)
	return BodyDigest{"0x" + hex.EncodeToString(sum[:]), "sha256", encoding}
}

// Bind says of a body that it is what was delivered. Of JSON it is the part that the receipt binds:
// the answer without DeliveryMember and what may stand behind it.
func (d *Delivery) Bind(contentType string, body []byte) {
	d.Type, d.ContentType, d.BodyDigest, d.Canonical = DeliveryType, contentType, digestOf(body, BodyRaw), nil
	if contentType != "application/json" {
		return
	}
	if sorted, err := JCSBytes(body); err == nil { // else it holds a number that readers would round
		digest := digestOf(sorted, BodyJCS)
		d.Canonical = &digest
	}
}

// SignDelivery returns the compact JWS of a delivery receipt.
func SignDelivery(k *Key, kid string, d Delivery) (string, error) { return signSorted(k, kid, d) }

// IsDelivery reports whether a text has the form of a delivery receipt. Nothing in it is verified.
func IsDelivery(compact string) bool {
	j, err := ParseJWS(compact)
	var d struct {
		Type string `json:"type"`
	}
	return err == nil && json.Unmarshal(j.Payload, &d) == nil && d.Type == DeliveryType
}

// OpenDelivery verifies a delivery receipt by the identity keys that resolve finds, and reads it.
func OpenDelivery(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Delivery, error) {
	j, err := OpenJWS(compact, resolve)
	if err != nil {
		return Delivery{}, err
	}
	return ParseDelivery(j.Payload)
}

// OpenDelivery verifies a delivery receipt by the keys of a ring: the key is of the host that sold,
// and in force when it signed.
func (r Ring) OpenDelivery(compact string) (Delivery, Signer, error) {
	j, err := ParseJWS(compact)
	if err != nil {
		return Delivery{}, Signer{}, err
	}
	d, err := ParseDelivery(j.Payload)
	if err != nil {
		return Delivery{}, Signer{}, err
	}
	u, err := url.Parse(d.ResourceURL)
	if err != nil {
		return Delivery{}, Signer{}, fmt.Errorf("parsing delivery receipt: %w", err)
	}
	if _, err := OpenJWS(compact, r.Resolver(u.Host)); err != nil {
		return Delivery{}, Signer{}, err
	}
	_, kid, _ := strings.Cut(j.KID, "#")
	by, _ := r.ByKID(kid)
	return d, by, by.InForce(time.Unix(d.IssuedAt, 0).UTC().Format(time.RFC3339))
}

// ParseDelivery reads the payload of a delivery receipt strictly.
func ParseDelivery(payload []byte) (Delivery, error) {
	var d Delivery
	if err := json.Unmarshal(payload, &d, json.RejectUnknownMembers(true)); err != nil {
		return Delivery{}, fmt.Errorf("parsing delivery receipt: %w", err)
	}
	fits := func(b BodyDigest, encoding string) bool {
		sum, ok := strings.CutPrefix(b.Hash, "0x")
		return ok && len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == "" && b.Alg == "sha256" &&
			b.Encoding == encoding
	}
	switch {
	case d.Type != DeliveryType:
		return Delivery{}, fmt.Errorf("parsing delivery receipt: its type is %.60q, not %q", d.Type, DeliveryType)
	case !fits(d.BodyDigest, BodyRaw) || d.Canonical != nil && !fits(*d.Canonical, BodyJCS):
		return Delivery{}, errors.New("parsing delivery receipt: it has no digest of this form")
	case slices.Contains([]string{d.Amount, d.Asset, d.ContentType, d.Network, d.Payer, d.ResourceURL}, ""):
		return Delivery{}, errors.New("parsing delivery receipt: a member is empty")
	case strings.Trim(d.Amount, "0123456789") != "" || d.Decimals < 0 || d.Decimals > 36:
		return Delivery{}, errors.New("parsing delivery receipt: amount and decimals are not whole numbers")
	case min(d.IssuedAt, d.SettledAt) <= 0 || max(d.IssuedAt, d.SettledAt) > maxMoment:
		return Delivery{}, errors.New("parsing delivery receipt: issuedAt and settledAt are not times")
	}
	if p := d.KeyLog; p != nil && (p.Leaf < 0 || p.Leaf > MaxInteger || p.ID == "" || p.Origin == "") {
		return Delivery{}, errors.New("parsing delivery receipt: keyLog names no leaf")
	}
	return d, nil
}

// DeliveryOf finds the delivery receipt in a JSON answer; "" for an answer that has none.
func DeliveryOf(answer []byte) (string, error) {
	members, err := answerMembers(answer)
	if err != nil || members[DeliveryMember] == nil {
		return "", err
	}
	var jws string
	if err := json.Unmarshal(members[DeliveryMember], &jws); err != nil {
		return "", fmt.Errorf("%s is not a text: %w", DeliveryMember, err)
	}
	return jws, nil
}

func answerMembers(answer []byte) (members map[string]jsontext.Value, err error) {
	if len(answer) > maxBound {
		return nil, fmt.Errorf("%d bytes, and an answer has at most %d", len(answer), maxBound)
	}
	if err = json.Unmarshal(answer, &members); err == nil && members == nil {
		err = errors.New("not an object")
	}
	return members, err
}

// Binds demands that a body is the one that was delivered, and says by which digest: BodyRaw, or
// BodyJCS for JSON that was written anew on its way. Of JSON it is the whole answer.
func (d Delivery) Binds(body []byte) (encoding string, err error) {
	if d.ContentType != "application/json" {
		if digestOf(body, BodyRaw) != d.BodyDigest {
			return "", ErrNotDelivered
		}
		return BodyRaw, nil
	}
	members, err := answerMembers(body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotDelivered, err)
	}
	delete(members, DeliveryMember)
	for _, name := range unboundMembers {
		delete(members, name)
	}
	// A member DeliveryMember of an object further in may stand before it, and none behind it.
	if at := bytes.LastIndex(body, []byte(`,"`+DeliveryMember+`":"`)); at >= 0 {
		bound, err := answerMembers(append(bytes.Clone(body[:at]), '}'))
		// What stands before is all that is bound, and what may stand behind stands there.
		if err == nil && slices.Equal(slices.Sorted(maps.Keys(bound)), slices.Sorted(maps.Keys(members))) &&
			digestOf(append(bytes.Clone(body[:at]), '}'), BodyRaw) == d.BodyDigest {
			return BodyRaw, nil
		}
	}
	if sorted, err := JCS(members); d.Canonical != nil && err == nil && digestOf(sorted, BodyJCS) == *d.Canonical {
		return BodyJCS, nil
	}
	return "", ErrNotDelivered
}

// Shows demands that a leaf of the log is the one that is named, and that it shows the key with
// this kid: as the one that signed it, or as the one to which a key event hands over.
func (p KeyPlace) Shows(entry []byte, kid string) error {
	if sum := sha256.Sum256(entry); Digest(sum) != p.EntrySHA256 {
		return fmt.Errorf("leaf %d of the log has another digest than keyLog says", p.Leaf)
	}
	var e struct {
		KID      string    `json:"kid"`
		Handover *Handover `json:"handover"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return fmt.Errorf("leaf %d of the log: %w", p.Leaf, err)
	}
	if h := e.Handover; h != nil && h.Purpose == PurposeIdentity && h.ToKID == kid && h.Verify() == nil {
		return nil
	}
	if p.Leaf != 0 || e.KID != kid {
		return fmt.Errorf("leaf %d of the log does not show the key %s", p.Leaf, kid)
	}
	return nil
}
