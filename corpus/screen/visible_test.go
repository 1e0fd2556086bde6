package screen

import "testing"

// TestText: what can be read stays as it is, whatever else is spelled out.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "rounds/1/header.json": "rounds/1/header.json", `a "b" \ ü – 雪`: `a "b" \ ü – 雪`,
		"a\x1b[8mb\r\nc": `a\x1b[8mb\r\nc`, "'\u202egnol\u2028\u00a0\u0085": `'\u202egnol\u2028\u00a0\u0085`,
		"\x9b31m\xff": `\x9b31m\xff`, "\ufffd\u200b": "\ufffd" + `\u200b`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 problems", 1: "1 problem", 2: "2 problems"} {
		if got := Count(n, "problem"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
