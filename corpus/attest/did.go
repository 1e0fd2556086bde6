package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"math/big"
	"strings"
)

// DID returns the did:web identifier of a host, which may carry a port:
// did:web:127.0.0.1%3A8402 for 127.0.0.1:8402.
func DID(baseHost string) string {
	return "did:web:" + strings.ReplaceAll(strings.ToLower(baseHost), ":", "%3A")
}

// DIDURL names one key of a host: did:web:host#thumbprint. This is the kid of
// every JWS the store makes.
func DIDURL(baseHost, kid string) string { return DID(baseHost) + "#" + kid }

// Service is one entry of a DID document's service list. Its ID is the bare
// fragment; the document gets the absolute form.
type Service struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Endpoint string `json:"serviceEndpoint"`
}

type jwk struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	X   string `json:"x"`
	KID string `json:"kid"`
	Alg string `json:"alg"`
}

type verificationMethod struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Controller string `json:"controller"`
	JWK        *jwk   `json:"publicKeyJwk,omitzero"`
	Multibase  string `json:"publicKeyMultibase,omitzero"`
}

type didDocument struct {
	Context         []string             `json:"@context"`
	ID              string               `json:"id"`
	Methods         []verificationMethod `json:"verificationMethod"`
	AssertionMethod []string             `json:"assertionMethod"`
	Authentication  []string             `json:"authentication"`
	Services        []Service            `json:"service,omitempty"`
}

// DIDDocument returns the bytes of /.well-known/did.json (DID 1.0, did:web).
// It lists every key of the ring, retired ones too, as JsonWebKey, and the
// identity key once more as Multikey. Only the identity key in force may
// assert and authenticate. All DID URLs in it are absolute.
func DIDDocument(baseHost string, ring Ring, services ...Service) ([]byte, error) {
	if err := ring.Check(); err != nil {
		return nil, err
	}
	did, identity := DID(baseHost), ring.Identity()
	doc := didDocument{
		Context: []string{
			"https://www.w3.org/ns/did/v1",
			"https://w3id.org/security/jwk/v1",
			"https://w3id.org/security/multikey/v1",
		},
		ID:              did,
		AssertionMethod: []string{DIDURL(baseHost, identity.KID)},
		Authentication:  []string{DIDURL(baseHost, identity.KID)},
	}
	add := func(k PublicKey) {
		doc.Methods = append(doc.Methods, verificationMethod{
			ID: DIDURL(baseHost, k.KID), Type: "JsonWebKey", Controller: did,
			JWK: &jwk{KTY: "OKP", CRV: "Ed25519", X: base64.RawURLEncoding.EncodeToString(k.Public), KID: k.KID,
				Alg: "EdDSA"},
		})
	}
	for _, k := range ring.Current {
		add(k)
	}
	doc.Methods = append(doc.Methods, verificationMethod{
		ID: DIDURL(baseHost, "multikey-"+identity.KID), Type: "Multikey", Controller: did,
		Multibase: multibase(ed25519.PublicKey(identity.Public)),
	})
	for _, k := range ring.Retired {
		add(k.PublicKey)
	}
	for _, s := range services {
		s.ID = DIDURL(baseHost, s.ID)
		doc.Services = append(doc.Services, s)
	}
	return indented(doc)
}

// AttestationFormat names the promise under which the store signs.
const AttestationFormat = "store-attestation/v1"

type signingKeyDocument struct {
	Format    string       `json:"format"`
	Algorithm string       `json:"algorithm"`
	PublicKey Hex          `json:"public_key"`
	KID       string       `json:"kid"`
	DID       string       `json:"did"`
	Since     string       `json:"since"`
	Specimen  bool         `json:"specimen,omitzero"`
	Retired   []RetiredKey `json:"retired"`
	OtherKeys []PublicKey  `json:"other_keys"`
	Handovers []Handover   `json:"handovers"`
	Walkers   []Walker     `json:"walkers,omitempty"`
}

// SigningKeyDocument returns the bytes of /.well-known/store-signing-key: the
// identity key in force in hexadecimal, its kid and DID, the retired keys, the
// keys for other purposes and the signed handovers. A specimen key says so.
func SigningKeyDocument(baseHost string, ring Ring) ([]byte, error) {
	if err := ring.Check(); err != nil {
		return nil, err
	}
	identity := ring.Identity()
	doc := signingKeyDocument{
		Format: AttestationFormat, Algorithm: Algorithm,
		PublicKey: identity.Public, KID: identity.KID, DID: DID(baseHost), Since: identity.Since,
		Specimen: IsSpecimen(ed25519.PublicKey(identity.Public)),
		Retired:  ring.Retired, Handovers: ring.Handovers, Walkers: ring.Walkers,
	}
	for _, k := range ring.Current {
		if k.Purpose != PurposeIdentity {
			doc.OtherKeys = append(doc.OtherKeys, k)
		}
	}
	return indented(doc)
}

// ParseSigningKeyDocument reads what SigningKeyDocument wrote and returns the
// ring it describes, checked.
func ParseSigningKeyDocument(raw []byte) (Ring, error) {
	if len(raw) > maxRingFile {
		return Ring{}, fmt.Errorf("parsing signing key document: larger than %d bytes", maxRingFile)
	}
	var doc signingKeyDocument
	if err := json.Unmarshal(raw, &doc, json.RejectUnknownMembers(true)); err != nil {
		return Ring{}, fmt.Errorf("parsing signing key document: %w", err)
	}
	if doc.Format != AttestationFormat || doc.Algorithm != Algorithm {
		return Ring{}, fmt.Errorf("parsing signing key document: format %q with algorithm %q", doc.Format,
			doc.Algorithm)
	}
	identity := PublicKey{Purpose: PurposeIdentity, Public: doc.PublicKey, KID: doc.KID, Since: doc.Since}
	r := Ring{
		Format:  RingFormat,
		Current: append([]PublicKey{identity}, doc.OtherKeys...),
		Retired: doc.Retired, Handovers: doc.Handovers, Walkers: doc.Walkers,
	}
	return r, r.Check()
}

// multibase is the Multikey form of an ed25519 key: z, then base58btc of the
// multicodec prefix ed01 and the key (Controlled Identifiers 1.0, section 2.2.2).
func multibase(pub ed25519.PublicKey) string {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	n := new(big.Int).SetBytes(append([]byte{0xed, 0x01}, pub...))
	var out []byte
	for base, rem := big.NewInt(58), new(big.Int); n.Sign() > 0; {
		n.DivMod(n, base, rem)
		out = append(out, alphabet[rem.Int64()])
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return "z" + string(out)
}
