package shop

import (
	"strings"
	"testing"
)

// TestSettingsAreTheExample: the tables of the page about the configuration are together what
// `store config` prints, each under its own name.
func TestSettingsAreTheExample(t *testing.T) {
	t.Parallel()
	var whole strings.Builder
	for i, s := range Settings() {
		whole.WriteString(s.Text)
		named := strings.Contains(s.Text, "\n["+s.Name+"]\n") || strings.Contains(s.Text, "\n[["+s.Name+"]]\n")
		if (i == 0) != (s.Name == "") || i > 0 && !named {
			t.Errorf("%d: %q is the name of %s", i, s.Name, s.Text)
		}
	}
	if whole.String() != Annotated(Example()) {
		t.Error("the tables are not the example")
	}
	if _, err := Load(write(t, whole.String())); err != nil {
		t.Error(err)
	}
}
