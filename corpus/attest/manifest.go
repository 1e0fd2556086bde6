package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"store.example/agentstore/corpus/rule"
)

// A manifest covers a tree of files. Its files are listed in parts, one part
// per top-level directory, or 16, 256, … parts when a directory is large, so
// that a changed page rewrites one part and the head. Each part is a Merkle
// tree (RFC 6962) over its entries; the head, one signed file, is a Merkle
// tree over the parts:
//
//	.well-known/manifest.json               the head: parts, root, signature
//	.well-known/manifest/all.json           files at the top of the tree
//	.well-known/manifest/menu/all.json      every file under menu/
//	.well-known/manifest/host/3f.json       those under host/ whose path's SHA-256 starts with 3f
//
// Every byte of the tree is covered: files by their part, parts by the head,
// the head by its signature; what is left out is named in the head.

// The formats of a manifest's files.
const (
	ManifestFormat     = "store-manifest/v1"
	ManifestPartFormat = "store-manifest-part/v1"
)

// PartFiles is how many files one part may hold on average before its
// directory is split into sixteen times as many parts.
const PartFiles = 4096

// maxManifestFile bounds a head or a part when it is read.
const maxManifestFile = 64 << 20

// Layout says where in a tree its manifest lives and what it leaves out
// beside itself.
type Layout struct {
	Place     string    // path of the head without .json
	LeavesOut []LeftOut // sorted into the head
}

// LeftOut names what a manifest does not cover, and why. A path that ends in a
// slash is a whole directory.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// PublicLayout is the layout of a site's public tree.
func PublicLayout() Layout { return Layout{Place: ".well-known/manifest"} }

// CorpusLayout is the layout of the record's tree.
func CorpusLayout() Layout { return Layout{Place: "manifest"} }

// Head returns the path of the signed head.
func (l Layout) Head() string { return l.Place + ".json" }

// Cosignatures returns the path under which others' signatures of the head may
// be kept.
func (l Layout) Cosignatures() string { return l.Place + ".cosignatures.json" }

// Omitted is what a manifest of the layout names as left out, itself among it.
func (l Layout) Omitted() []LeftOut {
	all := append([]LeftOut{
		{Path: l.Head(), Why: "it is the manifest itself and holds its signature"},
		{Path: l.Cosignatures(), Why: "others add their signatures later"},
	}, l.LeavesOut...)
	slices.SortFunc(all, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(all, func(a, b LeftOut) bool { return a.Path == b.Path })
}

// IsLeftOut reports whether a list of what is left out names a path, or the directory that it is
// in.
func IsLeftOut(list []LeftOut, name string) bool {
	for _, o := range list {
		if name == o.Path || strings.HasSuffix(o.Path, "/") && strings.HasPrefix(name, o.Path) {
			return true
		}
	}
	return false
}

// IsPart reports whether a file is a part of the manifest.
func (l Layout) IsPart(name string) bool { return strings.HasPrefix(name, l.Place+"/") }

// Entry is one covered file.
type Entry struct {
	Path   string `json:"path"` // slash-separated, relative to the tree
	Size   int64  `json:"size"`
	SHA256 Digest `json:"sha256"`
}

// appendJSON writes the entry as Canonical would. These bytes are its leaf.
func (e Entry) appendJSON(b []byte) ([]byte, error) {
	b, err := jsontext.AppendQuote(append(b, `{"path":`...), e.Path)
	if err != nil {
		return nil, fmt.Errorf("encoding entry: %w", err)
	}
	b = strconv.AppendInt(append(b, `,"size":`...), e.Size, 10)
	return append(append(append(b, `,"sha256":"`...), e.SHA256.String()...), `"}`...), nil
}

// PartRef is the head's line for one part.
type PartRef struct {
	Path      string `json:"path"`
	Directory string `json:"directory"` // top-level directory, "" for the top itself
	Bucket    string `json:"bucket"`    // "all", or the first hex digits of SHA-256 of a file's path
	Files     int64  `json:"files"`
	Bytes     int64  `json:"bytes"`
	Root      Digest `json:"root"`   // Merkle root over the part's entries
	SHA256    Digest `json:"sha256"` // of the part file's bytes
}

// Manifest is the signed head. The signature covers the canonical bytes of all
// other fields.
type Manifest struct {
	Format        string    `json:"format"`
	BaseURL       string    `json:"base_url"`
	ContentDigest string    `json:"content_digest"`
	Files         int64     `json:"files"`
	Bytes         int64     `json:"bytes"`
	LeavesOut     []LeftOut `json:"leaves_out"`
	Parts         []PartRef `json:"parts"` // sorted by directory, then bucket
	Root          Digest    `json:"root"`  // Merkle root over the canonical bytes of Parts
	KID           string    `json:"kid"`
	PublicKey     Hex       `json:"public_key"`
	Signature     Hex       `json:"signature,omitzero"`
}

// Encode returns the head's file form: canonical JSON and a newline.
func (m Manifest) Encode() ([]byte, error) {
	b, err := Canonical(m)
	return append(b, '\n'), err
}

func (m Manifest) payload() ([]byte, error) {
	m.Signature = nil
	return Canonical(m)
}

// Sign sets the key that signs the head, and the signature.
func (m *Manifest) Sign(k *Key) error {
	m.KID, m.PublicKey = k.KID(), Hex(k.Public())
	payload, err := m.payload()
	if err != nil {
		return err
	}
	m.Signature = k.Sign(payload)
	return nil
}

// PartsRoot is the Merkle root over the canonical bytes of parts.
func PartsRoot(parts []PartRef) (Digest, error) {
	leaves := make([]Digest, len(parts))
	for i, p := range parts {
		b, err := Canonical(p)
		if err != nil {
			return Digest{}, err
		}
		leaves[i] = LeafHash(b)
	}
	return MerkleRoot(leaves), nil
}

// ParseManifest reads a head from its exact bytes and checks its shape, its
// sums, its root and its signature by the key it names. Whether that key is
// one to trust is for the caller to say.
func ParseManifest(raw []byte, l Layout) (Manifest, error) {
	fail := func(err error) (Manifest, error) {
		return Manifest{}, fmt.Errorf("parsing manifest: %w", err)
	}
	body, ok := bytes.CutSuffix(raw, []byte{'\n'})
	if !ok {
		return fail(ErrNotCanonical)
	}
	var m Manifest
	if err := ParseCanonical(body, &m); err != nil {
		return fail(err)
	}
	payload, err := m.payload()
	switch {
	case err != nil:
		return fail(err)
	case m.Format != ManifestFormat:
		return fail(fmt.Errorf("format is %q, not %q; hint: of a newer one, use a newer release", m.Format,
			ManifestFormat))
	case len(m.PublicKey) != ed25519.PublicKeySize || m.KID != KID(ed25519.PublicKey(m.PublicKey)):
		return fail(rule.ManifestKey.Errorf("kid is not the thumbprint of the public key"))
	case !Verify(ed25519.PublicKey(m.PublicKey), payload, m.Signature):
		return fail(rule.ManifestSignature.Errorf("the signature does not fit"))
	}
	var files, size int64
	for i, p := range m.Parts {
		if p.Path != l.PartPath(p.Directory, p.Bucket) || i > 0 && comparePart(m.Parts[i-1], p) >= 0 {
			return fail(rule.ManifestRoot.Errorf("part %q is out of place", p.Path))
		}
		if i > 0 && m.Parts[i-1].Directory == p.Directory &&
			(p.Bucket == "all" || len(m.Parts[i-1].Bucket) != len(p.Bucket)) {
			return fail(rule.ManifestRoot.Errorf("parts of %q overlap", p.Directory))
		}
		files, size = files+p.Files, size+p.Bytes
	}
	root, err := PartsRoot(m.Parts)
	if err != nil {
		return fail(err)
	}
	if files != m.Files || size != m.Bytes || root != m.Root {
		return fail(rule.ManifestRoot.Errorf("sums or root are not those of its parts"))
	}
	return m, nil
}

func comparePart(a, b PartRef) int {
	return strings.Compare(a.Directory+"\x00"+a.Bucket, b.Directory+"\x00"+b.Bucket)
}

// ReadManifest reads the head of the tree fsys as ParseManifest does.
func ReadManifest(fsys fs.FS, l Layout) (Manifest, error) {
	raw, err := readBounded(fsys, l.Head())
	if err != nil {
		return Manifest{}, fmt.Errorf("opening manifest: %w", err)
	}
	return ParseManifest(raw, l)
}

// OpenManifest reads and checks the head of the tree fsys and demands that an
// identity key of the ring, current or retired, signed it.
func OpenManifest(fsys fs.FS, l Layout, ring Ring) (Manifest, Signer, error) {
	m, err := ReadManifest(fsys, l)
	if err != nil {
		return Manifest{}, Signer{}, err
	}
	by, ok := ring.ByPublic(ed25519.PublicKey(m.PublicKey))
	if !ok || by.Purpose != PurposeIdentity {
		return m, Signer{}, fmt.Errorf("opening manifest: %w: %s", ErrUnknownKey, m.KID)
	}
	return m, by, nil
}

// Entries yields every covered file, part by part, each part checked against
// the head. The order is by part, then by path. It ends with the first error.
func (m Manifest) Entries(fsys fs.FS, l Layout) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, ref := range m.Parts {
			entries, err := ReadPart(fsys, l, ref)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// PartPath names the part of a bucket of a directory.
func (l Layout) PartPath(dir, bucket string) string {
	return path.Join(l.Place, dir, bucket+".json")
}

// TopDirectory is the group a file belongs to.
func TopDirectory(name string) string {
	dir, _, ok := strings.Cut(name, "/")
	if !ok {
		return ""
	}
	return dir
}

func bucketOf(name string, digits int) string {
	if digits == 0 {
		return "all"
	}
	return BucketOfHash(sha256.Sum256([]byte(name)), digits)
}

// BucketDigits is how many digits a bucket's name has: none for all.
func BucketDigits(bucket string) int {
	if bucket == "all" {
		return 0
	}
	return len(bucket)
}

// CheckPath refuses names that cannot stand in a manifest. left is Omitted.
func (l Layout) CheckPath(name string, left []LeftOut) error {
	switch {
	case !fs.ValidPath(name) || name == "." || !utf8.ValidString(name):
		return fmt.Errorf("covering %q: not a plain relative path", name)
	case strings.HasSuffix(TopDirectory(name), ".json"):
		return fmt.Errorf("covering %q: a top-level directory cannot end in .json", name)
	case l.IsPart(name) || IsLeftOut(left, name):
		return fmt.Errorf("covering %q: it belongs to the manifest or is left out", name)
	}
	return nil
}

type partFile struct {
	Format    string  `json:"format"`
	Directory string  `json:"directory"`
	Bucket    string  `json:"bucket"`
	Files     []Entry `json:"files"`
}

// EncodePart writes a part, one line per file, and fills in its reference.
// entries must be sorted by path.
func EncodePart(l Layout, dir, bucket string, entries []Entry) ([]byte, PartRef, error) {
	ref := PartRef{Path: l.PartPath(dir, bucket), Directory: dir, Bucket: bucket, Files: int64(len(entries))}
	head, err := Canonical(partFile{Format: ManifestPartFormat, Directory: dir, Bucket: bucket})
	if err != nil {
		return nil, ref, err
	}
	out := bytes.TrimSuffix(head, []byte("]}"))
	leaves := make([]Digest, len(entries))
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '\n')
		start := len(out)
		if out, err = e.appendJSON(out); err != nil {
			return nil, ref, err
		}
		leaves[i] = LeafHash(out[start:])
		ref.Bytes += e.Size
	}
	out = append(out, "\n]}\n"...)
	ref.Root, ref.SHA256 = MerkleRoot(leaves), sha256.Sum256(out)
	return out, ref, nil
}

// ReadPart reads a part and demands that it is exactly the one of the
// reference, holding files that belong there.
func ReadPart(fsys fs.FS, l Layout, ref PartRef) ([]Entry, error) {
	raw, err := readBounded(fsys, ref.Path)
	if err != nil {
		return nil, fmt.Errorf("reading manifest part: %w", err)
	}
	return ParsePart(raw, l, ref)
}

// ParsePart is ReadPart for a part's bytes.
func ParsePart(raw []byte, l Layout, ref PartRef) ([]Entry, error) {
	fail := func(err error) ([]Entry, error) {
		return nil, fmt.Errorf("reading manifest part %s: %w", ref.Path, err)
	}
	if sha256.Sum256(raw) != ref.SHA256 {
		return fail(errors.New("its digest is not the one in the manifest"))
	}
	var p partFile
	if err := json.Unmarshal(raw, &p, json.RejectUnknownMembers(true)); err != nil {
		return fail(err)
	}
	left := l.Omitted()
	for i, e := range p.Files {
		if err := l.CheckPath(e.Path, left); err != nil {
			return fail(err)
		}
		if TopDirectory(e.Path) != ref.Directory || bucketOf(e.Path, BucketDigits(ref.Bucket)) != ref.Bucket ||
			e.Size < 0 {
			return fail(fmt.Errorf("%q does not belong here", e.Path))
		}
		if i > 0 && p.Files[i-1].Path >= e.Path {
			return fail(fmt.Errorf("%q is out of order", e.Path))
		}
	}
	_, found, err := EncodePart(l, p.Directory, p.Bucket, p.Files)
	if err != nil {
		return fail(err)
	}
	if found != ref { // its digest is that of raw, so these are the bytes
		return fail(ErrNotCanonical)
	}
	return p.Files, nil
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifestFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxManifestFile {
		return nil, fmt.Errorf("reading %s: larger than %d bytes", name, maxManifestFile)
	}
	return b, nil
}

// BucketOfHash names the bucket of a path by its digest: so many hex digits, or all.
func BucketOfHash(hash Digest, digits int) string {
	if digits == 0 {
		return "all"
	}
	return hash.String()[:digits]
}
