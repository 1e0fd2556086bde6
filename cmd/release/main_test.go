package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// command runs a program in a folder and returns all it printed.
func command(t *testing.T, dir, stdin, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Stdin = dir, strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

// must runs a program that has to end well.
func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := command(t, dir, "", name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// clone is a clone of this repository's commit.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "elsewhere")
	root := strings.TrimSpace(must(t, ".", "git", "rev-parse", "--show-toplevel"))
	must(t, ".", "git", "clone", "-q", "--depth", "1", "file://"+root, dir)
	return dir
}

// made runs the command in a clone, and returns its exit code and what it printed.
func made(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	t.Chdir(dir)
	var out bytes.Buffer
	code := run(t.Context(), args, &out, &out)
	return code, out.String()
}

// TestLongTwoBuildsAreOne: two clones in two folders give the same bytes, which run, say their
// commit, and carry a signature that ssh-keygen accepts, and no other file's.
func TestLongTwoBuildsAreOne(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	keys := t.TempDir()
	must(t, keys, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "who@store.example", "-f", "key")
	first, second := clone(t), clone(t)
	for _, dir := range []string{first, second} {
		code, said := made(t, dir, "-platforms", here, "-programs", "verify", "-key", filepath.Join(keys, "key"))
		if code != 0 {
			t.Fatalf("exit %d: %s", code, said)
		}
	}
	out := filepath.Join("var", "release")
	list := read(t, filepath.Join(first, out, sums))
	if again := read(t, filepath.Join(second, out, sums)); list != again || !strings.HasSuffix(list, ".tgz\n") {
		t.Errorf("two builds are two:\n%s%s", list, again)
	}
	must(t, filepath.Join(first, out), "sha256sum", "-c", sums)

	public, _, _ := strings.Cut(read(t, filepath.Join(keys, "key.pub")), " who@")
	allowed := filepath.Join(keys, "allowed")
	if err := os.WriteFile(allowed, []byte("who "+public+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for signed, good := range map[string]bool{list: true, "another " + list: false} {
		said, err := command(t, filepath.Join(first, out), signed, "ssh-keygen", "-Y", "verify", "-f", allowed,
			"-I", "who", "-n", "file", "-s", sums+".sig")
		if (err == nil) != good {
			t.Errorf("of %q ssh-keygen says %v: %s", signed, err, said)
		}
	}

	name := strings.Fields(list)[1]
	must(t, keys, "tar", "xzf", filepath.Join(first, out, name))
	folder := filepath.Join(keys, strings.TrimSuffix(name, ".tar.gz"))
	binary := filepath.Join(folder, "verify")
	beside := []string{"deploy/store.service", "deploy/store-backup.timer", "deploy/alerts.yml", "verifier/verify.wasm",
		"verifier/wasm_exec.js"}
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(t, filepath.Join(folder, "README.md")), -1)
	for _, m := range links {
		beside = append(beside, m[1])
	}
	for _, file := range beside {
		if st, err := os.Stat(filepath.Join(folder, file)); err != nil || st.Size() == 0 {
			t.Errorf("the archive lacks %s: %v", file, err)
		}
	}
	commit := strings.TrimSpace(must(t, first, "git", "rev-parse", "HEAD"))
	if said := must(t, keys, "go", "version", "-m", binary); !strings.Contains(said, "vcs.revision="+commit) ||
		!strings.Contains(said, "vcs.modified=false") || strings.Contains(said, first) {
		t.Errorf("the program is built from %s", said)
	}
	if said, _ := command(t, keys, "", binary, "-h"); !strings.Contains(said, "-ring") {
		t.Errorf("verify -h says %q", said)
	}

	fields := strings.Fields(list)
	installs(t, filepath.Join(first, out, fields[len(fields)-1]))

	if code, said := made(t, first, "-platforms", here); code != 1 || !strings.Contains(said, "holds files already") {
		t.Errorf("into a full folder: exit %d, %s", code, said)
	}
	if err := os.WriteFile(filepath.Join(first, "README.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := made(t, first, "-o", "new"); code != 1 || !strings.Contains(said, "has changes") {
		t.Errorf("of a changed checkout: exit %d, %s", code, said)
	}
}

// installs has npm install the package into a project, with what it depends on from the tests'
// packages, as no registry is asked, and a program of the project import it.
func installs(t *testing.T, tgz string) {
	t.Helper()
	modules, dir := npmtest.Packages(t), t.TempDir()
	project := fmt.Sprintf(`{"dependencies": {"@noble/curves": "file:%[1]s/@noble/curves",
		"@noble/hashes": "file:%[1]s/@noble/hashes"}, "overrides": {"@noble/curves": "$@noble/curves",
		"@noble/hashes": "$@noble/hashes"}}`, modules)
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(project), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", tgz)
	said := must(t, dir, npmtest.Node(t), "--input-type=module", "-e", `import { Keys, Refused } from "agentstore";
		try { new Keys("{}") } catch (e) { console.log(e instanceof Refused, e.rule) }`)
	if said != "true ring.form\n" {
		t.Errorf("the installed package says %q", said)
	}
}

// TestCalledWrongly: each argument that cannot be built is named.
func TestCalledWrongly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arg, says string }{
		{"-platforms=linux", `"linux" is not GOOS/GOARCH`}, {"-platforms=", `"" is not`},
		{"-programs=bench", `"bench" is none of check, devnet, store, verify`}, {"now", `"now" is no flag`}, {"-x", "-x"},
	} {
		var out bytes.Buffer
		code := run(t.Context(), []string{c.arg}, &out, &out)
		if code != 2 || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit %d, %s", c.arg, code, out.String())
		}
	}
}

// TestPacked: both archives hold what was put in, with its mode, and the commit's time.
func TestPacked(t *testing.T) {
	t.Parallel()
	r := release{made: time.Date(2026, 11, 22, 10, 20, 30, 0, time.UTC)}
	files := []member{{"store/LICENSE", 0o644, []byte("free")}, {"store/verify", 0o755, []byte("\x7fELF")}}
	var ball, zipped bytes.Buffer
	if err := r.tarball(&ball, files); err != nil {
		t.Fatal(err)
	}
	if err := r.zipped(&zipped, files); err != nil {
		t.Fatal(err)
	}
	flat, err := gzip.NewReader(&ball)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	if err != nil {
		t.Fatal(err)
	}
	tarball := tar.NewReader(flat)
	for i, f := range files {
		h, err := tarball.Next()
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(tarball)
		if h.Name != f.name || h.Mode != f.mode || !h.ModTime.Equal(r.made) || h.Uid != 0 ||
			string(data) != string(f.data) {
			t.Errorf("tar holds %+v", h)
		}
		in, err := z.File[i].Open()
		if err != nil {
			t.Fatal(err)
		}
		data, _ = io.ReadAll(in)
		if e := z.File[i]; e.Name != f.name || int64(e.Mode()) != f.mode || !e.Modified.Equal(r.made) ||
			string(data) != string(f.data) {
			t.Errorf("zip holds %+v", e.FileHeader)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
