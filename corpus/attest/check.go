package attest

import "errors"

// The states of a check.
const (
	CheckScheduled = "scheduled" // it is promised
	CheckObserved  = "observed"  // the address was looked at
	CheckMissed    = "missed"    // it was not, and never will be
)

// Look is a phantom check, a look at an address that was promised for a later time: the promise,
// and then, signed by itself under the same id, what was seen or why nothing was.
type Look struct {
	CheckID      string `json:"check_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassCheck
	PatronNumber int64  `json:"patron_number,omitzero"`
	Date         string `json:"date,omitzero"`   // block time of the payment; of what follows, when it was signed
	Status       string `json:"status,omitzero"` // scheduled | observed | missed
	URL          string `json:"url,omitzero"`
	DueAt        string `json:"due_at,omitzero"` // RFC 3339 UTC
	// Promise is sha256: and the digest of the signed payload that promised it; "" in that one.
	Promise  string `json:"promise,omitzero"`
	LookedAt string `json:"looked_at,omitzero"` // when the request went out
	Missed   string `json:"missed,omitzero"`    // why there was none
	// Answer is what came back, nil where nothing was looked at.
	Answer       *Answer `json:"answer,omitzero"`
	Name         string  `json:"name,omitzero"`
	FromTheStore string  `json:"from_the_store,omitzero"`
}

// Answer is what one GET got.
type Answer struct {
	HTTPStatus  int    `json:"http_status,omitzero"` // 0: no answer
	ContentType string `json:"content_type,omitzero"`
	BodySHA256  string `json:"body_sha256,omitzero"` // of the bytes that were read, hex
	BodyBytes   int    `json:"body_bytes,omitzero"`
	Truncated   bool   `json:"truncated,omitzero"` // there was more than is read
	Failed      string `json:"failed,omitzero"`    // the stage at which it went wrong
	Problem     string `json:"problem,omitzero"`
}

// Check says what keeps a check from being one.
func (c Look) Check() error {
	if c.URL == "" || !isTime(c.DueAt) {
		return errors.New("url and due_at must be present")
	}
	switch c.Status {
	case CheckScheduled:
		return demand(c.Promise == "" && c.LookedAt == "" && c.Missed == "" && c.Answer == nil,
			"what is only promised was not seen")
	case CheckObserved:
		return demand(c.Promise != "" && isTime(c.LookedAt) && c.LookedAt >= c.DueAt && c.Missed == "" &&
			c.Answer != nil && (c.Answer.HTTPStatus != 0 || c.Answer.Failed != ""),
			"what was observed has a time, not before it was due, and an answer")
	case CheckMissed:
		return demand(c.Promise != "" && c.LookedAt == "" && c.Missed != "" && c.Answer == nil,
			"what was missed has a reason and no answer")
	}
	return errors.New("status must be scheduled, observed or missed")
}
