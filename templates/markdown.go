package templates

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands in Markdown as text and was not written as Markdown goes through one of these: a door
// spells its networks as it likes, and a link or a heading of its own making is nothing that the
// store says.

// cell makes text of the keeper's fit a cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(oneLine(s), "|", `\|`) }

// quoted is a stranger's text on one line of Markdown, in which nothing of it is markup.
func quoted(s string) string { return unmarked(shown(s)) }

// said is quoted for texts of which most are words and numbers: those stand as they are.
func said(s string) string {
	if isWords(s) {
		return s
	}
	return unmarked(shown(s))
}

// code is a stranger's text on one line of Markdown as code, behind more backticks than it has in a
// row.
func code(s string) string { return string(appendCode(nil, s)) }

func appendCode(b []byte, s string) []byte {
	if isPlain(s, &codeMarks) {
		return add(b, "`", s, "`")
	}
	s = shown(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence == "`" {
		return add(b, fence, s, fence)
	}
	return add(b, fence, " ", s, " ", fence)
}

// unmarked takes the meaning from whatever may be markup in a line.
func unmarked(s string) string {
	if n := listNumber(s); n > 0 {
		return s[:n] + `\` + s[n:n+1] + escapes.Replace(s[n+1:])
	}
	return escapes.Replace(s)
}

var escapes = func() *strings.Replacer {
	var pairs []string
	for _, c := range "\\`*_{}[]()<>#+-!|~&" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()

// markdownMarks are the bytes that may be markup wherever they stand in a line, codeMarks those in
// code.
var markdownMarks, codeMarks = marked("\\`*[]<>#&|~"), marked("`")

// marked are some bytes and those of control characters.
func marked(some string) (marks [256]bool) {
	for c := range ' ' {
		marks[c] = true
	}
	marks[0x7f] = true
	for i := range len(some) {
		marks[some[i]] = true
	}
	return marks
}

// isPlain reports whether a text has no marks and is one line that shown would not change.
func isPlain(s string, marks *[256]bool) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		if marks[c] || blank && c == ' ' {
			return false
		}
		if c >= utf8.RuneSelf {
			return isPlainRest(s[i:], marks)
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

// isPlainRest is isPlain from the first letter on that is not of ASCII.
func isPlainRest(s string, marks *[256]bool) bool {
	before := 'x'
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if marks[r] || r == ' ' && before == ' ' {
				return false
			}
		case r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return false
		}
		before = r
	}
	return before != ' '
}

// isWords reports whether a text is one line of which nothing is markup. A line that may begin a
// list is not, and an underscore is a letter between two others.
func isWords(s string) bool {
	if !isPlain(s, &markdownMarks) {
		return false
	}
	for i := strings.IndexByte(s, '_'); i >= 0 && i < len(s); i++ {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || !isWordByte(s[i-1]) || !isWordByte(s[i+1])) {
			return false
		}
	}
	return s == "" || s[0] != '-' && s[0] != '+' && listNumber(s) == 0
}

// listNumber is the length of the number with which a line begins that would be an item of a list,
// 0 for none.
func listNumber(s string) int {
	rest := strings.TrimLeft(s, "0123456789")
	n := len(s) - len(rest)
	if n > 0 && (rest == "." || strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ")")) {
		return n
	}
	return 0
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// shown is a text on one line, in which control characters, marks that turn the direction of
// writing and what is no text are to be seen.
func shown(s string) string {
	s = oneLine(s)
	for _, r := range s {
		if r < ' ' || r >= 0x7f && (r == utf8.RuneError || unicode.IsControl(r) ||
			unicode.Is(unicode.Bidi_Control, r)) {
			return strings.Map(func(r rune) rune {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
					return utf8.RuneError
				}
				return r
			}, s)
		}
	}
	return s
}

// oneLine joins the words of a text by single blanks. Most texts are that already.
func oneLine(s string) string {
	before := ' '
	for _, r := range s {
		if unicode.IsSpace(r) && (r != ' ' || before == ' ') {
			return strings.Join(strings.Fields(s), " ")
		}
		before = r
	}
	return strings.TrimSuffix(s, " ")
}

// add appends parts as they are.
func add(b []byte, parts ...string) []byte {
	for _, s := range parts {
		b = append(b, s...)
	}
	return b
}
