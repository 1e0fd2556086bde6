package dynamic

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStockGitClonesFromTheServer serves the specimen's repository as one file among others, to a
// git that asks with a query, tries objects that are not there, and would believe a server that
// calls itself smart.
func TestStockGitClonesFromTheServer(t *testing.T) {
	files := make(map[string]string)
	published := os.DirFS(filepath.Join("..", "public"))
	err := fs.WalkDir(published, "corpus.git", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(published, name)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	site := openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", files), "")
	s := newServer(t, Config{Site: site, Log: slog.New(slog.DiscardHandler), Budgets: testBudgets(t)})
	server := httptest.NewServer(s)
	defer server.Close()
	clone := filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir(), "GIT_TERMINAL_PROMPT=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("clone", "-q", server.URL+"/corpus.git", clone)
	if want := strings.Fields(files["corpus.git/info/refs"])[0]; git("-C", clone, "rev-parse", "HEAD") != want {
		t.Errorf("the clone is not at %s", want)
	}
	for _, dir := range []string{"rounds", "observations", "proofs", "log", "keys"} {
		if _, err := os.Stat(filepath.Join(clone, dir)); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{"evidence", "words"} {
		if _, err := os.Stat(filepath.Join(clone, dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, which may be withdrawn, is in a history: %v", dir, err)
		}
	}
}
