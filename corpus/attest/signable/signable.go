// Package signable brings what a checker reports into a form that may be signed.
package signable

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"store.example/agentstore/corpus/attest"
)

// Of brings a checker's report into a form that may be signed, whatever a door put into it.
// Texts, and names too, are spelled by spell; a number that signed JSON may not hold becomes a
// text. What is longer than limit bytes loses the parts of it that are too long, each to a text
// that says how many bytes they had and their SHA-256; then names are sorted. What cannot be
// spelled so that no name stands twice is left out as a whole.
func Of(v any, limit int, spell func(string) string) (jsontext.Value, error) {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding what is to be signed: %w", err)
	}
	b, err := spelled(raw, spell)
	if err != nil {
		return attest.Canonical(map[string]string{"report": leftOut(raw)})
	}
	if len(b) <= limit {
		return b, nil
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, err
	}
	for len(b) > limit {
		if tree, err = withoutLargest(tree, len(b)-limit); err != nil {
			return nil, err
		}
		was := len(b)
		if b, err = attest.Canonical(tree); err != nil {
			return nil, err
		}
		if len(b) >= was {
			return nil, errors.New("what is to be signed does not become shorter")
		}
	}
	return b, nil
}

// spelled writes JSON anew with every text as spell has it.
func spelled(b []byte, spell func(string) string) ([]byte, error) {
	var out bytes.Buffer
	d, e := jsontext.NewDecoder(bytes.NewBuffer(b)), jsontext.NewEncoder(&out)
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case token.Kind() == '"':
			token = jsontext.String(spell(token.String()))
		case token.Kind() == '0':
			if _, err := attest.Canonical(jsontext.Value(token.String())); err != nil {
				token = jsontext.String(token.String())
			}
		}
		if err := e.WriteToken(token); err != nil {
			return nil, err
		}
	}
}

// leftOut stands for something that is too long.
func leftOut(b []byte) string {
	return "left out: " + strconv.Itoa(len(b)) + " bytes, sha256 " + attest.Digest(sha256.Sum256(b)).String()
}

// withoutLargest replaces the largest part of a value, as far down as it is a good share of excess:
// what is too long in many small parts goes as a whole, so that a few rounds are enough.
func withoutLargest(v any, excess int) (any, error) {
	var put func(any)
	largest, held := -1, any(nil)
	look := func(part any, set func(any)) error {
		b, err := attest.Canonical(part)
		if err == nil && len(b) > largest {
			largest, held, put = len(b), part, set
		}
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := look(v[name], func(to any) { v[name] = to }); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, part := range v {
			if err := look(part, func(to any) { v[i] = to }); err != nil {
				return nil, err
			}
		}
	}
	if put == nil || largest < max(200, excess/16) {
		b, err := attest.Canonical(v)
		return leftOut(b), err
	}
	next, err := withoutLargest(held, excess)
	put(next)
	return v, err
}
