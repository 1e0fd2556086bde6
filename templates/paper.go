package templates

import (
	"fmt"
	"html"
	"strings"

	"rsc.io/qr"

	"store.example/agentstore/corpus/attest"
)

// Paper is a signed artifact as it is shown: a sheet with its facts, the exact
// signed bytes, the signature and a QR code of the address that verifies it.
type Paper struct {
	// Kind is the word at the head, such as "Certificate"; ID names it.
	Kind, ID string
	// Issuer is the name of the store, Number the patron number, "" for none.
	Issuer, Number string
	// Word is the verdict in a word and Mark its class: good, bad or unknown.
	Word, Mark string
	Facts      []Fact
	// SignedPayload is the exact signed text.
	SignedPayload                   string
	Signature, PublicKey, Algorithm string
	// SignedBy says which published key it is, in words, and KID is the thumbprint of that key.
	SignedBy, KID string
	DoesNotProve  string
	VerifyURL     string
}

// QR is the code of the verify address as an inline SVG.
func (p Paper) QR() (Markup, error) {
	if p.VerifyURL == "" {
		return "", nil
	}
	return QR(p.VerifyURL, "QR code of "+p.VerifyURL)
}

// CertificatePaper lays out a signed certificate. Facts stand in the order in
// which they are signed.
func CertificatePaper(s attest.Signed, issuer, verifyURL string) Paper {
	c := s.Certificate
	p := Paper{
		Kind: "Certificate", ID: c.CertID, Issuer: issuer,
		SignedPayload: s.SignedPayload, Signature: s.Signature.String(),
		PublicKey: s.PublicKey.String(), Algorithm: s.Algorithm, VerifyURL: verifyURL,
	}
	if c.PatronNumber > 0 {
		p.Number = fmt.Sprint(c.PatronNumber)
	}
	add := func(name, value string, mono bool) {
		if value != "" {
			p.Facts = append(p.Facts, Fact{Name: name, Value: value, Mono: mono})
		}
	}
	usdc := func(s string) string {
		if s == "" {
			return ""
		}
		return s + " USDC"
	}
	add("Certificate", c.CertID, true)
	add("Item", c.Item, true)
	add("Patron number", p.Number, true)
	add("Date", c.Date, true)
	add("Name", c.Name, false)
	add("Tip", usdc(c.TipUSDC), true)
	add("Note", c.Note, false)
	add("Win", c.Win, false)
	add("Tag", c.Tag, false)
	add("Attests", c.Attests, false)
	add("Made by", c.MadeBy, false)
	add("Paid", usdc(c.PaidUSDC), true)
	add("Asset", c.Asset, true)
	add("Network", c.Network, true)
	add("Payer", c.Payer, true)
	add("Settlement", c.SettlementTx, true)
	add("Cross reference", c.CrossRef, false)
	add("Purpose", c.Purpose, false)
	add("Store that signed", c.FromTheStore, true)
	add("Mandate", c.MandateID, true)
	add("Saw", c.Saw, false)
	add("Settled via", c.SettledVia, false)
	add("Trade partner", c.TradePartner, false)
	add("Trade price", c.TradePriceUSD, true)
	add("Trade instruction", c.TradeInstruction, false)
	return p
}

// QR renders text as a QR code: an inline SVG of one path, with its title, on
// a quiet zone of four modules (ISO/IEC 18004, section 6.3.8).
func QR(text, title string) (Markup, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("encoding a QR code: %w", err)
	}
	const quiet = 4
	size := code.Size + 2*quiet
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" shape-rendering="crispEdges"><title>%s</title><path fill="#000" d="`,
		size, size, html.EscapeString(title))
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			if !code.Black(x, y) {
				continue
			}
			run := 1
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
			x += run
		}
	}
	b.WriteString(`"/></svg>`)
	return Markup(b.String()), nil
}

// CertificateView is the printable page of one artifact, which the server
// shows to browsers at /api/verify/{id}.
type CertificateView struct {
	Chrome *Chrome
	Page   Page
	// State is one of the State constants.
	State string
	// ID is what was asked for.
	ID string
	// Paper is nil for an unknown id.
	Paper *Paper
	// Says are sentences about the finding: retired key, missing payment
	// fields, why it was reversed.
	Says []string
	// NotCovered names displayed fields that the signature does not cover.
	NotCovered []string
	// SignatureJCS is the second signature, ArtifactHash the digest of the
	// signed payload, both in hex.
	SignatureJCS, ArtifactHash string
	// Drawing is what was sold, where it is a drawing.
	Drawing *Drawing
	// Findings are what checkers said, of a report.
	Findings []Reported
}

// The states of an artifact on its page.
const (
	StateValid     = "valid"      // the signature is good and a published key made it
	StateReversed  = "reversed"   // signed, but its payment was taken away by a reorganisation
	StateInvalid   = "invalid"    // the signature or the key does not hold
	StateUnknownID = "unknown_id" // nothing by this id was issued
)

// Verdict is the finding in a sentence.
func (v CertificateView) Verdict() string {
	switch v.State {
	case StateValid:
		return "The signature fits these bytes and was made by a key this store has published."
	case StateReversed:
		return "This was signed here, but the network has since taken its payment back. It is void and its number is " +
			"not used again."
	case StateUnknownID:
		return "Nothing was issued under this id. Nothing was charged for asking."
	default:
		return "The signature does not hold: do not rely on this."
	}
}

// Mark is the colour class of the verdict.
func (v CertificateView) Mark() string {
	switch v.State {
	case StateValid:
		return "good"
	case StateUnknownID:
		return "unknown"
	default:
		return "bad"
	}
}

// Word is the verdict in a word or two.
func (v CertificateView) Word() string { return strings.ReplaceAll(v.State, "_", " ") }

// RenderCertificate returns the page in HTML. Its style is inside it, so that
// a saved copy keeps its looks. It fills in the page's title and the paper's
// stamp from the state.
func RenderCertificate(v CertificateView) ([]byte, error) {
	v.Page.NoIndex = true
	if v.Page.Title == "" {
		v.Page.Title = "Verification of " + v.ID
	}
	if v.Paper != nil {
		p := *v.Paper
		p.Word, p.Mark = v.Word(), v.Mark()
		v.Paper = &p
	}
	return renderHTML("certificate.html", &v)
}
