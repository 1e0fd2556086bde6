package attest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fullCertificate() Certificate {
	var c Certificate
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String {
			v.Field(i).SetString("value of " + v.Type().Field(i).Name + " <&> é\n\"")
		}
	}
	c.CertID, c.Date, c.PatronNumber = "cert_abcdefghijklmnopqrst", "2026-11-20T10:11:12Z", 7
	c.TipUSDC, c.PaidUSDC, c.TradePriceUSD = "0", "0.500000", "12.5"
	return c
}

func TestCertificateFieldsAreTheSpecifiedOnes(t *testing.T) {
	want := strings.Fields(`cert_id item patron_number date name tip_usdc note win tag attests made_by paid_usdc asset
		network payer settlement_tx cross_ref purpose from_the_store mandate_id saw settled_via trade_partner
		trade_price_usd trade_instruction`)
	if len(want) != 25 {
		t.Fatal("miscounted")
	}
	s := must[Signed](t)(fullCertificate().Sign(testKey(1)))
	if diff := cmp.Diff(want, s.SignatureCovers); diff != "" {
		t.Errorf("covered (-want +got):\n%s", diff)
	}
}

func TestSignedPayloadIsExact(t *testing.T) {
	c := Certificate{CertID: "cert_x", Item: "hello", Date: "2026-11-20", PatronNumber: 1, Payer: "0xé<",
		PaidUSDC: "0.5"}
	s := must[Signed](t)(c.Sign(testKey(1)))
	const want = `{"cert_id":"cert_x","item":"hello","patron_number":1,"date":"2026-11-20","paid_usdc":"0.5","payer":"0xé<"}`
	if s.SignedPayload != want {
		t.Errorf("payload = %s, want %s", s.SignedPayload, want)
	}
	if !Verify(testKey(1).Public(), []byte(want), s.Signature) {
		t.Error("the signature is not over the payload")
	}
	const sorted = `{"cert_id":"cert_x","date":"2026-11-20","item":"hello","paid_usdc":"0.5","patron_number":1,"payer":"0xé<"}`
	if !Verify(testKey(1).Public(), []byte(sorted), s.SignatureJCS) {
		t.Error("the second signature is not over the RFC 8785 form")
	}
	if b := must[[]byte](t)(Canonical(c)); string(b) != want {
		t.Errorf("canonical bytes = %s", b)
	}
}

func TestEveryChangedByteOfACertificateIsRefused(t *testing.T) {
	t.Parallel()
	key := testKey(1)
	c := Certificate{CertID: "cert_x", Item: "hello", Date: "2026-11-20", PatronNumber: 12, Note: "é"}
	raw := must[[]byte](t)(Canonical(must[Signed](t)(c.Sign(key))))
	everyByteChange(t, raw, func(b []byte) bool {
		var s Signed
		return ParseCanonical(b, &s) == nil && s.Verify(key.Public()) == nil
	})
}

func TestProofMembersAreChecked(t *testing.T) {
	key := testKey(1)
	good := must[Signed](t)(fullCertificate().Sign(key))
	for name, change := range map[string]func(*Signed){
		"algorithm":   func(s *Signed) { s.Algorithm = "ed448" },
		"public key":  func(s *Signed) { s.PublicKey = Hex(testKey(2).Public()) },
		"jcs":         func(s *Signed) { s.SignatureJCS = s.Signature },
		"covers":      func(s *Signed) { s.SignatureCovers = s.SignatureCovers[1:] },
		"certificate": func(s *Signed) { s.Certificate.Note = "" },
		"payload":     func(s *Signed) { s.SignedPayload += " " },
	} {
		s := good
		s.SignatureCovers = slices.Clone(good.SignatureCovers)
		change(&s)
		if s.Verify(key.Public()) == nil {
			t.Errorf("another %s is accepted", name)
		}
	}
	if err := good.Verify(nil); err == nil {
		t.Error("no key verifies")
	}
}

func TestCertificateShape(t *testing.T) {
	for name, change := range map[string]func(*Certificate){
		"no id": func(c *Certificate) { c.CertID = "" }, "no item": func(c *Certificate) { c.Item = "" },
		"no date": func(c *Certificate) { c.Date = "" }, "bad date": func(c *Certificate) { c.Date = "2026-02-30" },
		"local time":   func(c *Certificate) { c.Date = "2026-02-20T10:00:00+01:00" },
		"fraction":     func(c *Certificate) { c.Date = "2026-02-20T10:00:00.5Z" },
		"negative":     func(c *Certificate) { c.PatronNumber = -1 },
		"large number": func(c *Certificate) { c.PatronNumber = MaxInteger + 1 },
		"amount":       func(c *Certificate) { c.PaidUSDC = "1e3" },
		"seven places": func(c *Certificate) { c.TipUSDC = "0.1234567" },
		"leading zero": func(c *Certificate) { c.TradePriceUSD = "01" },
		"bare point":   func(c *Certificate) { c.PaidUSDC = "1." },
		"bad text":     func(c *Certificate) { c.Note = "\xff" },
	} {
		c := fullCertificate()
		change(&c)
		if _, err := c.Sign(testKey(1)); err == nil {
			t.Errorf("%s is signed", name)
		}
	}
	for date, want := range map[string]bool{"2026-07-30": true, "2026-07-30T23:59:59Z": true, "2026-07-31": false,
		"2026-07-31T00:00:00Z": false, "": false} {
		if got := (Certificate{Date: date}).PredatesPayment(); got != want {
			t.Errorf("%s predates payment fields: %v", date, got)
		}
	}
}

func FuzzParseCertificate(f *testing.F) {
	f.Add(must[[]byte](f)(Canonical(fullCertificate())))
	f.Add([]byte(`{"cert_id":"c","item":"i","date":"2026-01-01"}`))
	f.Add([]byte(`{"item":"i","cert_id":"c","date":"2026-01-01"}`))
	f.Add([]byte(`{"cert_id":"c","item":"\u0069","date":"2026-01-01"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseCertificate(raw)
		if err != nil {
			return
		}
		if again, err := Canonical(c); err != nil || string(again) != string(raw) {
			t.Errorf("%q is written %q, %v", raw, again, err)
		}
	})
}

// network and payer are the two halves of a CAIP-10 account, in any namespace: an address is signed
// as it is spelled, and one that differs in case alone is another.
func TestPayersOfEachNamespace(t *testing.T) {
	for network, payer := range map[string]string{
		"eip155:8453": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
	} {
		c := Certificate{CertID: "cert_x", Item: "hello", Date: "2026-11-22", PatronNumber: 1, Network: network,
			Payer: payer, SettlementTx: "tx"}
		s := must[Signed](t)(c.Sign(testKey(1)))
		if err := s.Verify(testKey(1).Public()); err != nil {
			t.Errorf("%s: %v", network, err)
		}
		s.Certificate.Payer = strings.ToLower(payer)
		if s.Verify(testKey(1).Public()) == nil {
			t.Errorf("%s: a payer in lower case is taken for the one that was signed", network)
		}
	}
}
