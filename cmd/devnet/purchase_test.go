package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The instructions name the program that is there, and a shell takes each for what it says,
// wherever the release was unpacked.
func TestInstructionsNameTheirProgram(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	release := filepath.Join(t.TempDir(), "it's a release")
	if err := os.Mkdir(release, 0o700); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(release, "store")
	if err := os.WriteFile(store, []byte("#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, folder, self string
		err                error
		want               string
	}{
		{"a release in a clone", root, filepath.Join(release, "devnet"), nil, shellWord(store)},
		{"a clone", root, filepath.Join(t.TempDir(), "devnet"), nil, "go run ./cmd/store"},
		{"installed", t.TempDir(), filepath.Join(t.TempDir(), "devnet"), nil, "store"},
		{"nobody knows where", t.TempDir(), "", errors.New("unknown"), "store"},
	} {
		t.Chdir(c.folder)
		if got := storeProgram(c.self, c.err); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}

	t.Chdir(release)
	w, err := newWorld("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.stop() })
	purse := filepath.Join(release, "buyer.key")
	var out bytes.Buffer
	w.howTo(&out, "http://127.0.0.1:4020", purse, "http://127.0.0.1:4030")
	if said := out.String(); strings.Contains(said, "go run") || strings.Contains(said, "npm") ||
		!strings.Contains(said, "http://127.0.0.1:4030/ lists") {
		t.Errorf("a release says\n%s", said)
	}
	_, line, _ := strings.Cut(out.String(), "with the built-in buyer:")
	line, _, _ = strings.Cut(line, "\n")
	_, args, _ := strings.Cut(line, "store ")
	said, err := exec.Command("sh", "-c", shellWord(store)+" "+args).Output()
	if want := store + "|buy|-wallet|" + purse + "|http://127.0.0.1:4020/api/buy/small_blessing|"; err != nil ||
		string(said) != want {
		t.Errorf("%s\nis taken for %s (%v), want %s", line, said, err, want)
	}
}
