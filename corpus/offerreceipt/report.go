package offerreceipt

import (
	"encoding/json/jsontext"
	"time"

	"store.example/agentstore/corpus/verdict"
)

// Version is that of the desk's contract, which only adds fields.
const Version = "v1"

// The verdicts.
const (
	Conforms       = "conforms"
	DoesNotConform = "does_not_conform"
)

// The kinds of artifact.
const (
	KindOffer   = "offer"
	KindReceipt = "receipt"
)

// The forms of an artifact.
const (
	FormJWS    = "jws"
	FormEIP712 = "eip712"
)

// State is what became of one check.
type State = verdict.State

// The states. A warning breaks a recommendation and no verdict.
const (
	Pass         = verdict.Pass
	Warn         = verdict.Warn
	Fail         = verdict.Fail
	Unverifiable = verdict.Unverifiable
	NotChecked   = verdict.NotChecked
)

// The ways in which the signer's key was found. ResolvedOffline is the key of the request;
// ResolvedRecovered the Ethereum account that the signature itself names.
const (
	ResolvedOffline   = "offline"
	ResolvedWeb       = "did:web"
	ResolvedKey       = "did:key"
	ResolvedJWK       = "did:jwk"
	ResolvedRecovered = "recovered"
	ResolvedNot       = "unresolved"
)

// Limits of a request.
const (
	MaxArtifact = 9000 // characters
	MaxHex      = 64   // of public_key_hex
)

// Request is what is to be judged.
type Request struct {
	Artifact string
	Kind     string // KindOffer, KindReceipt or "" to detect it
	// PublicKeyHex is an ed25519 key in 64 hexadecimal characters; it makes the check fully
	// offline.
	PublicKeyHex string
	// SignerAddress is the Ethereum account that is expected to have signed an EIP-712 artifact; ""
	// leaves an offer's payTo as the only account that is known to speak for it, and a receipt's
	// signer unknown.
	SignerAddress string
}

// Report is the judgement.
type Report struct {
	Version       string    `json:"version"`
	Verdict       string    `json:"verdict"` // Conforms or DoesNotConform
	Kind          string    `json:"kind"`    // KindOffer, KindReceipt or "" when neither could be seen
	Format        string    `json:"format"`  // FormJWS or FormEIP712
	Live          *bool     `json:"live"`    // of an offer that conforms; null for everything else
	KeyResolution string    `json:"key_resolution"`
	Signer        Signer    `json:"signer"`
	Checks        []Check   `json:"checks"`
	Header        Members   `json:"header"`  // of a JWS
	Payload       Members   `json:"payload"` // verified only if the verdict says so
	JudgedAt      time.Time `json:"judged_at"`
	CannotTell    []string  `json:"what_this_cannot_tell_you"`
}

// Members are those of a stranger's object, each as it is written: a number keeps its spelling,
// however many digits it has, because what was signed is that spelling.
type Members map[string]jsontext.Value

// Signer says whose signature was looked at.
type Signer struct {
	KID       string `json:"kid,omitzero"`
	Algorithm string `json:"algorithm,omitzero"`
	KeyHex    string `json:"public_key_hex,omitzero"` // ed25519
	Address   string `json:"address,omitzero"`        // recovered, EIP-55
}

// Check is one named question and its answer.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Source string `json:"source"`
}

var cannotTell = []string{
	"whether the issuer delivers what it offers, or delivered what the receipt says",
	"whether the transaction of a receipt exists on its network",
	"whose key it is: a name in the kid is resolved, nobody's identity is checked",
	"whether the issuer signed a second, different statement",
}

// The sources of the checks.
const (
	sourceJWS  = "RFC 7515"
	sourceJOSE = "RFC 8037, RFC 8812, RFC 9864"
	sourceDID  = "did:web; DID 1.0, section 5"
	sourceX402 = "x402 extension offer-receipt"
	source712  = "EIP-712; x402 extension offer-receipt"
	sourceJCS  = "RFC 8785"
)

// names lists every check with its source, in the order of a report.
var names = []struct{ name, source string }{
	{"artifact-form", sourceX402},
	{"jws-form", sourceJWS},
	{"jws-algorithm", sourceJOSE},
	{"jws-kid", sourceX402},
	{"payload-json", sourceX402},
	{"kind", sourceX402},
	{"payload-fields", sourceX402},
	{"payload-values", sourceX402},
	{"payload-canonical", sourceJCS},
	{"key", sourceDID},
	{"key-asserted", sourceDID},
	{"signature", sourceJWS},
	{"signer", source712},
	{"time", sourceX402},
}

// Checks returns the names of all checks, in the order of a report.
func Checks() []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n.name
	}
	return out
}
