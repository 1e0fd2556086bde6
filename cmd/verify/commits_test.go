package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// TestCommitsOfAClone has the commits of a clone signed by the store's git key, by nobody, by a
// stranger, and changed after they were signed.
func TestCommitsOfAClone(t *testing.T) {
	w := lived(t, 0)
	for _, name := range []string{"manifest.json", "manifest"} {
		if err := os.RemoveAll(filepath.Join(w.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", w.Dir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q")
	tree := git("", "mktree")
	commit := func(parent, seconds, message string, key *attest.Key) string {
		if parent != "" {
			parent = "parent " + parent + "\n"
		}
		head := fmt.Sprintf("tree %s\n%sauthor A <a@b.example> %s +0000\ncommitter A <a@b.example> %[3]s +0000\n", tree,
			parent, seconds)
		if key == nil {
			return head + "\n" + message
		}
		signature, err := attest.NewSSHSigner(key).Sign(strings.NewReader(head + "\n" + message))
		if err != nil {
			t.Fatal(err)
		}
		armoured := strings.ReplaceAll(strings.TrimSuffix(string(signature), "\n"), "\n", "\n ")
		return head + "gpgsig " + armoured + "\n\n" + message
	}
	own := attest.SpecimenKeyFor(attest.PurposeGit)
	stranger, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	head := func(raw string) string {
		id := git(raw, "hash-object", "-t", "commit", "-w", "--stdin")
		git("", "update-ref", "HEAD", id)
		return id
	}
	const at = "1799000000"
	first := head(commit("", at, "first\n", own))
	missing := commit(strings.Repeat("1", 40), at, "second\n", own)
	for what, c := range map[string]struct {
		raw  string
		code int
		says string
	}{
		"signed":   {commit(first, at, "second\n", own), 0, "2 signed by the store's git key in its time, 0 not"},
		"unsigned": {commit(first, at, "second\n", nil), 0, "1 signed by the store's git key in its time, 1 not"},
		"changed": {strings.Replace(commit(first, at, "second\n", own), "second", "zecond", 1), 3,
			".git: unsigned: commit "},
		"by a stranger":      {commit(first, at, "second\n", stranger), 3, ".git: unsigned: commit "},
		"by another key":     {commit(first, at, "second\n", attest.SpecimenKey()), 3, ".git: unsigned: commit "},
		"of before its key":  {commit(first, "1000", "second\n", own), 3, "not in force"},
		"on what is missing": {missing, 0, "not checked: the signatures of commits: git"},
	} {
		head(c.raw)
		if code, out := checkWith(w.Dir); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit %d, want %d and %q: %s", what, code, c.code, c.says, out)
		}
	}
	// What a stranger's configuration names is not run: not to fetch what is missing, and not as a
	// pager.
	head(missing)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, s := range [][2]string{{"core.sshCommand", "touch " + ran}, {"core.pager", "touch " + ran},
		{"core.fsmonitor", "touch " + ran}, {"pager.rev-list", "touch " + ran}, {"remote.origin.promisor", "true"},
		{"remote.origin.url", "ssh://127.0.0.1/x"}, {"remote.origin.partialclonefilter", "blob:none"},
		{"core.repositoryformatversion", "1"}, {"extensions.partialClone", "origin"}} {
		git("", "config", s[0], s[1])
	}
	if code, out := checkWith(w.Dir); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the clone had a program of its own run")
	}
}
