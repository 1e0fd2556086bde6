package generator

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
)

// TestReleasesAreOnThePage: of the largest releases, and of more than are shown, the verifier's
// page names the newest, and the digests of one.
func TestReleasesAreOnThePage(t *testing.T) {
	in, w := recordInput(t, 20, 1)
	const told = mostReleases + 3
	digest := func(n int) string { return fmt.Sprintf("%064x", n) }
	for n := range told {
		r := &record.Release{Version: fmt.Sprintf("v%063d", n), Commit: digest(n)}
		for i := range 64 {
			r.Files = append(r.Files, record.ReleaseFile{Name: fmt.Sprintf("%02d%s", i, strings.Repeat("x", 98)),
				SHA256: digest(1000*n + i)})
		}
		at := fmt.Sprintf("2026-12-01T00:%02d:00Z", n)
		if _, err := w.Observe(t.Context(), record.Observation{Kind: record.ObservationRelease, At: at,
			Release: r}); err != nil {
			t.Fatal(err)
		}
	}
	in.outputs = only("verify_run")
	mustBuild(t, in)
	for _, name := range []string{"verify/run/index.html", "verify/run.md"} {
		body, err := os.ReadFile(filepath.Join(in.OutDir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > 40_000 {
			t.Errorf("%s has %d bytes", name, len(body))
		}
		has := func(text string, want bool) {
			t.Helper()
			if bytes.Contains(body, []byte(text)) != want {
				t.Errorf("%s has %q: %v, want %v", name, text, !want, want)
			}
		}
		for n := range told {
			has(fmt.Sprintf("v%063d", n), n >= told-mostReleases)
			has(digest(1000*n+63), n == told-1)
		}
		has(digest(told-1), true) // its commit
	}
}

// TestAnotherRecordsReleases: over the tree of a record, the build of another one, whose release
// has the same number, says what that one says.
func TestAnotherRecordsReleases(t *testing.T) {
	var first Input
	for _, version := range []string{"v1.0.0", "v2.0.0"} {
		in, w := recordInput(t, 20, 1)
		digest := strings.Repeat("ab", 32)
		if _, err := w.Observe(t.Context(), record.Observation{Kind: record.ObservationRelease,
			At: "2026-12-01T00:00:00Z", Release: &record.Release{Version: version, Commit: digest,
				Files: []record.ReleaseFile{{Name: "a.zip", SHA256: digest}}}}); err != nil {
			t.Fatal(err)
		}
		if first.OutDir == "" {
			first = in
		}
		in.outputs = only("verify_run")
		in.OutDir, in.Record = first.OutDir, first.Record
		mustBuild(t, in)
		page, err := os.ReadFile(filepath.Join(in.OutDir, "verify", "run.md"))
		if err != nil || !bytes.Contains(page, []byte("### "+version)) {
			t.Errorf("%s is not on its page: %v", version, err)
		}
	}
}
