package attest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/extsort"
)

// TestManyChangesEqualAFreshTree grows and shrinks a directory through all sizes of buckets, with
// changes that wait on disk, some of them told twice, and compares each time with a tree that is
// told everything anew.
func TestManyChangesEqualAFreshTree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 9))
	files := map[string]int{}
	kept := fstest.MapFS{}
	name := func(i int) string { return fmt.Sprintf("host/h%06d.json", i) }
	put := func(tree *Tree, name string, version int) {
		t.Helper()
		if err := tree.Put(name, int64(version), sha256.Sum256(fmt.Appendf(nil, "%s %d", name, version))); err != nil {
			t.Fatal(err)
		}
	}
	for step, size := range []int{PartFiles - 1, PartFiles + 1, 3 * PartFiles, 17 * PartFiles, 15 * PartFiles, 16,
		PartFiles + 3, 0, 5} {
		tree := NewTree(PublicLayout())
		if step > 0 {
			tree = must[*Tree](t)(OpenTree(kept, PublicLayout()))
		}
		tree.pending = extsort.New(64 << 10)
		for i := range 17 * PartFiles {
			version, there := files[name(i)]
			switch {
			case i < size && (!there || rng.IntN(200) == 0):
				put(tree, name(i), version+7) // told again below
				files[name(i)] = version + 1
				put(tree, name(i), version+1)
			case i >= size && there:
				delete(files, name(i))
				if err := tree.Delete(name(i)); err != nil {
					t.Fatal(err)
				}
			case i >= size && rng.IntN(50) == 0:
				if err := tree.Delete(name(i)); err != nil { // was not there
					t.Fatal(err)
				}
			}
		}
		put(tree, "index.html", step)
		sealed := seal(t, tree, kept)
		fresh := NewTree(PublicLayout())
		fresh.pending = extsort.New(64 << 10)
		put(fresh, "index.html", step)
		for name, version := range files {
			put(fresh, name, version)
		}
		want := fstest.MapFS{}
		whole := seal(t, fresh, want)
		if diff := cmp.Diff(whole.Manifest, sealed.Manifest); diff != "" {
			t.Fatalf("step %d, %d files (-fresh +changed):\n%s", step, size, diff)
		}
		if len(kept) != len(want) {
			t.Fatalf("step %d: %d files are kept, want %d", step, len(kept), len(want))
		}
		for file, f := range want {
			if got, ok := kept[file]; !ok || string(got.Data) != string(f.Data) {
				t.Fatalf("step %d: %s differs", step, file)
			}
		}
	}
}
