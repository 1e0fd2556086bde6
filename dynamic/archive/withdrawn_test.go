package archive

import (
	"testing"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record"
)

// TestAWithdrawnTextIsForgotten: a text that was withdrawn while it was held is gone with the
// observation that says so, and not at the next start.
func TestAWithdrawnTextIsForgotten(t *testing.T) {
	w := writer(t)
	corpustest.Append(t, w, 1, corpustest.Weeks)
	observe := func(o record.Observation) record.Observation {
		t.Helper()
		o.At = "2026-12-01T00:00:00Z"
		told, err := w.Observe(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return told[0]
	}
	said := observe(record.Observation{Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "zyzzyvalike"}})
	a, _ := openArchive(t, w)
	if _, ok := a.Now().Word("zyzzyvalike"); !ok {
		t.Fatal("the word is not there")
	}
	observe(record.Observation{Kind: record.ObservationWithdrawn,
		Withdrawn: &record.Withdrawn{SHA256: said.Word.SHA256, Reason: "its author asked for it"}})
	if err := a.Refresh(); err != nil {
		t.Fatal(err)
	}
	s := a.Now()
	if o, ok := s.Word("zyzzyvalike"); ok {
		t.Errorf("the word is still there: %+v", o)
	}
	for _, o := range s.Feed {
		if o.Word != nil && o.Word.SHA256 == said.Word.SHA256 && (o.Word.Text != "" || o.Word.Salt != nil) {
			t.Errorf("the feed holds %+v", o.Word)
		}
	}
}
