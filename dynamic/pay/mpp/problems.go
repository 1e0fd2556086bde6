package mpp

import "strings"

// The problem types of the scheme, the last parts of https://paymentauth.org/problems/….
const (
	paymentRequired     = "payment-required"
	malformedCredential = "malformed-credential"
	invalidChallenge    = "invalid-challenge"
	paymentExpired      = "payment-expired"
	verificationFailed  = "verification-failed"
	invalidPayload      = "invalid-payload"
	paymentInsufficient = "payment-insufficient"
	methodUnsupported   = "method-unsupported"
	badRequest          = "bad-request"
)

// problemTypes says which type a reason is, by how it ends: one of the scheme's own, or a rail's
// code. The first row that fits counts, and what fits none is a proof that failed.
var problemTypes = []struct{ suffix, kind, title string }{
	{malformedCredential, malformedCredential, "The credential cannot be read"},
	{invalidChallenge, invalidChallenge, "The challenge is not one of this request"},
	{paymentExpired, paymentExpired, "The payment has expired"},
	{invalidPayload, invalidPayload, "The payload is not an authorization"},
	{paymentInsufficient, paymentInsufficient, "The payment is too low"},
	{"valid_before", paymentExpired, "The payment has expired"},
	{"insufficient_balance", paymentInsufficient, "The payer has too little"},
	{"invalid_payload", invalidPayload, "The payload is not an authorization"},
	{"", verificationFailed, "The payment could not be verified"},
}

// problemData is a problem of the scheme, beside that of the store, whose types are its own pages.
type problemData struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Status      int    `json:"status"`
	Detail      string `json:"detail"`
	ChallengeID string `json:"challengeId"` // of the challenge to answer
}

const problemBase = "https://paymentauth.org/problems/"

// problemOf is the problem of a 402; reason is why a payment was not taken, empty where none came.
func problemOf(reason, challengeID string) problemData {
	out := problemData{Type: problemBase + paymentRequired, Title: "Payment required", Status: 402,
		Detail: "Answer one of the challenges.", ChallengeID: challengeID}
	if reason == "" {
		return out
	}
	out.Detail = "The payment was not taken: " + reason + ". " + out.Detail
	for _, t := range problemTypes {
		if strings.HasSuffix(reason, t.suffix) {
			out.Type, out.Title = problemBase+t.kind, t.title
			break
		}
	}
	return out
}
