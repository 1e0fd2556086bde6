package goods

import (
	"context"
	"regexp"
	"strings"

	"store.example/agentstore/content"
)

type told struct {
	text
	sealed
}

// tellsText gives the keeper's Markdown with what the order says in it.
var tellsText = Kind{
	Name: content.KindText, Delivers: told{},
	Make: func(_ context.Context, _ Maker, o *Order) (*Made, error) {
		words := fill(o.Good.Text, o.Inputs)
		private, attests := seal(words)
		private.HowTo = "digest = SHA-256(salt bytes followed by text). Keep the salt: only you have it."
		g := MadeOf(o, told{text{words}, private}, o.Good.Name+": deliverable.text has it, as Markdown.", "")
		if o.Good.Certificate.Attests == "" {
			g.Attests = attests
		}
		return g, nil
	},
}

var inputWord = regexp.MustCompile(`\{[a-z_]+\}`)

// fill puts the inputs of an order in the place of their names in braces, as words and never as
// markup. What an input says is looked at for no further names, and one that was left out is
// empty.
func fill(markdown string, inputs map[string]string) string {
	return inputWord.ReplaceAllStringFunc(markdown, func(p string) string { return asWords(inputs[p[1:len(p)-1]]) })
}

// asWords is a text of a buyer's in which Markdown sees nothing but words: what could be markup has
// a backslash before it (CommonMark, section 2.4), and lines are kept apart by one at their end.
func asWords(s string) string {
	var b strings.Builder
	begin := true // of a line: there signs mean more
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '\n':
			b.WriteString("\\")
		case strings.IndexByte("\\`*_[]<>&#~|!{}", c) >= 0, begin && strings.IndexByte("+-=:", c) >= 0,
			(c == '.' || c == ')') && i > 0 && s[i-1] >= '0' && s[i-1] <= '9':
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		begin = c == '\n' || begin && (c == ' ' || c == '\t')
	}
	return b.String()
}
