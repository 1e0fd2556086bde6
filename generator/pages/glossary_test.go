package pages

import (
	"strings"
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// TestStatesHaveWords: no state of the record is its own plain word, and what people read for it
// stands in the glossary beside it.
func TestStatesHaveWords(t *testing.T) {
	text := glossary.body(nil)
	states := []string{"not_ready", "not_probed", "listed_not_walked", "turned_away", "bitcoin_unchecked"}
	for _, g := range derive.CurrentRules().Gaps {
		states = append(states, g.Reason)
	}
	for _, s := range states {
		words := templates.InWords(s)
		if strings.Contains(words, "_") || !strings.Contains(text, "| "+words+" | `"+s+"` |") {
			t.Errorf("%s is said as %q, which the glossary lacks", s, words)
		}
	}
	if got := templates.Plainly("possibly_beyond_cap, not_ready"); strings.Contains(got, "_") {
		t.Error(got)
	}
}
