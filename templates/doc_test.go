package templates

import "testing"

// TestTidyWritesOverWhatItHasRead gives texts with and without room behind them.
func TestTidyWritesOverWhatItHasRead(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "\n",
		"a":                            "a\n",
		"\n\n a \t\n\n\n\nb  \n\n":     " a\n\nb\n",
		"a\n```\n\n\n x \n```\n\n\n\n": "a\n```\n\n\n x \n```\n",
		"a\n\n \n\t\n```\n\n\nopen  ":  "a\n\n```\n\n\nopen  \n",
	} {
		tight, roomy := []byte(in), append(make([]byte, 0, 2*len(in)+8), in...)
		for name, b := range map[string][]byte{"tight": tight[:len(in):len(in)], "roomy": roomy} {
			if got := string(tidy(b)); got != want {
				t.Errorf("%s: tidy(%q) = %q, want %q", name, in, got, want)
			}
		}
	}
}
