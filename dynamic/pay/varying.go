package pay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/rail"
)

// Varying are the members of some terms' Extra that differ from one answer to the next, as the
// rails of the terms describe them. In text that a template is made of, marks stand for them.
type Varying struct {
	rails []*rail.Varying // each once
	marks []mark          // of all their members, in order
}

// mark is what stands for a member in JSON, its comma included, so that a member without a value
// can be left out.
type mark struct {
	rails  int // index of its row
	member rail.VaryingMember
	value  string // what stands for its value
	width  int    // bytes that it takes, a multiple of three
}

// before is what a member begins with in JSON. Extra is an object whose first member is another.
func (m mark) before() string { return `,"` + m.member.Name + `":"` }

// VaryingOf finds the members of some terms that vary.
func VaryingOf(accepts []rail.Requirement) *Varying {
	v := &Varying{}
	for _, a := range accepts {
		if a.Varying == nil || slices.Contains(v.rails, a.Varying) {
			continue
		}
		for _, m := range a.Varying.Members {
			k := mark{rails: len(v.rails), member: m, value: fmt.Sprintf("~varies %d~", len(v.marks))}
			k.width = (len(k.before()) + m.Max + len(`"`) + 2) / 3 * 3
			v.marks = append(v.marks, k)
		}
		v.rails = append(v.rails, a.Varying)
	}
	return v
}

// Mark is the terms with marks in Extra.
func (v *Varying) Mark(accepts []rail.Requirement) []rail.Requirement {
	accepts = slices.Clone(accepts)
	for i, a := range accepts {
		of := slices.Index(v.rails, a.Varying)
		if of < 0 {
			continue
		}
		accepts[i].Extra = maps.Clone(a.Extra)
		for _, k := range v.marks {
			if k.rails == of {
				accepts[i].Extra[k.member.Name] = k.value
			}
		}
	}
	return accepts
}

// Fill is what stands in the place of each mark in an answer with a nonce, for a resource: a member
// with its comma, and spaces up to its width. Hints that are not as they were described are left
// out.
func (v *Varying) Fill(nonce []byte, resource string) [][]byte {
	if len(v.marks) == 0 {
		return nil
	}
	all := make([][]byte, 0, len(v.marks))
	for _, r := range v.rails {
		for _, value := range r.Values(string(nonce), resource) {
			k := v.marks[len(all)]
			b := make([]byte, 0, k.width)
			if value != "" && len(value) <= k.member.Max && !strings.ContainsFunc(value, escaped) {
				b = append(append(append(b, k.before()...), value...), '"')
			}
			for len(b) < k.width {
				b = append(b, ' ')
			}
			all = append(all, b)
		}
	}
	return all
}

// escaped reports what does not stand for itself in a JSON string.
func escaped(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

// Bound are the values that must come back with a payment for terms, by name, when its nonce is one
// of ours; nil where none must.
func Bound(a rail.Requirement, nonce, resource string) map[string]string {
	if a.Varying == nil {
		return nil
	}
	var bound map[string]string
	values := a.Varying.Values(nonce, resource)
	for i, m := range a.Varying.Members {
		if m.Bound {
			if bound == nil {
				bound = make(map[string]string)
			}
			bound[m.Name] = values[i]
		}
	}
	return bound
}
