package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/vectors"
	"store.example/agentstore/templates"
)

// specimen is a certificate with fixed values, signed by the specimen key on
// every site alike: the vectors of the format, and proof of nothing.
func specimen() (attest.Signed, error) {
	return attest.Certificate{
		CertID: "cert_specimenaaaaaaaaaaaa", Item: "hello", PatronNumber: 1, Date: "2026-11-20T09:00:00Z",
		Name: "A. Specimen", Note: "Good morning. Mind the step.", Attests: "Nothing: this is a specimen.",
		PaidUSDC: "0.5", Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", Network: "eip155:8453",
		Payer:        "0x000000000000000000000000000000000000dEaD",
		SettlementTx: "0x0000000000000000000000000000000000000000000000000000000000000000",
		Purpose:      "To be checked by programs.", SettledVia: "self",
	}.Sign(attest.SpecimenKey())
}

func renderSpec(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "spec/store-attestation-v1", made)
	if err != nil {
		return nil, err
	}
	signed, err := specimen()
	if err != nil {
		return nil, fmt.Errorf("signing the specimen certificate: %w", err)
	}
	sorted, err := attest.JCSBytes([]byte(signed.SignedPayload))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(signed.SignedPayload))
	paper := templates.CertificatePaper(signed, "Specimen", "")
	paper.Word, paper.Mark = "specimen", "unknown"
	paper.DoesNotProve = "Anything at all. A real one proves that the store issued it with those fields on that date."
	v := templates.SpecView{
		Chrome: s.chrome, Page: page, Body: body, Specimen: paper,
		Vectors: []templates.Vector{
			{Name: "Public key", Value: signed.PublicKey.String()},
			{Name: "Key id", Value: attest.KID(attest.SpecimenKey().Public())},
			{Name: "signed_payload, and its SHA-256", Value: signed.SignedPayload + "\n\n" +
				hex.EncodeToString(sum[:])},
			{Name: "signature", Value: signed.Signature.String()},
			{Name: "The RFC 8785 form of the same object", Value: string(sorted)},
			{Name: "signature_jcs", Value: signed.SignatureJCS.String()},
		},
	}
	return u.twin(&v, mediaType)
}

// The test vectors of store-corpus/v1, which are the same on every site: made once in a process.
var vectorFiles = sync.OnceValues(vectors.Files)

// vectorUnits streams the vectors but their index.
func vectorUnits(*Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		files, err := vectorFiles()
		if err != nil {
			yield(Unit{}, err)
			return
		}
		for _, f := range files {
			key := strings.TrimSuffix(f.Path, ".json")
			if key != "index" && !yield(Unit{Key: key, value: f.Body, Made: func(d *Digester) {
				d.digest(sha256.Sum256(f.Body))
			}}, nil) {
				return
			}
		}
	}
}

// vectorIndex streams their index.
func vectorIndex(*Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		files, err := vectorFiles()
		if err == nil && len(files) == 0 {
			err = errors.New("there are no vectors")
		}
		if err != nil {
			yield(Unit{}, err)
			return
		}
		body := files[0].Body
		yield(Unit{value: body, Made: func(d *Digester) { d.digest(attest.Digest(sha256.Sum256(body))) }}, nil)
	}
}
