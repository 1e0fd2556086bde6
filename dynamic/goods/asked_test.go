package goods

import (
	"maps"
	"testing"

	"store.example/agentstore/content"
)

// What a buyer wrote is words alone to Markdown, and of its own type to a service.
func TestWhatABuyerWrote(t *testing.T) {
	for in, want := range map[string]string{`\*`: `\\\*`, "+ a\n= b": "\\+ a\\\n\\= b"} {
		if got := asWords(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	in := []content.Input{{Name: "b", Type: "boolean"}, {Name: "s", Type: "string"}}
	got := typed(&Order{Good: content.Good{Inputs: in}, Inputs: map[string]string{"b": "true", "s": "true"}})
	if !maps.Equal(got, map[string]any{"b": true, "s": "true"}) {
		t.Errorf("told as %v", got)
	}
}
