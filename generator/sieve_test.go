package generator

import (
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/publish"
)

// TestPrivateTextInPiecesFailsTheBuild lets a row that writes piece by piece repeat a private text,
// and demands that nothing of the file stays.
func TestPrivateTextInPiecesFailsTheBuild(t *testing.T) {
	const secret = "What the lighthouse keeper wrote on the last page, before the lamp was made electric."
	in := specimenInput(t, t.TempDir())
	site := *in.Site
	pool := site.Pools["secrets"]
	pool.Entries = append(slices.Clone(pool.Entries), content.Entry{Digest: strings.Repeat("0", 64), Text: secret})
	site.Pools = map[string]content.Pool{"secrets": pool}
	in.Site, in.PublicPools = &site, false
	in.outputs = []pages.Output{{
		Name: "zz_pieces", Files: []api.Representation{{MediaType: api.PlainText, Path: "zz/{part...}.txt"}},
		Stream: func(*pages.Source) iter.Seq2[pages.Unit, error] {
			return func(yield func(pages.Unit, error) bool) {
				yield(pages.Unit{Key: "a/b", Made: func(*pages.Digester) {}}, nil)
			}
		},
		Write: func(_ *pages.Source, _ pages.Unit, _ string, w io.Writer) error {
			_, err := io.Copy(w, strings.NewReader(strings.Repeat("-", 70_000)+secret))
			return err
		},
	}}
	_, err := Build(t.Context(), in)
	if !errors.Is(err, publish.ErrPrivate) || !strings.Contains(err.Error(), "zz/a/b.txt") {
		t.Fatalf("Build: %v, want publish.ErrPrivate naming the file", err)
	}
	if entries, err := os.ReadDir(filepath.Join(in.OutDir, "zz", "a")); err != nil || len(entries) > 0 {
		t.Errorf("what was written stays: %v, %v", entries, err)
	}
}
