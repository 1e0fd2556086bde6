package kit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the Containerfile runs builds a program that runs by itself, and what it copies is there. It
// compiles everything anew, without cgo.
func TestSoakContainerfile(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("set STORE_SOAK=1 to build what a container runs")
	}
	raw, err := os.ReadFile(filepath.Join("..", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	root, dir := filepath.Join("..", "..", ".."), t.TempDir()
	built := ""
	for line := range strings.Lines(string(raw)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "RUN":
			before, file, ok := strings.Cut(rest, " -o /")
			if !ok {
				t.Fatalf("%s says not where to", line)
			}
			file, what, _ := strings.Cut(file, " ")
			built = filepath.Join(dir, file)
			c := exec.CommandContext(t.Context(), "sh", "-c", before+" -o "+built+" "+what)
			c.Dir = root
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		case "ENTRYPOINT":
			if rest != `["/`+filepath.Base(built)+`"]` {
				t.Errorf("it begins with %s, and %s was built", rest, built)
			}
		}
	}
	// As in a container from nothing: no environment, no home, nothing but itself.
	c := exec.CommandContext(t.Context(), built, "-h")
	c.Env = []string{}
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "-pay") {
		t.Errorf("%v\n%s", err, out)
	}
}
