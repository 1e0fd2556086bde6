package verify

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestWhatStandsBesideARecordIsNamed: it is not looked at, and whoever asks is told so.
func TestWhatStandsBesideARecordIsNamed(t *testing.T) {
	_, tree := covered(t)
	for _, name := range []string{"extra.txt", "more/files", "manifest.json.bak", ".lock"} {
		tree[name] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	}
	want := []string{"extra.txt", "manifest.json.bak", "more"}
	r := verify(t, tree, CloneOptions{})
	if !r.Sound() || !slices.Equal(r.Beside, want) {
		t.Errorf("beside the record: %q, %v", r.Beside, r.Problems)
	}
	var text strings.Builder
	if r.Print(&text, "clone"); !strings.Contains(text.String(),
		"not looked at: extra.txt, manifest.json.bak, more\n") {
		t.Errorf("it says %s", text.String())
	}
}

// TestWhatNotEveryMachineCanHoldIsRefused puts names that differ in case alone, links, pipes and
// devices into a record, a published tree and a publication repository. Not every system can hold
// both of such names, and which one it keeps nobody signed.
func TestWhatNotEveryMachineCanHoldIsRefused(t *testing.T) {
	w, record := covered(t)
	published := site(t, w.Identity, w.Ring)
	repository := maps.Clone(record)
	for name, f := range published {
		repository[PublishedFolder+"/"+name] = f
	}
	for what, tree := range map[string]fstest.MapFS{"a record": record, "a published tree": published,
		"both": repository} {
		if r := verify(t, tree, CloneOptions{}); !r.Sound() {
			t.Fatalf("%s, unspoilt: %v", what, r.Problems)
		}
	}
	bytes := &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	for _, c := range []struct {
		tree      fstest.MapFS
		add, name string
		file      *fstest.MapFile
	}{
		{record, "Rounds/1/header.json", "Rounds", bytes},
		{record, "rounds/1/Header.json", "rounds/1/Header.json", bytes},
		{record, "rounds/1/HEADER.JSON", "rounds/1/HEADER.JSON", bytes},
		{record, "Manifest.json", "Manifest.json", bytes},
		{record, "Extra", "extra", bytes},
		{record, "escape", "escape", &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777}},
		{record, "log/escape", "log/escape", &fstest.MapFile{Data: []byte("../../secret"),
			Mode: fs.ModeSymlink | 0o777}},
		{record, "keys/pipe", "keys/pipe", &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}},
		{record, "device", "device", &fstest.MapFile{Mode: fs.ModeDevice | 0o644}},
		{record, "manifest.cosignatures.json", "manifest.cosignatures.json",
			&fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}},
		{record, "manifest.cosignatures.json", "manifest.cosignatures.json",
			&fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777}},
		{record, "manifest.cosignatures.json", "manifest.cosignatures.json", &fstest.MapFile{Mode: fs.ModeDir | 0o755}},
		{published, "INDEX.md", "index.md", bytes},
		{published, ".well-known/Manifest.json", ".well-known/manifest.json", bytes},
		{published, "link", "link", &fstest.MapFile{Data: []byte("index.md"), Mode: fs.ModeSymlink | 0o777}},
		{published, ".well-known/manifest.cosignatures.json", ".well-known/manifest.cosignatures.json",
			&fstest.MapFile{Mode: fs.ModeDir | 0o755}},
		{repository, "public/INDEX.md", "public/index.md", bytes},
		{repository, "Log/checkpoint", "Log", bytes},
		{repository, "public/.well-known/manifest.cosignatures.json", "public/.well-known/manifest.cosignatures.json",
			&fstest.MapFile{Mode: fs.ModeSocket | 0o644}},
	} {
		tree := maps.Clone(c.tree)
		tree["extra"] = bytes
		if _, beside := c.tree["index.md"]; beside {
			delete(tree, "extra") // a published tree has nothing beside it
		}
		tree[c.add] = c.file
		if r := verify(t, tree, CloneOptions{}); r.Sound() || !names(r, c.name) {
			t.Errorf("%s of mode %s: %v", c.add, c.file.Mode, r.Problems)
		}
	}
	// Others' signatures are nothing that the store signs for, as long as they are a file.
	record["manifest.cosignatures.json"] = bytes
	if r := verify(t, record, CloneOptions{}); !r.Sound() {
		t.Errorf("cosignatures: %v", r.Problems)
	}
}

// TestAnUnpackedArchive checks what an archive of a clone by git unpacks to: the record without a
// manifest and without .git. It is checked as a clone by git is, and what could not be is said.
func TestAnUnpackedArchive(t *testing.T) {
	_, tree := covered(t)
	for name := range tree {
		if strings.HasPrefix(name, "manifest") {
			delete(tree, name)
		}
	}
	tree["README.md"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	said := func(r CloneReport) string {
		var b strings.Builder
		r.Print(&b, "archive")
		return b.String()
	}
	r := verify(t, tree, CloneOptions{})
	if text := said(r); !r.Sound() || !r.Bare || len(r.NotChecked) != 2 ||
		!strings.Contains(text, "not checked: the signatures of commits, because there is no .git here") ||
		!strings.Contains(text, "not looked at: README.md") {
		t.Errorf("%v %s", r.Problems, text)
	}
	// As strict as a clone by git. A witness's signature is nobody's here, what an outgrown head
	// had is not needed, and a clone has none of the words.
	for name, f := range tree {
		if name == "README.md" || strings.HasPrefix(name, "log/cosignatures/") {
			continue
		}
		spoilt := slices.Clone(f.Data)
		spoilt[len(spoilt)/2] ^= 1
		tree[name] = &fstest.MapFile{Data: spoilt, Mode: f.Mode}
		if r := verify(t, tree, CloneOptions{}); r.Sound() {
			t.Errorf("%s changed, and it is accepted", name)
		}
		delete(tree, name)
		outgrown := strings.HasPrefix(name, "log/") &&
			(strings.HasSuffix(name, "/5") || strings.HasSuffix(name, ".p/4"))
		spared := outgrown || strings.HasPrefix(name, "proofs/") || strings.HasPrefix(name, "words/")
		if r := verify(t, tree, CloneOptions{}); r.Sound() && !spared {
			t.Errorf("%s is taken away, and it is accepted", name)
		}
		tree[name] = f
	}
	// A part of a manifest is the sign of one.
	for _, name := range []string{"manifest/all.json", "manifest.cosignatures.json"} {
		tree[name] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
		if r := verify(t, tree, CloneOptions{}); !names(r, "manifest.json") {
			t.Errorf("with %s: %v", name, r.Problems)
		}
		delete(tree, name)
	}
	tree[".git/HEAD"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	if text := said(verify(t, tree, CloneOptions{})); !strings.Contains(text,
		"not checked: the signatures of commits, which git verify-commit checks") {
		t.Errorf("by git: %s", text)
	}
}
