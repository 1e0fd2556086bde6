package rule

import (
	"os"
	"regexp"
	"testing"
)

// TestVerifierNamesTheRules holds the verifier that was made from the published table to the names
// in it.
func TestVerifierNamesTheRules(t *testing.T) {
	names := make(map[string]bool)
	for _, e := range RuleTable() {
		if names[string(e.Rule)] {
			t.Errorf("%s stands twice", e.Rule)
		}
		names[string(e.Rule)] = true
	}
	program, err := os.ReadFile("../../cmd/verify/testdata/verify.py")
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, name := range regexp.MustCompile(`"([a-z]+\.[a-z]+)"`).FindAllStringSubmatch(string(program), -1) {
		if used[name[1]] = true; !names[name[1]] && name[1] != "manifest.json" && name[1] != "forms.txt" {
			t.Errorf("verify.py names %s, which is no rule", name[1])
		}
	}
	for _, e := range RuleTable() {
		if !used[string(e.Rule)] && e.Rule != JudgementVerdict {
			t.Errorf("verify.py never names %s", e.Rule)
		}
	}
}
