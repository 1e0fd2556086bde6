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

func newJSONWriter(size int) *jsonWriter { return &jsonWriter{b: make([]byte, 0, size)} }

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

// bytes is the whole document, with a line feed at its end.
func (j *jsonWriter) bytes() ([]byte, error) {
	if j.err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", j.err)
	}
	return append(j.b, '\n'), nil
}

// jsonEscapes is what stands for a byte that a JSON text cannot hold (RFC 8259, section 7), "" for the byte itself.
var jsonEscapes = func() (table [256]string) {
	for c := range byte(' ') {
		table[c] = fmt.Sprintf(`\u%04x`, c)
	}
	for c, with := range map[byte]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`} {
		table[c] = with
	}
	return table
}()

// appendQuoted appends a text as jsontext.AppendQuote does.
func appendQuoted(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return jsontext.AppendQuote(b, s)
	}
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		if with := jsonEscapes[s[i]]; with != "" {
			b = append(append(b, s[from:i]...), with...)
			from = i + 1
		}
	}
	return append(append(b, s[from:]...), '"'), nil
}
