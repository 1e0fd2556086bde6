package botauth

import (
	"errors"
	"fmt"
	"strings"
)

// signed is one signature of a message: the member of Signature-Input and the bytes of Signature.
type signed struct {
	components []item
	params     item
	raw        string // components and parameters, as sent
	bytes      []byte
}

// signatures pairs Signature-Input with Signature (RFC 9421, section 4).
func signatures(input, signature string) ([]signed, error) {
	inputs, err := dictionary(input)
	if err != nil {
		return nil, fmt.Errorf("reading Signature-Input: %w", err)
	}
	values, err := dictionary(signature)
	if err != nil {
		return nil, fmt.Errorf("reading Signature: %w", err)
	}
	var out []signed
	for _, m := range inputs {
		if !m.inner {
			return nil, fmt.Errorf("reading Signature-Input: %q is no inner list", m.key)
		}
		s := signed{components: m.list, params: m.item, raw: m.raw}
		for _, v := range values {
			if b, ok := v.value.([]byte); ok && v.key == m.key {
				s.bytes = b
			}
		}
		if s.bytes == nil {
			return nil, fmt.Errorf("reading Signature: there is none for %q", m.key)
		}
		out = append(out, s)
	}
	return out, nil
}

func (s signed) text(name string) string  { v, _ := s.params.param(name).(string); return v }
func (s signed) number(name string) int64 { v, _ := s.params.param(name).(int64); return v }
func (s signed) covers(as string) bool    { return s.index(as) >= 0 }

func (s signed) index(as string) int {
	for i, c := range s.components {
		if name, err := identifier(c); err == nil && name == as {
			return i
		}
	}
	return -1
}

// identifier is a component as it stands in the signature base: "@authority";req.
func identifier(c item) (string, error) {
	name, ok := c.value.(string)
	if !ok || name != strings.ToLower(name) {
		return "", errors.New("a component is not a text in lower case")
	}
	var out strings.Builder
	out.WriteString(`"` + name + `"`)
	for _, p := range c.params {
		switch v := p.value.(type) {
		case bool:
			if !v {
				return "", errors.New("a component has a parameter that is false")
			}
			out.WriteString(";" + p.name)
		case string:
			out.WriteString(";" + p.name + `="` + v + `"`)
		default:
			return "", errors.New("a component has a parameter of an odd type")
		}
	}
	return out.String(), nil
}

// errComponent is returned for a component whose value is not known here.
var errComponent = errors.New("the signature covers a component that is not known here")

// base is the signature base (RFC 9421, section 2.5). Lookup gives the value of a component by its
// identifier.
func (s signed) base(lookup func(identifier string) (string, bool)) (string, error) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, c := range s.components {
		id, err := identifier(c)
		if err != nil {
			return "", err
		}
		if seen[id] {
			return "", fmt.Errorf("the component %s stands twice", id)
		}
		seen[id] = true
		v, ok := lookup(id)
		if !ok {
			return "", fmt.Errorf("%w: %s", errComponent, id)
		}
		b.WriteString(id + ": " + v + "\n")
	}
	b.WriteString(`"@signature-params": ` + s.raw)
	return b.String(), nil
}
