package tlog

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
)

// Every proof is the one that x/mod makes from the same tiles, whatever was kept by then.
func TestInclusionIsThatOfTlog(t *testing.T) {
	const most = 66_000 // three levels of tiles
	dir, log := logOf(t, most)
	peer, err := Open(dir.Root.FS(), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	same := func(index, size int64) {
		t.Helper()
		got, err := log.Inclusion(index, size)
		if err != nil {
			t.Fatal(err)
		}
		want, err := sumdb.ProveRecord(size, index, peer.hashes())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, as[attest.Digest](want)) {
			t.Fatalf("leaf %d of %d: %x instead of %x", index, size, got, want)
		}
	}
	for size := int64(1); size <= 40; size++ {
		for index := range size {
			same(index, size)
		}
	}
	for _, size := range []int64{255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, most} {
		for _, index := range []int64{0, 1, size/2 - 1, size / 2, size - 2, size - 1} {
			same(index, size)
		}
	}
	rng := rand.New(rand.NewPCG(11, 22))
	for range 2000 {
		size := 1 + rng.Int64N(most)
		same(rng.Int64N(size), size)
	}
	for _, wrong := range [][2]int64{{-1, 5}, {5, 5}, {0, 0}, {3, most + 1}} {
		if _, err := log.Inclusion(wrong[0], wrong[1]); err == nil {
			t.Errorf("leaf %d of %d is proved", wrong[0], wrong[1])
		}
	}
}

// A node that is not what the log committed to is in no proof.
func TestInclusionFromDamagedTiles(t *testing.T) {
	const size = 700
	dir, log := logOf(t, size)
	tiles, err := filepath.Glob(filepath.Join(dir.Root.Name(), "log/tile/*/*"))
	more, globErr := filepath.Glob(filepath.Join(dir.Root.Name(), "log/tile/*/*/*"))
	if err != nil || globErr != nil {
		t.Fatal(err, globErr)
	}
	damaged := 0
	for _, name := range append(tiles, more...) {
		raw, err := os.ReadFile(name)
		if err != nil || strings.Contains(name, "/entries/") {
			continue // a folder, or leaves, which no proof reads
		}
		// One log has read the tile above, or this one, before.
		warm, err := Open(dir.Root.FS(), attest.SpecimenRing())
		if err == nil {
			_, err = warm.Inclusion(size-1, size)
		}
		if err != nil {
			t.Fatal(err)
		}
		spoiled := slices.Clone(raw)
		spoiled[len(raw)-1] ^= 1
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, spoiled, 0o644); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for index := int64(0); index < size; index += 7 {
			again, err := Open(dir.Root.FS(), attest.SpecimenRing())
			if err != nil {
				t.Fatal(err)
			}
			for _, reader := range []*Log{again, warm} {
				proof, err := reader.Inclusion(index, size)
				if err != nil {
					refused++
					continue
				}
				if err := sumdb.CheckRecord(as[sumdb.Hash](proof), size, sumdb.Hash(log.head.Root), index,
					sumdb.RecordHash(fmt.Appendf(nil, `{"leaf":%d}`, index))); err != nil {
					t.Fatalf("%s: leaf %d: %v", name, index, err)
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: no proof is refused", name)
		}
		damaged++
		if err := rewrite(name, raw); err != nil {
			t.Fatal(err)
		}
	}
	if damaged < 4 {
		t.Errorf("%d tiles", damaged)
	}
}

func rewrite(name string, raw []byte) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o644)
}

func BenchmarkInclusion(b *testing.B) {
	const most = 120_000
	_, log := logOf(b, most)
	for i := int64(0); b.Loop(); i++ {
		if _, err := log.Inclusion(110_000+i%10_000, most); err != nil {
			b.Fatal(err)
		}
	}
}
