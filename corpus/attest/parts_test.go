package attest

import (
	"testing"
)

// A head that names a part twice is refused, though its sums, its root and its signature are those
// of what it names.
func TestAPartStandsOnce(t *testing.T) {
	fsys := treeCovered(t, smallTree())
	layout := PublicLayout()
	whole := must[Manifest](t)(ParseManifest(fsys[layout.Head()].Data, layout))
	var lists [][]PartRef
	for i, p := range whole.Parts {
		lists = append(lists, append(append(append([]PartRef{}, whole.Parts[:i]...), p), whole.Parts[i:]...))
		p.Bucket = "0"
		p.Path = layout.PartPath(p.Directory, p.Bucket)
		lists = append(lists, []PartRef{p, p})
	}
	for _, parts := range lists {
		m := whole
		m.Parts, m.Files, m.Bytes = parts, 0, 0
		for _, p := range parts {
			m.Files, m.Bytes = m.Files+p.Files, m.Bytes+p.Bytes
		}
		m.Root = must[Digest](t)(PartsRoot(m.Parts))
		if err := m.Sign(testKey(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(must[[]byte](t)(m.Encode()), layout); err == nil {
			t.Errorf("a part of %v is taken twice", parts)
		}
	}
}
