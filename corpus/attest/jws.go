// This file makes and opens the compact JWS of signed offers and receipts (RFC 7515 and RFC 8037,
// x402 extension offer-receipt). It accepts one spelling of each.

package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
)

// MaxJWS is the longest compact JWS that is opened, in characters.
const MaxJWS = 9000

// ErrJWSForm is returned for anything that is not a well-formed compact JWS of the
// kind accepted here.
var ErrJWSForm = errors.New("not an acceptable compact JWS")

// ErrJWSSignature is returned when a well-formed JWS is not signed by the key
// its kid names.
var ErrJWSSignature = errors.New("JWS signature does not verify")

type header struct {
	Alg string `json:"alg"`
	KID string `json:"kid"`
}

// SignJWS returns the compact JWS (RFC 7515, RFC 8037) of payload. The
// protected header is exactly {"alg":"EdDSA","kid":kid}, in that order; kid is
// a DID URL (see attest.DIDURL).
func SignJWS(k *Key, kid string, payload []byte) (string, error) {
	protected, err := Canonical(header{Alg: "EdDSA", KID: kid})
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
	if len(out) > MaxJWS {
		return "", fmt.Errorf("signing JWS: %d characters, more than %d", len(out), MaxJWS)
	}
	return string(out), nil
}

// OpenedJWS is a JWS whose signature was verified.
type OpenedJWS struct {
	KID     string
	Payload []byte // the exact signed bytes
}

// OpenJWS verifies a compact JWS with the key that resolve finds for its kid
// and returns the exact payload bytes.
//
// It accepts one spelling per signature: three parts in unpadded base64url
// whose unused bits are zero. The header is strict JSON with alg EdDSA or
// Ed25519 and a kid; crit and b64 are refused because no extension is
// understood, and keys inside the header (jwk, x5c, jku) are never used. The
// errors are ErrForm, ErrSignature, or what resolve returned.
func OpenJWS(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (OpenedJWS, error) {
	j, err := ParseJWS(compact)
	if err != nil {
		return OpenedJWS{}, err
	}
	pub, err := resolve(j.KID)
	if err != nil {
		return OpenedJWS{}, fmt.Errorf("opening JWS: finding the key: %w", err)
	}
	if j.Alg != "EdDSA" && j.Alg != "Ed25519" {
		return OpenedJWS{}, fmt.Errorf("%w: algorithm %q", ErrJWSForm, j.Alg)
	}
	// crypto/ed25519 refuses a signature whose second half is not below the
	// group order (RFC 8032, section 5.1.7), so none has a twin.
	if !Verify(pub, []byte(j.SigningInput), j.Signature) {
		return OpenedJWS{}, ErrJWSSignature
	}
	return OpenedJWS{KID: j.KID, Payload: j.Payload}, nil
}

// JWS is a compact JWS taken apart, not verified.
type JWS struct {
	Alg, KID     string
	Header       []byte // JSON
	Payload      []byte
	Signature    []byte
	SigningInput string // header and payload as they were signed
}

// ParseJWS takes a compact JWS apart with the strictness of Open, but for
// any algorithm except none. It is for those who judge the shape of other
// people's signatures; nothing in the result is verified.
func ParseJWS(compact string) (JWS, error) {
	if len(compact) > MaxJWS {
		return JWS{}, fmt.Errorf("%w: longer than %d characters", ErrJWSForm, MaxJWS)
	}
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return JWS{}, fmt.Errorf("%w: %d parts instead of 3", ErrJWSForm, len(parts))
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := DecodeBase64URL(p)
		if err != nil {
			return JWS{}, fmt.Errorf("%w: part %d: %w", ErrJWSForm, i+1, err)
		}
		raw[i] = b
	}
	j := JWS{
		Header: raw[0], Payload: raw[1], Signature: raw[2],
		SigningInput: compact[:len(parts[0])+1+len(parts[1])],
	}
	var named map[string]jsontext.Value
	if err := json.Unmarshal(j.Header, &named); err != nil || named == nil {
		return JWS{}, fmt.Errorf("%w: the header is not a JSON object: %w", ErrJWSForm, err)
	}
	for _, name := range []string{"crit", "b64"} {
		if _, ok := named[name]; ok {
			return JWS{}, fmt.Errorf("%w: the header asks for %s", ErrJWSForm, name)
		}
	}
	for name, into := range map[string]*string{"alg": &j.Alg, "kid": &j.KID} {
		if named[name].Kind() != '"' {
			return JWS{}, fmt.Errorf("%w: the header has no %s", ErrJWSForm, name)
		}
		if err := json.Unmarshal(named[name], into); err != nil {
			return JWS{}, fmt.Errorf("%w: header %s: %w", ErrJWSForm, name, err)
		}
	}
	if strings.EqualFold(j.Alg, "none") || j.Alg == "" || j.KID == "" {
		return JWS{}, fmt.Errorf("%w: algorithm %q, kid %q", ErrJWSForm, j.Alg, j.KID)
	}
	return j, nil
}

// DecodeBase64URL takes the one spelling of each byte string: unpadded, unused
// bits zero, and no line breaks, which the standard decoder would skip.
func DecodeBase64URL(s string) ([]byte, error) {
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
func SignOffer(k *Key, kid string, o Offer) (string, error) { return signSorted(k, kid, o) }

// SignReceipt returns the compact JWS of a receipt, its payload in RFC 8785 form.
func SignReceipt(k *Key, kid string, r Receipt) (string, error) { return signSorted(k, kid, r) }

func signSorted(k *Key, kid string, v any) (string, error) {
	payload, err := Canonical(v)
	if err != nil {
		return "", fmt.Errorf("signing JWS: %w", err)
	}
	return SignJWS(k, kid, payload)
}

// OpenOffer verifies a signed offer (see Open) and reads its payload, in
// which unknown and missing fields are refused.
func OpenOffer(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Offer, error) {
	j, err := OpenJWS(compact, resolve)
	if err != nil {
		return Offer{}, err
	}
	return ParseOffer(j.Payload)
}

// OpenReceipt verifies a signed receipt (see Open) and reads its payload, in
// which unknown and missing fields are refused.
func OpenReceipt(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Receipt, error) {
	j, err := OpenJWS(compact, resolve)
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
	if o.ValidUntil < 0 || o.ValidUntil > MaxInteger {
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
	if r.IssuedAt <= 0 || r.IssuedAt > MaxInteger {
		return Receipt{}, fmt.Errorf("parsing receipt: issuedAt %d", r.IssuedAt)
	}
	return r, nil
}
