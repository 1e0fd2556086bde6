package visitors

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/dynamic/problem"
)

// The greatest lengths, in characters (Unicode code points).
const (
	MaxName        = 80
	MaxMessage     = 500  // guestbook
	MaxLetter      = 2000 // letters
	MaxTip         = 2000
	MaxDescription = 1000 // requests
	MaxContact     = 200
	MaxListing     = 200
	MaxReply       = 4000 // the keeper's
)

// maxBody bounds the body of every write, in bytes: a letter of which each character is written as
// two escapes of six, with a smart wallet's signature.
const maxBody = 48 << 10

// maxMarks is how many marks may stand on one letter.
const maxMarks = 6

// field is one text of a body.
type field struct {
	name, text string
	max        int
	required   bool
	lines      bool // line breaks and tabs are allowed
}

// check finds what is wrong with texts; nil for nothing.
func check(fields ...field) error {
	var bad []problem.Field
	for _, f := range fields {
		if what := f.problem(); what != "" {
			bad = append(bad, problem.Field{Field: f.name, Problem: what})
		}
	}
	if bad == nil {
		return nil
	}
	return &problem.Error{Code: "invalid_input", Fields: bad, Detail: "Nothing was kept, and nothing was counted: " +
		bad[0].Field + " " + bad[0].Problem + "."}
}

func (f field) problem() string {
	switch {
	case !f.required && f.text == "":
		return ""
	case strings.TrimFunc(f.text, unicode.IsSpace) == "":
		return "is required"
	case !utf8.ValidString(f.text):
		return "is not UTF-8"
	case utf8.RuneCountInString(f.text) > f.max:
		return fmt.Sprintf("is longer than %d characters", f.max)
	}
	return unseen(f.text, f.lines)
}

// The two joiners that are part of how words and pictures are spelled.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// unseen says which character of a text cannot be seen where it stands, "" for none: control
// characters, marks of direction, tags, variation selectors beyond the sixteen, what has no
// meaning, joiners that join nothing, and more marks on a letter than any script puts there. What
// cannot be seen is where orders to a reader are hidden.
func unseen(s string, lines bool) string {
	marks, before := 0, ' '
	for i, r := range s {
		marks++
		switch {
		case r >= ' ' && r <= '~': // most are, and the tables below cost more
			marks = 0
		case r == '\n' || r == '\t' || r == '\r':
			if !lines {
				return "must be one line"
			}
			marks = 0
		case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
			next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
			if !joins(before) || !joins(next) {
				return fmt.Sprintf("has a character that cannot be seen, %U, where it joins nothing", r)
			}
		case r >= 0xE0000 && r <= 0xE0FFF, r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0', r == '\u2800',
			r == '\u034f', r == '\u17b4', r == '\u17b5', r >= '\u180b' && r <= '\u180f',
			!unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r), r == utf8.RuneError:
			return fmt.Sprintf("has a character that cannot be seen, %U", r)
		case !unicode.Is(unicode.M, r):
			marks = 0
		case marks > maxMarks:
			return fmt.Sprintf("has more than %d marks on one letter", maxMarks)
		}
		before = r
	}
	return ""
}

// joins reports whether a joiner may stand beside a character.
func joins(r rune) bool {
	return r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != zeroWidthJoiner &&
		r != zeroWidthNonJoiner
}
