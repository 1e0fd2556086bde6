package agentcard

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"
)

// A node is a JSON value: nil, bool, string, number, []node or map[string]node.
type node = any

// number is a JSON number as it is written.
type number string

// errDuplicate is returned for an object that has a name twice.
var errDuplicate = errors.New("a member stands twice in an object")

// spelt keeps numbers as they are written.
var spelt = json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *node) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := d.ReadValue()
	*v = number(raw)
	return err
})

// parse reads exactly one JSON value, strictly.
func parse(raw []byte) (v node, err error) {
	err = json.Unmarshal(raw, &v, json.WithUnmarshalers(spelt))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		err = fmt.Errorf("%w: %w", errDuplicate, err)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// write appends v as compact JSON, members sorted by code point; ascii escapes all else, as Python
// does.
func write(b []byte, v node, ascii bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return fmt.Appendf(b, "%t", v)
	case number:
		return append(b, v...)
	case string:
		return writeString(b, v, ascii)
	case []node:
		b = append(b, '[')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = write(b, m, ascii)
		}
		return append(b, ']')
	case map[string]node:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(writeString(b, name, ascii), ':')
			b = write(b, v[name], ascii)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("a2a: no JSON value: %T", v))
}

var short = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func writeString(b []byte, s string, ascii bool) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch e, ok := short[c]; {
		case ok:
			b = append(b, e...)
		case c < 0x20, ascii && c > 0x7e && c <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, c)
		case ascii && c > 0xffff:
			high, low := utf16.EncodeRune(c)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

// object returns v as an object, nil if it is none.
func object(v node) map[string]node {
	o, _ := v.(map[string]node)
	return o
}

// text returns v as a text, "" if it is none.
func text(v node) string {
	s, _ := v.(string)
	return s
}

// list returns v as an array, nil if it is none.
func list(v node) []node {
	l, _ := v.([]node)
	return l
}
