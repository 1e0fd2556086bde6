package attest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gitIn runs git on a repository without any of the user's configuration.
func gitIn(t *testing.T, dir string, stdin []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "TZ=UTC")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// signedCommit writes a commit of the empty tree, dated, signed by key.
func signedCommit(t *testing.T, dir string, key *Key, when time.Time) string {
	t.Helper()
	must[string](t)(gitIn(t, dir, nil, "init", "-q", "."))
	tree := must[string](t)(gitIn(t, dir, nil, "hash-object", "-t", "tree", "-w", "--stdin"))
	head := fmt.Sprintf("tree %s\nauthor Store <store@store.example> %d +0000\ncommitter Store <store@store.example> "+
		"%d +0000\n", tree, when.Unix(), when.Unix())
	const message = "\npublish: week 47\n"
	armoured := must[[]byte](t)(NewSSHSigner(key).Sign(strings.NewReader(head + message)))
	signature := "gpgsig " + strings.ReplaceAll(strings.TrimSuffix(string(armoured), "\n"), "\n", "\n ") + "\n"
	return must[string](t)(gitIn(t, dir, []byte(head+signature+message), "hash-object", "-t", "commit", "-w",
		"--stdin"))
}

func TestGitVerifiesOurCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed for this project and its tests")
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Log("ssh-keygen is not installed, git cannot check SSH signatures; the format is checked by " +
			"TestSSHSignatureBytes")
		return
	}
	dir, key := t.TempDir(), testKey(3)
	when := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	id := signedCommit(t, dir, key, when)
	line := func(key *Key, after, before time.Time) string {
		return must[string](t)(AllowedSigner("store@store.example", key.Public(), after, before))
	}
	ring := must[Ring](t)(testRing(t).Handover(Change{Purpose: PurposeGit,
		Effective: "2026-12-01", Reason: "x"},
		testKey(3), testKey(13).Public()))
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		signers string
		good    bool
	}{
		"open":           {line(key, time.Time{}, time.Time{}), true},
		"in time":        {line(key, when.Add(-day), when.Add(day)), true},
		"too early":      {line(key, when.Add(day), time.Time{}), false},
		"too late":       {line(key, time.Time{}, when.Add(-day)), false},
		"other key":      {line(testKey(4), time.Time{}, time.Time{}), false},
		"other use":      {strings.Replace(line(key, time.Time{}, time.Time{}), `"git"`, `"file"`, 1), false},
		"ring, retired":  {must[string](t)(AllowedSigners("store@store.example", ring)), true},
		"ring, in force": {must[string](t)(AllowedSigners("store@store.example", testRing(t))), true},
	} {
		file := filepath.Join(dir, "signers")
		if err := os.WriteFile(file, []byte(c.signers), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := gitIn(t, dir, nil, "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", "-v", id)
		if (err == nil) != c.good {
			t.Errorf("%s: git says %v: %s", name, err, out)
		}
	}
}

// TestSSHSignatureBytes holds the signature to bytes that OpenSSH accepted
// (see TestGitVerifiesOurCommits).
func TestSSHSignatureBytes(t *testing.T) {
	armoured := must[[]byte](t)(NewSSHSigner(testKey(3)).Sign(strings.NewReader("message\n")))
	if got, want := fmt.Sprintf("%x", sha256.Sum256(armoured)),
		"b2839453ee072c3982fbd4640049c3fdd9c014aab5fde1e2664ae5cc672f2d1a"; got != want {
		t.Errorf("signature has digest %s, want %s:\n%s", got, want, armoured)
	}
	for line := range strings.Lines(string(armoured)) {
		if len(line) > 71 {
			t.Errorf("a line of %d characters", len(line))
		}
	}
}

func TestAllowedSignerRefusesOptions(t *testing.T) {
	for _, email := range []string{"", "a b", "*@store.example", "a,b", "a\nb", "#a", `a"`} {
		if line, err := AllowedSigner(email, testKey(3).Public(), time.Time{}, time.Time{}); err == nil {
			t.Errorf("%q gives %q", email, line)
		}
	}
	if _, err := AllowedSigner("a@b", nil, time.Time{}, time.Time{}); err == nil {
		t.Error("no key gives a line")
	}
}

// TestVerify changes every byte of a signature and of what it signs.
func TestVerify(t *testing.T) {
	const commit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nmessage\n"
	ring := SpecimenRing()
	armoured := must[[]byte](t)(NewSSHSigner(SpecimenKeyFor(PurposeGit)).Sign(strings.NewReader(commit)))
	if err := VerifySSH(strings.NewReader(commit), armoured, ring); err != nil {
		t.Fatal(err)
	}
	for i := range armoured {
		changed := bytes.Clone(armoured)
		changed[i] ^= 1
		if VerifySSH(strings.NewReader(commit), changed, ring) == nil {
			t.Errorf("byte %d of the signature changed is accepted", i)
		}
	}
	for i := range commit {
		changed := []byte(commit)
		changed[i] ^= 1
		if VerifySSH(bytes.NewReader(changed), armoured, ring) == nil {
			t.Errorf("byte %d of the commit changed is accepted", i)
		}
	}
	if VerifySSH(strings.NewReader(commit), nil, ring) == nil {
		t.Error("no signature is accepted")
	}
	other := must[[]byte](t)(NewSSHSigner(SpecimenKey()).Sign(strings.NewReader(commit)))
	if VerifySSH(strings.NewReader(commit), other, ring) == nil {
		t.Error("a key of another purpose is accepted")
	}
}
