package exchange

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
)

// An Object is a JSON object that keeps its members in the order in which they stand. The nil
// Object has no members.
type Object struct {
	names  []string
	values []any // as many
	// index is the place of each name, made once there are more of them than are looked through.
	index map[string]int
}

// maxLooked is how many names of an object are looked through one by one.
const maxLooked = 16

// at is the place of a name, -1 where there is none.
func (o *Object) at(name string) int {
	switch {
	case o == nil:
		return -1
	case o.index == nil:
		return slices.Index(o.names, name)
	}
	if i, ok := o.index[name]; ok {
		return i
	}
	return -1
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
	if i := o.at(name); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// Set gives a member another value, in the place where it stands, or adds it at the end.
func (o *Object) Set(name string, value any) {
	if i := o.at(name); i >= 0 {
		o.values[i] = value
		return
	}
	o.names, o.values = append(o.names, name), append(o.values, value)
	switch n := len(o.names); {
	case o.index != nil:
		o.index[name] = n - 1
	case n > maxLooked:
		o.index = make(map[string]int, 2*n)
		for i, name := range o.names {
			o.index[name] = i
		}
	}
}

// Clone returns a copy that shares the values. The Object is not nil.
func (o *Object) Clone() *Object {
	return &Object{names: slices.Clone(o.names), values: slices.Clone(o.values), index: maps.Clone(o.index)}
}

// All yields the members in their order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for i, name := range o.names {
			if !yield(name, o.values[i]) {
				return
			}
		}
	}
}

// newObject returns an Object with room for n members.
func newObject(n int) *Object { return &Object{names: make([]string, 0, n), values: make([]any, 0, n)} }

// ErrMore is returned for a text that goes on after its value.
var ErrMore = errors.New("more than one JSON value")

// ParseValue reads one JSON text: nil, bool, float64, string, []any or *Object. A number beyond the
// range of doubles is an infinity, as in JavaScript. Where the options let a name be repeated, its
// last value counts, in the first one's place.
func ParseValue(raw []byte, options ...jsontext.Options) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), options...)
	v, err := parseValue(d)
	if err != nil {
		return nil, err
	}
	if _, more := d.ReadToken(); more != io.EOF {
		return nil, ErrMore
	}
	return v, nil
}

func parseValue(d *jsontext.Decoder) (any, error) {
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
		return double(t.String()), nil
	case '[':
		list := []any{}
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
		o := &Object{}
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
