package api

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// components are what several answers have in common, said once below #/components and referred to
// from there. An OpenAPI description of answers that hold a purchase is three times as long
// without. Inputs are not shared: readers that look for doors to pay take them as they stand.
type components struct {
	counts map[string]int    // of a part by its JSON, each within what holds it counted once
	refs   map[string]string // of a shared part
	kinds  map[string]object // schemas, responses, headers by name
}

// The kinds of component, as they are called in a description.
const (
	schemas      = "schemas"
	responseKind = "responses"
	headers      = "headers"
)

// worthSharing is the length in bytes from which a part that stands twice is said once: a reference
// has about 45.
const worthSharing = 70

// share moves what stands in more than one answer of the operations into components, and returns
// these by kind. Paths are as BuildOpenAPI has them.
func share(paths object) (object, error) {
	c := components{counts: map[string]int{}, refs: map[string]string{},
		kinds: map[string]object{schemas: {{"Problem", problemSchema()}}, responseKind: nil, headers: nil}}
	for _, replace := range []bool{false, true} {
		for _, p := range paths {
			for _, op := range p.value.(object) {
				if err := c.operation(op.value.(object), replace); err != nil {
					return nil, err
				}
			}
		}
	}
	return object{{schemas, c.kinds[schemas]}, {responseKind, c.kinds[responseKind]}, {headers, c.kinds[headers]}}, nil
}

// operation counts the parts of an operation's answers, or puts references in their place.
func (c *components) operation(op object, replace bool) error {
	var name string
	for i, m := range op {
		switch m.name {
		case "operationId":
			name = pascal(m.value.(string))
		case "responses":
			if !replace {
				all, err := tree(m.value)
				if err != nil {
					return fmt.Errorf("sharing the answers of %s: %w", name, err)
				}
				op[i].value = all
			}
			list := op[i].value.(object)
			for j, r := range list {
				status, _ := strconv.Atoi(r.name)
				text := strings.ReplaceAll(http.StatusText(status), " ", "")
				list[j].value = c.part(responseKind, r.value.(object), replace, text, name+text)
			}
		}
	}
	return nil
}

// part counts a part and those within, or gives what stands in its place: a reference where it is
// shared, under the first of the names that is free.
func (c *components) part(kind string, o object, replace bool, names ...string) object {
	raw := compact(o)
	key := kind + raw
	if len(raw) < worthSharing || (len(o) > 0 && o[0].name == "$ref") {
		return c.within(kind, o, replace, names)
	}
	if !replace {
		if c.counts[key]++; c.counts[key] == 1 {
			c.within(kind, o, replace, names)
		}
		return o
	}
	if c.counts[key] < 2 {
		return c.within(kind, o, replace, names)
	}
	if c.refs[key] == "" {
		name := c.free(kind, names)
		c.refs[key] = "#/components/" + kind + "/" + name
		at := len(c.kinds[kind])
		c.kinds[kind] = append(c.kinds[kind], member{name, o})
		c.kinds[kind][at].value = c.within(kind, o, replace, names)
	}
	return object{{"$ref", c.refs[key]}}
}

// free is the first of the names that no component of the kind has, or the last with a number.
func (c *components) free(kind string, names []string) string {
	taken := make(map[string]bool)
	for _, m := range c.kinds[kind] {
		taken[m.name] = true
	}
	for _, n := range names {
		if !taken[n] {
			return n
		}
	}
	for i := 2; ; i++ {
		if n := names[len(names)-1] + strconv.Itoa(i); !taken[n] {
			return n
		}
	}
}

// within is o with the parts below it counted or replaced.
func (c *components) within(kind string, o object, replace bool, names []string) object {
	whole := names[len(names)-1]
	done := make(object, len(o))
	copy(done, o)
	each := func(i int, kind string, name func(string) []string) {
		below, _ := done[i].value.(object)
		list := make(object, len(below))
		for j, m := range below {
			list[j] = m
			if o, ok := m.value.(object); ok {
				list[j].value = c.part(kind, o, replace, name(m.name)...)
			}
		}
		done[i].value = list
	}
	for i, m := range done {
		below, isObject := m.value.(object)
		switch {
		case kind == responseKind && m.name == "headers":
			each(i, headers, func(field string) []string { return []string{field} })
		case kind == responseKind && m.name == "content":
			list := make(object, len(below))
			for j, media := range below {
				list[j] = member{media.name, c.within("content", media.value.(object), replace, names)}
			}
			done[i].value = list
		case kind == "content" && m.name == "schema" && isObject:
			done[i].value = c.part(schemas, below, replace, strings.TrimSuffix(whole, "OK"), whole)
		case kind == schemas && m.name == "properties":
			each(i, schemas, func(field string) []string { return []string{pascal(field), whole + pascal(field)} })
		case kind == schemas && (m.name == "items" || m.name == "additionalProperties") && isObject:
			done[i].value = c.part(schemas, below, replace, names[0]+"Entry", whole+"Entry")
		}
	}
	return done
}

// pascal writes buy_item as BuyItem, and leaves out what no name of a component may hold.
func pascal(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		switch letter := r >= 'a' && r <= 'z'; {
		case letter && upper:
			b.WriteRune(r - 'a' + 'A')
		case letter, r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			upper = true
			continue
		}
		upper = false
	}
	return b.String()
}

// tree is v as it stands in JSON: objects with their members in order, arrays, and values.
func tree(v any) (any, error) {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return readTree(jsontext.NewDecoder(bytes.NewReader(raw)))
}

func readTree(dec *jsontext.Decoder) (any, error) {
	switch dec.PeekKind() {
	case '{':
		o := object{}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String()}
			if m.value, err = readTree(dec); err != nil {
				return nil, err
			}
			o = append(o, m)
		}
		_, err := dec.ReadToken()
		return o, err
	default:
		raw, err := dec.ReadValue()
		return raw.Clone(), err
	}
}

// compact is the JSON of a tree, which has been read from some.
func compact(o object) string { return string(appendTree(nil, o)) }

func appendTree(b []byte, v any) []byte {
	o, isObject := v.(object)
	if !isObject {
		return append(b, v.(jsontext.Value)...)
	}
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, m.name) // a name that was read is UTF-8
		b = appendTree(append(b, ':'), m.value)
	}
	return append(b, '}')
}

// lines writes an object with a line for each member down to a depth, and what is below it as
// short as JSON can be: half of an indented description would be spaces.
func lines(b *bytes.Buffer, o object, depth int) error {
	b.WriteByte('{')
	first := true
	for _, m := range o {
		if empty(m.value) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(b, "\n%q: ", m.name)
		below, isObject := m.value.(object)
		var err error
		if isObject && depth > 1 {
			err = lines(b, below, depth-1)
		} else {
			err = json.MarshalWrite(b, m.value, json.Deterministic(true))
		}
		if err != nil {
			return err
		}
	}
	b.WriteString("\n}")
	return nil
}
