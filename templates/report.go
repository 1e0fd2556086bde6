package templates

import (
	"encoding/json"

	"store.example/agentstore/corpus/attest"
)

// Reported is what one checker says in a signed report, as it is shown. All of it may be a
// stranger's words.
type Reported struct {
	Checker, Verdict string
	Checks           []ReportedCheck
	Fixes            []Fact
}

// ReportedCheck is one check of a finding.
type ReportedCheck struct{ Name, State, Detail string }

// ReportFindings reads what a signed report found for its page. shown writes out what cannot be
// seen in a text. A finding of another form has its verdict alone.
func ReportFindings(a attest.Audit, shown func(string) string) []Reported {
	var all []Reported
	for _, f := range a.Findings {
		r := Reported{Checker: shown(f.Checker), Verdict: shown(f.Verdict)}
		var said struct {
			Checks []struct{ Name, State, Detail string } `json:"checks"`
			Vector []struct{ Name, State, Detail string } `json:"checks_vector"`
			Fixes  []struct{ Check, Fix string }          `json:"suggested_fixes"`
			Remedy []struct{ Check, Fix string }          `json:"remediation"`
		}
		if json.Unmarshal(f.Report, &said) == nil {
			if said.Vector != nil {
				said.Checks = said.Vector
			}
			for _, c := range said.Checks {
				r.Checks = append(r.Checks, ReportedCheck{shown(c.Name), shown(c.State), shown(c.Detail)})
			}
			for _, fix := range append(said.Fixes, said.Remedy...) {
				r.Fixes = append(r.Fixes, Fact{Name: shown(fix.Check), Value: shown(fix.Fix)})
			}
		}
		all = append(all, r)
	}
	return all
}

// RenderReport returns the page of a signed report in Markdown.
func RenderReport(v CertificateView) ([]byte, error) { return renderText("report.md", &v) }
