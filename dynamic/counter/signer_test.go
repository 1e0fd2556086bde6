package counter

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

func TestWhoSignedACertificate(t *testing.T) {
	ring, identity := attest.SpecimenRing(), attest.SpecimenKey()
	sign := func(k *attest.Key) attest.Signed {
		s, err := attest.Certificate{CertID: "cert_x", Item: "hello", Date: "2026-11-20", PatronNumber: 7}.Sign(k)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	by, err := signerOf(sign(identity), ring)
	if err != nil || by.Key != identity.KID() || by.Status != attest.SignerCurrent ||
		by.Purpose != attest.PurposeIdentity {
		t.Errorf("signer %+v, %v", by, err)
	}
	stranger, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{9}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	ring, err = ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-12-01",
		Reason: "yearly"}, identity, stranger.Public())
	if err != nil {
		t.Fatal(err)
	}
	if by, err = signerOf(sign(identity), ring); err != nil || by.Status != attest.SignerRetired ||
		by.RetiredOn != "2026-12-01" {
		t.Errorf("after the handover: %+v, %v", by, err)
	}
	for name, other := range map[string]*attest.Key{"a stranger": stranger,
		"the log key": attest.SpecimenKeyFor(attest.PurposeLog)} {
		if _, err := signerOf(sign(other), attest.SpecimenRing()); !errors.Is(err, attest.ErrUnknownKey) {
			t.Errorf("signed by %s: %v", name, err)
		}
	}
}

func TestWhatIsNotCovered(t *testing.T) {
	const payer = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
	s, err := attest.Certificate{CertID: "cert_x", Item: "hello", Date: "2026-11-20", PatronNumber: 7,
		Network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", Payer: payer, SettlementTx: "tx"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	got, err := notCovered(s.Proof, map[string]any{"cert_id": "cert_x", "item": "hello!", "patron_number": 7,
		"date": "2026-11-20", "badge_url": "/badges/7.svg", "note": "", "payer": strings.ToLower(payer)})
	if want := []string{"badge_url", "item", "note", "payer"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("not covered: %q, %v, want %q", got, err, want)
	}
	s.SignedPayload += " "
	if _, err := notCovered(s.Proof, nil); err == nil {
		t.Error("another payload is accepted")
	}
}
