package probe

import (
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/stockclient"
	"store.example/agentstore/corpus/verdict"
)

// The versions of the battery whose meaning is fixed by others: the rungs of the ladder, and what
// was signed early.
const (
	V1 = "v1"
	V2 = "v2"
)

// Verdict is the word for a whole door under one battery.
type Verdict string

// The verdicts. MethodUnresolved is for a door that refused GET and declared no other method that
// the battery may use: it was not judged, so it is never not_ready. NotProbed is what an
// unreachable door becomes while the control door could not be reached either (see
// Report.ControlFailed).
const (
	Ready            Verdict = "ready"
	NotReady         Verdict = "not_ready"
	Unreachable      Verdict = "unreachable"
	MethodUnresolved Verdict = "method_unresolved"
	NotProbed        Verdict = "not_probed"
)

// Why a door that answered is not probed.
const (
	ReasonChallenged = "challenged" // a bot wall answered in its place
	ReasonNotJudged  = "not_judged" // it may be paid in a way that this battery cannot judge
	// ReasonInputs: it refused the empty object that it was sent before it asked for money
	ReasonInputs = "inputs_lacking"
)

// Fault says on whose side the reason for a verdict lies, as far as one look can tell.
type Fault string

// The faults. FaultPath is the network between the instrument and the door; FaultInstrument is this
// side.
const (
	FaultNone       Fault = "none"
	FaultDoor       Fault = "door"
	FaultPath       Fault = "path"
	FaultInstrument Fault = "instrument"
)

// A Report is one look at one door under one battery. It is a pure function of the recording: the
// same recording and battery give the same bytes for ever, so it holds no time but the recorded
// one. The field rate_limit of the served form is added by whoever keeps the budget.
type Report struct {
	Version             string        `json:"version"` // one of Versions
	URL                 string        `json:"url"`
	Verdict             Verdict       `json:"verdict"`
	Reason              string        `json:"reason,omitzero"` // of not_probed: Reason…
	ReachedLevel        string        `json:"reached_level"`   // L0 to L5; L6 takes a purchase
	ReachedLevelMeaning string        `json:"reached_level_meaning"`
	Checks              []CheckResult `json:"checks"`        // the judged ones
	ChecksVector        []VectorEntry `json:"checks_vector"` // the whole battery, in its order
	Advisories          []Note        `json:"advisories"`    // change no verdict
	// of the version before, beside the oldest that of the next
	AlsoUnder AlsoUnder `json:"also_under"`
	// what every other battery says, by version, as a row lists it
	Others          []AlsoUnder `json:"-"`
	ProtocolsSpoken []string    `json:"protocols_spoken"` // Protocol…
	Protocols       []Protocol  `json:"protocols"`        // each judged by itself
	Clients         []ClientRow `json:"clients"`          // what known clients do here
	// what entries by batch-settlement and auth-capture put at risk beyond a price
	Stakes          []stockclient.Stake `json:"stakes,omitzero"`
	ProbeMethod     ProbeMethod         `json:"probe_method"`
	Instrument      Instrument          `json:"instrument"` // by what the verdict was reached
	Evidence        Evidence            `json:"evidence"`
	Remediation     []Remedy            `json:"remediation"` // one for each failed check
	Fault           Fault               `json:"fault"`
	SingleProbeNote string              `json:"single_probe_note"`
	CannotTell      []string            `json:"what_this_cannot_tell_you"`
	NextSteps       []string            `json:"next_steps"`
	Terms           []Requirement       `json:"-"` // the ways of paying that were judged, for those who replay clients
}

// The protocols a door can be seen to speak.
const (
	ProtocolX402   = "x402"    // a version 2 challenge in PAYMENT-REQUIRED
	ProtocolX402V1 = "x402-v1" // a version 1 challenge in the body
	ProtocolMPP    = "mpp-v1"  // a WWW-Authenticate: Payment challenge
)

// State is what became of one check.
type State = verdict.State

// The states. NotReached without BlockedBy means that there was nothing to judge.
const (
	Pass       = verdict.Pass
	Fail       = verdict.Fail
	NotReached = verdict.NotReached
)

// CheckResult is a check that was judged.
type CheckResult struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// VectorEntry is a check of the battery, judged or not. BlockedBy names the failed check that kept
// it from being reached.
type VectorEntry struct {
	Name      string `json:"name"`
	State     State  `json:"state"`
	BlockedBy string `json:"blocked_by,omitzero"`
	Detail    string `json:"detail"`
}

// Note is an advisory that was raised.
type Note struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// Remedy says how a failed check is put right.
type Remedy = verdict.Fix

// AlsoUnder is another battery's verdict on the same recording. Difference is empty when they
// agree.
type AlsoUnder struct {
	Version    string  `json:"version"`
	Verdict    Verdict `json:"verdict"`
	Difference string  `json:"difference"`
}

// ProbeMethod says with which HTTP method the door was judged. DeclaredBy names where the door
// itself named POST: "allow", or the declaration that was handed in; DeclaredByCaller where that is
// the word of whoever reads; "" when only GET was used.
type ProbeMethod struct {
	Used       string   `json:"used"`
	Attempted  []string `json:"attempted"`
	DeclaredBy string   `json:"declared_by"`
}

// Evidence is what the judgement rests on, in published form: no address a door wants to be paid at
// stands in it.
type Evidence struct {
	Status     int                   `json:"status"` // 0: no response
	Headers    []exchange.HeaderLine `json:"headers"`
	BodySHA256 string                `json:"body_sha256"`
	BodyBytes  int64                 `json:"body_bytes"`
	// the terms that were judged; nil when none stood in the response
	Challenge *exchange.Challenge `json:"challenge"`
	// what stands in it in the place of addresses, with their digests
	StandIns   []exchange.StandIn `json:"stand_ins,omitempty"`
	ObservedAt string             `json:"observed_at"` // RFC 3339, UTC, whole seconds: the recorded time
	Digest     string             `json:"digest"`      // of the redacted exchange
}
