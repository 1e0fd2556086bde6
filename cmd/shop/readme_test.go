package shop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeHoldsTheExample keeps the configuration in the README equal to what `store config` prints, and readable.
func TestReadmeHoldsTheExample(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```toml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the README holds no configuration")
	}
	if !strings.Contains(text, strings.TrimSpace(Annotated(Example()))) {
		t.Error("the README's configuration is not the example; paste what store config prints")
	}
	if _, err := Load(write(t, text)); err != nil {
		t.Error(err)
	}
}
