package stockclient

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// A value is what JSON.parse makes: nil for null, bool, float64, string, []value or *object;
// undefined for what is not there (ECMA-262, section 6.1).
type value = any

type undefined struct{}

type object = exchange.Object

// errText is returned for JSON that a Go string cannot hold as JavaScript would.
var errText = errors.New("holds text that is not Unicode")

// parse reads one JSON text as JSON.parse does: of a repeated name the last value counts, in the
// first one's place.
func parse(raw []byte) (value, error) {
	v, err := exchange.ParseValue(raw, jsontext.AllowDuplicateNames(true))
	if err == nil || errors.Is(err, exchange.ErrMore) {
		return v, err
	}
	lenient := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if lenient.SkipValue() == nil {
		return nil, errText
	}
	return nil, err
}

// thrown is an exception of the client, in its exact text.
type thrown struct{ message string }

func (t thrown) Error() string { return t.message }

func throwf(format string, args ...any) error { return thrown{fmt.Sprintf(format, args...)} }

// get is v.name, which throws for null and undefined. Only names that no JavaScript prototype has
// are asked for.
func get(v value, name string) (value, error) {
	switch v := v.(type) {
	case nil:
		return nil, throwf("Cannot read properties of null (reading '%s')", name)
	case undefined:
		return nil, throwf("Cannot read properties of undefined (reading '%s')", name)
	case *object:
		if m, ok := v.Get(name); ok {
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
		for i, name := range order(v) {
			if i > 0 {
				b = append(b, ',')
			}
			m, _ := v.Get(name)
			b = appendJSON(append(appendString(b, name), ':'), m)
		}
		return append(b, '}')
	}
	return append(b, text(v)...)
}

// order lists the names as JavaScript does: array indices first, ascending, then the rest as
// inserted.
func order(o *object) []string {
	var indices []uint64
	var rest []string
	for n := range o.All() {
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
	all := make([]string, 0, o.Len())
	for _, i := range indices {
		all = append(all, strconv.FormatUint(i, 10))
	}
	return append(all, rest...)
}

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // parse lets no text through that is not UTF-8
	return b
}

// wellFormed says whether terms have the types that languages demand that read them into types.
func wellFormed(terms value) bool {
	list, ok := maybe(terms, "accepts").([]value)
	for _, e := range list {
		for _, name := range []string{"scheme", "network", "asset", "amount", "payTo"} {
			_, isText := maybe(e, name).(string)
			ok = ok && isText
		}
		seconds, isNumber := maybe(e, "maxTimeoutSeconds").(float64)
		_, isObject := maybe(e, "extra").(*object)
		ok = ok && isNumber && seconds == math.Trunc(seconds) && isObject && isDigits(text(maybe(e, "amount")))
	}
	return ok && maybe(terms, "x402Version") == value(2.0)
}
