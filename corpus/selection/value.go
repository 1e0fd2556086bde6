package selection

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A value is what JSON.parse makes: nil for null, bool, float64, string, []value or *object; undefined for what is
// not there (ECMA-262, section 6.1).
type value any

type undefined struct{}

type object struct {
	names   []string // in the order of insertion
	members map[string]value
}

// errText is returned for JSON that a Go string cannot hold as JavaScript would.
var errText = errors.New("holds text that is not Unicode")

// parse reads one JSON text as JSON.parse does: of a repeated name the last value counts, in the first one's place.
func parse(raw []byte) (value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	v, err := parseValue(d)
	if err == nil {
		if _, more := d.ReadToken(); more != io.EOF {
			return nil, errors.New("more than one JSON value")
		}
		return v, nil
	}
	lenient := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, e := parseValue(lenient); e == nil {
		return nil, errText
	}
	return nil, err
}

func parseValue(d *jsontext.Decoder) (value, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, fmt.Errorf("parsing JSON: %w", err)
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		// Beyond the range of doubles this is an infinity, as in JavaScript.
		f, _ := strconv.ParseFloat(t.String(), 64)
		return f, nil
	case '[':
		list := []value{}
		for d.PeekKind() != ']' {
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	default: // '{', as the decoder lets nothing else begin a value
		o := &object{members: map[string]value{}}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, fmt.Errorf("parsing JSON: %w", err)
			}
			n := name.String() // before the next token is read over it
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			if _, twice := o.members[n]; !twice {
				o.names = append(o.names, n)
			}
			o.members[n] = v
		}
		_, err := d.ReadToken()
		return o, err
	}
}

// thrown is an exception of the client, in its exact text.
type thrown struct{ message string }

func (t thrown) Error() string { return t.message }

func throwf(format string, args ...any) error { return thrown{fmt.Sprintf(format, args...)} }

// get is v.name, which throws for null and undefined. Only names that no JavaScript prototype has are asked for.
func get(v value, name string) (value, error) {
	switch v := v.(type) {
	case nil:
		return nil, throwf("Cannot read properties of null (reading '%s')", name)
	case undefined:
		return nil, throwf("Cannot read properties of undefined (reading '%s')", name)
	case *object:
		if m, ok := v.members[name]; ok {
			return m, nil
		}
	}
	return undefined{}, nil
}

// maybe is v?.name.
func maybe(v value, name string) value {
	m, err := get(v, name)
	if err != nil {
		return undefined{}
	}
	return m
}

// nullish is v == null.
func nullish(v value) bool { return v == nil || v == undefined{} }

// falsy is !v.
func falsy(v value) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	}
	return nullish(v)
}

// text is String(v).
func text(v value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case undefined:
		return "undefined"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return number(v)
	case string:
		return v
	case []value:
		parts := make([]string, len(v))
		for i, m := range v {
			if !nullish(m) {
				parts[i] = text(m)
			}
		}
		return strings.Join(parts, ",")
	}
	return "[object Object]"
}

// number is Number.prototype.toString (ECMA-262, section 6.1.6.1.20).
func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0"
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	sign, digits := exponent[:1], strings.TrimLeft(exponent[1:], "0")
	return mantissa + "e" + sign + digits
}

// appendJSON is JSON.stringify of what JSON.parse made.
func appendJSON(b []byte, v value) []byte {
	switch v := v.(type) {
	case string:
		return appendString(b, v)
	case float64:
		if math.IsInf(v, 0) {
			return append(b, "null"...)
		}
		return append(b, number(v)...)
	case []value:
		b = append(b, '[')
		for i, m := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, m)
		}
		return append(b, ']')
	case *object:
		b = append(b, '{')
		for i, name := range v.order() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendJSON(b, v.members[name])
		}
		return append(b, '}')
	}
	return append(b, text(v)...)
}

// order lists the names as JavaScript does: array indices first, ascending, then the rest as inserted.
func (o *object) order() []string {
	var indices []uint64
	var rest []string
	for _, n := range o.names {
		if i, err := strconv.ParseUint(n, 10, 32); err == nil && i < math.MaxUint32 && strconv.FormatUint(i, 10) == n {
			indices = append(indices, i)
		} else {
			rest = append(rest, n)
		}
	}
	if indices == nil {
		return rest
	}
	slices.Sort(indices)
	all := make([]string, 0, len(o.names))
	for _, i := range indices {
		all = append(all, strconv.FormatUint(i, 10))
	}
	return append(all, rest...)
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = fmt.Appendf(b, "\\u%04x", c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
