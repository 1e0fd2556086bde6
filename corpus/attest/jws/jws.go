// Package jws makes and opens the compact JWS of signed offers and receipts (RFC 7515 and RFC 8037,
// x402 extension offer-receipt). It accepts one spelling of each.
package jws

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// Max is the longest compact JWS that is opened, in characters.
const Max = 9000

// ErrForm is returned for anything that is not a well-formed compact JWS of the
// kind accepted here.
var ErrForm = errors.New("not an acceptable compact JWS")

// ErrSignature is returned when a well-formed JWS is not signed by the key
// its kid names.
var ErrSignature = errors.New("JWS signature does not verify")

type header struct {
	Alg string `json:"alg"`
	KID string `json:"kid"`
}

// Sign returns the compact JWS (RFC 7515, RFC 8037) of payload. The
// protected header is exactly {"alg":"EdDSA","kid":kid}, in that order; kid is
// a DID URL (see attest.DIDURL).
func Sign(k *attest.Key, kid string, payload []byte) (string, error) {
	protected, err := attest.Canonical(header{Alg: "EdDSA", KID: kid})
	if err != nil {
		return "", fmt.Errorf("signing JWS: %w", err)
	}
	b64 := base64.RawURLEncoding
	n := b64.EncodedLen(len(protected)) + 1 + b64.EncodedLen(len(payload))
	out := make([]byte, 0, n+1+b64.EncodedLen(ed25519.SignatureSize))
	out = b64.AppendEncode(out, protected)
	out = append(out, '.')
	out = b64.AppendEncode(out, payload)
	signature := k.Sign(out)
	out = append(out, '.')
	out = b64.AppendEncode(out, signature)
	if len(out) > Max {
		return "", fmt.Errorf("signing JWS: %d characters, more than %d", len(out), Max)
	}
	return string(out), nil
}

// Opened is a JWS whose signature was verified.
type Opened struct {
	KID     string
	Payload []byte // the exact signed bytes
}

// Open verifies a compact JWS with the key that resolve finds for its kid
// and returns the exact payload bytes.
//
// It accepts one spelling per signature: three parts in unpadded base64url
// whose unused bits are zero. The header is strict JSON with alg EdDSA or
// Ed25519 and a kid; crit and b64 are refused because no extension is
// understood, and keys inside the header (jwk, x5c, jku) are never used. The
// errors are ErrForm, ErrSignature, or what resolve returned.
func Open(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Opened, error) {
	j, err := Parse(compact)
	if err != nil {
		return Opened{}, err
	}
	pub, err := resolve(j.KID)
	if err != nil {
		return Opened{}, fmt.Errorf("opening JWS: finding the key: %w", err)
	}
	if j.Alg != "EdDSA" && j.Alg != "Ed25519" {
		return Opened{}, fmt.Errorf("%w: algorithm %q", ErrForm, j.Alg)
	}
	// crypto/ed25519 refuses a signature whose second half is not below the
	// group order (RFC 8032, section 5.1.7), so none has a twin.
	if !attest.Verify(pub, []byte(j.SigningInput), j.Signature) {
		return Opened{}, ErrSignature
	}
	return Opened{KID: j.KID, Payload: j.Payload}, nil
}

// Token is a compact JWS taken apart, not verified.
type Token struct {
	Alg, KID     string
	Header       []byte // JSON
	Payload      []byte
	Signature    []byte
	SigningInput string // header and payload as they were signed
}

// Parse takes a compact JWS apart with the strictness of Open, but for
// any algorithm except none. It is for those who judge the shape of other
// people's signatures; nothing in the result is verified.
func Parse(compact string) (Token, error) {
	if len(compact) > Max {
		return Token{}, fmt.Errorf("%w: longer than %d characters", ErrForm, Max)
	}
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return Token{}, fmt.Errorf("%w: %d parts instead of 3", ErrForm, len(parts))
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := decodeBase64URL(p)
		if err != nil {
			return Token{}, fmt.Errorf("%w: part %d: %w", ErrForm, i+1, err)
		}
		raw[i] = b
	}
	j := Token{
		Header: raw[0], Payload: raw[1], Signature: raw[2],
		SigningInput: compact[:len(parts[0])+1+len(parts[1])],
	}
	var named map[string]jsontext.Value
	if err := json.Unmarshal(j.Header, &named); err != nil || named == nil {
		return Token{}, fmt.Errorf("%w: the header is not a JSON object: %w", ErrForm, err)
	}
	for _, name := range []string{"crit", "b64"} {
		if _, ok := named[name]; ok {
			return Token{}, fmt.Errorf("%w: the header asks for %s", ErrForm, name)
		}
	}
	for name, into := range map[string]*string{"alg": &j.Alg, "kid": &j.KID} {
		if named[name].Kind() != '"' {
			return Token{}, fmt.Errorf("%w: the header has no %s", ErrForm, name)
		}
		if err := json.Unmarshal(named[name], into); err != nil {
			return Token{}, fmt.Errorf("%w: header %s: %w", ErrForm, name, err)
		}
	}
	if strings.EqualFold(j.Alg, "none") || j.Alg == "" || j.KID == "" {
		return Token{}, fmt.Errorf("%w: algorithm %q, kid %q", ErrForm, j.Alg, j.KID)
	}
	return j, nil
}

// decodeBase64URL takes the one spelling of each byte string: unpadded, unused
// bits zero, and no line breaks, which the standard decoder would skip.
func decodeBase64URL(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("base64url with a line break")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("decoding base64url: %w", err)
	}
	return b, nil
}

// Offer is the payload of a signed offer (x402 extension offer-receipt). The
// fields stand in the order of RFC 8785, so that declared order is that form.
type Offer struct {
	Amount      string `json:"amount"` // atomic units
	Asset       string `json:"asset"`
	Network     string `json:"network"` // CAIP-2
	PayTo       string `json:"payTo"`
	ResourceURL string `json:"resourceUrl"`
	Scheme      string `json:"scheme"`
	ValidUntil  int64  `json:"validUntil,omitzero"` // Unix seconds
	Version     int    `json:"version"`             // 1
}

// Receipt is the payload of a signed receipt (x402 extension offer-receipt),
// its fields in the order of RFC 8785 too.
type Receipt struct {
	IssuedAt    int64  `json:"issuedAt"` // Unix seconds
	Network     string `json:"network"`  // CAIP-2
	Payer       string `json:"payer"`
	ResourceURL string `json:"resourceUrl"`
	Transaction string `json:"transaction,omitzero"`
	Version     int    `json:"version"` // 1
}

// SignOffer returns the compact JWS of an offer, its payload in RFC 8785 form.
func SignOffer(k *attest.Key, kid string, o Offer) (string, error) { return signSorted(k, kid, o) }

// SignReceipt returns the compact JWS of a receipt, its payload in RFC 8785 form.
func SignReceipt(k *attest.Key, kid string, r Receipt) (string, error) { return signSorted(k, kid, r) }

func signSorted(k *attest.Key, kid string, v any) (string, error) {
	payload, err := attest.Canonical(v)
	if err != nil {
		return "", fmt.Errorf("signing JWS: %w", err)
	}
	return Sign(k, kid, payload)
}

// OpenOffer verifies a signed offer (see Open) and reads its payload, in
// which unknown and missing fields are refused.
func OpenOffer(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Offer, error) {
	j, err := Open(compact, resolve)
	if err != nil {
		return Offer{}, err
	}
	return ParseOffer(j.Payload)
}

// OpenReceipt verifies a signed receipt (see Open) and reads its payload, in
// which unknown and missing fields are refused.
func OpenReceipt(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Receipt, error) {
	j, err := Open(compact, resolve)
	if err != nil {
		return Receipt{}, err
	}
	return ParseReceipt(j.Payload)
}

// ParseOffer reads an offer's payload strictly.
func ParseOffer(payload []byte) (Offer, error) {
	var o Offer
	if err := json.Unmarshal(payload, &o, json.RejectUnknownMembers(true)); err != nil {
		return Offer{}, fmt.Errorf("parsing offer: %w", err)
	}
	if o.Version != 1 {
		return Offer{}, fmt.Errorf("parsing offer: version %d", o.Version)
	}
	for _, f := range [][2]string{{"resourceUrl", o.ResourceURL}, {"scheme", o.Scheme}, {"network", o.Network},
		{"asset", o.Asset}, {"payTo", o.PayTo}, {"amount", o.Amount}} {
		if f[1] == "" {
			return Offer{}, fmt.Errorf("parsing offer: no %s", f[0])
		}
	}
	if o.ValidUntil < 0 || o.ValidUntil > attest.MaxInteger {
		return Offer{}, fmt.Errorf("parsing offer: validUntil %d", o.ValidUntil)
	}
	return o, nil
}

// ParseReceipt reads a receipt's payload strictly.
func ParseReceipt(payload []byte) (Receipt, error) {
	var r Receipt
	if err := json.Unmarshal(payload, &r, json.RejectUnknownMembers(true)); err != nil {
		return Receipt{}, fmt.Errorf("parsing receipt: %w", err)
	}
	if r.Version != 1 {
		return Receipt{}, fmt.Errorf("parsing receipt: version %d", r.Version)
	}
	for _, f := range [][2]string{{"network", r.Network}, {"resourceUrl", r.ResourceURL}, {"payer", r.Payer}} {
		if f[1] == "" {
			return Receipt{}, fmt.Errorf("parsing receipt: no %s", f[0])
		}
	}
	if r.IssuedAt <= 0 || r.IssuedAt > attest.MaxInteger {
		return Receipt{}, fmt.Errorf("parsing receipt: issuedAt %d", r.IssuedAt)
	}
	return r, nil
}
