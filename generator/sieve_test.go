package generator

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
)

// TestSieveFindsRunsAcrossPieces writes a private run over every border there may be, in writes of
// random sizes.
func TestSieveFindsRunsAcrossPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	secret := make([]byte, 200)
	for i := range secret {
		secret[i] = byte('a' + rng.IntN(26))
	}
	p := &private{blocks: make(map[uint64][]place), filter: make([]uint64, filterBits/64)}
	p.add("pools/x", string(secret))
	for _, border := range []int{0, 64 << 10, 2 * (64 << 10), 190 << 10} {
		for range 80 {
			length := leakLength - 1 + rng.IntN(2)
			at := max(0, border-rng.IntN(2*leakLength))
			file := bytes.Repeat([]byte{'#'}, 200<<10)
			copy(file[at:], secret[10:10+length])
			s := &sieve{p: p, name: "f"}
			var err error
			for rest := file; len(rest) > 0 && err == nil; {
				n := min(len(rest), 1+rng.IntN(40<<10))
				_, err = s.Write(rest[:n])
				rest = rest[n:]
			}
			if err == nil {
				err = s.flush()
			}
			if found := errors.Is(err, ErrPrivate); found != (length >= leakLength) {
				t.Fatalf("run of %d at %d: found is %v", length, at, found)
			}
		}
	}
}

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
	in.outputs = []output{{
		name: "zz_pieces", files: []api.Representation{{MediaType: api.PlainText, Path: "zz/{part...}.txt"}},
		stream: func(*source) iter.Seq2[unit, error] {
			return func(yield func(unit, error) bool) {
				yield(unit{key: "a/b", made: func(*digester) {}}, nil)
			}
		},
		write: func(_ *source, _ unit, _ string, w io.Writer) error {
			_, err := io.Copy(w, strings.NewReader(strings.Repeat("-", 70_000)+secret))
			return err
		},
	}}
	_, err := Build(t.Context(), in)
	if !errors.Is(err, ErrPrivate) || !strings.Contains(err.Error(), "zz/a/b.txt") {
		t.Fatalf("Build: %v, want ErrPrivate naming the file", err)
	}
	if entries, err := os.ReadDir(filepath.Join(in.OutDir, "zz", "a")); err != nil || len(entries) > 0 {
		t.Errorf("what was written stays: %v, %v", entries, err)
	}
}
