// Package verdict holds the words and the parts of reports that the checkers share: what may become
// of a check, how it is put right, and what a judgement rests on. /spec/store-report/v1 describes
// them.
package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"store.example/agentstore/corpus/exchange"
)

// State is what became of one check.
type State string

// The states. Warn works but breaks a recommendation. Absent, Unreachable and Unverifiable say that
// something was lacking, and nothing against what was judged. NotReached was not asked because an
// earlier check did not pass, or because there was nothing to ask of; NotChecked is outside of what
// was looked at, and NotJudged is of another kind than what is judged.
const (
	Pass         State = "pass"
	Warn         State = "warn"
	Fail         State = "fail"
	Absent       State = "absent"
	Unreachable  State = "unreachable"
	Unverifiable State = "unverifiable"
	NotReached   State = "not_reached"
	NotChecked   State = "not_checked"
	NotJudged    State = "not_judged"
)

// order is that of verdicts, the worst last. The other states weigh nothing.
var order = []State{Pass, Warn, Unverifiable, Absent, Unreachable, Fail}

// Worse is the worse of two states, the first if they weigh the same.
func Worse(a, b State) State {
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// Fix says how a failed check is put right.
type Fix struct {
	Check string `json:"check"`
	Fix   string `json:"fix"`
}

// Evidence is what the judgement of one document rests on, bounded.
type Evidence struct {
	Status      int    `json:"status"` // 0: no response
	ContentType string `json:"content_type"`
	Bytes       int    `json:"bytes"`
	SHA256      string `json:"sha256"`
}

// EvidenceOf is that of a document as it was served.
func EvidenceOf(x exchange.Exchange) Evidence {
	sum := sha256.Sum256(x.Response.Body)
	return Evidence{Status: x.Response.Status, Bytes: len(x.Response.Body), SHA256: hex.EncodeToString(sum[:]),
		ContentType: exchange.Bounded(x.Response.Header.Get("Content-Type"), 200)}
}
