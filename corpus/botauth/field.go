package botauth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Structured fields (RFC 8941), as far as signatures need them: dictionaries of items and inner
// lists. A value is string, token, int64, bool or []byte.
type token string

type param struct {
	name  string
	value any
}

type item struct {
	value  any
	params []param
}

// member is one of a dictionary. Raw is its value and parameters as they were sent.
type member struct {
	key   string
	list  []item // of an inner list
	inner bool
	item
	raw string
}

func (i item) param(name string) any {
	for _, p := range i.params {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

// maxField bounds a header value that is parsed, maxMembers its members.
const (
	maxField   = 16 << 10
	maxMembers = 32
)

var errField = errors.New("not a structured field")

// dictionary parses a Dictionary. A key that stands twice is refused, which is stricter than RFC
// 8941.
func dictionary(s string) ([]member, error) {
	if len(s) > maxField {
		return nil, fmt.Errorf("%w: longer than %d bytes", errField, maxField)
	}
	p := &parser{s: strings.Trim(s, " ")}
	var out []member
	seen := map[string]bool{}
	for p.s != "" {
		m, err := p.member()
		if err != nil {
			return nil, err
		}
		if seen[m.key] || len(out) == maxMembers {
			return nil, fmt.Errorf("%w: %q stands twice, or there are too many members", errField, m.key)
		}
		seen[m.key] = true
		out = append(out, m)
		p.s = strings.TrimLeft(p.s, " \t")
		if p.s == "" {
			break
		}
		if p.s[0] != ',' {
			return nil, fmt.Errorf("%w: %.20q instead of a comma", errField, p.s)
		}
		if p.s = strings.TrimLeft(p.s[1:], " \t"); p.s == "" {
			return nil, fmt.Errorf("%w: it ends with a comma", errField)
		}
	}
	return out, nil
}

type parser struct{ s string }

func (p *parser) member() (member, error) {
	key, err := p.key()
	if err != nil {
		return member{}, err
	}
	m := member{key: key, value: true}
	if !strings.HasPrefix(p.s, "=") {
		m.params, err = p.params()
		return m, err
	}
	p.s = p.s[1:]
	start := p.s
	if strings.HasPrefix(p.s, "(") {
		m.inner = true
		m.list, err = p.innerList()
	} else {
		m.value, err = p.bare()
	}
	if err != nil {
		return member{}, err
	}
	m.params, err = p.params()
	m.raw = start[:len(start)-len(p.s)]
	return m, err
}

func (p *parser) innerList() ([]item, error) {
	p.s = p.s[1:]
	var out []item
	for {
		p.s = strings.TrimLeft(p.s, " ")
		if strings.HasPrefix(p.s, ")") {
			p.s = p.s[1:]
			return out, nil
		}
		v, err := p.bare()
		if err != nil {
			return nil, err
		}
		params, err := p.params()
		if err != nil {
			return nil, err
		}
		if out = append(out, item{v, params}); len(out) > maxMembers {
			return nil, fmt.Errorf("%w: more than %d components", errField, maxMembers)
		}
		if !strings.HasPrefix(p.s, " ") && !strings.HasPrefix(p.s, ")") {
			return nil, fmt.Errorf("%w: an inner list does not end", errField)
		}
	}
}

func (p *parser) params() ([]param, error) {
	var out []param
	for strings.HasPrefix(p.s, ";") {
		p.s = strings.TrimLeft(p.s[1:], " ")
		name, err := p.key()
		if err != nil {
			return nil, err
		}
		v := any(true)
		if strings.HasPrefix(p.s, "=") {
			p.s = p.s[1:]
			if v, err = p.bare(); err != nil {
				return nil, err
			}
		}
		for _, had := range out {
			if had.name == name {
				return nil, fmt.Errorf("%w: the parameter %q stands twice", errField, name)
			}
		}
		if out = append(out, param{name, v}); len(out) > maxMembers {
			return nil, fmt.Errorf("%w: too many parameters", errField)
		}
	}
	return out, nil
}

func (p *parser) key() (string, error) {
	n := 0
	for n < len(p.s) {
		c := p.s[n]
		if c >= 'a' && c <= 'z' || c == '*' || n > 0 && (c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			n++
			continue
		}
		break
	}
	if n == 0 {
		return "", fmt.Errorf("%w: %.20q begins no key", errField, p.s)
	}
	key := p.s[:n]
	p.s = p.s[n:]
	return key, nil
}

// take cuts the first n bytes off.
func (p *parser) take(n int) string {
	s := p.s[:n]
	p.s = p.s[n:]
	return s
}

func (p *parser) bare() (any, error) {
	if p.s == "" {
		return nil, fmt.Errorf("%w: a value is missing", errField)
	}
	switch c := p.s[0]; {
	case c == '"':
		return p.text()
	case c == ':':
		end := strings.IndexByte(p.s[1:], ':')
		if end < 0 {
			return nil, fmt.Errorf("%w: bytes do not end", errField)
		}
		b, err := base64.StdEncoding.Strict().DecodeString(p.take(end + 2)[1 : end+1])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errField, err)
		}
		return b, nil
	case c == '?' && len(p.s) > 1 && (p.s[1] == '0' || p.s[1] == '1'):
		return p.take(2) == "?1", nil
	case c == '-' || c >= '0' && c <= '9':
		n := 1
		for n < len(p.s) && p.s[n] >= '0' && p.s[n] <= '9' {
			n++
		}
		v, err := strconv.ParseInt(p.take(n), 10, 64)
		if err != nil || n > 16 || strings.HasPrefix(p.s, ".") {
			return nil, fmt.Errorf("%w: no integer of 15 digits", errField)
		}
		return v, nil
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*':
		n := 1
		for n < len(p.s) && (strings.IndexByte("!#$%&'*+-.^_`|~:/", p.s[n]) >= 0 || p.s[n] >= '0' && p.s[n] <= '9' ||
			p.s[n]|0x20 >= 'a' && p.s[n]|0x20 <= 'z') {
			n++
		}
		return token(p.take(n)), nil
	}
	return nil, fmt.Errorf("%w: %.20q begins no value", errField, p.s)
}

func (p *parser) text() (any, error) {
	var b strings.Builder
	for i := 1; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			p.take(i + 1)
			return b.String(), nil
		case c == '\\' && i+1 < len(p.s) && (p.s[i+1] == '"' || p.s[i+1] == '\\'):
			i++
			b.WriteByte(p.s[i])
		case c < 0x20 || c > 0x7e || c == '\\':
			return nil, fmt.Errorf("%w: a text holds %q", errField, c)
		default:
			b.WriteByte(c)
		}
	}
	return nil, fmt.Errorf("%w: a text does not end", errField)
}
