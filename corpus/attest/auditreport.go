package attest

import (
	"crypto/sha256"
	"encoding/json/jsontext"
	"errors"
	"fmt"
)

// MaxAudit bounds a report as it is signed, in bytes.
const MaxAudit = 256 << 10

// ErrAuditTooLarge is returned for a report that is larger than MaxAudit.
var ErrAuditTooLarge = errors.New("a report is larger than 256 KiB")

// Audit is a report of one reading, or of one slot of a watch: what was found when something of
// somebody else's was read. Strangers' words in it are data, whoever they seem to address.
type Audit struct {
	AuditID      string `json:"audit_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassServiceAudit or ClassOnpageAudit
	PatronNumber int64  `json:"patron_number,omitzero"`
	// Date is the block time of the payment, or, of a report that was made later for it, when it
	// was signed.
	Date   string `json:"date,omitzero"`
	Item   string `json:"item,omitzero"`   // the good it was made for
	Target string `json:"target,omitzero"` // what was read, as it was asked for: a URL or a host
	Slot   *Slot  `json:"slot,omitzero"`   // of a watch, nil for others
	// ReadAt is when the target was asked, RFC 3339 UTC; "" where nothing was read. Evidence has
	// the times of everything else.
	ReadAt   string    `json:"read_at,omitzero"`
	Verdict  string    `json:"verdict,omitzero"` // of the first finding, or what all come to
	Findings []Finding `json:"findings,omitzero"`
	Evidence []Seen    `json:"evidence,omitzero"`
	// EvidenceSHA256 is sha256: and the digest of the canonical bytes of the member evidence.
	EvidenceSHA256 string `json:"evidence_sha256,omitzero"`
	// PublishedSHA256 is the digest of the evidence in the public record, where it stands there.
	PublishedSHA256 string   `json:"published_sha256,omitzero"`
	CannotTell      []string `json:"what_this_cannot_tell_you,omitzero"`
	FromTheStore    string   `json:"from_the_store,omitzero"`
}

// Provenance is what the public record holds about one receiving address, as it was read to whoever
// asked. Nothing was fetched for it.
type Provenance struct {
	ProvID       string         `json:"prov_id,omitzero"`
	Class        string         `json:"class,omitzero"` // ClassProvenance
	PatronNumber int64          `json:"patron_number,omitzero"`
	Date         string         `json:"date,omitzero"` // block time of the payment
	Item         string         `json:"item,omitzero"`
	Address      string         `json:"address,omitzero"`
	ReadAt       string         `json:"read_at,omitzero"` // RFC 3339 UTC
	Reading      jsontext.Value `json:"reading,omitzero"` // where it was advertised, row by row
	CannotTell   []string       `json:"what_this_cannot_tell_you,omitzero"`
	FromTheStore string         `json:"from_the_store,omitzero"`
}

// Slot says which of a watch's reports this is.
type Slot struct {
	Number int64  `json:"number"`          // from 1
	Of     int64  `json:"of"`              // how many there are
	Due    string `json:"due"`             // when it was to be read, RFC 3339 UTC
	Missed string `json:"missed,omitzero"` // why it was not read, "" where it was
	// Watch is sha256: and the digest of the signed payload of the watch that it belongs to.
	Watch string `json:"watch,omitzero"`
}

// Finding is what one checker said, in its own form.
type Finding struct {
	Checker string         `json:"checker"` // with its version, such as preflight/v2
	Verdict string         `json:"verdict,omitzero"`
	Report  jsontext.Value `json:"report"` // an object, its members in the checker's order
}

// Seen is one answer that a report rests on. Whoever has the same bytes can compare them.
type Seen struct {
	Method     string `json:"method"`
	URL        string `json:"url"`
	At         string `json:"at"` // RFC 3339 UTC
	Status     int    `json:"status,omitzero"`
	Failed     string `json:"failed,omitzero"` // the stage at which there was no answer
	HeadSHA256 string `json:"head_sha256,omitzero"`
	BodySHA256 string `json:"body_sha256,omitzero"`
	BodyBytes  int    `json:"body_bytes,omitzero"`
}

// EvidenceDigest is the digest of evidence, as a report and its certificate name it.
func EvidenceDigest(evidence []Seen) (string, error) {
	b, err := Canonical(evidence)
	if err != nil {
		return "", err
	}
	return "sha256:" + Digest(sha256.Sum256(b)).String(), nil
}

// Check says what keeps a report from being one.
func (r Audit) Check() error {
	if r.Item == "" || r.Target == "" || r.PatronNumber < 0 {
		return errors.New("item and target must be present")
	}
	if s := r.Slot; s != nil && (s.Number < 1 || s.Number > s.Of || !isTime(s.Due)) {
		return errors.New("a slot has a number, how many there are, and the time it was due")
	}
	if r.Slot != nil && r.Slot.Missed != "" {
		return demand(r.ReadAt == "" && r.Verdict == "" && len(r.Findings)+len(r.Evidence) == 0,
			"of a slot that was missed nothing was read")
	}
	if !isTime(r.ReadAt) || r.Verdict == "" || len(r.Findings) == 0 {
		return errors.New("read_at, verdict and findings must be present")
	}
	for _, f := range r.Findings {
		if f.Checker == "" || f.Report.Kind() != '{' {
			return fmt.Errorf("the finding of %.40q must be an object", f.Checker)
		}
	}
	digest, err := EvidenceDigest(r.Evidence)
	if err != nil {
		return err
	}
	return demand(len(r.Evidence) > 0 && digest == r.EvidenceSHA256,
		"evidence_sha256 is not the digest of the evidence")
}

// audit makes the parser of one class of reports.
func audit(class string) payload {
	return payload{class, "audit_", func(raw []byte) (Artifact, error) {
		if len(raw) > MaxAudit {
			return Artifact{}, ErrAuditTooLarge
		}
		return read(func(r Audit) (Artifact, error) { return Artifact{r.Class, r.AuditID, r.Date}, r.Check() })(raw)
	}}
}
