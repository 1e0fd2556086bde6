package botauth

import (
	"time"

	"store.example/agentstore/corpus/verdict"
)

// Version is that of the checker.
const Version = "v1"

// State is what became of one check.
type State = verdict.State

// The states that a document may have.
const (
	Pass         = verdict.Pass
	Warn         = verdict.Warn
	Fail         = verdict.Fail
	Absent       = verdict.Absent
	Unreachable  = verdict.Unreachable
	Unverifiable = verdict.Unverifiable
	NotChecked   = verdict.NotChecked
)

// The kinds of document.
const (
	KindDirectory = "directory"
	KindCard      = "card"
)

// Report is the judgement of one document.
type Report struct {
	Version    string    `json:"version"`
	URL        string    `json:"url"`
	Kind       string    `json:"kind"` // KindDirectory, KindCard or "" when neither could be seen
	Verdict    State     `json:"verdict"`
	Checks     []Check   `json:"checks"`
	Keys       []Key     `json:"keys"`
	Evidence   Evidence  `json:"evidence"`
	Fixes      []Fix     `json:"suggested_fixes"`
	ObservedAt time.Time `json:"observed_at"`
	CannotTell []string  `json:"what_this_cannot_tell_you"`
}

// Check is one named question and its answer.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Code   string `json:"code,omitzero"`
	Detail string `json:"detail"`
	Source string `json:"source"`
}

// Fix says what to change.
type Fix = verdict.Fix

// Key is one key of a directory.
type Key struct {
	Thumbprint string `json:"thumbprint"` // RFC 7638, "" when it cannot be made
	Curve      string `json:"curve"`
	Usable     bool   `json:"usable"`
	Proved     State  `json:"proved"` // whether the directory carries a good signature of this key
	Detail     string `json:"detail"`
}

// Evidence is what the judgement rests on, bounded.
type Evidence = verdict.Evidence

var cannotTell = []string{
	"whether the bot behaves as its card says",
	"who runs it: a host's keys prove the host and no more",
	"whether its requests are signed with these keys",
}

const (
	sourceProtocol = "draft-meunier-webbotauth-httpsig-protocol-02"
	sourceRegistry = "draft-meunier-webbotauth-registry-03"
	sourceJWK      = "RFC 7517, RFC 7638, RFC 8037"
	sourceDigest   = "RFC 9530"
)

// A row is a check: its name, source and fix. The order is that of a report.
type row struct{ name, source, fix string }

var directoryRows = []row{
	{"reachable", sourceProtocol, "answer over https"},
	{"status-200", sourceProtocol, "answer 200 in place: redirects are not followed"},
	{"content-type", sourceProtocol, "send Content-Type: application/http-message-signatures-directory+json and " +
		"nothing behind it"},
	{"jwks-parses", sourceJWK, "serve one JSON object whose member keys is a list of JSON Web Keys"},
	{"keys-ed25519", sourceJWK, "publish Ed25519 keys, each with x of 32 bytes in base64url"},
	{"key-ids", sourceProtocol, "leave kid out or make it the RFC 7638 thumbprint, and name alg as in the HTTP " +
		"signature algorithms registry (ed25519)"},
	{"no-private-keys", sourceJWK, "take the private members out and replace the key: it has been published"},
	{"no-test-keys", sourceProtocol, "replace the published test key of RFC 9421 by one of your own"},
	{"key-validity", sourceProtocol, "publish a key with nbf in the past and exp in the future"},
	{"content-digest", sourceDigest, "send Content-Digest: sha-256 of the body"},
	{"proof-of-possession", sourceProtocol,
		`sign the response once per key, covering "@authority";req and "content-digest", with created, expires, keyid and the tag http-message-signatures-directory`},
}

var cardRows = []row{
	{"reachable", sourceRegistry, "answer over https"},
	{"status-200", sourceRegistry, "answer 200 in place: redirects are not followed"},
	{"content-type", sourceRegistry, "send Content-Type: application/json"},
	{"card-parses", sourceRegistry, "serve one JSON object"},
	{"client-id", sourceRegistry, "make client_id the URL at which the card lies, character for character"},
	{"one-key-source", sourceRegistry, "name jwks or jwks_uri, never both"},
	{"jwks-uri", sourceRegistry, "let jwks_uri be an https URL that answers with a JWK set"},
	{"members", sourceRegistry, "give the members the types of the draft"},
	{"no-private-keys", sourceJWK, "take the private members out and replace the key: it has been published"},
}
