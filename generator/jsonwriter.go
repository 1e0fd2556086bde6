package generator

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonWriter writes JSON as indented does, member by member, for documents of which there are many. An empty name is that of
// an element of a list. Its first error stays.
type jsonWriter struct {
	b     []byte
	depth int
	empty bool // nothing stands in the innermost brackets
	err   error
}

// next begins a member.
func (j *jsonWriter) next(name string) {
	if j.depth > 0 {
		if !j.empty {
			j.b = append(j.b, ',')
		}
		j.line()
	}
	j.empty = false
	if name != "" {
		j.b = append(append(append(j.b, '"'), name...), "\": "...)
	}
}

func (j *jsonWriter) line() {
	j.b = append(j.b, '\n')
	for range j.depth {
		j.b = append(j.b, "  "...)
	}
}

// begin and end write the brackets around members.
func (j *jsonWriter) begin(name string, bracket byte) {
	j.next(name)
	j.b = append(j.b, bracket)
	j.depth, j.empty = j.depth+1, true
}

func (j *jsonWriter) end(bracket byte) {
	j.depth--
	if !j.empty {
		j.line()
	}
	j.empty = false
	j.b = append(j.b, bracket)
}

func (j *jsonWriter) text(name, s string) {
	j.next(name)
	var err error
	if j.b, err = appendQuoted(j.b, s); err != nil && j.err == nil {
		j.err = err
	}
}

// given leaves an empty text out, counted a zero.
func (j *jsonWriter) given(name, s string) {
	if s != "" {
		j.text(name, s)
	}
}

func (j *jsonWriter) counted(name string, n int) {
	if n != 0 {
		j.number(name, int64(n))
	}
}

func (j *jsonWriter) number(name string, n int64) {
	j.next(name)
	j.b = strconv.AppendInt(j.b, n, 10)
}

func (j *jsonWriter) flag(name string, v bool) {
	j.next(name)
	j.b = strconv.AppendBool(j.b, v)
}

func (j *jsonWriter) texts(name string, list []string) {
	j.begin(name, '[')
	for _, s := range list {
		j.text("", s)
	}
	j.end(']')
}

// done ends the document with a line feed.
func (j *jsonWriter) done() ([]byte, error) {
	if j.err != nil {
		return j.b, fmt.Errorf("encoding JSON: %w", j.err)
	}
	return append(j.b, '\n'), nil
}

// jsonPlain tells the bytes that stand for themselves in JSON (RFC 8259, section 7).
var jsonPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return plain
}()

// jsonShort is what follows the backslash before a byte that has a short form.
var jsonShort = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendQuoted appends a text as jsontext.AppendQuote does.
func appendQuoted(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return jsontext.AppendQuote(b, s)
	}
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		if jsonPlain[s[i]] {
			continue
		}
		b = append(append(b, s[from:i]...), '\\')
		if short := jsonShort[s[i]]; short != 0 {
			b = append(b, short)
		} else {
			b = fmt.Appendf(b, "u%04x", s[i])
		}
		from = i + 1
	}
	return append(append(b, s[from:]...), '"'), nil
}
