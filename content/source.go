package content

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// fence opens and closes the front matter of a Markdown file.
const fence = "+++"

// cut splits a file into its front matter and its body, which begins on a line.
// The front matter keeps a leading line feed in place of the fence, so that its
// line numbers are the file's.
func (l *loader) cut(file string) (front, body string, line int, ok bool) {
	text, ok := l.text(file)
	if !ok {
		return "", "", 0, false
	}
	front, body, ok = fenced(text)
	if !ok {
		l.fail(file, 1, "front matter must stand between two lines of %s", fence)
		return "", "", 0, false
	}
	trimmed := strings.TrimSpace(body)
	before := text[:len(text)-len(strings.TrimLeft(body, " \t\n"))]
	return "\n" + front, trimmed, 1 + strings.Count(before, "\n"), true
}

// fenced cuts a text into what stands between its first line and the next line like it, both of
// them fences, with or without blanks behind, and what follows.
func fenced(text string) (front, body string, ok bool) {
	isFence := func(line string) bool { return strings.TrimRight(line, " \t\n") == fence }
	lines := strings.SplitAfter(text, "\n")
	if !isFence(lines[0]) {
		return "", "", false
	}
	end := slices.IndexFunc(lines[1:], isFence) + 1
	if end == 0 {
		return "", "", false
	}
	return strings.Join(lines[1:end], ""), strings.Join(lines[end+1:], ""), true
}

// byLineFeeds is a text as every system but Windows writes it: without a byte order mark, its lines
// ended by line feeds.
func byLineFeeds(b []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(b, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

// text returns a file as text: UTF-8, line feeds, no other control characters
// than tabs.
func (l *loader) text(file string) (string, bool) {
	b, ok := l.take(file)
	if !ok {
		return "", false
	}
	line := 1
	for rest := b; len(rest) > 0; {
		if c := rest[0]; c >= ' ' && c < 0x7f { // most are letters of ASCII
			rest = rest[1:]
			continue
		}
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && n == 1:
			l.fail(file, line, "not UTF-8")
			return "", false
		case r == '\n':
			line++
		case r != '\t' && unicode.IsControl(r), r == '\ufeff':
			l.fail(file, line, "control character %U", r)
			return "", false
		}
		rest = rest[n:]
	}
	return string(b), true
}

// isPlain reports whether a key is a word in lower case.
func isPlain(key string) bool {
	return strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && key != "" && key[0] >= 'a'
}

// decode reads TOML strictly: every key is known and spelt exactly so.
func (l *loader) decode(file, text string, into any) bool {
	md, err := toml.Decode(text, into)
	if pe, is := errors.AsType[toml.ParseError](err); is {
		l.fail(file, pe.Position.Line, "%s", pe.Message)
		return false
	}
	if err != nil {
		l.fail(file, 0, "%v", err)
		return false
	}
	unknown := md.Undecoded()
	for _, key := range md.Keys() {
		// The decoder matches keys without regard to case; we do not.
		if !isPlain(key[len(key)-1]) {
			unknown = append(unknown, key)
		}
	}
	seen := make(map[string]bool)
	for _, key := range unknown {
		if name := key[len(key)-1]; !seen[name] {
			seen[name] = true
			l.fail(file, lineOf(text, name), "unknown key %s", key)
		}
	}
	return len(unknown) == 0
}

// lineOf finds the first line that sets or opens a key, 0 for none.
func lineOf(text, key string) int {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, " \t[")
		rest, ok := strings.CutPrefix(line, key)
		if !ok {
			rest, ok = strings.CutPrefix(line, `"`+key+`"`)
		}
		if rest = strings.TrimLeft(rest, " \t"); ok && rest != "" && strings.ContainsRune("=].", rune(rest[0])) {
			return i + 1
		}
	}
	return 0
}

// linesOf finds the lines that open each table of an array.
func linesOf(text, table string) []int {
	var lines []int
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "[["+table+"]]" {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// sourceFile is one file while its values are checked.
type sourceFile struct {
	l    *loader
	name string
	text string // front matter, or the whole of a TOML file
	line int    // where to point when a key has no line, 0 for the whole file
}

func (f sourceFile) fail(key, format string, args ...any) {
	line := f.line
	if line == 0 {
		line = lineOf(f.text, key)
	}
	f.l.fail(f.name, line, key+": "+format, args...)
}

// prose checks one line of plain text: present, trimmed, single-spaced and
// within max characters.
func (f sourceFile) prose(key, value string, max int) {
	switch {
	case value == "":
		f.fail(key, "missing")
	case utf8.RuneCountInString(value) > max:
		f.fail(key, "%d characters, at most %d", utf8.RuneCountInString(value), max)
	case strings.ContainsFunc(value, unicode.IsControl):
		f.fail(key, "must be one line")
	case value != strings.Join(strings.Fields(value), " "):
		f.fail(key, "has spaces at an end or in a row")
	}
}

func (f sourceFile) optional(key, value string, max int) {
	if value != "" {
		f.prose(key, value, max)
	}
}

func (f sourceFile) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		f.fail(key, "%q is none of: %s", value, strings.Join(allowed, ", "))
	}
}
