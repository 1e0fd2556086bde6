package verify

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record/recordtest"
)

// site is a published tree of one page, signed by key under ring.
func site(t testing.TB, key *attest.Key, ring attest.Ring) fstest.MapFS {
	t.Helper()
	doc, err := attest.SigningKeyDocument("store.example", ring)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{SigningKeyFile: {Data: doc, Mode: 0o644}, "index.md": {Data: []byte("# Store\n"), Mode: 0o644}}
	coverSite(t, key, tree)
	return tree
}

// coverSite covers a published tree by its manifest.
func coverSite(t testing.TB, key *attest.Key, tree fstest.MapFS) {
	t.Helper()
	m, err := filetree.BuildManifest(t.Context(), tree, attest.PublicLayout())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := m.Seal(key, filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sealed.Write {
		tree[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
}

// TestAProblemIsNamedOnce changes and takes away a file of each kind of a published tree that holds
// the record itself, so that two manifests cover it, and of a bare record: no file is named twice
// for one thing.
func TestAProblemIsNamedOnce(t *testing.T) {
	w, record := covered(t)
	both, bare := site(t, w.Identity, w.Ring), fstest.MapFS{".git/HEAD": {}}
	for name, f := range record {
		both["corpus/"+name] = f
		if !strings.HasPrefix(name, "manifest") {
			bare[name] = f
		}
	}
	coverSite(t, w.Identity, both)
	for what, tree := range map[string]fstest.MapFS{"both": both, "bare": bare} {
		if r := verify(t, tree, CloneOptions{}); !r.Sound() || r.Record == nil || r.Bare != (what == "bare") {
			t.Fatalf("%s, unspoilt: %+v", what, r)
		}
		for name, f := range tree {
			spoilt := maps.Clone(tree)
			delete(spoilt, name)
			once(t, what+" without "+name, verify(t, spoilt, CloneOptions{}))
			if len(f.Data) == 0 {
				continue
			}
			data := slices.Clone(f.Data)
			data[len(data)/2] ^= 1
			spoilt[name] = &fstest.MapFile{Data: data, Mode: f.Mode}
			r := verify(t, spoilt, CloneOptions{})
			if once(t, what+" with another "+name, r); what == "both" && !names(r, name) {
				t.Errorf("%s is changed: %v", name, r.Problems)
			}
		}
	}
	// The checkpoint of the newest round is also that of the whole log.
	head := recordtest.Open(t, w).Log.Head()
	delete(bare, fmt.Sprintf("log/checkpoints/%d", head.Size))
	if r := verify(t, bare, CloneOptions{}); len(r.Problems) != 1 {
		t.Errorf("one file is missing, and the problems are %v", r.Problems)
	}
	// A copy of it under another size does not make its cosignatures two.
	bare[fmt.Sprintf("log/checkpoints/%d", head.Size)] = bare["log/checkpoint"]
	bare["log/checkpoints/1"] = bare["log/checkpoint"]
	bare[fmt.Sprintf("log/cosignatures/%d", head.Size)] = &fstest.MapFile{Data: []byte("none"), Mode: 0o444}
	r := verify(t, bare, CloneOptions{})
	if once(t, "a copied checkpoint", r); len(r.Problems) != 2 {
		t.Errorf("a checkpoint is at the wrong size and a cosignature is none, and the problems are %v", r.Problems)
	}
}

// once demands that no file is named twice.
func once(t *testing.T, what string, r CloneReport) {
	t.Helper()
	seen := make(map[string]bool)
	for _, p := range r.Problems {
		if seen[p.Path] {
			t.Errorf("%s: %s is named twice: %v", what, p.Path, r.Problems)
			return
		}
		seen[p.Path] = true
	}
}

// A publication repository holds the published tree beside the record: both are checked, and that
// they are of one store.
func TestRepositoryIsCheckedWhole(t *testing.T) {
	w, record := covered(t)
	join := func(public fstest.MapFS) fstest.MapFS {
		out := fstest.MapFS{"README": {Data: []byte("x")}}
		for name, f := range public {
			out["public/"+name] = &fstest.MapFile{Data: f.Data, Mode: f.Mode}
		}
		for name, f := range record {
			out["corpus/"+name] = f
		}
		return out
	}
	tree := join(site(t, w.Identity, w.Ring))
	r := verify(t, tree, CloneOptions{})
	if !r.Sound() || r.Record == nil || r.Record.Rounds != 2 || !slices.Equal(r.Beside, []string{"README"}) ||
		r.Trusted || r.Files != verify(t, record, CloneOptions{}).Files+2 {
		t.Fatalf("%+v", r)
	}
	var said strings.Builder
	r.Print(&said, "clone")
	if !strings.Contains(said.String(), "not looked at: README") {
		t.Errorf("what was not looked at is not said:\n%s", &said)
	}
	for name, f := range tree {
		if name == "README" || name == "public/.well-known/manifest.json" || name == "corpus/manifest.json" {
			continue
		}
		f.Data[len(f.Data)/2] ^= 1
		if r := verify(t, tree, CloneOptions{}); !names(r, name) {
			t.Errorf("%s is changed: %v", name, r.Problems)
		}
		f.Data[len(f.Data)/2] ^= 1
	}
	delete(tree, "public/"+SigningKeyFile)
	if r := verify(t, tree, CloneOptions{}); r.Sound() {
		t.Error("a published tree without its keys is sound")
	}
	other := recordtest.Key(t, 9)
	ring, err := attest.NewRing("2026-01-01",
		map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: other.Public()})
	if err != nil {
		t.Fatal(err)
	}
	if r := verify(t, join(site(t, other, ring)), CloneOptions{}); !names(r, "public/"+SigningKeyFile) {
		t.Errorf("the published tree of another store: %v", r.Problems)
	}
	alone := fstest.MapFS{}
	for name, f := range site(t, w.Identity, w.Ring) {
		alone["public/"+name] = f
	}
	if r := verify(t, alone, CloneOptions{}); !r.Sound() || r.Record != nil || r.BaseURL != "https://store.example" {
		t.Errorf("a repository without a record: %+v", r)
	}
}
