package kit

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// TestWhatLeadsOutOfAZipFileIsRefused: programs that unpack such a file differ in what they make of
// these entries, and what was checked would not be what is then there.
func TestWhatLeadsOutOfAZipFileIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		mode fs.FileMode
		ok   bool
	}{
		{"clone/notes.txt", 0o644, true}, {"clone/more/", fs.ModeDir | 0o755, true},
		{"../notes.txt", 0o644, false}, {"clone/../../notes.txt", 0o644, false}, {"clone/../notes.txt", 0o644, false},
		{"..", 0o644, false}, {"/etc/passwd", 0o644, false}, {"//notes.txt", 0o644, false},
		{"./notes.txt", 0o644, false}, {"clone//notes.txt", 0o644, false}, {"", 0o644, false},
		{`clone\notes.txt`, 0o644, false}, {`C:\notes.txt`, 0o644, false}, {"clone/a\x00b", 0o644, false},
		// a second time
		{"clone/link", fs.ModeSymlink | 0o777, false}, {"clone/pipe", fs.ModeNamedPipe | 0o644, false},
		{"clone/device", fs.ModeDevice | 0o644, false}, {"clone/log/checkpoint", 0o644, false},
		{"clone/LOG/checkpoint", 0o644, false}, {"clone/Log", 0o644, false},
	} {
		var raw bytes.Buffer
		w := zip.NewWriter(&raw)
		for _, name := range []string{"clone/log/checkpoint", c.name} {
			h := &zip.FileHeader{Name: name, Method: zip.Store}
			if name == c.name {
				h.SetMode(c.mode)
			}
			if _, err := w.CreateHeader(h); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Check(t.Context(), raw.Bytes(),
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil {
			t.Errorf("%q: %v", c.name, err)
			continue
		}
		named := slices.ContainsFunc(r.(verify.CloneReport).Problems, func(p verify.Problem) bool {
			return strings.Contains(c.name, p.Path) && p.Kind == "added" && p.Detail != ""
		})
		if !r.Refused() || named == c.ok {
			t.Errorf("%q of mode %s: %v", c.name, c.mode, r.(verify.CloneReport).Problems)
		}
	}
}
