package pay

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"
)

// KeyLen is the length of a suggested idempotency key in characters. Like NonceLen it is a multiple
// of three, so that a key can be spliced into ready-made base64.
const KeyLen = 45

// KeyHole stands for the suggested key in text that a template is made of.
const KeyHole = "*********************************************"

// NonceHole stands for the nonce.
var NonceHole = strings.Repeat("_", NonceLen)

// Fill is what one answer puts into its terms: a nonce that Nonces.Append made, a suggested key of
// KeyLen, what Varying.Fill made, when it is made, and what a protocol may bind of the request or
// read there of how it would pay.
type Fill struct {
	Nonce, Key []byte
	Varying    [][]byte
	At         time.Time
	Query      string // as it came
	Body       []byte // the same
	Asks       Fields // nil for none
}

// Template is JSON that is ready but for its holes, so that challenging costs a MAC, some digests
// and some copies.
type Template struct {
	parts  [][]byte // text, a hole, text, a hole, …, text
	holes  []hole
	base64 bool
}

// hole is a place in a template.
type hole struct {
	of    int // isNonce, isKey, or an index of Fill.Varying
	width int // in bytes, before any base64
}

const (
	isNonce = -1
	isKey   = -2
)

func (h hole) fill(f *Fill) []byte {
	switch h.of {
	case isNonce:
		return f.Nonce
	case isKey:
		return f.Key
	}
	return f.Varying[h.of]
}

// NewTemplate cuts JSON at its holes, of which one is for the nonce, at least one for the key, and
// at least one for each mark of v, which may be nil.
func NewTemplate(j []byte, v *Varying) (Template, error) { return cut(j, v, false) }

// NewBase64Template is a template of the base64 of JSON, with one hole for the nonce and one for
// the key.
func NewBase64Template(j []byte, v *Varying) (Template, error) {
	t, err := cut(j, v, true)
	if err != nil {
		return Template{}, err
	}
	for i, p := range t.parts {
		t.parts[i] = base64.StdEncoding.AppendEncode(nil, p)
	}
	return t, nil
}

// found is what stands for a hole in JSON.
type found struct {
	hole
	text   string
	before int // bytes of text that stand before the hole
	after  int // bytes of text that stand behind it
}

// sought are the texts that stand for the holes.
func sought(v *Varying) []found {
	list := []found{{hole{isNonce, NonceLen}, `"` + NonceHole + `"`, 1, 1}, {hole{isKey, KeyLen}, `"` + KeyHole + `"`, 1, 1}}
	if v != nil {
		for i, m := range v.marks {
			list = append(list, found{hole{i, m.width}, m.before() + m.value + `"`, 0, 0})
		}
	}
	return list
}

// cut cuts JSON at its holes. Base64 goes in groups of three bytes: aligned, spaces before the text
// that stands for a hole bring the hole to the start of a group. JSON allows them.
func cut(j []byte, v *Varying, aligned bool) (Template, error) {
	t := Template{base64: aligned}
	all := sought(v)
	times := make(map[int]int)
	for {
		at, next := -1, found{}
		for _, f := range all {
			if i := bytes.Index(j, []byte(f.text)); i >= 0 && (at < 0 || i < at) {
				at, next = i, f
			}
		}
		if at < 0 {
			break
		}
		part := slices.Clone(j[:at])
		if aligned {
			part = append(part, "  "[:(3-(at+next.before)%3)%3]...)
		}
		t.parts = append(t.parts, append(part, next.text[:next.before]...))
		t.holes = append(t.holes, next.hole)
		times[next.of]++
		j = j[at+len(next.text)-next.after:]
	}
	if times[isNonce] != 1 || times[isKey] == 0 || aligned && times[isKey] > 1 {
		return Template{}, errors.New("pay: a challenge needs a place for its nonce and one for its key")
	}
	if len(times) != len(all) {
		return Template{}, errors.New("pay: a member that varies has no place in the terms")
	}
	t.parts = append(t.parts, slices.Clone(j))
	return t, nil
}

// Append appends the text with its holes filled.
func (t Template) Append(b []byte, f Fill) []byte {
	for i, h := range t.holes {
		b = append(b, t.parts[i]...)
		if t.base64 {
			b = base64.StdEncoding.AppendEncode(b, h.fill(&f))
		} else {
			b = append(b, h.fill(&f)...)
		}
	}
	return append(b, t.parts[len(t.holes)]...)
}

// String is Append as a string, made once.
func (t Template) String(f Fill) string {
	var b strings.Builder // of bytes, the string would be copied once more
	b.Grow(t.Len())
	var space [128]byte
	for i, h := range t.holes {
		b.Write(t.parts[i])
		fill := h.fill(&f)
		if t.base64 {
			fill = base64.StdEncoding.AppendEncode(space[:0], fill)
		}
		b.Write(fill)
	}
	b.Write(t.parts[len(t.holes)])
	return b.String()
}

// Len is the length of the filled text in bytes.
func (t Template) Len() int {
	n := 0
	for _, p := range t.parts {
		n += len(p)
	}
	for _, h := range t.holes {
		if t.base64 {
			n += base64.StdEncoding.EncodedLen(h.width)
		} else {
			n += h.width
		}
	}
	return n
}
