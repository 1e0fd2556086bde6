package attest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Certificate is what a purchase leaves behind: 25 fields whose names and
// order are fixed for ever, because the signed bytes are the canonical JSON of
// those that are present, in this order. An empty field is absent. Amounts are
// decimal strings in USDC.
type Certificate struct {
	CertID           string `json:"cert_id,omitzero"` // cert_ and 20 characters of base32
	Item             string `json:"item,omitzero"`
	PatronNumber     int64  `json:"patron_number,omitzero"` // sequential from 1
	Date             string `json:"date,omitzero"`          // block time, RFC 3339 UTC, or a bare date
	Name             string `json:"name,omitzero"`
	TipUSDC          string `json:"tip_usdc,omitzero"`
	Note             string `json:"note,omitzero"`
	Win              string `json:"win,omitzero"`
	Tag              string `json:"tag,omitzero"`
	Attests          string `json:"attests,omitzero"`
	MadeBy           string `json:"made_by,omitzero"`
	PaidUSDC         string `json:"paid_usdc,omitzero"` // the total settled, tip included
	Asset            string `json:"asset,omitzero"`
	Network          string `json:"network,omitzero"` // CAIP-2
	Payer            string `json:"payer,omitzero"`   // the paying wallet
	SettlementTx     string `json:"settlement_tx,omitzero"`
	CrossRef         string `json:"cross_ref,omitzero"`
	Purpose          string `json:"purpose,omitzero"`
	FromTheStore     string `json:"from_the_store,omitzero"`
	MandateID        string `json:"mandate_id,omitzero"`
	Saw              string `json:"saw,omitzero"`
	SettledVia       string `json:"settled_via,omitzero"`
	TradePartner     string `json:"trade_partner,omitzero"`
	TradePriceUSD    string `json:"trade_price_usd,omitzero"`
	TradeInstruction string `json:"trade_instruction,omitzero"`
}

func (c Certificate) check() error {
	switch {
	case c.CertID == "" || c.Item == "" || c.Date == "":
		return errors.New("checking certificate: cert_id, item and date must be present")
	case c.PatronNumber < 0:
		return fmt.Errorf("checking certificate: patron number %d", c.PatronNumber)
	case !isMoment(c.Date):
		return fmt.Errorf("checking certificate: %q is neither a date nor an RFC 3339 time in UTC", c.Date)
	}
	for name, s := range map[string]string{"tip_usdc": c.TipUSDC, "paid_usdc": c.PaidUSDC,
		"trade_price_usd": c.TradePriceUSD} {
		if s != "" && !isDecimal(s) {
			return fmt.Errorf("checking certificate: %s %q is not a decimal amount", name, s)
		}
	}
	return nil
}

// paymentFieldsSince is the first date whose certificates carry the payment
// fields (paid_usdc, asset, network, payer, settlement_tx).
const paymentFieldsSince = "2026-07-31"

// PredatesPayment reports whether the certificate was issued before
// certificates carried the payment fields, so that their absence is no defect.
func (c Certificate) PredatesPayment() bool {
	return len(c.Date) >= len(time.DateOnly) && c.Date[:len(time.DateOnly)] < paymentFieldsSince
}

// ParseCertificate reads a signed payload. Unknown or duplicate fields and
// every spelling but the canonical one are refused.
func ParseCertificate(payload []byte) (Certificate, error) {
	var c Certificate
	if err := ParseCanonical(payload, &c); err != nil {
		return Certificate{}, fmt.Errorf("parsing certificate: %w", err)
	}
	return c, c.check()
}

// Proof is the signature part of a signed artifact. It carries the exact bytes
// that were signed, so that checking needs no re-encoding.
type Proof struct {
	Signature       Hex      `json:"signature"`        // ed25519 over SignedPayload, 64 bytes
	PublicKey       Hex      `json:"public_key"`       // 32 bytes
	Algorithm       string   `json:"algorithm"`        // Algorithm
	SignedPayload   string   `json:"signed_payload"`   // canonical JSON in declared order
	SignatureCovers []string `json:"signature_covers"` // its field names, in order
	SignatureJCS    Hex      `json:"signature_jcs"`    // ed25519 over the RFC 8785 form of the same object
}

// SignPayload signs the canonical bytes of v, a struct, in both forms. Where they are the same
// bytes, so are their signatures (Ed25519 is deterministic, RFC 8032), and it signs once.
func SignPayload(k *Key, v any) (Proof, error) {
	payload, err := Canonical(v)
	if err != nil {
		return Proof{}, err
	}
	sorted, err := JCSBytes(payload)
	if err != nil {
		return Proof{}, err
	}
	covers, err := memberNames(payload)
	if err != nil {
		return Proof{}, err
	}
	signature := k.Sign(payload)
	jcs := signature
	if !bytes.Equal(sorted, payload) {
		jcs = k.Sign(sorted)
	}
	return Proof{
		Signature: signature, PublicKey: Hex(k.Public()), Algorithm: Algorithm,
		SignedPayload: string(payload), SignatureCovers: covers, SignatureJCS: jcs,
	}, nil
}

// Verify checks that pub made both signatures over the signed payload and that
// the other members of the proof say what they must.
func (p Proof) Verify(pub ed25519.PublicKey) error {
	payload := []byte(p.SignedPayload)
	if p.Algorithm != Algorithm {
		return fmt.Errorf("verifying signature: algorithm is %q, want %q", p.Algorithm, Algorithm)
	}
	if !slices.Equal(p.PublicKey, Hex(pub)) {
		return errors.New("verifying signature: made for another public key")
	}
	if !Verify(pub, payload, p.Signature) {
		return errors.New("verifying signature: it does not fit the signed payload")
	}
	sorted, err := JCSBytes(payload)
	if err != nil {
		return fmt.Errorf("verifying signature: %w", err)
	}
	if !Verify(pub, sorted, p.SignatureJCS) {
		return errors.New("verifying signature: signature_jcs does not fit the signed payload")
	}
	covers, err := memberNames(payload)
	if err != nil {
		return fmt.Errorf("verifying signature: %w", err)
	}
	if !slices.Equal(covers, p.SignatureCovers) {
		return errors.New("verifying signature: signature_covers does not list the signed fields")
	}
	return nil
}

// Signed is a certificate with its proof.
type Signed struct {
	Certificate Certificate `json:"certificate"`
	Proof
}

// Sign signs the certificate.
func (c Certificate) Sign(k *Key) (Signed, error) {
	if err := c.check(); err != nil {
		return Signed{}, err
	}
	p, err := SignPayload(k, c)
	if err != nil {
		return Signed{}, fmt.Errorf("signing certificate: %w", err)
	}
	return Signed{Certificate: c, Proof: p}, nil
}

// Verify checks the certificate against one public key, from the exact signed
// bytes, and that the certificate shown beside them is the one they spell.
func (s Signed) Verify(pub ed25519.PublicKey) error {
	if err := s.Proof.Verify(pub); err != nil {
		return err
	}
	c, err := ParseCertificate([]byte(s.SignedPayload))
	if err != nil {
		return err
	}
	if c != s.Certificate {
		return errors.New("verifying certificate: it is not the one that was signed")
	}
	return nil
}

// memberNames returns the names of a JSON object's members in their order.
func memberNames(object []byte) ([]string, error) {
	d := jsontext.NewDecoder(strings.NewReader(string(object)))
	t, err := d.ReadToken()
	if err != nil || t.Kind() != '{' {
		return nil, errors.New("reading member names: not a JSON object")
	}
	names := []string{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("reading member names: %w", err)
		}
		names = append(names, name.String())
		if err := d.SkipValue(); err != nil {
			return nil, fmt.Errorf("reading member names: %w", err)
		}
	}
	return names, nil
}

// isMoment accepts what may stand in a signed date: a date, or a time in UTC
// in whole seconds.
func isMoment(s string) bool {
	if isDate(s) {
		return true
	}
	t, err := time.Parse("2006-01-02T15:04:05Z", s)
	return err == nil && t.Format("2006-01-02T15:04:05Z") == s
}

// isDecimal accepts a plain amount: digits, and after a point at most six more.
func isDecimal(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	return digits(whole) && (whole == "0" || whole[0] != '0') && (!point || digits(fraction) && len(fraction) <= 6)
}
