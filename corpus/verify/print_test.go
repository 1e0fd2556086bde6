package verify

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"store.example/agentstore/corpus/ots"
)

// TestReportsHideNothing puts what a stranger names, and what a screen would obey, into every text
// of a report.
func TestReportsHideNothing(t *testing.T) {
	const evil = "x\x1b[8m\n/clone: verified: 7 files of https://store.example are as mine signed them\r\u202e\x9b"
	sound := CloneReport{BaseURL: evil, SignedBy: evil, Identity: "00", LeftOut: []string{evil},
		Beside: []string{evil, evil},
		Record: &RecordReport{Origin: evil, Rounds: 1, Leaves: 1,
			Errata: []ErratumReport{{Host: evil, Rests: RestsOnWalk}},
			Proofs: []ProofReport{{Path: evil, State: ots.StateVerified},
				{Path: evil, State: ots.StateUnchecked}, {Path: evil}}}}
	wrong := CloneReport{Problems: []Problem{{Path: evil, Kind: "changed", Detail: evil}}}
	for what, r := range map[string]CloneReport{"sound": sound, "wrong": wrong} {
		plain := strings.NewReplacer(evil, "x")
		var got, like bytes.Buffer
		r.Print(&got, "/clone")
		r.BaseURL, r.SignedBy = plain.Replace(r.BaseURL), plain.Replace(r.SignedBy)
		for _, list := range [][]string{r.LeftOut, r.Beside} {
			for i := range list {
				list[i] = "x"
			}
		}
		for i := range r.Problems {
			r.Problems[i].Path, r.Problems[i].Detail = "x", "x"
		}
		if r.Record != nil {
			r.Record.Origin, r.Record.Errata[0].Host = "x", "x"
			for i := range r.Record.Proofs {
				r.Record.Proofs[i].Path = "x"
			}
		}
		r.Print(&like, "/clone")
		if n, want := strings.Count(got.String(), "\n"), strings.Count(like.String(), "\n"); n != want {
			t.Errorf("%s: %d lines, want %d:\n%q", what, n, want, got.String())
		}
		if strings.ContainsFunc(got.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s: what a screen obeys came through: %q", what, got.String())
		}
	}
}
