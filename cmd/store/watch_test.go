package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newSite makes a keeper's folder and returns it.
func newSite(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	for _, call := range [][]string{{"init", "-specimen", dir},
		{"key", "init", "-dir", filepath.Join(dir, "var", "keys")}} {
		var said bytes.Buffer
		if code := run(t.Context(), call, &said, &said); code != 0 {
			t.Fatalf("store %s: exit code %d: %s", call, code, &said)
		}
	}
	return dir
}

// filesBelow is every regular file below a folder, with its bytes.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The watcher clears the folder it builds into, so it takes none that is used for anything.
func TestWatchTakesNoFolderInUse(t *testing.T) {
	t.Chdir(newSite(t))
	if err := os.WriteFile("notes.txt", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, ".")
	if before["var/keys/identity.pem"] == "" {
		t.Fatal("the site has no key")
	}
	mine := t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, "letter.txt"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{".", "./", "..", "content", "content/pages/new", "public", "public/preview", "corpus",
		"var", "var/keys", "var/stock", mine} {
		ctx, stop := context.WithCancel(t.Context())
		said := &until{word: "built", found: stop} // where it does watch, it ends with the first build
		if code := run(ctx, []string{"watch", "-listen", "127.0.0.1:0", "-out", out}, said, said); code != 1 ||
			!strings.Contains(said.String(), "hint: ") {
			t.Errorf("watch -out %s: exit code %d: %s", out, code, &said.Buffer)
		}
		stop()
	}
	for name, body := range filesBelow(t, ".") {
		if before[name] != body {
			t.Errorf("%s was changed", name)
		}
		delete(before, name)
	}
	for name := range before {
		t.Errorf("%s is gone", name)
	}
	if left := filesBelow(t, mine); len(left) != 1 || left["letter.txt"] != "dear" {
		t.Errorf("of somebody's folder there is left %v", left)
	}
}

// A folder of its own may be the one that it was started in.
func TestWatchBuildsWhereItStands(t *testing.T) {
	config := filepath.Join(newSite(t), "store.toml")
	empty := filepath.Join(t.TempDir(), "preview")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(empty)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &until{word: "rendered", found: stop}
	var wrong bytes.Buffer
	if code := run(ctx, []string{"watch", "-config", config, "-listen", "127.0.0.1:0", "-out", "."}, out,
		&wrong); code != 0 || wrong.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, &out.Buffer, &wrong)
	}
	if _, err := os.Stat("menu.json"); err != nil {
		t.Error(err)
	}
}

// until calls found once a word was written.
type until struct {
	bytes.Buffer
	word  string
	found func()
}

func (u *until) Write(b []byte) (int, error) {
	n, err := u.Buffer.Write(b)
	if strings.Contains(u.String(), u.word) {
		u.found()
	}
	return n, err
}
