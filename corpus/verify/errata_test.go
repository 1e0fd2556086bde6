package verify

import (
	"bytes"
	"encoding/json/v2"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// corrected is a record of two rounds with errata of two rows of a.example, of which the first is
// corrected twice, and of one of b.example.
func corrected(t *testing.T) (Bundle, *record.Record) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	sealed(t, w, 1, "a.example", "b.example")
	sealed(t, w, 2, "a.example", "b.example")
	for _, leaf := range []int64{0, 5, 1, 0} {
		e := &record.Erratum{Leaf: leaf, Reason: "asked wrongly", VerdictNow: record.VerdictNotProbed}
		if _, err := w.Observe(t.Context(), record.Observation{At: "2026-12-01T00:00:00Z", Erratum: e,
			Kind: record.ObservationErratum}); err != nil {
			t.Fatal(err)
		}
	}
	r, keys := open(t, w)
	b, err := Export(r, keys, []Want{{Host: "a.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

// TestErrataOfABundle: a bundle tells of each row what its last erratum says, and of no other host.
func TestErrataOfABundle(t *testing.T) {
	b, r := corrected(t)
	if got := r.Rounds()[1].FirstLeaf; got != 4 {
		t.Fatalf("the second round begins at leaf %d", got)
	}
	report, err := VerifyBundle(encoded(t, b), bundleJudging)
	if err != nil || !report.Sound() || len(report.Rows) != 2 || len(b.Errata) != 1 {
		t.Fatalf("%v %+v, %d errata", err, report, len(b.Errata))
	}
	c := report.Rows[0].Corrected
	if c == nil || c.Observation != 4 || c.Now != record.VerdictNotProbed || c.Signed != report.Rows[0].Verdict ||
		report.Rows[1].Corrected != nil {
		t.Errorf("%+v %+v", c, report.Rows[1].Corrected)
	}
	var out strings.Builder
	report.Print(&out, "file")
	want := "      observation 4 (2026-12-01T00:00:00Z) says that it should have said not_probed: asked wrongly\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("it does not say %q: %s", want, out.String())
	}
	raw := encoded(t, b)
	at := bytes.Index(raw, []byte(`"errata":`)) + len(`"errata":`)
	end := at + bytes.Index(raw[at:], []byte(`"hosts":`))
	for i := at; i < end; i++ {
		spoilt := bytes.Clone(raw)
		spoilt[i] ^= 1
		var lie Bundle
		if err := json.Unmarshal(spoilt, &lie); err != nil {
			continue // no bundle any more
		}
		again := encoded(t, lie)
		if bytes.Equal(again, raw) {
			continue
		}
		if got, err := VerifyBundle(again, bundleJudging); err == nil && len(got.Problems) == 0 {
			t.Fatalf("byte %d changed from %q to %q is accepted", i, raw[i], spoilt[i])
		}
	}
}

// TestForgedErrata puts in the place of an erratum what says something else.
func TestForgedErrata(t *testing.T) {
	good, r := corrected(t)
	leaf := func(number int64) BundleLeaf {
		index, _ := r.ObservationLeaf(number)
		l, err := exportLeaf(r, index)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	row, err := r.Log.Entry(0)
	if err != nil {
		t.Fatal(err)
	}
	for name, errata := range map[string][]BundleLeaf{
		"of a row that is not here":   {leaf(3)},
		"twice":                       {leaf(4), leaf(4)},
		"one of the row and the last": {leaf(1), leaf(4)},
		"the proof of another":        {{leaf(1).Leaf, leaf(4).Proof}},
		"a row in its place":          {{string(row), leaf(4).Proof}},
		"no proof":                    {{leaf(4).Leaf, ""}},
	} {
		b := good
		b.Errata = errata
		got, err := VerifyBundle(encoded(t, b), bundleJudging)
		if err != nil || len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].Path, "errata[") {
			t.Errorf("%s: %v %+v", name, err, got.Problems)
		}
	}
	none := good
	none.Errata = nil
	if got, err := VerifyBundle(encoded(t, none), bundleJudging); err != nil || !got.Sound() {
		t.Errorf("none: %v %+v", err, got)
	}
}
