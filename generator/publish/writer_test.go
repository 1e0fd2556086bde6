package publish

import (
	"errors"
	"os"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// Names that cannot stand together make no tree, and a file that changed since it was hashed makes
// no pack, of which nothing stays.
func TestWriterRefuses(t *testing.T) {
	w, files, dir := NewWriter(), make(Files), t.TempDir()
	files.Set("a", w.Body([]byte("a file")))
	files.Set("a/b", w.Body([]byte("one below it")))
	if _, err := w.Tree(files); !errors.Is(err, ErrTree) {
		t.Errorf("a file that is a folder: %v", err)
	}
	w.File(plumbing.ComputeHash(plumbing.BlobObject, []byte("was")), 3, "c",
		func(string) ([]byte, error) { return []byte("now"), nil })
	_, err := w.WritePack(dir)
	left, listErr := os.ReadDir(dir)
	if !errors.Is(err, ErrChanged) || listErr != nil || len(left) > 0 {
		t.Errorf("a file that changed: %v, %v stays, %v", err, left, listErr)
	}
}
