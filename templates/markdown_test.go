package templates

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlainTextsAreAsTheyAreShown holds the quick look at a text against what it stands for.
func TestPlainTextsAreAsTheyAreShown(t *testing.T) {
	pieces := append([]string{"a", " ", "b_c", "–", "ü", "`", "``", "|", "_", "-", "1.", ")", "\n", "\t", "\u00a0",
		"\u2028", "\u0085", "\u202e", "\x7f", "\xff", "\ufffd"}, hostile...)
	r := rand.New(rand.NewPCG(11, 12))
	plain := 0
	for range 50_000 {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(pieces[r.IntN(min(len(pieces), 4<<r.IntN(4)))])
		}
		s := b.String()
		line := shown(s)
		if got, want := isPlain(s, &codeMarks), line == s && !strings.Contains(s, "`") &&
			!strings.Contains(s, "\ufffd"); got != want {
			t.Fatalf("isPlain(%q) = %v", s, got)
		} else if got {
			plain++
		}
		if isWords(s) && (s != line || strings.ContainsAny(s, "\\`*[]<>#&|~")) {
			t.Fatalf("isWords(%q)", s)
		}
		if strings.Contains(said(s), "\n") || strings.Contains(code(s), "\n") {
			t.Fatalf("%q is more than a line", s)
		}
	}
	if plain < 5000 {
		t.Errorf("only %d texts were plain", plain)
	}
}
