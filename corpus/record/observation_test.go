package record_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

func observation(number int64, word string) record.Observation {
	said, err := record.Say(strings.NewReader(strings.Repeat("s", 31)+word[:1]), word)
	if err != nil {
		panic(err) // a test's own text
	}
	return record.Observation{Number: number, At: "2026-11-20T09:00:00Z", Kind: record.ObservationRetiredWord,
		Word: &said, Epitaph: "It rests."}
}

// wordFile is the file of an observation's word.
func wordFile(t *testing.T, o record.Observation) *fstest.MapFile {
	t.Helper()
	raw, err := attest.Canonical(struct {
		Format string     `json:"format"`
		Salt   attest.Hex `json:"salt"`
		Text   string     `json:"text"`
	}{record.WordsFormat, o.Word.Salt, o.Word.Text})
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: append(raw, '\n')}
}

func signed(t *testing.T, o record.Observation) []byte {
	t.Helper()
	b, err := record.SignObservation(o, attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestObservationsAreReadInOrder(t *testing.T) {
	folder := fstest.MapFS{
		"observations/000000001.json": {Data: signed(t, observation(1, "synergy"))},
		"observations/000000002.json": {Data: signed(t, observation(2, "leverage"))},
		"observations/000000003.json": {Data: signed(t, observation(3, "pivot"))},
		"observations/.gitkeep":       {},
	}
	for _, o := range []record.Observation{observation(1, "synergy"), observation(2, "leverage")} {
		folder["words/"+o.Word.SHA256+".json"] = wordFile(t, o)
	}
	all, err := record.ReadObservations(folder, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, o := range all {
		words = append(words, o.Word.Text)
	}
	if d := cmp.Diff([]string{"synergy", "leverage", ""}, words); d != "" {
		t.Error(d)
	}
}

func TestObservationFolderIsStrict(t *testing.T) {
	good := signed(t, observation(1, "synergy"))
	tests := map[string]fstest.MapFS{
		"a gap": {"observations/000000001.json": {Data: good},
			"observations/000000003.json": {Data: signed(t, observation(3, "pivot"))}},
		"another name": {"observations/1.json": {Data: good}},
		"a strange file": {"observations/000000001.json": {Data: good},
			"observations/notes.txt": {Data: []byte("hello")}},
		"the first twice": {"observations/000000001.json": {Data: good}, "observations/000000002.json": {Data: good}},
	}
	for name, folder := range tests {
		if _, err := record.ReadObservations(folder, attest.SpecimenRing()); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestEveryByteOfAnObservationIsSigned changes each byte in turn.
func TestEveryByteOfAnObservationIsSigned(t *testing.T) {
	raw, ring := signed(t, observation(1, "synergy")), attest.SpecimenRing()
	for i := range raw {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := slices.Clone(raw)
			bad[i] ^= flip
			if _, err := record.VerifyObservation(bad, ring); err == nil {
				t.Fatalf("byte %d changed from %q to %q is accepted", i, raw[i], bad[i])
			}
		}
	}
	other, err := attest.Generate(strings.NewReader(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := record.SignObservation(observation(1, "synergy"), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.VerifyObservation(foreign, ring); err == nil {
		t.Error("an observation signed by a stranger is accepted")
	}
}
