package filetree

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/attesttest"
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
	const full = attest.PartFiles
	for step, size := range []int{full - 1, full + 1, 3 * full, 17 * full, 15 * full, 16,
		attest.PartFiles + 3, 0, 5} {
		tree := NewTree(attest.PublicLayout())
		if step > 0 {
			tree = attesttest.Must[*Tree](t)(OpenTree(kept, attest.PublicLayout()))
		}
		tree.pending = extsort.New(64 << 10)
		for i := range 17 * attest.PartFiles {
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
		fresh := NewTree(attest.PublicLayout())
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

// What was sealed is not kept to be sealed again: neither in memory nor, of a large tree, on disk.
func TestWhatWasSealedIsNoLongerPending(t *testing.T) {
	tree := NewTree(attest.PublicLayout())
	for i := range 3 {
		if err := tree.Put(fmt.Sprintf("host/%d", i), 1, sha256.Sum256(nil)); err != nil {
			t.Fatal(err)
		}
	}
	seal(t, tree, fstest.MapFS{})
	for r, err := range tree.pending.Sorted() {
		t.Errorf("%q is pending, %v", r, err)
	}
}
