package attest

import (
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
)

func someReport(class string) Audit {
	evidence := []Seen{{Method: "GET", URL: "https://door.example/paid", At: someDate, Status: 402,
		HeadSHA256: strings.Repeat("ab", 32), BodySHA256: strings.Repeat("cd", 32), BodyBytes: 2}}
	digest, err := EvidenceDigest(evidence)
	if err != nil {
		panic(err)
	}
	return Audit{AuditID: "audit_" + someID, Class: class, PatronNumber: 1, Date: someDate, Item: "spot_check",
		Target: "https://door.example/paid", ReadAt: someDate, Verdict: "ready", Evidence: evidence,
		EvidenceSHA256: digest, CannotTell: []string{"Delivery."}, FromTheStore: "https://store.example",
		Findings: []Finding{{Checker: "preflight/v2", Verdict: "ready",
			Report: jsontext.Value(`{"z":1,"a":"</script>\u202e"}`)}}}
}

// signed is a report's signed payload, as it is read back.
func signedReport(t *testing.T, r Audit) error {
	t.Helper()
	p := must[Proof](t)(SignPayload(testKey(1), r))
	_, err := p.Artifact()
	return err
}

// A report is one to its last byte, and not with one more.
func TestAReportEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	r := someReport(ClassServiceAudit)
	b := must[[]byte](t)(Canonical(r))
	r.CannotTell = append(r.CannotTell, strings.Repeat("x", MaxAudit-len(b)-len(`,""`)))
	if b = must[[]byte](t)(Canonical(r)); len(b) != MaxAudit {
		t.Fatalf("%d bytes", len(b))
	}
	if err := signedReport(t, r); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	r.CannotTell[1] += "x"
	if err := signedReport(t, r); !errors.Is(err, ErrAuditTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}

// What a report rests on cannot be left out, changed beside its digest, or claimed for a slot that
// was missed.
func TestWhatIsNoReport(t *testing.T) {
	t.Parallel()
	slot := Slot{Number: 2, Of: 7, Due: someDate}
	missed := someReport(ClassServiceAudit)
	missed.Slot = &Slot{Number: 2, Of: 7, Due: someDate, Missed: "the store was away"}
	missed.ReadAt, missed.Verdict, missed.Findings, missed.Evidence, missed.EvidenceSHA256 = "", "", nil, nil, ""
	if err := signedReport(t, missed); err != nil {
		t.Errorf("a slot that was missed: %v", err)
	}
	for name, change := range map[string]func(*Audit){
		"no target":                        func(r *Audit) { r.Target = "" },
		"no item":                          func(r *Audit) { r.Item = "" },
		"no time":                          func(r *Audit) { r.ReadAt = "" },
		"a date for a time":                func(r *Audit) { r.ReadAt = someDate[:10] },
		"no verdict":                       func(r *Audit) { r.Verdict = "" },
		"no findings":                      func(r *Audit) { r.Findings = nil },
		"a finding that is no object":      func(r *Audit) { r.Findings[0].Report = jsontext.Value(`[]`) },
		"a finding of nobody":              func(r *Audit) { r.Findings[0].Checker = "" },
		"no evidence":                      func(r *Audit) { r.Evidence = nil },
		"other evidence":                   func(r *Audit) { r.Evidence[0].Status = 200 },
		"the prefix of another":            func(r *Audit) { r.AuditID = "prov_" + someID },
		"a slot beyond the last":           func(r *Audit) { s := slot; s.Number = 8; r.Slot = &s },
		"a slot that was never due":        func(r *Audit) { s := slot; s.Due = ""; r.Slot = &s },
		"read although it was missed":      func(r *Audit) { s := slot; s.Missed = "away"; r.Slot = &s },
		"a class that there is no more":    func(r *Audit) { r.Class = "audit" },
		"a number that nobody is a patron": func(r *Audit) { r.PatronNumber = -1 },
	} {
		r := someReport(ClassServiceAudit)
		change(&r)
		if err := signedReport(t, r); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	// Another spelling of a finding would be the same report under another digest.
	p := must[Proof](t)(SignPayload(testKey(1), someReport(ClassServiceAudit)))
	for _, spelling := range []string{strings.Replace(p.SignedPayload, `{"z":1`, `{ "z":1`, 1),
		strings.Replace(p.SignedPayload, `{"z":1`, `{"\u007a":1`, 1),
		strings.Replace(p.SignedPayload, `{"z":1`, `{"z":1.0`, 1),
		strings.Replace(p.SignedPayload, `{"z":1`, `{"z":1,"z":1`, 1)} {
		if _, err := ParseArtifact([]byte(spelling)); err == nil || spelling == p.SignedPayload {
			t.Errorf("taken: %.600s", spelling)
		}
	}
}
