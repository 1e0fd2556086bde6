package shop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageHoldsTheExample keeps the configuration on the page about running a store equal to what
// `store config` prints, and readable.
func TestPageHoldsTheExample(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "content", "pages", "running.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```toml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the page holds no configuration")
	}
	if !strings.Contains(text, strings.TrimSpace(Annotated(Example()))) {
		t.Error("the page's configuration is not the example; paste what store config prints")
	}
	if _, err := Load(write(t, text)); err != nil {
		t.Error(err)
	}
}
