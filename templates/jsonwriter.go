package templates

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"agentstore/corpus/attest"
)

// jsonWriter appends JSON, one member a line, two spaces for each object or list around it. Where it appends most, it does
// so in statements of the form w.b = append(w.b, …), for which the compiler writes the pointer of w.b only when it changes.
type jsonWriter struct {
	b     []byte
	depth int
	odd   bool // something cannot be spelled here: the text is of no use
}

// open begins an object or a list, where a value may stand.
func (w *jsonWriter) open(bracket byte) {
	w.b = append(w.b, bracket)
	w.depth++
}

// close ends what was opened, on a line of its own unless it is empty.
func (w *jsonWriter) close(bracket byte) {
	w.depth--
	if !w.empty() {
		w.b = append(w.b, nextLine[1:2+2*w.depth]...)
	}
	w.b = append(w.b, bracket)
}

// empty reports whether nothing stands yet in what was opened last: no value ends in an opening bracket.
func (w *jsonWriter) empty() bool {
	last := w.b[len(w.b)-1]
	return last == '{' || last == '['
}

// line begins the line of a member or an element.
func (w *jsonWriter) line() {
	from := 0
	if w.empty() {
		from = 1
	}
	w.b = append(w.b, nextLine[from:2+2*w.depth]...)
}

// nextLine ends a line that another follows and indents that, eight levels deep, of which a host has five.
const nextLine = ",\n                "

// name begins a member, whose name needs no escape.
func (w *jsonWriter) name(name string) {
	w.line()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, "\": "...)
}

func (w *jsonWriter) object(name string) {
	w.name(name)
	w.open('{')
}

func (w *jsonWriter) list(name string) {
	w.name(name)
	w.open('[')
}

func (w *jsonWriter) element(bracket byte) {
	w.line()
	w.open(bracket)
}

func (w *jsonWriter) null(name string) {
	w.name(name)
	w.b = append(w.b, "null"...)
}

func (w *jsonWriter) truth(name string, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *jsonWriter) number(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// someNumber is a number that is left out when it is zero.
func (w *jsonWriter) someNumber(name string, n int64) {
	if n != 0 {
		w.number(name, n)
	}
}

func (w *jsonWriter) digest(name string, d attest.Digest) {
	w.name(name)
	w.b = append(hex.AppendEncode(append(w.b, '"'), d[:]), '"')
}

func (w *jsonWriter) text(name, s string) {
	w.name(name)
	w.quoted(s)
}

// someText is a text that is left out when it is empty.
func (w *jsonWriter) someText(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *jsonWriter) texts(name string, list []string) {
	w.list(name)
	for _, s := range list {
		w.line()
		w.quoted(s)
	}
	w.close(']')
}

// quoted appends a text as a value.
func (w *jsonWriter) quoted(s string) {
	if !isPlainJSON(s) {
		var err error
		if w.b, err = jsontext.AppendQuote(w.b, s); err != nil {
			w.odd = true
		}
		return
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

// isPlainJSON reports whether a text stands for itself between its quotes.
func isPlainJSON(s string) bool {
	all := byte(0)
	for i := range len(s) {
		if !plainJSON[s[i]] {
			return false
		}
		all |= s[i]
	}
	return all < utf8.RuneSelf || utf8.ValidString(s)
}

// plainJSON are the bytes that stand for themselves in a text, if that is UTF-8.
var plainJSON = func() (plain [256]bool) {
	for c := ' '; c <= 0xff; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()
