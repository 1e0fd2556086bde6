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
)

// Challenge is a 402 that is ready but for its nonce: the header's base64 and the body's JSON are made once and each
// answer only splices a fresh nonce in, so that challenging costs a MAC and two copies.
type Challenge struct {
	header template
	body   template
}

// template is text with one hole of a fixed width.
type template struct{ before, after []byte }

// hole stands for the nonce while JSON is made; it has the width and alphabet of a nonce.
var hole = bytes.Repeat([]byte("_"), NonceLen)

// ChallengeExtension declares the nonce extension with a hole for the nonce.
func ChallengeExtension() Extension {
	return Extension{
		Info:   json.RawMessage(`{"nonce":"` + string(hole) + `"}`),
		Schema: json.RawMessage(`{"type":"object","properties":{"nonce":{"type":"string"}},"required":["nonce"]}`),
	}
}

// NewChallenge makes a challenge of the header object and the body, whose extensions must hold ChallengeExtension.
// body is any JSON object.
func NewChallenge(r *Required, body []byte) (*Challenge, error) {
	r.Extensions[ExtChallenge] = ChallengeExtension()
	j, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	h, err := split(j)
	if err != nil {
		return nil, err
	}
	// Base64 goes in groups of three bytes: spaces before the object bring the nonce to the start of a group. JSON
	// allows them.
	pad := (3 - len(h.before)%3) % 3
	h.before = append(bytes.Repeat([]byte(" "), pad), h.before...)
	header := template{
		before: []byte(base64.StdEncoding.EncodeToString(h.before)),
		after:  []byte(base64.StdEncoding.EncodeToString(h.after)),
	}
	b, err := split(body)
	if err != nil {
		return nil, fmt.Errorf("challenge body: %w", err)
	}
	return &Challenge{header: header, body: b}, nil
}

func split(j []byte) (template, error) {
	i := bytes.Index(j, hole)
	if i < 0 || bytes.Contains(j[i+len(hole):], hole) {
		return template{}, errors.New("x402: a challenge needs exactly one place for its nonce")
	}
	return template{before: slices.Clone(j[:i]), after: slices.Clone(j[i+len(hole):])}, nil
}

// Header gives the challenge with a nonce, which Nonces.Append made.
func (c *Challenge) Header(nonce []byte) string {
	var b strings.Builder // the value goes out as a string: made of bytes, it would be copied once more
	b.Grow(c.HeaderLen())
	b.Write(c.header.before)
	var hole [NonceLen / 3 * 4]byte
	b.Write(base64.StdEncoding.AppendEncode(hole[:0], nonce))
	b.Write(c.header.after)
	return b.String()
}

// WriteBody writes the body with the same nonce, in parts, so that nothing of its size is made for each answer.
func (c *Challenge) WriteBody(w io.Writer, nonce []byte) error {
	for _, part := range [][]byte{c.body.before, nonce, c.body.after} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// BodyLen is the length of the body in bytes.
func (c *Challenge) BodyLen() int { return len(c.body.before) + NonceLen + len(c.body.after) }

// HeaderLen is the length of the header value in bytes.
func (c *Challenge) HeaderLen() int {
	return len(c.header.before) + base64.StdEncoding.EncodedLen(NonceLen) + len(c.header.after)
}
