package generator

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/generator/publish"
)

// git runs the real git, away from the configuration of whoever tests.
func gitRun(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitTry(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func gitTry(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir(), "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@store.example",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@store.example")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func writeFile(t testing.TB, name, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

func publishInput(repo, public string) publish.GitInput {
	return publish.GitInput{
		Repo: repo, Folders: map[string]string{"public": public}, Message: "Publish\n",
		Name: "The General Store", Email: "keeper@store.example", When: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
		Signer: attest.NewSSHSigner(attest.SpecimenKeyFor(attest.PurposeGit)),
	}
}

// verifyCommit lets stock git check the signature of HEAD.
func verifyCommit(t *testing.T, repo string) {
	t.Helper()
	signers, err := attest.AllowedSigners("keeper@store.example", attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "allowed_signers")
	writeFile(t, file, signers)
	out := gitRun(t, repo, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", "-v",
		"HEAD")
	if !strings.Contains(out, "Good \"git\" signature for keeper@store.example") {
		t.Fatalf("verify-commit says %s", out)
	}
}

func TestPublishedCommitIsVerifiedByStockGit(t *testing.T) {
	for _, bare := range []bool{true, false} {
		t.Run(fmt.Sprintf("bare=%v", bare), func(t *testing.T) {
			in := smallInput(t, t.TempDir())
			mustBuild(t, in)
			repo := t.TempDir()
			if bare {
				gitRun(t, repo, "init", "-q", "--bare", "-b", "main")
			} else {
				gitRun(t, repo, "init", "-q", "-b", "main")
			}
			first, err := publish.ToGit(t.Context(), publishInput(repo, in.OutDir))
			if err != nil {
				t.Fatal(err)
			}
			if first.Unchanged || first.Changed != first.Files || first.Files < 50 {
				t.Errorf("first publication reports %+v", first)
			}
			verifyCommit(t, repo)
			if out := gitRun(t, repo, "fsck", "--strict", "--full"); strings.Contains(out, "error") {
				t.Errorf("fsck says %s", out)
			}
			sameAsClone(t, repo, in.OutDir)

			again, err := publish.ToGit(t.Context(), publishInput(repo, in.OutDir))
			if err != nil {
				t.Fatal(err)
			}
			if !again.Unchanged || again.Commit != first.Commit {
				t.Errorf("publishing the same again reports %+v", again)
			}

			writeFile(t, filepath.Join(in.OutDir, "menu", "new", "index.html"), "new\n")
			if err := os.Remove(filepath.Join(in.OutDir, "what.md")); err != nil {
				t.Fatal(err)
			}
			second, err := publish.ToGit(t.Context(), publishInput(repo, in.OutDir))
			if err != nil {
				t.Fatal(err)
			}
			// One blob, the three folders above it and the commit.
			if second.Changed != 1 || second.Deleted != 1 || second.Objects != 6 {
				t.Errorf("second publication reports %+v, want 1 changed, 1 deleted, 6 objects", second)
			}
			verifyCommit(t, repo)
			sameAsClone(t, repo, in.OutDir)
			if parent := gitRun(t, repo, "rev-parse", "HEAD^"); parent != first.Commit {
				t.Errorf("parent is %s, want %s", parent, first.Commit)
			}
			if !bare {
				if out := gitRun(t, repo, "status", "--porcelain"); out != "" {
					t.Errorf("git status after publishing says %s", out)
				}
			}
		})
	}
}

// sameAsClone compares what a stranger clones with the folder.
func sameAsClone(t *testing.T, repo, public string) {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	gitRun(t, repo, "clone", "-q", repo, clone)
	want, got := readTree(t, public), readTree(t, filepath.Join(clone, "public"))
	if d := diffTrees(want, got); d != "" {
		t.Errorf("clone differs from what was published:\n%s", d)
	}
}

// TestClonesKeepBytes clones the record and a publication as Git for Windows does, by which lines
// end in CR LF. What a keeper says of that himself is left alone.
func TestClonesKeepBytes(t *testing.T) {
	_, tree := bulkSite.get(t)
	web := httptest.NewServer(http.FileServerFS(tree))
	defer web.Close()
	clonesKeepBytes(t, web.URL+"/corpus.git", 20)
	for _, init := range [][]string{{"init", "-q", "--bare", "-b", "main"}, {"init", "-q", "-b", "main"}} {
		repo, public := t.TempDir(), t.TempDir()
		gitRun(t, repo, init...)
		writeFile(t, filepath.Join(public, "a.json"), "{\n}\n")
		for _, want := range []bool{false, true} {
			r, err := publish.ToGit(t.Context(), publishInput(repo, public))
			if err != nil || r.Unchanged != want || r.Files != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		if len(init) == 4 {
			if said := gitRun(t, repo, "status", "--porcelain"); said != "" {
				t.Errorf("the work tree: %s", said)
			}
			writeFile(t, filepath.Join(repo, ".gitattributes"), "* -text\n*.png binary\n")
			gitRun(t, repo, "commit", "-qam", "mine")
			writeFile(t, filepath.Join(public, "b.json"), "{\n}\n")
			if _, err := publish.ToGit(t.Context(), publishInput(repo, public)); err != nil ||
				!strings.Contains(gitRun(t, repo, "show", "HEAD:.gitattributes"), "png") {
				t.Errorf("the keeper's own line is gone: %v", err)
			}
		}
		clonesKeepBytes(t, repo, 2)
	}
}

func clonesKeepBytes(t *testing.T, from string, least int) {
	t.Helper()
	dir := t.TempDir()
	gitRun(t, dir, "clone", "-q", from, "clone")
	gitRun(t, dir, "clone", "-q", "-c", "core.autocrlf=true", from, "windows")
	for _, name := range []string{"clone", "windows"} {
		if err := os.RemoveAll(filepath.Join(dir, name, ".git")); err != nil {
			t.Fatal(err)
		}
	}
	want, got := readTree(t, filepath.Join(dir, "clone")), readTree(t, filepath.Join(dir, "windows"))
	if d := diffTrees(want, got); d != "" || len(want) < least {
		t.Errorf("of %d files a clone by Git for Windows differs:\n%s", len(want), d)
	}
}

func readTree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func diffTrees(want, got map[string]string) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch body, ok := got[name]; {
		case !ok:
			fmt.Fprintf(&b, "missing %s\n", name)
		case body != want[name]:
			fmt.Fprintf(&b, "differs %s\n", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&b, "extra %s\n", name)
		}
	}
	return b.String()
}

// TestPublishManyObjects goes through the pack, which small sites do not need.
func TestPublishManyObjects(t *testing.T) {
	public, repo := t.TempDir(), t.TempDir()
	for i := range 700 {
		writeFile(t, filepath.Join(public, fmt.Sprintf("p%03d", i%50), fmt.Sprintf("%d.html", i)),
			strings.Repeat(fmt.Sprintf("page %d ", i), i))
	}
	writeFile(t, filepath.Join(public, "empty"), "")
	gitRun(t, repo, "init", "-q", "--bare", "-b", "main")
	r, err := publish.ToGit(t.Context(), publishInput(repo, public))
	if err != nil {
		t.Fatal(err)
	}
	if r.Objects <= 256 {
		t.Fatalf("%d objects do not make a pack", r.Objects)
	}
	packs, err := filepath.Glob(filepath.Join(repo, "objects", "pack", "pack-*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs: %v, %v", packs, err)
	}
	gitRun(t, repo, "verify-pack", strings.TrimSuffix(packs[0], ".pack")+".idx")
	gitRun(t, repo, "fsck", "--strict", "--full")
	verifyCommit(t, repo)
	sameAsClone(t, repo, public)
}

// TestPublishLosesNothing puts something uncommitted or unknown in the way and
// demands a refusal that leaves every byte where it was.
func TestPublishLosesNothing(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *testing.T, repo string)
		want error
		hint string
	}{
		{"changed file", func(t *testing.T, repo string) {
			writeFile(t, filepath.Join(repo, "public", "a.html"),
				"mine\n")
		}, publish.ErrDirty, "status"},
		{"changed file elsewhere", func(t *testing.T, repo string) {
			writeFile(t, filepath.Join(repo, "README.md"),
				"mine\n")
		}, publish.ErrDirty, "status"},
		{"removed file", func(t *testing.T, repo string) { os.Remove(filepath.Join(repo, "public", "a.html")) },
			publish.ErrDirty, "status"},
		{"staged file", func(t *testing.T, repo string) {
			writeFile(t, filepath.Join(repo, "staged.txt"), "mine\n")
			gitRun(t, repo, "add", "staged.txt")
		}, publish.ErrDirty, "status"},
		{"unknown file in the way",
			func(t *testing.T, repo string) { writeFile(t, filepath.Join(repo, "public", "b.html"), "mine\n") },
			publish.ErrDirty, "status"},
		{"a merge under way", func(t *testing.T, repo string) {
			writeFile(t, filepath.Join(repo, ".git", "MERGE_HEAD"),
				"x\n")
		}, publish.ErrDirty, "status"},
		{"another branch", func(t *testing.T, repo string) { gitRun(t, repo, "switch", "-q", "-c", "draft") },
			publish.ErrBranch, "switch main"},
		{"a detached head", func(t *testing.T, repo string) { gitRun(t, repo, "switch", "-q", "--detach", "HEAD") },
			publish.ErrBranch, "switch main"},
		{"commits upstream", func(t *testing.T, repo string) {
			other := filepath.Join(t.TempDir(), "other")
			gitRun(t, repo, "clone", "-q", gitRun(t, repo, "remote", "get-url", "origin"), other)
			writeFile(t, filepath.Join(other, "theirs.txt"), "theirs\n")
			gitRun(t, other, "add", ".")
			gitRun(t, other, "commit", "-q", "-m", "theirs")
			gitRun(t, other, "push", "-q", "origin", "main")
			gitRun(t, repo, "fetch", "-q")
		}, publish.ErrDiverged, "pull --ff-only"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			origin, repo, public := t.TempDir(), filepath.Join(t.TempDir(), "repo"), t.TempDir()
			gitRun(t, origin, "init", "-q", "--bare", "-b", "main")
			gitRun(t, origin, "clone", "-q", origin, repo)
			gitRun(t, repo, "switch", "-q", "-C", "main")
			writeFile(t, filepath.Join(repo, "README.md"), "keeper's own\n")
			gitRun(t, repo, "add", ".")
			gitRun(t, repo, "commit", "-q", "-m", "readme")
			writeFile(t, filepath.Join(public, "a.html"), "a\n")
			if _, err := publish.ToGit(t.Context(), publishInput(repo, public)); err != nil {
				t.Fatal(err)
			}
			gitRun(t, repo, "push", "-q", "-u", "origin", "main")
			if got := gitRun(t, repo, "show", "HEAD:README.md"); got != "keeper's own" {
				t.Fatalf("README after publishing: %q", got)
			}

			writeFile(t, filepath.Join(public, "a.html"), "a, again\n")
			writeFile(t, filepath.Join(public, "b.html"), "b\n")
			test.do(t, repo)
			before, head := readTree(t, repo), gitRun(t, repo, "rev-parse", "HEAD", "main")
			_, err := publish.ToGit(t.Context(), publishInput(repo, public))
			if !errors.Is(err, test.want) {
				t.Fatalf("Publish: %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), "hint: ") || !strings.Contains(err.Error(), test.hint) {
				t.Errorf("no hint %q in: %v", test.hint, err)
			}
			if after := gitRun(t, repo, "rev-parse", "HEAD", "main"); after != head {
				t.Errorf("the branch moved from %s to %s", head, after)
			}
			if d := diffTrees(before, readTree(t, repo)); d != "" {
				t.Errorf("a refusal changed files:\n%s", d)
			}
		})
	}
}

func TestPublishRefusesPrivateText(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	text := ""
	for _, name := range slices.Sorted(maps.Keys(in.Site.Pools)) {
		for _, e := range in.Site.Pools[name].Entries {
			if len(e.Text) > len(text) {
				text = e.Text
			}
		}
	}
	public, repo := t.TempDir(), t.TempDir()
	gitRun(t, repo, "init", "-q", "--bare", "-b", "main")
	writeFile(t, filepath.Join(public, "page.html"), "before#"+text[5:5+publish.LeakLength]+"# after")
	pub := publishInput(repo, public)
	pub.Site = in.Site
	if _, err := publish.ToGit(t.Context(), pub); !errors.Is(err, publish.ErrPrivate) {
		t.Fatalf("Publish: %v, want publish.ErrPrivate", err)
	} else if strings.Contains(err.Error(), text[5:25]) {
		t.Errorf("the refusal repeats the private text: %v", err)
	}
	writeFile(t, filepath.Join(public, "page.html"), "before#"+text[5:5+publish.LeakLength-1]+"# after")
	if _, err := publish.ToGit(t.Context(), pub); err != nil {
		t.Errorf("one byte less is refused: %v", err)
	}
}

func TestPublishHintsAtAMissingRepository(t *testing.T) {
	_, err := publish.ToGit(t.Context(), publishInput(t.TempDir(), t.TempDir()))
	if !errors.Is(err, publish.ErrNoRepository) || !strings.Contains(err.Error(), "hint: git init --bare -b main") {
		t.Errorf("Publish: %v", err)
	}
}

func TestPublishSaysWhatReplacesARepositoryOfSHA256(t *testing.T) {
	repo := t.TempDir()
	gitRun(t, repo, "init", "-q", "--bare", "-b", "main", "--object-format=sha256")
	_, err := publish.ToGit(t.Context(), publishInput(repo, t.TempDir()))
	if !errors.Is(err, publish.ErrNoRepository) || !strings.Contains(err.Error(), "--object-format=sha1") {
		t.Errorf("Publish: %v", err)
	}
}

// TestPublishOneFile gives a place to a file, such as the manifest of a record, beside folders.
func TestPublishOneFile(t *testing.T) {
	repo, dir := t.TempDir(), t.TempDir()
	gitRun(t, repo, "init", "-q", "--bare", "-b", "main")
	writeFile(t, filepath.Join(dir, "rounds", "1"), "one\n")
	writeFile(t, filepath.Join(dir, "manifest.json"), "{}\n")
	in := publishInput(repo, filepath.Join(dir, "rounds"))
	in.Folders = map[string]string{"corpus/rounds": filepath.Join(dir, "rounds"),
		"corpus/manifest.json": filepath.Join(dir, "manifest.json")}
	if r, err := publish.ToGit(t.Context(), in); err != nil || r.Files != 2 || r.Changed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if out := gitRun(t, repo, "show", "HEAD:corpus/manifest.json"); out != "{}" {
		t.Errorf("the file holds %q", out)
	}
	if r, err := publish.ToGit(t.Context(), in); err != nil || !r.Unchanged {
		t.Errorf("published again: %+v, %v", r, err)
	}
	writeFile(t, filepath.Join(dir, "manifest.json"), "{ }\n")
	if r, err := publish.ToGit(t.Context(), in); err != nil || r.Changed != 1 || r.Deleted != 0 {
		t.Errorf("changed: %+v, %v", r, err)
	}
	delete(in.Folders, "corpus/manifest.json")
	writeFile(t, filepath.Join(dir, "rounds", "2"), "two\n")
	if r, err := publish.ToGit(t.Context(), in); err != nil || r.Changed != 1 {
		t.Errorf("without its place: %+v, %v", r, err)
	}
	if out := gitRun(t, repo, "show", "HEAD:corpus/manifest.json"); out != "{ }" {
		t.Errorf("a file that has no place any more holds %q", out)
	}
}
