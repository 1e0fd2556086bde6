package filetree

import (
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/attesttest"
)

// A head that names a part twice is refused, though its sums, its root and its signature are those
// of what it names.
func TestAPartStandsOnce(t *testing.T) {
	fsys := covered(t, smallTree())
	layout := attest.PublicLayout()
	whole := attesttest.Must[attest.Manifest](t)(attest.ParseManifest(fsys[layout.Head()].Data, layout))
	var lists [][]attest.PartRef
	for i, p := range whole.Parts {
		lists = append(lists, append(append(append([]attest.PartRef{}, whole.Parts[:i]...), p), whole.Parts[i:]...))
		p.Bucket = "0"
		p.Path = layout.PartPath(p.Directory, p.Bucket)
		lists = append(lists, []attest.PartRef{p, p})
	}
	for _, parts := range lists {
		m := whole
		m.Parts, m.Files, m.Bytes = parts, 0, 0
		for _, p := range parts {
			m.Files, m.Bytes = m.Files+p.Files, m.Bytes+p.Bytes
		}
		m.Root = attesttest.Must[attest.Digest](t)(attest.PartsRoot(m.Parts))
		if err := m.Sign(attesttest.Key(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := attest.ParseManifest(attesttest.Must[[]byte](t)(m.Encode()), layout); err == nil {
			t.Errorf("a part of %v is taken twice", parts)
		}
	}
}
