package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/vectors"
)

// TestVectorsByTheVerifierFromThePage holds the vectors to the verifier that was made from the
// pages alone: it accepts what is good, and names the rule of what is not.
func TestVectorsByTheVerifierFromThePage(t *testing.T) {
	good, bad, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	trees, held := make(map[string]fstest.MapFS), make(map[string]map[string][]byte)
	for _, g := range good {
		held[g.Name] = g.Files
		trees["good-"+g.Name] = treeOf(g.Files, nil, nil)
	}
	for _, b := range bad {
		if b.Keys == nil && b.Seen == nil {
			trees[b.Name] = treeOf(held[b.Base], b.Files, b.Links)
		}
	}
	says := verdicts(t, dir, trees)
	for _, b := range bad {
		if b.Keys != nil || b.Seen != nil {
			alone := t.TempDir()
			file := filepath.Join(alone, "known")
			if err := os.WriteFile(file, append(b.Keys, b.Seen...), 0o600); err != nil {
				t.Fatal(err)
			}
			flag := "-keys"
			if b.Seen != nil {
				flag = "-remember"
			}
			tree := map[string]fstest.MapFS{b.Name: treeOf(held[b.Base], b.Files, b.Links)}
			says[b.Name] = verdicts(t, alone, tree, flag, file)[b.Name]
		}
	}
	for _, g := range good {
		if what := says["good-"+g.Name]; what != "" {
			t.Errorf("%s: %s", g.Name, what)
		}
	}
	for _, b := range bad {
		named, _, _ := strings.Cut(says[b.Name], ": ")
		if want := string(b.Rule); named != want && (!b.Battery || named != "") {
			t.Errorf("%s: it says %q", b.Name, says[b.Name])
		}
	}
}

// readsForms is what the verifier from the page is asked of the vectors of forms: which good value
// does not fit its form, and which bad one does.
const readsForms = `
source = pathlib.Path(sys.argv[1]).read_text().replace("sys.exit(main())", "")
exec(compile(source, "verify.py", "exec"))
read_forms(pathlib.Path(sys.argv[2]).read_text("ascii"))
def takes(kind, value):
    try:
        return fits(kind, value)
    except ValueError:  # a day that no calendar has
        return False
for v in json.load(sys.stdin)["forms"]:
    for want, values in ((True, v["good"]), (False, v["bad"])):
        for value in values:
            if takes(v["form"], value) != want:
                print(v["form"], "fits" if not want else "does not fit", json.dumps(value)[:300])
`

// TestFormVectorsByTheVerifierFromThePage holds the vectors of forms to the same verifier.
func TestFormVectorsByTheVerifierFromThePage(t *testing.T) {
	needsPython(t)
	files, err := vectors.Files()
	if err != nil {
		t.Fatal(err)
	}
	forms := filepath.Join(t.TempDir(), "forms.txt")
	if err := os.WriteFile(forms, rule.Forms(), 0o600); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f vectors.File) bool { return f.Path == "forms.json" })
	verify := exec.CommandContext(t.Context(), python, "-c", "import json, pathlib, sys\n"+readsForms, filepath.Join(
		"testdata", "verify.py"), forms)
	verify.Stdin = bytes.NewReader(files[i].Body)
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v:\n%s", err, out)
	}
}

// treeOf is a record as a verifier meets it: a good one with what differs from it.
func treeOf(base, changed map[string][]byte, links map[string]string) fstest.MapFS {
	all := maps.Clone(base)
	maps.Copy(all, changed)
	out := make(fstest.MapFS)
	for name, data := range all {
		if data != nil {
			out[name] = &fstest.MapFile{Data: data, Mode: 0o444}
		}
	}
	for name, target := range links {
		out[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
	}
	return out
}

// write puts a tree into a folder.
func write(dir string, tree fstest.MapFS) error {
	for name, f := range tree {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		var err error
		if f.Mode&fs.ModeSymlink != 0 {
			err = os.Symlink(string(f.Data), full)
		} else {
			err = os.WriteFile(full, f.Data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("writing a record: %w", err)
		}
	}
	return nil
}
