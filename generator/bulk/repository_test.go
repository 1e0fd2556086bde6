package bulk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

const (
	committer = "The General Store"
	email     = "keeper@store.example"
)

func repositoryOptions() RepositoryOptions {
	return RepositoryOptions{Name: committer, Email: email,
		Signer: attest.NewSSHSigner(attest.SpecimenKeyFor(attest.PurposeGit))}
}

func commitTo(t testing.TB, w *seal.Writer, dir string) RepositoryReport {
	t.Helper()
	r, err := Repository(t.Context(), os.DirFS(w.Dir), open(t, w), dir, repositoryOptions())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func observe(t testing.TB, w *seal.Writer, at string, words ...string) {
	t.Helper()
	var fresh []record.Observation
	for _, word := range words {
		fresh = append(fresh, record.Observation{At: at, Kind: record.ObservationRetiredWord,
			Word: &record.Said{Text: word}})
	}
	if _, err := w.Observe(t.Context(), fresh...); err != nil {
		t.Fatal(err)
	}
}

// judged seals a round of n hosts whose rows rest on kept evidence.
func judged(t testing.TB, w *seal.Writer, sequence int64, n int) {
	t.Helper()
	at := taken(sequence)
	kept := make(map[string][]byte)
	var rows []record.Row
	for i := range n {
		host := fmt.Sprintf("h%05d.example", i)
		url := "https://" + host + "/paid"
		p, err := probe.NewPreflight(probe.V2, url, probe.Declaration{})
		if err != nil {
			t.Fatal(err)
		}
		answer := practice.All()[(i+int(sequence))%len(practice.All())].Answer(url)
		var recorded []exchange.Exchange
		for {
			report, next, err := p.Step(recorded)
			if err != nil {
				t.Fatal(err)
			}
			if next != nil {
				recorded = append(recorded, exchange.Exchange{Request: next.Request, StartedAt: at.Add(-time.Hour),
					Response: exchange.Response{Status: answer.Status, Proto: "HTTP/2.0", Header: answer.Header,
						Body: answer.Body}})
				continue
			}
			j, err := p.Judgement(recorded, probe.Salt{1})
			if err != nil {
				t.Fatal(err)
			}
			row := rejudge.RowFrom(report, j)
			row.Host, row.Listed, row.Source, row.Catalog = host, true, record.SourceDiscovery, "bazaar"
			if row.EvidenceDigest != "" {
				if kept[host], err = j.Encode(); err != nil {
					t.Fatal(err)
				}
			}
			rows = append(rows, row)
			break
		}
	}
	_, err := w.Seal(t.Context(), seal.Draft{
		Sequence: sequence, Week: record.ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2", Rows: each(rows...),
		Evidence: func(host, _ string) ([]byte, error) { return kept[host], nil },
		Roster: record.Roster{Listed: int64(n),
			Sources: []record.RosterSource{{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: int64(n),
				Complete: true}}},
		Control: record.Control{Walks: 1},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// proveRound adds a proof of time that leads to a block of its own.
func proveRound(t testing.TB, w *seal.Writer, sequence int64) {
	t.Helper()
	round, _ := open(t, w).Round(sequence)
	p, err := ots.FromAnswer(round.Digest, []byte{0x08, 0, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01, 1, 7})
	if err != nil {
		t.Fatal(err)
	}
	root := sha256.Sum256(round.Digest[:])
	var h ots.Header
	copy(h[36:], root[:])
	binary.LittleEndian.PutUint32(h[68:], 1_794_000_000) // in November 2026
	binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
	for n := uint32(0); h.Work(1e-12) != nil; n++ {
		binary.LittleEndian.PutUint32(h[76:], n)
	}
	if _, err := w.AddProof(t.Context(), sequence, "a.example", p, map[int64]ots.Header{7: h}); err != nil {
		t.Fatal(err)
	}
}

// git runs the real git, away from the configuration of whoever tests.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir(), "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// server serves a folder as any web server would and remembers what was sent.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	sent  map[string]int // bytes by path
	asked []string
}

func serve(t testing.TB, dir string) *server {
	t.Helper()
	s := &server{sent: make(map[string]int)}
	files := http.FileServer(http.Dir(dir))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counter{ResponseWriter: w}
		files.ServeHTTP(c, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.URL.Path)
		if c.status == 0 || c.status == http.StatusOK {
			s.sent[r.URL.Path] += c.n
		}
	}))
	t.Cleanup(s.Close)
	return s
}

type counter struct {
	http.ResponseWriter
	status, n int
}

func (c *counter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += n
	return n, err
}

// forget returns what was sent since the last time.
func (s *server) forget() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = make(map[string]int)
	return sent
}

// verifyClone lets stock git and our own verifier look at a clone.
func verifyClone(t *testing.T, w *seal.Writer, clone string) {
	t.Helper()
	if out := git(t, clone, "fsck", "--strict", "--full"); strings.Contains(out, "error") ||
		strings.Contains(out, "warning") || strings.Contains(out, "dangling") {
		t.Errorf("fsck says %s", out)
	}
	signers, err := attest.AllowedSigners(email, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(file, []byte(signers), 0o644); err != nil {
		t.Fatal(err)
	}
	for commit := range strings.FieldsSeq(git(t, clone, "rev-list", "HEAD")) {
		out := git(t, clone, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+file, "verify-commit", "-v",
			commit)
		if !strings.Contains(out, `Good "git" signature for `+email) {
			t.Errorf("verify-commit says %s", out)
		}
	}
	report, err := verify.Record(t.Context(), os.DirFS(clone), attest.SpecimenRing(),
		verify.RecordOptions{Judge: rejudge.Batteries{}, Difficulty: 1e-12})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("our verifier says %v, %v", report.Problems, err)
	}
	// The clone holds every file of the record but for tiles that were outgrown and what may be
	// withdrawn, and nothing else.
	held := tree(t, clone)
	for _, name := range changed(held, tree(t, w.Dir)) {
		withdrawable := strings.HasPrefix(name, "evidence/") || strings.HasPrefix(name, "words/")
		if _, there := held[name]; there || !withdrawable && !strings.Contains(name, ".p/") && name != ".lock" {
			t.Errorf("%s differs from the record", name)
		}
	}
	for name := range tree(t, clone) {
		if _, err := os.Stat(filepath.Join(w.Dir, name)); err != nil {
			t.Errorf("%s is no file of the record", name)
		}
	}
}

// tree are the files below a folder, by path.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			out[name] = string(read(t, dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// changed are the paths at which two trees differ.
func changed(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		x, ok := a[name]
		y, ok2 := b[name]
		if ok != ok2 || x != y {
			out = append(out, name)
		}
	}
	return out
}

// TestCloneAndPull publishes a record over three weeks from a plain file server to one who clones
// in the first.
func TestCloneAndPull(t *testing.T) {
	w, dir := testWriter(t), t.TempDir()
	repo := filepath.Join(dir, "corpus.git")
	judged(t, w, 1, 300) // more than a tile
	first := commitTo(t, w, repo)
	if first.Commits != 1 || len(first.Packs) != 1 {
		t.Errorf("the first week: %+v", first)
	}
	s := serve(t, dir)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, dir, "clone", "-q", s.URL+"/corpus.git", clone)
	verifyClone(t, w, clone)
	s.forget()

	observe(t, w, "2026-09-15T01:00:00Z", "one")
	observe(t, w, "2026-09-16T01:00:00Z", "two", "three")
	judged(t, w, 2, 280)
	proveRound(t, w, 1)
	before := tree(t, repo)
	second := commitTo(t, w, repo)
	if second.Commits != 4 || len(second.Packs) != 2 {
		t.Errorf("the second week: %+v", second)
	}
	after := tree(t, repo)
	for name, body := range before {
		if strings.HasPrefix(name, "objects/pack/") && after[name] != body {
			t.Errorf("%s was rewritten", name)
		}
	}
	git(t, clone, "pull", "-q", "--ff-only")
	verifyClone(t, w, clone)
	sent := s.forget()
	var fresh int
	for _, p := range second.Packs {
		for _, ext := range []string{".pack", ".idx"} {
			name := "/corpus.git/objects/pack/" + p + ext
			if sent[name] != len(after[strings.TrimPrefix(name, "/corpus.git/")]) {
				t.Errorf("%s: %d bytes were sent", name, sent[name])
			}
			fresh += sent[name]
			delete(sent, name)
		}
	}
	// Besides the week itself: where the branch is and which packs there are.
	small := 0
	for name, n := range sent {
		if strings.HasPrefix(name, "/corpus.git/objects/pack/") {
			t.Errorf("the pull fetched %s, %d bytes", name, n)
		}
		small += n
	}
	if small > 2000 {
		t.Errorf("the pull fetched %d bytes beside the week: %v", small, sent)
	}
	t.Logf("the pull fetched %d bytes of the week and %d besides", fresh, small)

	log := git(t, clone, "log", "--reverse", "--format=%ct %s")
	want := fmt.Sprintf("%d Round 1, 2026-W37\n%d Observation 1\n%d Observations 2 to 3\n%d Round 2, 2026-W38\n%[4]d "+
		"Proofs of time, cosignatures, keys, and what stands beside the record",
		taken(1).Unix(), time.Date(2026, 9, 15, 1, 0, 0, 0, time.UTC).Unix(),
		time.Date(2026, 9, 16, 1, 0, 0, 0, time.UTC).Unix(), taken(2).Unix())
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if again := commitTo(t, w, repo); again.Commits != 0 || again.Head != second.Head ||
		len(changed(after, tree(t, repo))) > 0 {
		t.Errorf("the same again: %+v", again)
	}
	// Every commit is the record as it was then: it verifies by itself.
	for commit := range strings.FieldsSeq(git(t, clone, "rev-list", "HEAD")) {
		git(t, clone, "checkout", "-q", commit)
		report, err := verify.Record(t.Context(), os.DirFS(clone), attest.SpecimenRing(),
			verify.RecordOptions{Judge: rejudge.Batteries{}, Difficulty: 1e-12})
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("%s: %v, %v", git(t, clone, "log", "-1", "--format=%s"), report.Problems, err)
		}
	}
}

// TestHistoryIsAFunctionOfTheRecord makes the repository of a grown record in one go and finds the
// same commits as when it was made week by week, and the same bytes whenever it is made the same
// way.
func TestHistoryIsAFunctionOfTheRecord(t *testing.T) {
	w, weekly := testWriter(t), t.TempDir()
	var heads []string
	for n := int64(1); n <= 4; n++ {
		if n > 2 {
			observe(t, w, taken(n-1).Add(time.Hour).Format(time.RFC3339), fmt.Sprintf("word %d", n))
			heads = append(heads, commitTo(t, w, weekly).Head)
		}
		sealed(t, w, n, each(walked("a.example", record.VerdictReady),
			walked(fmt.Sprintf("b%d.example", n), record.VerdictNotReady)))
		heads = append(heads, commitTo(t, w, weekly).Head)
	}
	once, twice := t.TempDir(), t.TempDir()
	report := commitTo(t, w, once)
	commitTo(t, w, twice)
	if report.Head != heads[len(heads)-1] || report.Commits != len(heads) {
		t.Errorf("in one go %+v, week by week %v", report, heads)
	}
	if got := strings.Fields(git(t, once, "rev-list", "--reverse", "HEAD")); !slices.Equal(got, heads) {
		t.Errorf("commits %v, want %v", got, heads)
	}
	if diff := changed(tree(t, once), tree(t, twice)); len(diff) > 0 {
		t.Errorf("made twice, these differ: %v", diff)
	}
}

// TestAnotherHistoryIsRefused hands in a record that is not the one before.
func TestAnotherHistoryIsRefused(t *testing.T) {
	w, dir := testWriter(t), t.TempDir()
	sealed(t, w, 1, each(walked("a.example", record.VerdictReady)))
	commitTo(t, w, dir)
	before := tree(t, dir)
	other := testWriter(t)
	sealed(t, other, 1, each(walked("b.example", record.VerdictReady)))
	shorter := testWriter(t)
	observe(t, shorter, "2026-09-13T00:00:00Z", "word")
	for _, bad := range []*seal.Writer{other, shorter} {
		if _, err := Repository(t.Context(), os.DirFS(bad.Dir), open(t, bad), dir, repositoryOptions()); !errors.Is(err,
			ErrHistory) {
			t.Errorf("another history: %v", err)
		}
	}
	if diff := changed(before, tree(t, dir)); len(diff) > 0 {
		t.Errorf("changed: %v", diff)
	}
	// A commit of somebody's on top of ours, with another file and without a signature.
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b.example", "update-ref", "refs/heads/main",
		git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit-tree", "-p", "main", "-m", "a gift",
			"main^{tree}"))
	sealed(t, w, 2, each(walked("b.example", record.VerdictReady)))
	if _, err := Repository(t.Context(), os.DirFS(w.Dir), open(t, w), dir, repositoryOptions()); !errors.Is(err,
		ErrHistory) {
		t.Errorf("a stranger's commit: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "corpus.git")
	if r := commitTo(t, testWriter(t), empty); r.Head != "" {
		t.Errorf("an empty record: %+v", r)
	}
}

// TestACrashIsForgotten leaves behind what a crash could leave.
func TestACrashIsForgotten(t *testing.T) {
	w, dir := testWriter(t), t.TempDir()
	sealed(t, w, 1, each(walked("a.example", record.VerdictReady)))
	commitTo(t, w, dir)
	refs := []string{"objects/info/packs", "refs/heads/main", "info/refs"}
	old := tree(t, dir)
	sealed(t, w, 2, each(walked("b.example", record.VerdictReady)))
	commitTo(t, w, dir)
	want := tree(t, dir)
	// Packs are there, and nothing leads to them.
	for _, name := range refs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(old[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"objects/pack/tmp_pack_1", workPrefix + "1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commitTo(t, w, dir)
	if diff := changed(want, tree(t, dir)); len(diff) > 0 {
		t.Errorf("these differ: %v", diff)
	}
}

// What stands beside the record is in the newest tree as it is wanted, in a commit of its own where
// it changed, and never in the place of a file of the record.
func TestWhatStandsBesideTheRecord(t *testing.T) {
	w, dir := testWriter(t), filepath.Join(t.TempDir(), "corpus.git")
	judged(t, w, 1, 3)
	bring := func(beside map[string][]byte) (RepositoryReport, error) {
		o := repositoryOptions()
		o.Beside = beside
		return Repository(t.Context(), os.DirFS(w.Dir), open(t, w), dir, o)
	}
	shown := func(name string) string {
		out, err := exec.Command("git", "--git-dir", dir, "show", "main:"+name).CombinedOutput()
		if err != nil {
			return "none"
		}
		return string(out)
	}
	for _, c := range []struct {
		beside  map[string][]byte
		commits int
	}{
		{map[string][]byte{"README.md": []byte("one"), "spec/vectors/a.json": []byte("{}")}, 1},
		{map[string][]byte{"README.md": []byte("one"), "spec/vectors/a.json": []byte("{}")}, 0},
		{map[string][]byte{"README.md": []byte("two")}, 1},
	} {
		report, err := bring(c.beside)
		if err != nil || report.Commits != c.commits {
			t.Fatalf("%d commits, want %d, %v", report.Commits, c.commits, err)
		}
	}
	if shown("README.md") != "two" || shown("spec/vectors/a.json") != "none" || shown("log/checkpoint") == "none" {
		t.Errorf("the tree holds %q, %q", shown("README.md"), shown("spec/vectors/a.json"))
	}
	for _, name := range []string{"rounds/1/header.json", "log", "keys/x"} {
		if _, err := bring(map[string][]byte{name: nil}); err == nil {
			t.Errorf("%s stands beside the record", name)
		}
	}
}
