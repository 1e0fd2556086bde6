package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxJWS is the longest compact JWS that is opened, in characters.
const MaxJWS = 9000

// ErrJWS is returned for anything that is not a well-formed compact JWS of the
// kind accepted here.
var ErrJWS = errors.New("not an acceptable compact JWS")

// ErrJWSSignature is returned when a well-formed JWS is not signed by the key
// its kid names.
var ErrJWSSignature = errors.New("JWS signature does not verify")

type jwsHeader struct {
	Alg string `json:"alg"`
	KID string `json:"kid"`
}

// SignJWS returns the compact JWS (RFC 7515, RFC 8037) of payload. The
// protected header is exactly {"alg":"EdDSA","kid":kid}, in that order; kid is
// a DID URL (see DIDURL).
func SignJWS(k *Key, kid string, payload []byte) (string, error) {
	header, err := Canonical(jwsHeader{Alg: "EdDSA", KID: kid})
	if err != nil {
		return "", fmt.Errorf("signing JWS: %w", err)
	}
	b64 := base64.RawURLEncoding
	n := b64.EncodedLen(len(header)) + 1 + b64.EncodedLen(len(payload))
	out := make([]byte, 0, n+1+b64.EncodedLen(ed25519.SignatureSize))
	out = b64.AppendEncode(out, header)
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

// Opened is a JWS whose signature was verified.
type Opened struct {
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
// errors are ErrJWS, ErrJWSSignature, or what resolve returned.
func OpenJWS(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Opened, error) {
	j, err := ParseJWS(compact)
	if err != nil {
		return Opened{}, err
	}
	pub, err := resolve(j.KID)
	if err != nil {
		return Opened{}, fmt.Errorf("opening JWS: finding the key: %w", err)
	}
	if j.Alg != "EdDSA" && j.Alg != "Ed25519" {
		return Opened{}, fmt.Errorf("%w: algorithm %q", ErrJWS, j.Alg)
	}
	// crypto/ed25519 refuses a signature whose second half is not below the
	// group order (RFC 8032, section 5.1.7), so none has a twin.
	if !Verify(pub, []byte(j.SigningInput), j.Signature) {
		return Opened{}, ErrJWSSignature
	}
	return Opened{KID: j.KID, Payload: j.Payload}, nil
}

// JWS is a compact JWS taken apart, not verified.
type JWS struct {
	Alg, KID     string
	Header       []byte // JSON
	Payload      []byte
	Signature    []byte
	SigningInput string // header and payload as they were signed
}

// ParseJWS takes a compact JWS apart with the strictness of OpenJWS, but for
// any algorithm except none. It is for those who judge the shape of other
// people's signatures; nothing in the result is verified.
func ParseJWS(compact string) (JWS, error) {
	if len(compact) > MaxJWS {
		return JWS{}, fmt.Errorf("%w: longer than %d characters", ErrJWS, MaxJWS)
	}
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return JWS{}, fmt.Errorf("%w: %d parts instead of 3", ErrJWS, len(parts))
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := decodeBase64URL(p)
		if err != nil {
			return JWS{}, fmt.Errorf("%w: part %d: %w", ErrJWS, i+1, err)
		}
		raw[i] = b
	}
	j := JWS{
		Header: raw[0], Payload: raw[1], Signature: raw[2],
		SigningInput: compact[:len(parts[0])+1+len(parts[1])],
	}
	var header map[string]jsontext.Value
	if err := json.Unmarshal(j.Header, &header); err != nil || header == nil {
		return JWS{}, fmt.Errorf("%w: the header is not a JSON object: %w", ErrJWS, err)
	}
	for _, name := range []string{"crit", "b64"} {
		if _, ok := header[name]; ok {
			return JWS{}, fmt.Errorf("%w: the header asks for %s", ErrJWS, name)
		}
	}
	for name, into := range map[string]*string{"alg": &j.Alg, "kid": &j.KID} {
		if header[name].Kind() != '"' {
			return JWS{}, fmt.Errorf("%w: the header has no %s", ErrJWS, name)
		}
		if err := json.Unmarshal(header[name], into); err != nil {
			return JWS{}, fmt.Errorf("%w: header %s: %w", ErrJWS, name, err)
		}
	}
	if strings.EqualFold(j.Alg, "none") || j.Alg == "" || j.KID == "" {
		return JWS{}, fmt.Errorf("%w: algorithm %q, kid %q", ErrJWS, j.Alg, j.KID)
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

// OpenOffer verifies a signed offer (see OpenJWS) and reads its payload, in
// which unknown and missing fields are refused.
func OpenOffer(compact string, resolve func(kid string) (ed25519.PublicKey, error)) (Offer, error) {
	j, err := OpenJWS(compact, resolve)
	if err != nil {
		return Offer{}, err
	}
	return ParseOffer(j.Payload)
}

// OpenReceipt verifies a signed receipt (see OpenJWS) and reads its payload, in
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
	if err := parsePayload(payload, &o); err != nil {
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
	if o.ValidUntil < 0 {
		return Offer{}, fmt.Errorf("parsing offer: validUntil %d", o.ValidUntil)
	}
	return o, nil
}

// ParseReceipt reads a receipt's payload strictly.
func ParseReceipt(payload []byte) (Receipt, error) {
	var r Receipt
	if err := parsePayload(payload, &r); err != nil {
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
	if r.IssuedAt <= 0 {
		return Receipt{}, fmt.Errorf("parsing receipt: issuedAt %d", r.IssuedAt)
	}
	return r, nil
}

func parsePayload(payload []byte, v any) error {
	if err := json.Unmarshal(payload, v, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	return checkNumbers(payload, integersOnly)
}
