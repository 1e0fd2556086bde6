package templates

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
)

// hostDocument is document of a host, for which the library takes several times as long: it meets
// every value anew, where this writer knows the types of a host beforehand. What it does not know
// how to spell, it leaves to the library, and so are the library's errors.
func hostDocument(room *HostRoom, h *derive.Host) ([]byte, error) {
	room.host = *h // a copy, so that h itself need not be on the heap
	w := jsonWriter{b: slices.Grow(room.json[:0], hostDocumentSize(h))}
	appendHost(&w, reflect.ValueOf(&room.host).Elem())
	w.b = append(w.b, '\n')
	room.json = w.b
	if w.odd {
		return document(*h)
	}
	return w.b, nil
}

// hostDocumentSize is about how long the document is.
func hostDocumentSize(h *derive.Host) int {
	size := 4<<10 + len(h.Citation.Inclusion) + len(h.Citation.Row)*5/4
	for i := range h.Timeline {
		if size += 512; h.Timeline[i].URL != "" {
			size += 768
		}
	}
	return size + 512*len(h.PaidWalks) + 384*len(h.Refreshes)
}

// appendValue appends a value of one type.
type appendValue func(w *jsonWriter, v reflect.Value)

var appendHost = appendOf(reflect.TypeFor[derive.Host]())

// appendOf knows the types that a host is made of; a test meets all of them.
func appendOf(t reflect.Type) appendValue {
	switch t {
	case reflect.TypeFor[attest.Digest]():
		return func(w *jsonWriter, v reflect.Value) { w.b = append(hex.AppendEncode(append(w.b, '"'), v.Bytes()), '"') }
	case reflect.TypeFor[derive.Counts]():
		return (*jsonWriter).counts
	}
	switch t.Kind() {
	case reflect.String:
		return func(w *jsonWriter, v reflect.Value) { w.quoted(v.String()) }
	case reflect.Bool:
		return func(w *jsonWriter, v reflect.Value) { w.b = strconv.AppendBool(w.b, v.Bool()) }
	case reflect.Int64:
		return func(w *jsonWriter, v reflect.Value) { w.b = strconv.AppendInt(w.b, v.Int(), 10) }
	case reflect.Pointer:
		held := appendOf(t.Elem())
		return func(w *jsonWriter, v reflect.Value) {
			if v.IsNil() {
				w.b = append(w.b, "null"...)
				return
			}
			held(w, v.Elem())
		}
	case reflect.Slice:
		element := appendOf(t.Elem())
		return func(w *jsonWriter, v reflect.Value) {
			w.open('[')
			for i := range v.Len() {
				w.line()
				element(w, v.Index(i))
			}
			w.close(']')
		}
	case reflect.Struct:
		return appendMembers(t)
	}
	panic("a host holds a " + t.String()) // when the program starts
}

// appendMembers appends an object: names and what is left out when it is zero are said by the type,
// as the library has it.
func appendMembers(t reflect.Type) appendValue {
	type member struct {
		at    []int
		name  string
		some  bool
		value appendValue
	}
	var members []member
	for _, f := range reflect.VisibleFields(t) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			members = append(members, member{f.Index, `"` + name + `": `, options == "omitzero", appendOf(f.Type)})
		}
	}
	return func(w *jsonWriter, v reflect.Value) {
		w.open('{')
		for i := range members {
			m := &members[i]
			value := v.FieldByIndex(m.at)
			if m.some && value.IsZero() {
				continue
			}
			w.line()
			w.b = append(w.b, m.name...)
			m.value(w, value)
		}
		w.close('}')
	}
}

// counts is an object whose members are sorted. Names that stand twice are an error, and the
// library's.
func (w *jsonWriter) counts(v reflect.Value) {
	counts := *v.Addr().Interface().(*derive.Counts)
	w.open('{')
	for i, c := range counts {
		if i > 0 && counts[i-1].Name >= c.Name {
			w.odd = true
		}
		w.line()
		w.quoted(c.Name)
		w.b = strconv.AppendInt(append(w.b, ": "...), c.Count, 10)
	}
	w.close('}')
}

// jsonWriter appends JSON, one member a line, two spaces for each object or list around it. Where
// it appends most, it does so in statements of the form w.b = append(w.b, …), for which the
// compiler writes the pointer of w.b only when it changes.
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

// empty reports whether nothing stands yet in what was opened last: no value ends in an opening
// bracket.
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

// nextLine ends a line that another follows and indents that, eight levels deep, of which a host
// has five.
const nextLine = ",\n                "

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
