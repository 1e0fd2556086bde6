package agentcard

import (
	"time"

	"store.example/agentstore/corpus/verdict"
)

// Version is that of the checker, CardVersion that of the cards it judges.
const (
	Version     = "v1"
	CardVersion = "0.3.0"
)

// State is what became of one check.
type State = verdict.State

// The states that a card may have.
const (
	Pass         = verdict.Pass
	Warn         = verdict.Warn
	Fail         = verdict.Fail
	Absent       = verdict.Absent
	Unreachable  = verdict.Unreachable
	Unverifiable = verdict.Unverifiable
	NotChecked   = verdict.NotChecked
	NotJudged    = verdict.NotJudged
)

// The dialects of cards.
const (
	Dialect02     = "0.2"
	Dialect03     = "0.3"
	Dialect10     = "1.0"
	DialectHybrid = "hybrid" // members of 0.3 and of 1.0
	DialectNone   = "unknown"
)

// Report is the judgement of one card.
type Report struct {
	Version     string `json:"version"`
	CardVersion string `json:"card_version_checked"`
	URL         string `json:"url"`
	// Verdict is the worst that the checks found: Fail, Unreachable, Absent, Unverifiable, Warn or
	// Pass. It is NotJudged for a card of 1.0, of which Own says the worst.
	Verdict State `json:"verdict"`
	Own     *Own  `json:"own_dialect,omitzero"`
	// ValidCard says whether the card is one of CardVersion by the official schema.
	ValidCard  bool        `json:"valid_0_3_0"`
	Dialect    string      `json:"dialect"`
	Checks     []Check     `json:"checks"` // all nineteen, in order
	Signatures []Signature `json:"signatures"`
	Evidence   Evidence    `json:"evidence"`
	Fixes      []Fix       `json:"suggested_fixes"`
	Gaps       []string    `json:"gaps"` // what a reader of another version would miss
	ObservedAt time.Time   `json:"observed_at"`
	CannotTell []string    `json:"what_this_cannot_tell_you"`
}

// Own is the worst that the checks found of a card of another version, by the rules of that one.
type Own struct {
	CardVersion string `json:"card_version"`
	Verdict     State  `json:"verdict"`
}

// Check is one of the nineteen.
type Check struct {
	Number int      `json:"number"`
	Name   string   `json:"name"`
	State  State    `json:"state"`
	Code   string   `json:"code,omitzero"` // what is wrong, in a word
	Detail string   `json:"detail"`
	Where  []string `json:"where,omitempty"` // JSON pointers and the like, at most maxProblems
	Source string   `json:"source"`
}

// Fix says what to change.
type Fix = verdict.Fix

// Signature is what became of one entry of signatures.
type Signature struct {
	Index     int    `json:"index"`
	Algorithm string `json:"algorithm"`
	KID       string `json:"kid"`
	KeyFrom   string `json:"key_from"` // where the key was found, "" if nowhere
	State     State  `json:"state"`
	Form      string `json:"form,omitzero"` // under which it verified: Form…
	Detail    string `json:"detail"`
}

// Evidence is what the judgement rests on, bounded.
type Evidence struct {
	verdict.Evidence
	Requests []Request `json:"requests"`
}

// Request is one that was made.
type Request struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status"`
}

var cannotTell = []string{
	"whether the agent does what its skills say",
	"what an authenticated caller is shown",
	"whether the card is the same from other places and at other times",
}

// A row is one check: its name, where the rule stands, and what to change.
type row struct{ name, source, fix string }

const (
	sourceSpec = "A2A 0.3.0, section 5"
	sourceOne  = "A2A 1.0.1, section 8"
	sourceJSON = "RFC 8259; A2A 0.3.0, section 5"
	sourceTCK  = "A2A conformance kit"
	sourceJWS  = "A2A 0.3.0, section 5.5.6; RFC 7515"
)

var rows = [19]row{
	{"card-found", sourceSpec, "serve the card at /.well-known/agent-card.json with status 200 and without " +
		"authentication; the path changed in 0.3.0"},
	{"no-redirect", sourceSpec, "serve the card in place instead of redirecting"},
	{"content-type", sourceSpec, "send Content-Type: application/json"},
	{"json", sourceJSON, "emit one JSON object in UTF-8, without a byte order mark and with each name once"},
	{"dialect", sourceSpec, "add protocolVersion and url (0.3.0), or supportedInterfaces (1.0)"},
	{"schema", sourceSpec, "correct the members named in where"},
	{"conformance-kit", sourceTCK, "list at least one skill, give each its own id, name media types as type/subtype, " +
		"and give the agent a version"},
	{"protocol-version", sourceSpec, `set protocolVersion to "0.3.0"`},
	{"preferred-transport", "A2A 0.3.0, section 5.6.1", `add "preferredTransport": "JSONRPC", or what url speaks`},
	{"interfaces", "A2A 0.3.0, section 5.6", "repeat the main url and transport in additionalInterfaces, and give " +
		"each URL one transport"},
	{"urls", "A2A 0.3.0, section 5.3", "use absolute https URLs, on the card's own host where you can"},
	{"security", "A2A 0.3.0, section 5.5", "define every name of security in securitySchemes, and take secrets out " +
		"of the card"},
	{"endpoint", "A2A 0.3.0, section 7", "answer JSON-RPC at url: an error envelope, or 401, 402 or 403"},
	{"streaming", "A2A 0.3.0, section 7.2", "set capabilities.streaming to false, or implement message/stream"},
	{"signed", sourceOne, "sign the card, so that readers can tell it from a copy"},
	{"signature-form", sourceJWS, "make each signature a JWS with a detached payload: base64url without padding, alg " +
		"and kid in the protected header, no none and no HMAC"},
	{"signature-key", sourceOne, "publish the key: a jku on your own host, a did:web URL as kid, or " +
		"/.well-known/jwks.json"},
	{"signature-valid", sourceOne, "sign the canonical form of the card as it is served; keep it ASCII and without " +
		"empty members, so that the forms agree"},
	{"caching", "A2A 1.0.1, section 8.6", "send Cache-Control with max-age, and an ETag"},
}
