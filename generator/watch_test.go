package generator

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestTheWatchedFolderIsReplaced puts other folders in the place of the one that is watched: what
// is edited in each is built, and that there is none is told.
func TestTheWatchedFolderIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	write := func(name, text string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), []byte(text), 0o600))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err, write("first/pages/a.md", "one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("first", at("content")); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 64)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(ctx, WatchInput{Folders: []string{at("content")}, Listener: listener,
			Load: func(context.Context) (Input, error) { // a build is of no interest: it is told what is read
				b, err := os.ReadFile(at("content", "pages", "a.md"))
				return Input{}, errors.Join(err, errors.New(string(b)))
			},
			Built: func(_ Report, err error) {
				if isMissing(err) {
					err = errors.New("missing")
				}
				said <- err.Error()
			},
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch: %v", err)
		}
	}()
	until := func(want string) {
		for got := range said {
			if got == want {
				return
			}
		}
	}
	until("one")
	for _, step := range []struct {
		what, want string
		do         func() error
	}{
		{"edited behind a link", "two", func() error { return write("first/pages/a.md", "two") }},
		{"the link leads elsewhere", "three", func() error {
			return errors.Join(write("second/pages/a.md", "three"), os.Remove(at("content")),
				os.Symlink("second", at("content")))
		}},
		{"edited there", "four", func() error { return write("second/pages/a.md", "four") }},
		{"a copy in its place", "five", func() error {
			return errors.Join(os.Remove(at("content")), write("content/pages/a.md", "five"))
		}},
		{"moved away", "missing", func() error { return os.Rename(at("content"), at("content.z")) }},
		{"copied back", "six", func() error { return write("content/pages/a.md", "six") }},
		{"removed", "missing", func() error { return os.RemoveAll(at("content")) }},
		{"made anew", "seven", func() error { return write("content/pages/a.md", "seven") }},
		{"edited at last", "eight", func() error { return write("content/pages/a.md", "eight") }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		t.Log(step.what)
		until(step.want)
	}
}
