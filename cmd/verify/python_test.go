package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/verify"
)

// python is the system's own, for which Debian packages ed25519.
const python = "/usr/bin/python3"

// needsPython ends a test where the verifiers in testdata cannot run, and says what is to be
// installed.
func needsPython(t *testing.T) {
	t.Helper()
	if err := withoutPython(); err != nil {
		npmtest.Unavailable(t, err)
	}
}

var withoutPython = sync.OnceValue(func() error {
	const modules = "cryptography, opentimestamps"
	if out, err := exec.Command(python, "-c", "import "+modules).CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot import %s: install python3-cryptography and python3-opentimestamps: %w\n%s",
			python, modules, err, out)
	}
	return nil
})

// TestVerifierFromThePageAlone holds the verifier in testdata, which was made from the pages
// /spec/store-corpus/v1, its rules and forms and /spec/store-evidence/v1 alone, to ours: both
// take each record as it is, and refuse it when a byte of a file of each kind is changed, when one
// is missing and when one is there that nothing asks for. Without the manifest they agree, though
// not all of it is seen then: anybody may add a proof of time.
func TestVerifierFromThePageAlone(t *testing.T) { askPython(t, 1) }

// TestSoakVerifierFromThePageAlone changes twelve bytes of a file of each kind: some 600 attacks.
func TestSoakVerifierFromThePageAlone(t *testing.T) {
	soak(t)
	askPython(t, 12)
}

func askPython(t *testing.T, changes int) {
	trees, rng := records(t), rand.New(rand.NewPCG(17, 1))
	dir := t.TempDir()
	if says := verdicts(t, dir, trees); len(says) != 0 {
		t.Fatalf("as they are: %v", says)
	}
	attacks := make(map[string]fstest.MapFS)
	lived := trees["lived"]
	for _, manifest := range []bool{true, false} {
		tree, seen := maps.Clone(lived), make(map[string]bool)
		maps.DeleteFunc(tree, func(name string, _ *fstest.MapFile) bool {
			return !manifest && strings.HasPrefix(name, "manifest")
		})
		if !manifest {
			tree[".git/HEAD"] = &fstest.MapFile{Data: []byte("ref: refs/heads/main\n")}
		}
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			if seen[recordtest.Kind(name)] || name == ".git/HEAD" {
				continue
			}
			seen[recordtest.Kind(name)] = true
			add := func(what string, change func(fstest.MapFS)) {
				spoilt := maps.Clone(tree)
				change(spoilt)
				attacks[fmt.Sprintf("%s %s, manifest %v", what, strings.ReplaceAll(name, "/", "~"), manifest)] = spoilt
			}
			for n := range changes {
				data := slices.Clone(tree[name].Data)
				data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
				add(fmt.Sprint("byte ", n), func(f fstest.MapFS) {
					f[name] = &fstest.MapFile{Data: data,
						Mode: 0o444}
				})
			}
			if name != "manifest.json" {
				add("without", func(f fstest.MapFS) { delete(f, name) })
			}
			if strings.Contains(name, "/") {
				beside := filepath.Join(filepath.Dir(name), "0"+filepath.Base(name))
				add("beside", func(f fstest.MapFS) { f[beside] = f[name] })
			}
		}
	}
	says := verdicts(t, dir, attacks)
	for what, tree := range attacks {
		r, err := verify.Clone(t.Context(), tree,
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil {
			t.Fatal(err)
		}
		if (says[what] == "") != (len(r.Problems) == 0) || tree["manifest.json"] != nil && says[what] == "" {
			t.Errorf("%s: the one from the page says %q, ours %v", what, says[what], r.Problems)
		}
		named, _, _ := strings.Cut(says[what], ": ")
		if named != "" && !slices.ContainsFunc(r.Problems, func(p verify.Problem) bool {
			// A kid with a character that no kid has is of no form, and is the kid of no key.
			return string(p.Rule) == named || named == "manifest.form" && p.Rule == rule.ManifestKey ||
				named == "ring.form" && p.Rule == rule.RingKey
		}) {
			t.Errorf("%s: the one from the page names another rule, %q, ours %v", what, says[what], r.Problems)
		}
	}
	t.Logf("%d attacks", len(attacks))
}

// verdicts writes trees and has them all verified; it returns what was said of those that are
// refused.
func verdicts(t *testing.T, dir string, trees map[string]fstest.MapFS, flags ...string) map[string]string {
	t.Helper()
	needsPython(t)
	script, err := filepath.Abs("testdata/verify.py")
	if err != nil {
		t.Fatal(err)
	}
	// The forms are those that are published, which stand beside no record.
	forms, err := filepath.Abs("../../corpus/rule/forms.txt")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-B", script, "-forms", forms}, flags...)
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		if err := write(filepath.Join(dir, name), trees[name]); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	var out, problems bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &problems
	_ = cmd.Run() // what is refused is told by its status
	if problems.Len() > 0 {
		t.Fatalf("%s", &problems)
	}
	says := make(map[string]string)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(trees) {
		t.Fatalf("%d verdicts on %d records:\n%s", len(lines), len(trees), &out)
	}
	for _, line := range lines {
		name, verdict, _ := strings.Cut(line, ": ")
		if !strings.HasPrefix(verdict, "verified: ") {
			says[name] = verdict
		}
	}
	return says
}
