package counter

import (
	"encoding/json"
	"net/http"
	"time"

	"store.example/agentstore/corpus/attest"
)

// Checks are promised looks, and what was seen.
var Checks = Class{Name: attest.ClassCheck, Prefix: "check_", Private: true, Load: loader(attest.ClassCheck),
	DoesNotProve: "What anybody else was shown, or what stood there at another time. A check proves what one visitor " +
		"was given, and when; or, while it is scheduled, that it was promised."}

// CheckView is the answer of GET /api/phantom/{check_id}.
type CheckView struct {
	CheckID        string         `json:"check_id"`
	Status         string         `json:"status"` // scheduled | observed | missed
	URL            string         `json:"url"`
	DueAt          string         `json:"due_at"`
	LookedAt       string         `json:"looked_at,omitzero"`
	Missed         string         `json:"missed,omitzero"` // why nothing was looked at
	Answer         *attest.Answer `json:"answer,omitempty"`
	NextCheckAfter string         `json:"next_check_after,omitzero"`
	NextStep       string         `json:"next_step"`
	Verification
}

// checkSteps is what to do about a check, by its status.
var checkSteps = map[string]string{
	attest.CheckScheduled: "Wait: the address is looked at once, between due_at and three hours later. Read this " +
		"again after next_check_after.",
	attest.CheckObserved: "Nothing to do: what was seen is signed. A body with this SHA-256 is what was given.",
	attest.CheckMissed: "Nothing was seen, and missed says why. It is not made up for: a look at another time would " +
		"be another look.",
}

// serveCheck answers GET /api/phantom/{check_id}: what was promised, or what came of it.
func (c *Counter) serveCheck(w http.ResponseWriter, r *http.Request) error {
	a, _, err := c.artifact(r.Context(), r.PathValue("check_id"), attest.ClassCheck)
	if err != nil {
		return err
	}
	if a == nil {
		return noSuch("phantom check")
	}
	v, err := c.checked(a)
	if err != nil {
		return err
	}
	v.DoesNotProve = Checks.DoesNotProve
	out := CheckView{CheckID: a.ID, Verification: *v}
	if !v.Valid {
		return writeJSON(w, out)
	}
	var signed attest.Look
	if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &signed); err != nil {
		return err
	}
	out.Status, out.URL, out.DueAt, out.LookedAt = signed.Status, signed.URL, signed.DueAt, signed.LookedAt
	out.Missed, out.Answer, out.NextStep = signed.Missed, signed.Answer, checkSteps[signed.Status]
	switch due, err := time.Parse(time.RFC3339, signed.DueAt); {
	case err != nil:
		return err
	case v.Status == "reversed":
		out.NextStep = "The chain took the payment back, so nothing is looked at."
	case signed.Status == attest.CheckScheduled:
		out.NextCheckAfter = stamp(later(due, c.Now().Add(time.Minute)))
	}
	return writeJSON(w, out)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
