package kit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"store.example/agentstore/corpus/probe"
)

// The part of SARIF 2.1.0 (OASIS) that code scanners read. Eighty lines of it weigh less than any
// module that writes it.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"`
		Help  sarifText `json:"help"`
		Level struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"` // error for a check, note for an advisory
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		// the document of a declaration, where Locations name a file of the repository
		Related []sarifLocation `json:"relatedLocations,omitzero"`
		// of door and rule, so that a finding is known again
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// sarif makes the log of a battery's run: every check and advisory is a rule, what failed or was
// raised is a result.
func sarif(all []found, battery, at string) sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	// Viewers compare versions as numbers (SARIF2005): it is that of the battery.
	run.Tool.Driver = sarifDriver{Name: "store-check", Version: strings.TrimPrefix(battery, "v"), URI: page}
	index := map[string]int{}
	rule := func(name, level string, doc probe.Doc, fix string) {
		r := sarifRule{ID: name, Short: sarifText{doc.Title}, Full: sarifText{doc.Reason + " " + doc.Citation},
			Help: sarifText{fix}}
		r.Level.Level = level
		index[name] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, r)
	}
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			if b.Version == battery {
				rule(c.Name, "error", c.Doc, c.Fix)
			}
		}
	}
	for _, a := range probe.Advisories() {
		rule(a.Name, "note", a.Doc, a.Fix)
	}
	// A verdict that no check stands for.
	rule(string(probe.MethodUnresolved), "error", probe.Doc{Title: "The door says how it is asked",
		Reason: "It refused GET and named no other method, so nothing could be judged."}, advisoryFix(otherMethod))
	for _, c := range Checks() {
		rule(c.Name, "error", probe.Doc{Title: c.Title, Reason: c.Reason}, c.Fix)
	}
	rule(anyDrift, "error", probe.Doc{Title: "What the host declares of the door is what the door says",
		Reason: "Directories and agents choose by the declaration, and pay by the door's answer."}, driftFix)
	rule(unreadDrift, "note", probe.Doc{Title: "What the host declares can be read",
		Reason: "It was not compared with the door."}, driftFix)
	for _, f := range all {
		// inDocument shows the newest result at a line of the document of a declaration.
		inDocument := func(url string, line int, which string) {
			r := &run.Results[len(run.Results)-1]
			where := sarifLocation{Logical: r.Locations[0].Logical}
			where.Physical.Artifact.URI, where.Physical.Region.StartLine = url, max(line, 1)
			if at == "" {
				r.Locations = []sarifLocation{where}
			} else {
				r.Related = []sarifLocation{where}
			}
			sum := sha256.Sum256([]byte(f.report.URL + "\n" + r.RuleID + "\n" + which))
			r.Fingerprints = map[string]string{"doorAndRule/v1": hex.EncodeToString(sum[:])}
		}
		add := func(name, level, detail string) {
			sum := sha256.Sum256([]byte(f.report.URL + "\n" + name))
			where := sarifLocation{Logical: []sarifLogical{{f.report.URL, "resource"}}}
			where.Physical.Artifact.URI, where.Physical.Region.StartLine = f.report.URL, 1
			if at != "" {
				where.Physical.Artifact.URI = at
			}
			run.Results = append(run.Results, sarifResult{RuleID: name, RuleIndex: index[name], Level: level,
				Message: sarifText{f.report.URL + ": " + strings.TrimSuffix(detail, ".") + ". " +
					cmp.Or(fixOf(f.report, name), run.Tool.Driver.Rules[index[name]].Help.Text)},
				Locations:    []sarifLocation{where},
				Fingerprints: map[string]string{"doorAndRule/v1": hex.EncodeToString(sum[:])}})
		}
		for _, c := range f.report.Checks {
			if !c.OK {
				add(c.Name, "error", c.Detail)
			}
		}
		if f.report.Verdict == probe.MethodUnresolved {
			add(string(f.report.Verdict), "error", "it refused GET and named no other method")
		}
		for _, r := range f.bought {
			if r.State == probe.Fail {
				add(r.Name, "error", r.Detail)
			}
		}
		if f.drift != nil {
			for _, d := range f.drift.Findings {
				add(anyDrift, "error", driftSays(d))
				inDocument(d.URL, d.Line, driftName(d))
			}
			for _, u := range f.drift.Unread {
				add(unreadDrift, "note", unreadSays(u))
				inDocument(u.URL, u.Line, u.Declaration)
			}
		}
		for _, n := range f.report.Advisories {
			if !toldByCheck(f.report, n.Name) {
				add(n.Name, "note", n.Detail)
			}
		}
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}
