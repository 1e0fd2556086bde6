package exchange

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthChallenges(t *testing.T) {
	const one = `Payment[id="a" realm="x, y=\"z\\"]`
	for field, want := range map[string]string{
		"":                                     "",
		`Bearer realm="x"`:                     `Bearer[realm="x"]`,
		`Payment id="a", realm="x, y=\"z\\"`:   one,
		`Payment id = a ,  ReAlM="x, y=\"z\\"`: one,
		`, ,Payment id="a" realm="x, y=\"z\\"`: one,
		`pAYMENT iD=a,,`:                       `pAYMENT[id="a"]`,
		`Bearer realm="b", id="b", Negotiate abc==, Basic, Payment id="a", realm="x, y=\"z\\"`: `Bearer[realm="b" id="b"] ` +
			`Negotiate(abc==)[] Basic[] ` + one,
		`Payment id="a", Payment id="b"`:     `Payment[id="a"] Payment[id="b"]`,
		`Payment realm="r, Payment x", id=b`: `Payment[realm="r, Payment x" id="b"]`,
		`Bearer a="b" Payment id="a"`:        `Bearer[a="b"]`, // as mppx: a scheme stands behind a comma
		`Payment id="a" junk, x="y"`:         `Payment[id="a"]`,
		`="a", id="b"`:                       "",
		`Payment id="a", ="b", "c"`:          `Payment[id="a"]!`,
		`Payment id="a\`:                     `Payment[id="a"]!`,
	} {
		var got []string
		for _, c := range AuthChallenges(field) {
			var params []string
			for _, p := range c.Params {
				params = append(params, p.Name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.Value)+`"`)
			}
			said := c.Scheme
			if c.Token68 != "" {
				said += "(" + c.Token68 + ")"
			}
			said += "[" + strings.Join(params, " ") + "]"
			if c.Malformed {
				said += "!"
			}
			got = append(got, said)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

// FuzzAuthChallenges looks for a field that is read without end, or by which the process ends.
func FuzzAuthChallenges(f *testing.F) {
	f.Add(`Bearer abc==, Payment id=, "x`)
	f.Fuzz(func(t *testing.T, field string) {
		for _, c := range AuthChallenges(field) {
			if c.Bytes < len(c.Scheme) || c.Bytes > len(field) {
				t.Errorf("%d bytes of %d", c.Bytes, len(field))
			}
		}
	})
}
