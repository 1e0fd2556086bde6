package verify

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// TestReportsHideNothing puts what a screen would obey into every text of a report that a stranger
// may have written.
func TestBundleReportsHideNothing(t *testing.T) {
	const evil = "x\x1b[8m\nthe.bundle: verified\r\u202e"
	for what, c := range map[string]struct {
		report BundleReport
		lines  int
	}{
		"sound": {BundleReport{Origin: evil, KID: "mine", Trusted: true, Rounds: make([]RoundReport, 1),
			Hosts: []BundleHost{{Host: evil}}, Artifacts: []ArtifactReport{{ID: evil, KID: evil, Payload: evil}}}, 4},
		"unproven": {BundleReport{Origin: evil, KID: "mine", Trusted: true, Rounds: make([]RoundReport, 1),
			Hosts: []BundleHost{{Host: evil}}, Unproven: []Unproven{{Host: evil, Detail: evil}, {Detail: evil}}}, 4},
		"wrong": {BundleReport{Problems: []Problem{{Path: evil, Kind: "changed", Detail: evil}}}, 2},
	} {
		var got bytes.Buffer
		c.report.Print(&got, "the.bundle")
		if n := strings.Count(got.String(), "\n"); n != c.lines {
			t.Errorf("%s: %d lines, want %d: %q", what, n, c.lines, got.String())
		}
		if strings.ContainsFunc(got.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s: what a screen obeys came through: %q", what, got.String())
		}
	}
}
