package wallet

import (
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"slices"
)

// MaxSignedIn is the longest SIGN-IN-WITH-X that is read, in bytes of base64: one with the
// signature of a smart account is under 14 kB.
const MaxSignedIn = 16 << 10

// SignedIn is a sign-in message as its members and the signature under its text, as the header
// SIGN-IN-WITH-X of x402 carries it. Nothing in it has been compared with anything yet.
type SignedIn struct {
	SignIn
	Chain     ChainID
	Signature string // as its wallet writes it: hex, or base58
}

// signatureTypes are what the wallets of a namespace sign with, by the extension's names.
var signatureTypes = map[string]string{NamespaceEVM: "eip191", NamespaceSolana: "ed25519"}

// SignatureType is the name of what the wallets of a namespace sign in with, "" where none can.
func SignatureType(namespace string) string { return signatureTypes[namespace] }

// ParseSignedIn reads a SIGN-IN-WITH-X: standard base64 of one JSON object without duplicate names.
// Members that are no part of a message are not read. The error is ErrSignIn.
func ParseSignedIn(header string) (SignedIn, error) {
	fail := func(why string) (SignedIn, error) { return SignedIn{}, fmt.Errorf("%w: %s", ErrSignIn, why) }
	if len(header) > MaxSignedIn {
		return fail(fmt.Sprintf("longer than %d bytes", MaxSignedIn))
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(header)
	if err != nil {
		return fail("not base64 in the standard alphabet, with its padding")
	}
	var w struct {
		Domain         string   `json:"domain"`
		Address        string   `json:"address"`
		Statement      string   `json:"statement"`
		URI            string   `json:"uri"`
		Version        string   `json:"version"`
		ChainID        string   `json:"chainId"`
		Type           string   `json:"type"`
		Nonce          string   `json:"nonce"`
		IssuedAt       string   `json:"issuedAt"`
		ExpirationTime string   `json:"expirationTime"`
		NotBefore      string   `json:"notBefore"`
		RequestID      string   `json:"requestId"`
		Resources      []string `json:"resources"`
		Signature      string   `json:"signature"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return fail("not one JSON object of the members of sign-in-with-x")
	}
	chain, err := ParseChainID(w.ChainID)
	if err != nil {
		return fail("chainId is no CAIP-2 network")
	}
	if t := SignatureType(chain.Namespace); t == "" || t != w.Type {
		return fail("type is not what wallets of chainId sign with")
	}
	return SignedIn{SignIn{"", w.Domain, w.Address, w.Statement, w.URI, w.Version, chain.Reference, w.Nonce,
		w.IssuedAt, w.ExpirationTime, w.NotBefore, w.RequestID, w.Resources}, chain, w.Signature}, nil
}

// Differs names the first line in which two messages differ, "" for none.
func (m SignIn) Differs(o SignIn) string {
	for i, f := range m.fields() {
		if *f.value != *o.fields()[i].value {
			return f.name
		}
	}
	switch {
	case m.Scheme != o.Scheme || m.Domain != o.Domain:
		return "domain"
	case m.Address != o.Address:
		return "address"
	case m.Statement != o.Statement:
		return "statement"
	case !slices.Equal(m.Resources, o.Resources):
		return "Resources"
	}
	return ""
}
