package generator

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// damages are what may have happened to one file of a record: what the build says of where, and of
// what mends it.
var damages = []struct {
	file   string
	change func([]byte) []byte // nil removes the file
	where  string
	mend   string
}{
	{"words/*.json", cutAt(20), "words/", "backup"},
	{"words/*.json", cutAt(0), "words/", "backup"},
	{"words/*.json", swapped("store-words/v1", "store-words/v9"), "words/", "use a newer release"},
	{"words/*.json", swapped("a", "b"), "words/", "backup"},
	{"rounds/3/header.json", cutAt(30), "rounds/3/header.json", "backup"},
	{"rounds/3/header.json", nil, "rounds/3/header.json", "backup"},
	{"rounds/3/header.json", swapped("2026-", "2027-"), "rounds/3/header.json", "backup"},
	{"rounds/3/part-0001.jsonl", cutAt(300), "rounds/3/part-0001.jsonl", "backup"},
	{"rounds/3/part-0001.jsonl", nil, "rounds/3/part-0001.jsonl", "backup"},
	{"rounds/3/part-0001.jsonl", swapped("ready", "reedy"), "rounds/3/part-0001.jsonl", "backup"},
	{"observations/000000008.json", cutAt(10), "000000008.json", "backup"},
	{"observations/000000008.json", swapped("observation", "observatio"), "000000008.json", "use a newer release"},
	{"observations/000000008.json", swapped("2026-", "2027-"), "000000008.json", "backup"},
	{"log/checkpoint", cutAt(5), "log/checkpoint", "backup"},
	{"log/checkpoint", nil, "log", "backup"},
}

func cutAt(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }

func swapped(old, text string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(text), 1) }
}

// TestDamagedRecords: a build from a record with one file changed, cut or lost fails, and says
// which file it is and where the right one is to be had.
func TestDamagedRecords(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	sound := fstest.MapFS{}
	for _, dir := range []string{"rounds", "words", "observations", "log", "keys", "proofs", "evidence"} {
		err := fs.WalkDir(os.DirFS("../corpus"), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, ".go") {
				return err
			}
			b, err := os.ReadFile("../corpus/" + name)
			sound[name] = &fstest.MapFile{Data: b}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range damages {
		in.Corpus = damaged(t, sound, d.file, d.change)
		_, err := Build(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), d.where) || !strings.Contains(err.Error(), d.mend) ||
			strings.Count(err.Error(), "hint: ") != 1 {
			t.Errorf("%s: %v, want %q and %q", d.file, err, d.where, d.mend)
		}
	}
}

// damaged is a record with one file changed, the first one that the pattern names.
func damaged(t *testing.T, sound fstest.MapFS, pattern string, change func([]byte) []byte) fs.FS {
	t.Helper()
	names, err := fs.Glob(sound, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	slices.Sort(names)
	with := maps.Clone(sound)
	was := with[names[0]].Data
	delete(with, names[0])
	if change != nil {
		now := change(was)
		if bytes.Equal(now, was) {
			t.Fatalf("%s stays as it is", names[0])
		}
		with[names[0]] = &fstest.MapFile{Data: now}
	}
	return with
}
