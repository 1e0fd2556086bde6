package counter

import "testing"

// Controls, line separators and what turns the direction of writing are refused in inputs: they
// would make a text read otherwise than it was signed.
func TestControlsInInputs(t *testing.T) {
	for r := rune(0); r <= 0x2100; r++ {
		want := r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e ||
			r >= 0x2066 && r <= 0x2069
		text := "a" + string(r) + "b"
		if got := hasControl(text, false); got != want {
			t.Errorf("U+%04X in one line: refused %v, want %v", r, got, want)
		}
		if lines := want && r != '\n' && r != '\t' && r != '\r'; hasControl(text, true) != lines {
			t.Errorf("U+%04X in several lines: refused %v, want %v", r, !lines, lines)
		}
	}
}
