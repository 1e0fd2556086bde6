package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// strangers are observations with every kind of a stranger's text in them, and those texts. The
// last is sold.
func strangers(t *testing.T) (all []record.Observation, texts []string) {
	t.Helper()
	texts = []string{"synergy", "We moved house to-day.", "Doors that answer 405", "A. Contributor",
		"Read the Allow header, it costs nothing."}
	tip, err := record.Say(nil, texts[4])
	if err != nil {
		t.Fatal(err)
	}
	at := "2026-11-20T00:00:00Z"
	return []record.Observation{
		{At: at, Kind: record.ObservationRetiredWord, Word: &record.Said{Text: texts[0]}, Epitaph: "It rests."},
		{At: at, Kind: record.ObservationStandingNote, Note: &record.StandingNote{Host: "a.example", Lane: "host",
			Statement: record.Said{Text: texts[1]}, SignedAt: at}},
		{At: at, Kind: record.ObservationPublishedTip, Tip: &record.Tip{ID: "tip_1", Title: record.Said{Text: texts[2]},
			Text: tip, By: &record.Said{Text: texts[3]}}},
	}, texts
}

// grep finds the files below a folder that hold a text.
func grep(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestStrangersWordsStandInNoLeaf(t *testing.T) {
	w := recordtest.Writer(t)
	fresh, texts := strangers(t)
	told, err := w.Observe(t.Context(), fresh...)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		for _, name := range grep(t, w.Dir, text) {
			if !strings.HasPrefix(name, "words/") || i == len(texts)-1 {
				t.Errorf("%q stands in %s", text, name)
			}
		}
		// Nor can it be found by who tries texts.
		sum := sha256.Sum256([]byte(text))
		if found := grep(t, w.Dir, hex.EncodeToString(sum[:])); len(found) > 0 {
			t.Errorf("the bare digest of %q stands in %v", text, found)
		}
	}
	report := check(t, w)
	if len(report.Problems) > 0 || report.Words != (WordsReport{Kept: 4}) {
		t.Fatalf("%+v %v", report.Words, report.Problems)
	}
	if told[0].Word.Text != texts[0] || told[2].Tip.Text.Text != "" {
		t.Errorf("%+v", told)
	}
	all, err := recordtest.Open(t, w).Observations()
	if err != nil || all[1].Note.Statement.Text != texts[1] || all[2].Tip.By.Text != texts[3] ||
		all[2].Tip.Text.Text != "" {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, o := range all {
		raw, err := attest.Canonical(o.Bare())
		if err != nil || bytes.Contains(raw, []byte("text\":\"")) || bytes.Contains(raw, []byte("salt")) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestMissingWordsAreExcusedByAWithdrawalAlone takes files of words away with and without one.
func TestMissingWordsAreExcusedByAWithdrawalAlone(t *testing.T) {
	w := recordtest.Writer(t)
	fresh, texts := strangers(t)
	told, err := w.Observe(t.Context(), fresh...)
	if err != nil {
		t.Fatal(err)
	}
	word := told[0].Word.SHA256
	name := filepath.Join(w.Dir, record.WordsPath(word))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if report := check(t, w); len(report.Problems) != 1 || report.Problems[0].Kind != attest.ProblemMissing ||
		report.Problems[0].Path != record.WordsPath(word) {
		t.Errorf("a text that is missing without a withdrawal: %v", report.Problems)
	}
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	gone := record.Observation{At: "2026-11-21T00:00:00Z", Kind: record.ObservationWithdrawn,
		Withdrawn: &record.Withdrawn{SHA256: word, Reason: "its author asked for it"}}
	if _, err := w.Observe(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if found := grep(t, w.Dir, texts[0]); len(found) > 0 {
		t.Errorf("what was withdrawn stands in %v", found)
	}
	if report := check(t, w); len(report.Problems) > 0 || report.Words != (WordsReport{Kept: 3, Withdrawn: 1}) {
		t.Errorf("%+v %v", report.Words, report.Problems)
	}
	all, err := recordtest.Open(t, w).Observations()
	if err != nil || all[0].Word.Text != "" || all[0].Word.SHA256 != word {
		t.Errorf("%+v, %v", all[0], err)
	}
	if held := record.Forget(told, word); held[0].Word.Text != "" || held[1].Note.Statement.Text == "" ||
		told[0].Word.Text == "" {
		t.Errorf("forgotten: %+v of %+v", held, told)
	}
	// One who puts it back publishes what was withdrawn.
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if report := check(t, w); len(report.Problems) != 1 || !strings.HasSuffix(report.Problems[0].Detail,
		" withdrew it") {
		t.Errorf("what was withdrawn is there: %v", report.Problems)
	}
	// A copy without the folder says how many it lacks.
	if err := os.RemoveAll(filepath.Join(w.Dir, "words")); err != nil {
		t.Fatal(err)
	}
	if report := check(t, w); len(report.Problems) > 0 || report.Words != (WordsReport{NotHere: 3, Withdrawn: 1}) {
		t.Errorf("%+v %v", report.Words, report.Problems)
	}
}

// TestDigestWithoutItsSaltIsCaught: digests that claim to be salted and leave the salt out, take a
// short one, or share one, are refused where they are made, and found where they stand.
func TestDigestWithoutItsSaltIsCaught(t *testing.T) {
	const text = "synergy"
	salted := func(salt []byte, text string) string {
		sum := sha256.Sum256(append(bytes.Clone(salt), text...))
		return hex.EncodeToString(sum[:])
	}
	unsalted := salted(nil, text)
	salt := bytes.Repeat([]byte{7}, 32)
	for name, s := range map[string]record.Said{
		"no salt in the digest": {SHA256: unsalted, Salt: salt, Text: text},
		"no salt at all":        {SHA256: unsalted, Text: text},
		"half a salt":           {SHA256: salted(salt[:16], text), Salt: salt[:16], Text: text},
		"another salt":          {SHA256: salted(salt, text), Salt: bytes.Repeat([]byte{8}, 32), Text: text},
		"salt without text":     {SHA256: salted(salt, text), Salt: salt},
	} {
		w := recordtest.Writer(t)
		o := record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationRetiredWord, Word: &s,
			Epitaph: "It rests."}
		if _, err := w.Observe(t.Context(), o); err == nil {
			t.Errorf("%s: it stands in the record", name)
		}
	}
	// A keeper who salts nothing and signs it all the same.
	for name, digest := range map[string]string{"no salt": unsalted, "half a salt": salted(salt[:16], text)} {
		w := recordtest.Writer(t)
		if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
			Kind: record.ObservationRetiredWord, Word: recordtest.Said("other")}); err != nil {
			t.Fatal(err)
		}
		raw, err := record.SignObservation(record.Observation{Number: 2, At: "2026-11-20T00:00:00Z",
			Kind: record.ObservationRetiredWord, Word: &record.Said{SHA256: digest}}, w.Identity)
		if err != nil {
			t.Fatal(err)
		}
		file := fmt.Appendf(nil, `{"format":%q,"salt":"%x","text":%q}`+"\n", record.WordsFormat, salt, text)
		for name, b := range map[string][]byte{"observations/000000002.json": raw, record.WordsPath(digest): file} {
			if err := os.WriteFile(filepath.Join(w.Dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if report := check(t, w); len(report.Problems) != 1 || report.Problems[0].Path != record.WordsPath(digest) {
			t.Errorf("%s: %v", name, report.Problems)
		}
	}
	// One salt for all would let a withdrawn text be tried with the salt of another.
	w := recordtest.Writer(t)
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: recordtest.Said("one")},
		record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationRetiredWord,
			Word: recordtest.Said("two")}); err != nil {
		t.Fatal(err)
	}
	if report := check(t, w); len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Detail, "salt") {
		t.Errorf("one salt twice: %v", report.Problems)
	}
}

// TestTheLongestObservationsStand: whatever a host declares or is said of it, what is written can
// be read again.
func TestTheLongestObservationsStand(t *testing.T) {
	w := recordtest.Writer(t)
	d := record.Declaration{Host: "a.example", Shape: "v1-strings"}
	for range 60 {
		d.Doors = append(d.Doors, "https://a.example/"+strings.Repeat(`"`, 1200))
	}
	cut := d.Cut()
	if n := int64(len(cut.Doors)); n < 4 || n+cut.DoorsLeftOut != 60 {
		t.Errorf("%d doors, %d left out", n, cut.DoorsLeftOut)
	}
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
		Kind: record.ObservationDeclaration, Declaration: &d}); err == nil {
		t.Error("a declaration that is too long is signed")
	}
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
		Kind: record.ObservationDeclaration, Declaration: &cut}); err != nil {
		t.Error(err)
	}
	for header, want := range map[string]string{"": "", "application/JSON; charset=utf-8": "application/json",
		"\u202etxt": record.OtherWord, "a/b/c": record.OtherWord, strings.Repeat("x", 900): record.OtherWord} {
		if got := record.ContentType(header); got != want {
			t.Errorf("content type %q is %q, want %q", header, got, want)
		}
	}
	if report := check(t, w); len(report.Problems) > 0 || report.Observations != 1 {
		t.Errorf("%d observations: %v", report.Observations, report.Problems)
	}
}
