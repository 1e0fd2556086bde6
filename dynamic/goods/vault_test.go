package goods

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/content"
)

// A file is kept whole and as what it is, or not at all, and no name leads out of the folder.
func TestKeep(t *testing.T) {
	d := Vault(t.TempDir() + "/vault")
	f := content.File{Path: "tea.pdf", Size: 3, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("tea")))}
	for _, other := range []string{"te", "teas", "TEA"} {
		if err := d.Keep(f, strings.NewReader(other)); err == nil || d.Holds(f) {
			t.Errorf("%q was kept for tea: %v", other, err)
		}
	}
	for range 2 {
		if err := d.Keep(f, strings.NewReader("tea")); err != nil || !d.Holds(f) {
			t.Fatal(err)
		}
	}
	r, err := d.Open(f.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); string(b) != "tea" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if list, err := os.ReadDir(string(d)); len(list) != 1 || err != nil {
		t.Errorf("%d names in the vault, %v", len(list), err)
	}
	for _, digest := range []string{"", "../tea", f.SHA256[:62], strings.ToUpper(f.SHA256[:2]) + "zz"} {
		if _, err := d.Open(digest); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", digest, err)
		}
	}
}
