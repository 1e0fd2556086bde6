package x402

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Challenge is a 402 that is ready but for its nonce and its suggested key: the header's base64 and the body's JSON are
// made once and each answer only splices the two in, so that challenging costs a MAC, a digest and some copies.
type Challenge struct {
	header template
	body   template
}

// KeyLen is the length of a suggested idempotency key in characters. Like NonceLen it is a multiple of three, so that a
// key can be spliced into ready-made base64.
const KeyLen = 45

// Fill is what one answer puts into a challenge: a nonce that Nonces.Append made, and a suggested key of KeyLen.
type Fill struct{ Nonce, Key []byte }

// KeyHole stands for the suggested key in the extensions and the body that NewChallenge takes.
const KeyHole = "*********************************************"

// nonceHole stands for the nonce.
var nonceHole = strings.Repeat("_", NonceLen)

// template is text with holes: parts[0], a hole, parts[1], a hole, …
type template struct {
	parts [][]byte
	keys  []bool // of each hole: it is for the key, not the nonce
}

// ChallengeExtension declares the nonce extension with a hole for the nonce.
func ChallengeExtension() Extension {
	return Extension{
		Info:   json.RawMessage(`{"nonce":"` + nonceHole + `"}`),
		Schema: json.RawMessage(`{"type":"object","properties":{"nonce":{"type":"string"}},"required":["nonce"]}`),
	}
}

// NewChallenge makes a challenge of the header object and the body, whose extensions must hold ChallengeExtension and
// PaymentIDExtension. body is any JSON object; it may have KeyHole as the value of further members.
func NewChallenge(r *Required, body []byte) (*Challenge, error) {
	r.Extensions[ExtChallenge] = ChallengeExtension()
	r.Extensions[ExtPaymentID] = PaymentIDExtension()
	j, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	c := &Challenge{}
	if c.header, err = split(j, true); err != nil {
		return nil, err
	}
	for i, p := range c.header.parts {
		c.header.parts[i] = base64.StdEncoding.AppendEncode(nil, p)
	}
	if c.body, err = split(body, false); err != nil {
		return nil, fmt.Errorf("challenge body: %w", err)
	}
	return c, nil
}

// split cuts JSON at its holes. Base64 goes in groups of three bytes: aligned, spaces before a hole's string bring it to
// the start of a group. JSON allows them.
func split(j []byte, aligned bool) (template, error) {
	var t template
	nonces := 0
	for {
		i, isKey := bytes.Index(j, []byte(`"`+nonceHole+`"`)), false
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
		return template{}, errors.New("x402: a challenge needs a place for its nonce and one for its key")
	}
	t.parts = append(t.parts, slices.Clone(j))
	return t, nil
}

// hole is what goes into the i-th hole.
func (t template) hole(i int, f Fill) []byte {
	if t.keys[i] {
		return f.Key
	}
	return f.Nonce
}

// length is the template's length with holes filled, of the widths that width gives.
func (t template) length(width func(int) int) int {
	n := len(t.parts[0])
	for i, isKey := range t.keys {
		n += len(t.parts[i+1])
		if isKey {
			n += width(KeyLen)
		} else {
			n += width(NonceLen)
		}
	}
	return n
}

// Header gives the challenge as a header value.
func (c *Challenge) Header(f Fill) string {
	var b strings.Builder // the value goes out as a string: made of bytes, it would be copied once more
	b.Grow(c.HeaderLen())
	var hole [NonceLen / 3 * 4]byte
	for i := range c.header.keys {
		b.Write(c.header.parts[i])
		b.Write(base64.StdEncoding.AppendEncode(hole[:0], c.header.hole(i, f)))
	}
	b.Write(c.header.parts[len(c.header.keys)])
	return b.String()
}

// bodies are buffers for bodies on their way out.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// WriteBody writes the body with the same nonce and key, at once and without making anything of its size anew.
func (c *Challenge) WriteBody(w io.Writer, f Fill) error {
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	b := (*buf)[:0]
	for i := range c.body.keys {
		b = append(append(b, c.body.parts[i]...), c.body.hole(i, f)...)
	}
	b = append(b, c.body.parts[len(c.body.keys)]...)
	*buf = b
	_, err := w.Write(b)
	return err
}

// BodyLen is the length of the body in bytes.
func (c *Challenge) BodyLen() int { return c.body.length(func(n int) int { return n }) }

// HeaderLen is the length of the header value in bytes.
func (c *Challenge) HeaderLen() int { return c.header.length(base64.StdEncoding.EncodedLen) }
