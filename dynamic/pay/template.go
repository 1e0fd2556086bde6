package pay

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// KeyLen is the length of a suggested idempotency key in characters. Like NonceLen it is a multiple
// of three, so that a key can be spliced into ready-made base64.
const KeyLen = 45

// KeyHole stands for the suggested key in text that a template is made of.
const KeyHole = "*********************************************"

// NonceHole stands for the nonce.
var NonceHole = strings.Repeat("_", NonceLen)

// Fill is what one answer puts into its terms: a nonce that Nonces.Append made, a suggested key of
// KeyLen, and the body of the request, which a protocol may bind.
type Fill struct{ Nonce, Key, Body []byte }

// Template is JSON that is ready but for its nonce and its suggested key, so that challenging costs a
// MAC, a digest and some copies.
type Template struct {
	parts  [][]byte // text, a hole, text, a hole, …, text
	keys   []bool   // of each hole: it is for the key, not the nonce
	base64 bool
}

// NewTemplate cuts JSON at its holes, of which one is for the nonce and at least one for the key.
func NewTemplate(j []byte) (Template, error) { return cut(j, false) }

// NewBase64Template is a template of the base64 of JSON, with one hole of each kind.
func NewBase64Template(j []byte) (Template, error) {
	t, err := cut(j, true)
	if err != nil {
		return Template{}, err
	}
	for i, p := range t.parts {
		t.parts[i] = base64.StdEncoding.AppendEncode(nil, p)
	}
	return t, nil
}

// cut cuts JSON at its holes. Base64 goes in groups of three bytes: aligned, spaces before a hole's
// string bring it to the start of a group. JSON allows them.
func cut(j []byte, aligned bool) (Template, error) {
	t := Template{base64: aligned}
	nonces := 0
	for {
		i, isKey := bytes.Index(j, []byte(`"`+NonceHole+`"`)), false
		if k := bytes.Index(j, []byte(`"`+KeyHole+`"`)); k >= 0 && (i < 0 || k < i) {
			i, isKey = k, true
		}
		if i < 0 {
			break
		}
		part := slices.Clone(j[:i])
		if aligned {
			part = append(part, "  "[:(3-(i+1)%3)%3]...)
		}
		t.parts = append(t.parts, append(part, '"'))
		t.keys = append(t.keys, isKey)
		width := NonceLen
		if isKey {
			width = KeyLen
		} else {
			nonces++
		}
		j = j[i+1+width:]
	}
	if nonces != 1 || len(t.keys) < 2 || aligned && len(t.keys) > 2 {
		return Template{}, errors.New("pay: a challenge needs a place for its nonce and one for its key")
	}
	t.parts = append(t.parts, slices.Clone(j))
	return t, nil
}

// Append appends the text with its holes filled.
func (t Template) Append(b []byte, f Fill) []byte {
	for i, isKey := range t.keys {
		hole := f.Nonce
		if isKey {
			hole = f.Key
		}
		b = append(b, t.parts[i]...)
		if t.base64 {
			b = base64.StdEncoding.AppendEncode(b, hole)
		} else {
			b = append(b, hole...)
		}
	}
	return append(b, t.parts[len(t.keys)]...)
}

// String is Append as a string, made once.
func (t Template) String(f Fill) string {
	var b strings.Builder // of bytes, the string would be copied once more
	b.Grow(t.Len())
	var hole [NonceLen / 3 * 4]byte
	for i, isKey := range t.keys {
		b.Write(t.parts[i])
		fill := f.Nonce
		if isKey {
			fill = f.Key
		}
		if t.base64 {
			fill = base64.StdEncoding.AppendEncode(hole[:0], fill)
		}
		b.Write(fill)
	}
	b.Write(t.parts[len(t.keys)])
	return b.String()
}

// Len is the length of the filled text in bytes.
func (t Template) Len() int {
	n := 0
	for _, p := range t.parts {
		n += len(p)
	}
	for _, isKey := range t.keys {
		width := NonceLen
		if isKey {
			width = KeyLen
		}
		if t.base64 {
			width = base64.StdEncoding.EncodedLen(width)
		}
		n += width
	}
	return n
}
