package probe

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"store.example/agentstore/corpus/exchange"
)

// Plant adds a version to the table until the test ends, as one more row of it would.
func Plant(t *testing.T, b Battery) {
	t.Helper()
	before := batteries
	batteries = append(slices.Clone(before), b)
	t.Cleanup(func() { batteries = before })
}

func knownBattery(version string) Battery {
	b, err := batteryOf(version)
	if err != nil {
		panic(err)
	}
	return b
}

// Digest is the SHA-256 of Encode in lower-case hexadecimal, "" only for what cannot be encoded.
func (j Judgement) Digest() string {
	b, err := j.Encode()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

var hiddenText = regexp.MustCompile(`\{"form":"([a-z-]+)"(?:,"digest":"([0-9a-f]{64})")?\}`)

// readdressedText puts addresses into the text of terms: what readdressed does to the parsed ones.
func (v *View) readdressedText(terms []byte) []byte {
	known := v.tokensMentioned(terms)
	out, done := []byte{}, 0
	for _, at := range hiddenText.FindAllSubmatchIndex(terms, -1) {
		out, done = append(out, terms[done:at[0]]...), at[1]
		form, digest := string(terms[at[2]:at[3]]), ""
		if at[4] >= 0 {
			digest = string(terms[at[4]:at[5]])
		}
		if form == exchange.FormNotAString {
			out = append(out, '7')
			continue
		}
		address := cmp.Or(known[digest], standInAddress(form, digest))
		if digest != "" {
			v.marks[digest[:markLength]] = address
		}
		out = strconv.AppendQuote(out, address)
	}
	out = append(out, terms[done:]...)
	return []byte(mentions.ReplaceAllStringFunc(string(out), v.unmarked))
}

// ReaddressedAlike compares the terms of an exchange with addresses, put into the parsed ones and
// into the text. It returns how many were changed by that.
func ReaddressedAlike(r exchange.Redacted) (changed int, err error) {
	v, w := newView(r, nil), newView(r, nil)
	all := slices.Clone(v.headers)
	if v.body != nil {
		all = append(all, *v.body)
	}
	for _, c := range all {
		if c.Value == nil {
			continue
		}
		text := w.readdressedText(c.Value)
		want, err := exchange.ParseValue(text, jsontext.AllowDuplicateNames(true))
		if err != nil {
			return 0, err
		}
		got, size := v.readdressed(c)
		if size != len(text) || !equal(want, got) {
			return 0, fmt.Errorf("%s\nis %s of %d bytes; of %d bytes: %v", c.Value, text, len(text), size, got)
		}
		if !bytes.Equal(text, c.Value) {
			changed++
		}
	}
	return changed, nil
}
