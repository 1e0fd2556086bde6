package pay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/dynamic/rail"
)

// Varying are the members of some terms' Extra that differ from one answer to the next, as the
// rails of the terms describe them, each once.
type Varying []*rail.Varying

// VaryingOf finds the members of some terms that vary.
func VaryingOf(accepts []rail.Requirement) (v Varying) {
	for _, a := range accepts {
		if a.Varying != nil && !slices.Contains(v, a.Varying) {
			v = append(v, a.Varying)
		}
	}
	return v
}

// blank stands for the value of the j-th member of the i-th rail.
func blank(i, j int) string { return fmt.Sprintf("varies %d %d %s", i, j, drawn) }

// Mark is the terms with blanks in Extra.
func (v Varying) Mark(accepts []rail.Requirement) []rail.Requirement {
	accepts = slices.Clone(accepts)
	for n, a := range accepts {
		i := slices.Index(v, a.Varying)
		if i < 0 {
			continue
		}
		accepts[n].Extra = maps.Clone(a.Extra)
		for j, m := range a.Varying.Members {
			accepts[n].Extra[m.Name] = blank(i, j)
		}
	}
	return accepts
}

// Fill is what stands in the place of each blank in an answer with a nonce, for a resource: a
// member with its comma, because Extra is an object whose first member is another, or nothing where
// a value is not as it was described.
func (v Varying) Fill(nonce, resource string) map[string]string {
	filled := make(map[string]string)
	for i, r := range v {
		for j, value := range r.Values(nonce, resource) {
			name, said := `,"`+r.Members[j].Name+`":`, ""
			if value != "" && len(value) <= r.Members[j].Max && !strings.ContainsFunc(value, escaped) {
				said = name + `"` + value + `"`
			}
			filled[name+strconv.Quote(blank(i, j))] = said
		}
	}
	return filled
}

// escaped reports what does not stand for itself in a JSON string.
func escaped(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

// Bound are the values that must come back with a payment for terms, by name, when its nonce is one
// of ours; nil where none must.
func Bound(a rail.Requirement, nonce, resource string) map[string]string {
	if a.Varying == nil {
		return nil
	}
	bound := make(map[string]string)
	values := a.Varying.Values(nonce, resource)
	for i, m := range a.Varying.Members {
		if m.Bound {
			bound[m.Name] = values[i]
		}
	}
	return bound
}
