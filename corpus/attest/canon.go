package attest

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
)

// MaxInteger is 2^53-1, the largest integer that may stand in signed JSON:
// beyond it, readers that hold numbers as IEEE doubles see another value.
// Larger numbers are written as strings.
const MaxInteger = 1<<53 - 1

// ErrNumber is returned for a number that may not be signed.
var ErrNumber = errors.New("number outside what signed JSON may hold")

// ErrNotCanonical is returned for bytes that mean something but are not
// written the one way in which that thing is written.
var ErrNotCanonical = errors.New("not in canonical form")

// Canonical returns v as compact JSON in declared order: struct fields in the
// order of the type, absent ones left out as their tags say (omitzero), map
// names sorted, strings as plain UTF-8 without HTML escapes, no spaces.
// Numbers must be integers within ±MaxInteger; everything else is ErrNumber.
func Canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding canonical JSON: %w", err)
	}
	if err := checkNumbers(b, integersOnly); err != nil {
		return nil, err
	}
	return b, nil
}

// ParseCanonical reads raw into v, which must point to a value that Canonical
// wrote: unknown and duplicate names, bad UTF-8 and every other spelling of
// the same value are refused (ErrNotCanonical).
func ParseCanonical(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("decoding canonical JSON: %w", err)
	}
	again, err := Canonical(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(raw, again) {
		return ErrNotCanonical
	}
	return nil
}

// JCS returns v in the form of RFC 8785, with the limits of JCSBytes.
func JCS(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return JCSBytes(b)
}

// JCSBytes brings one JSON value into the form of RFC 8785. Duplicate names,
// bad UTF-8, lone surrogates and numbers beyond the range of doubles are
// refused, and so is (ErrNumber) an integer beyond ±MaxInteger, which RFC 8785
// alone would silently round.
func JCSBytes(raw []byte) ([]byte, error) {
	if err := validValue(raw); err != nil {
		return nil, err
	}
	if err := checkNumbers(raw, exactIntegers); err != nil {
		return nil, err
	}
	out := jsontext.Value(bytes.Clone(raw))
	if err := out.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalising by RFC 8785: %w", err)
	}
	// 1e20 is written as 100000000000000000000, so the result is checked too.
	if err := checkNumbers(out, exactIntegers); err != nil {
		return nil, err
	}
	return out, nil
}

// validValue demands exactly one well-formed JSON value; jsontext refuses
// duplicate names, bad UTF-8 and absurd nesting.
func validValue(raw []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if _, err := d.ReadValue(); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	if rest := bytes.TrimLeft(raw[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return errors.New("reading JSON: more than one value")
	}
	return nil
}

type numberRule int

const (
	integersOnly  numberRule = iota // no fraction, no exponent
	exactIntegers                   // what is written as an integer must be exact as a double
)

// checkNumbers applies rule to every number of b, which must be valid JSON.
func checkNumbers(b []byte, rule numberRule) error {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			start := i
			for i < len(b) && bytes.IndexByte([]byte("0123456789+-.eE"), b[i]) >= 0 {
				i++
			}
			if err := checkNumber(string(b[start:i]), rule); err != nil {
				return err
			}
			i--
		}
	}
	return nil
}

func checkNumber(token string, rule numberRule) error {
	for _, c := range token {
		if c == '.' || c == 'e' || c == 'E' {
			if rule == integersOnly {
				return fmt.Errorf("%w: %s is not an integer", ErrNumber, token)
			}
			if _, err := strconv.ParseFloat(token, 64); err != nil { // jsontext writes the largest double
				return fmt.Errorf("%w: %s is beyond the range of doubles", ErrNumber, token)
			}
			return nil
		}
	}
	n, err := strconv.ParseInt(token, 10, 64)
	if err != nil || n > MaxInteger || n < -MaxInteger {
		return fmt.Errorf("%w: %s is beyond 2^53-1", ErrNumber, token)
	}
	return nil
}
