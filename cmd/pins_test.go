package cmd

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var installs = regexp.MustCompile("npm install ([^`\n]+)")

// TestStyleInstallsAreThoseOfTheTests: what a page tells a reader to install is pinned to the
// version that its programs are run with.
func TestStyleInstallsAreThoseOfTheTests(t *testing.T) {
	b, err := os.ReadFile("devnet/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, folder := range []string{"../content/pages", "../generator/pages/texts", "../.github", ".."} {
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && folder == ".." && name != "." {
				return fs.SkipDir
			}
			if err != nil || path.Ext(name) != ".md" {
				return err
			}
			text, err := fs.ReadFile(os.DirFS(folder), name)
			for _, m := range installs.FindAllSubmatch(text, -1) {
				for p := range strings.FieldsSeq(string(m[1])) {
					found++
					at := strings.LastIndexByte(p, '@')
					if at <= 0 || lock.Packages["node_modules/"+p[:at]].Version != p[at+1:] {
						t.Errorf("%s: npm install %s is not what the tests use: %s", name, p,
							lock.Packages["node_modules/"+p[:max(at, 0)]].Version)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("nothing is installed anywhere")
	}
}
