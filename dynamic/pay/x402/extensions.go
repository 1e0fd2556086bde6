package x402

import (
	"encoding/json"
	"regexp"

	"store.example/agentstore/dynamic/pay"
)

// Keys of `extensions`.
const (
	ExtBazaar    = "bazaar"
	ExtOffers    = "offer-receipt"
	ExtPaymentID = "payment-identifier"
	// ExtSignIn asks a wallet that bought here to sign in in place of paying again. The header says
	// it and the body, which is bounded, does not; nobody who pays has to send it back.
	ExtSignIn = "sign-in-with-x"
	// ExtChallenge carries the store's own nonce. A settled payment is public calldata; only the
	// buyer who got the challenge knows the nonce in it, so a replay must bring it (package till,
	// M1).
	ExtChallenge = "store-challenge"
)

// anObject is the schema of what a client has no need to check: a 402 is read by models too, which
// pay for each byte.
var anObject = json.RawMessage(`{"type":"object"}`)

// EchoedNonce is the challenge nonce a buyer sent back, "" when there is none.
func EchoedNonce(p *Presented) string {
	var info struct {
		Nonce string `json:"nonce"`
	}
	e, ok := p.Extensions[ExtChallenge]
	if !ok || json.Unmarshal(e.Info, &info) != nil {
		return ""
	}
	return info.Nonce
}

// paymentID is the pattern of the payment-identifier extension.
var paymentID = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

// PaymentID is the id a buyer put into the payment-identifier extension. ok is false when there is
// one that breaks the extension's own pattern.
func PaymentID(p *Presented) (id string, ok bool) {
	e, sent := p.Extensions[ExtPaymentID]
	if !sent {
		return "", true
	}
	var info map[string]any
	if json.Unmarshal(e.Info, &info) != nil {
		return "", false
	}
	v, sent := info["id"]
	if !sent || v == nil {
		return "", true
	}
	id, isString := v.(string)
	if !isString || !paymentID.MatchString(id) {
		return "", false
	}
	return id, true
}

// PaymentIDExtension declares that an id is welcome and not required, and names one with a hole for
// the suggested key: stock clients echo it, so that a buyer who calls again after a lost answer is
// recognised without a line of their code. A client that sets an id of its own replaces it.
func PaymentIDExtension() Extension {
	return Extension{
		Info:   json.RawMessage(`{"id":"` + pay.KeyBlank + `","required":false}`),
		Schema: json.RawMessage(`{"properties":{"id":{"pattern":"^[\\w-]{16,128}$"}}}`), // paymentID, for clients
	}
}

// ChallengeExtension declares the nonce extension with a hole for the nonce.
func ChallengeExtension() Extension {
	return Extension{
		Info:   json.RawMessage(`{"nonce":"` + pay.NonceBlank + `"}`),
		Schema: anObject,
	}
}

// SignInExtension declares that the wallets of some networks may sign in, with a hole for what they
// sign.
func SignInExtension(chains []pay.SignInChain) Extension {
	return Extension{Info: json.RawMessage(`"` + pay.SignInBlank + `"`), SupportedChains: chains, Schema: anObject}
}

// Offer is one signed offer of the offer-receipt extension.
type Offer struct {
	Format      string `json:"format"` // jws
	AcceptIndex int    `json:"acceptIndex"`
	Signature   string `json:"signature"` // compact JWS
}

// OffersExtension declares signed offers.
func OffersExtension(offers ...Offer) (Extension, error) {
	info, err := json.Marshal(map[string]any{"offers": offers})
	if err != nil {
		return Extension{}, err
	}
	return Extension{Info: info, Schema: anObject}, nil
}

// ReceiptExtension carries the signed receipt of a settlement.
func ReceiptExtension(jws string) (Extension, error) {
	info, err := json.Marshal(map[string]any{"receipt": map[string]string{"format": "jws", "signature": jws}})
	if err != nil {
		return Extension{}, err
	}
	return Extension{Info: info, Schema: anObject}, nil
}
