package kit

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/screen"
)

// What build servers read of JUnit's form: a suite a door, a case a check.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Failure *junitDetail `xml:"failure,omitempty"`
		Skipped *junitDetail `xml:"skipped,omitempty"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit makes the file. The verdict is a case of its own, so that a door whose checks were not
// reached is no pass. What failed in the baseline too is no failure, but skipped: a build server
// that reads the file fails by it as the exit code does.
func junit(all []found, failed map[string][]string, base map[string]paidReport) ([]byte, error) {
	var out junitSuites
	for _, f := range all {
		r := f.report
		suite := junitSuite{Name: screen.Text(r.URL), Timestamp: r.Evidence.ObservedAt}
		add := func(name string, failure, skipped *junitDetail) {
			suite.Cases = append(suite.Cases, junitCase{Name: name, Class: "battery " + screen.Text(r.Version),
				Failure: failure, Skipped: skipped})
			suite.Tests++
			if failure != nil {
				suite.Failures++
			}
			if skipped != nil {
				suite.Skipped++
			}
		}
		var bad *junitDetail
		if names := failed[r.URL]; len(names) > 0 {
			bad = &junitDetail{Message: string(r.Verdict), Text: "found " + strings.Join(names, ", ")}
			if fix := fixOf(r, string(r.Verdict)); fix != "" {
				bad.Text += ". " + fix
			}
		}
		add("verdict", bad, nil)
		before := base[r.URL]
		fails := func(name, detail, fix string, known bool) {
			if detail = screen.Text(detail); known {
				add(name, nil, &junitDetail{Message: "fails as in the baseline: " + detail, Text: fix})
				return
			}
			add(name, &junitDetail{Message: detail, Text: fix}, nil)
		}
		for _, c := range r.ChecksVector {
			switch {
			case c.State == probe.Fail:
				fails(c.Name, c.Detail, fixOf(r, c.Name), before.Version == r.Version &&
					state(before.Report, c.Name) == probe.Fail)
			case c.State == probe.NotReached:
				add(c.Name, nil, &junitDetail{Message: screen.Text(notReached(c))})
			default:
				add(c.Name, nil, nil)
			}
		}
		for _, c := range f.bought {
			switch c.State {
			case probe.Fail:
				fails(c.Name, c.Detail, c.Fix, slices.Contains(badRows(before.Purchase, []string{c.Name}), c.Name))
			case probe.NotReached:
				add(c.Name, nil, &junitDetail{Message: screen.Text(c.Detail)})
			default:
				add(c.Name, nil, nil)
			}
		}
		if f.drift != nil {
			for _, d := range f.drift.Findings {
				fails(driftName(d), driftSays(d), driftFix, before.Drift.Has(d))
			}
		}
		out.Suites = append(out.Suites, suite)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

func notReached(c probe.VectorEntry) string {
	if c.BlockedBy != "" && c.BlockedBy != probe.BlockedNotJudged {
		return "not reached: " + c.BlockedBy + " failed"
	}
	return c.Detail
}
