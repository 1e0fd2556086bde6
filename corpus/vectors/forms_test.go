package vectors

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// signedForm is an object of a record that a keeper signs, with how a verifier reads it.
type signedForm struct {
	form, at string // at is what edits call it
	read     func(raw []byte) error
}

// signedForms are those of the full record with errata.
func signedForms(ring attest.Ring) (all []signedForm) {
	for _, at := range []string{"row 1 " + ready, "row 2 " + ready, "row 2 " + unready, "row 2 " + missed,
		"row 2 " + optedOut, "row 2 " + late} {
		all = append(all, signedForm{"row", at, func(raw []byte) error {
			_, err := record.VerifyRow(raw, signerOf(raw).Public())
			return err
		}})
	}
	for n := range int64(2) {
		all = append(all, signedForm{"round", fmt.Sprintf("header %d", n+1), func(raw []byte) error {
			_, err := record.OpenRound(raw, n+1, ring)
			return err
		}})
	}
	for n := range 19 {
		all = append(all, signedForm{"observation", fmt.Sprintf("observation %d", n+1), func(raw []byte) error {
			_, err := record.VerifyObservation(raw, ring)
			return err
		}})
	}
	words := func(raw []byte) error { _, err := record.ParseWords(raw); return err }
	index := func(raw []byte) error { _, err := record.ParseEvidenceIndex(raw); return err }
	return append(all, signedForm{"words_file", "file " + wordsFile("petrichor"), words},
		signedForm{"index", "file " + index1, index})
}

// signerOf is the key whose kid an object has, or the specimen's.
func signerOf(raw []byte) *attest.Key {
	if k := former(attest.PurposeIdentity); bytes.Contains(raw, []byte(`"kid":"`+k.KID()+`"`)) {
		return k
	}
	return attest.SpecimenKey()
}

// TestVerifyRefusesWhatTheFormsRefuse signs, with all keys, everything that the table of forms says
// is wrong with each object of a record, and with each object in it: none is read, and it is not
// the signature that is told.
func TestVerifyRefusesWhatTheFormsRefuse(t *testing.T) {
	table, err := rule.FormTable()
	if err != nil {
		t.Fatal(err)
	}
	all := make(forms)
	for _, f := range table {
		all[f.Name] = f
	}
	files, err := build(new(made), "corrected", bad{})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.ParseRing(files[record.RingFile])
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, o := range signedForms(ring) {
		var raw string
		take := edit{o.at, func(b []byte) ([]byte, error) { raw = string(b); return b, nil }}
		if _, err := build(new(made), "corrected", bad{edits: []edit{take}}); err != nil {
			t.Fatal(err)
		}
		if err := o.read(signedAs(o.form, raw)); err != nil {
			t.Fatalf("%s, as it is: %v", o.at, err)
		}
		for _, c := range all.within(o.form, placeholder(o.form, raw)) {
			if strings.HasPrefix(c.what, "signature") || strings.HasPrefix(c.what, "digest ") && o.form == "round" {
				continue // which are over the object
			}
			err := o.read(signedAs(o.form, unplaced(o.form, c.value, raw)))
			broken, _ := rule.Of(err)
			if tried++; err == nil || slices.Contains([]rule.Rule{rule.RowSignature, rule.RoundSignature,
				rule.RoundDigest,
				rule.ObservationSignature}, broken) {
				t.Errorf("%s: %s: %v", o.at, c.what, err)
			}
		}
	}
	if tried < 2000 {
		t.Errorf("%d changes", tried)
	}
}

const (
	noSignature = `,"signature":"00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000` +
		`000000000000000000000000000000000000000"`
	noDigest = `,"digest":"0000000000000000000000000000000000000000000000000000000000000000"`
)

// placeholder is an object as its form has it, before it is signed.
func placeholder(form, raw string) string {
	line := strings.TrimSuffix(raw, "\n")
	switch form {
	case "row", "observation":
		return line[:len(line)-1] + noSignature + "}"
	case "round":
		return line[:len(line)-1] + noDigest + noSignature + "}"
	}
	return line
}

// unplaced is what placeholder was given.
func unplaced(form, line, like string) string {
	if form == "row" || form == "observation" || form == "round" {
		line = strings.Replace(line, noSignature, "", 1)
	}
	if form == "round" {
		line = strings.Replace(line, noDigest, "", 1)
	}
	if strings.HasSuffix(like, "\n") {
		line += "\n"
	}
	return line
}

// signedAs signs an object, if its form is one that is signed.
func signedAs(form, raw string) []byte {
	body := []byte(raw)
	switch form {
	case "row", "observation":
		return closed(body, signerOf(body).Sign(body))
	case "round":
		return fmt.Appendf(body[:len(body)-1:len(body)-1], `,"digest":"%x","signature":"%x"}`, sha256.Sum256(body),
			signerOf(body).Sign(body))
	}
	return body
}

// within are the changes of an object, and those of each object in it.
func (t forms) within(kind, raw string) (out []change) {
	out = t.changes(kind, raw, true)
	names, values := split(raw)
	f := t.way(kind, raw)
	for i, name := range names {
		j := slices.IndexFunc(f.Members, func(m rule.Member) bool { return m.Name == name })
		if j < 0 {
			continue
		}
		of, wrap := f.Members[j].Kind, func(v string) string { return v }
		if l := listKind.FindStringSubmatch(of); l != nil && t.isObject(l[1]) {
			var each []json.RawMessage
			if json.Unmarshal([]byte(values[i]), &each) != nil || len(each) == 0 {
				continue
			}
			of, wrap = l[1], func(v string) string {
				rest, _ := json.Marshal(each[1:])
				return strings.Replace("["+v+","+string(rest[1:]), ",]", "]", 1)
			}
			values[i] = string(each[0])
		}
		if !t.isObject(of) {
			continue
		}
		for _, c := range t.within(of, values[i]) {
			whole := slices.Clone(values)
			whole[i] = wrap(c.value)
			out = append(out, change{name + ": " + c.what, join(names, whole)})
		}
		values[i] = wrap(values[i])
	}
	return out
}
