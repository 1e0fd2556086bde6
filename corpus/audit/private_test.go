package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// private is a draft of a round that was read inside a company's own networks.
func private(d seal.Draft) seal.Draft { d.Private = true; return d }

// TestARecordIsPrivateOrNot seals rounds of one kind behind rounds of the other.
func TestARecordIsPrivateOrNot(t *testing.T) {
	for _, kind := range []struct {
		name       string
		own, other func(seal.Draft) seal.Draft
	}{{"private", private, func(d seal.Draft) seal.Draft { return d }},
		{"public", func(d seal.Draft) seal.Draft { return d }, private}} {
		w := recordtest.Writer(t)
		recordtest.Seal(t, w, kind.own(recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady))))
		before := recordtest.ReadAll(t, w.Dir)
		_, err := w.Seal(t.Context(),
			kind.other(recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady))))
		if !errors.Is(err, record.ErrMixed) || !strings.Contains(err.Error(), "another record folder") {
			t.Errorf("another kind of round in a %s record: %v", kind.name, err)
		}
		if after := recordtest.ReadAll(t, w.Dir); len(after) != len(before) {
			t.Errorf("what was refused left files in a %s record", kind.name)
		}
		second := recordtest.Seal(t, w,
			kind.own(recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady))))
		report := check(t, w)
		if is := kind.name == "private"; len(report.Problems) > 0 || report.Private != is ||
			recordtest.Open(t, w).Private() != is {
			t.Errorf("a %s record: %v, private %v", kind.name, report.Problems, report.Private)
		}
		var said bytes.Buffer
		report.print(&said)
		if strings.Contains(said.String(), "PRIVATE") != report.Private {
			t.Errorf("of a %s record is said: %s", kind.name, &said)
		}

		// The keeper's own key signs what Seal refuses.
		second.Private = !second.Private
		_, header, err := record.SignRound(second, w.Identity)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(w.Dir, record.HeaderPath(2))
		if err := errors.Join(os.Remove(file), os.WriteFile(file, header, 0o444)); err != nil {
			t.Fatal(err)
		}
		if _, err := record.Open(os.DirFS(w.Dir), w.Ring); !errors.Is(err, record.ErrMixed) {
			t.Errorf("a %s record that mixes is opened: %v", kind.name, err)
		}
		report = check(t, w)
		if len(report.Problems) != 1 || report.Problems[0].Path != record.HeaderPath(2) ||
			!strings.Contains(report.Problems[0].Detail, record.ErrMixed.Error()) {
			t.Errorf("a %s record that mixes: %v", kind.name, report.Problems)
		}
	}
}

// TestPublicHeadersDoNotNamePrivacy: their bytes are those of the time before private rounds, and
// there is one spelling.
func TestPublicHeadersDoNotNamePrivacy(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady)))
	raw, err := recordtest.Open(t, w).Header(1)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("private")) {
		t.Errorf("a public header: %s", raw)
	}
	spelled := bytes.Replace(raw, []byte(`"roster"`), []byte(`"private":false,"roster"`), 1)
	if bytes.Equal(spelled, raw) {
		t.Fatal("nothing was spelled otherwise")
	}
	if _, err := record.ParseRound(spelled); err == nil {
		t.Error("a header that says private: false is taken")
	}
	// Nobody takes the mark off a private header.
	w = recordtest.Writer(t)
	recordtest.Seal(t, w, private(recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady))))
	if raw, err = recordtest.Open(t, w).Header(1); err != nil {
		t.Fatal(err)
	}
	bare := bytes.Replace(raw, []byte(`"private":true,`), nil, 1)
	if bytes.Equal(bare, raw) {
		t.Fatalf("a private header does not say so: %s", raw)
	}
	if _, err := record.VerifyRound(bare, attest.SpecimenKey().Public()); err == nil {
		t.Error("a private header without its mark verifies")
	}
}
