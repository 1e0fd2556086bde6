package exchange

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
)

// An Object is a JSON object that keeps its members in the order in which they stand. The nil
// Object has no members.
type Object struct {
	names  []string
	values map[string]any
}

// Len is how many members there are.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.names)
}

// Get returns a member's value, and whether there is such a member.
func (o *Object) Get(name string) (value any, ok bool) {
	if o != nil {
		value, ok = o.values[name]
	}
	return value, ok
}

// Set gives a member another value, in the place where it stands, or adds it at the end.
func (o *Object) Set(name string, value any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

// All yields the members in their order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for _, name := range o.names {
			if !yield(name, o.values[name]) {
				return
			}
		}
	}
}

// text is a member's value where that is one.
func (o *Object) text(name string) (value string, ok bool) {
	v, _ := o.Get(name)
	value, ok = v.(string)
	return value, ok
}

// ErrMore is returned for a text that goes on after its value.
var ErrMore = errors.New("more than one JSON value")

// ParseValue reads one JSON text: nil, bool, float64, string, []any or *Object. A number beyond the
// range of doubles is an infinity, as in JavaScript. Where the options let a name be repeated, its
// last value counts, in the first one's place.
func ParseValue(raw []byte, options ...jsontext.Options) (any, error) {
	return parseWithin(math.MaxInt, raw, options...)
}

// parseWithin is ParseValue for a text of at most so many arrays and objects in each other.
func parseWithin(depth int, raw []byte, options ...jsontext.Options) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), options...)
	v, err := parseValue(d, depth)
	if err != nil {
		return nil, err
	}
	if _, more := d.ReadToken(); more != io.EOF {
		return nil, ErrMore
	}
	return v, nil
}

func parseValue(d *jsontext.Decoder, depth int) (any, error) {
	t, err := d.ReadToken()
	if err == nil && d.StackDepth() > depth {
		err = errors.New("it is nested too deeply")
	}
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
		return double(t.String()), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := parseValue(d, depth)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	default: // '{', as the decoder lets nothing else begin a value
		o := &Object{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, fmt.Errorf("parsing JSON: %w", err)
			}
			n := name.String() // before the next token is read over it
			v, err := parseValue(d, depth)
			if err != nil {
				return nil, err
			}
			o.Set(n, v)
		}
		_, err := d.ReadToken()
		return o, err
	}
}

// double is the number that JSON spells.
func double(spelled string) float64 {
	f, _ := strconv.ParseFloat(spelled, 64) // an infinity beyond the range
	return f
}
