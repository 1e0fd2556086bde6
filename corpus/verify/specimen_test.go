package verify

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// TestEverySubsetOfTheWeeksOfTheSpecimen takes every set of weeks out of bundles of hosts of the
// specimen, whose log changed hands: of one host for each set of weeks in which some have rows, as
// far as these are few, and in a soak of every host.
func TestEverySubsetOfTheWeeksOfTheSpecimen(t *testing.T) { cutTheSpecimen(t, 6, false) }

func TestSoakEverySubsetOfTheWeeksOfTheSpecimen(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	cutTheSpecimen(t, 64, true)
}

// cutTheSpecimen takes the hosts with at most so many weeks: all, or one of each kind.
func cutTheSpecimen(t *testing.T, weeks int, all bool) {
	dir := filepath.Join("..", "..", "corpus")
	keys, err := os.ReadFile(filepath.Join(dir, record.RingFile))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(os.DirFS(dir), ring)
	if err != nil {
		t.Fatal(err)
	}
	newest := int64(len(r.Rounds()))
	hosts := make(map[string][]int64)
	for n := range newest {
		for row, err := range r.Rows(n + 1) {
			if err != nil {
				t.Fatal(err)
			}
			hosts[row.Host] = append(hosts[row.Host], n+1)
		}
	}
	hosts["never.street"] = nil
	kinds := make(map[string]bool)
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		held := hosts[host]
		if !slices.Contains(held, newest) {
			held = append(slices.Clone(held), newest)
		}
		if kind := fmt.Sprint(hosts[host]); len(held) > weeks || kinds[kind] && !all {
			continue
		} else {
			kinds[kind] = true
		}
		b, err := Export(r, keys, []Want{{Host: host}})
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Rounds) != len(held) {
			t.Fatalf("%s: %d rounds in the bundle, want %v", host, len(b.Rounds), held)
		}
		everySubset(t, r, b, held, map[string][]int64{host: hosts[host]})
	}
	if len(kinds) < 6 {
		t.Errorf("%d kinds of hosts in the specimen", len(kinds))
	}
}
