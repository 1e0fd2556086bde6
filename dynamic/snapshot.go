package dynamic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// smallFile is the size up to which a file is kept in memory with its header fields, once it was
// asked for.
const smallFile = 64 << 10

// snapshot is one tree, exactly the files that its manifest covers and the manifest itself.
type snapshot struct {
	site    *Site
	root    *os.Root
	held    *os.File         // the folder, marked as in use until the last request of the snapshot is answered
	edition *Edition         // nil: none goes with it
	pages   map[string]*page // by URL path
	kept    atomic.Int64     // bytes in memory
	known   sync.Map         // of families that a query asks for: path → values, sorted
}

// page is what one URL path answers: the representations in order of preference.
type page struct {
	doc    *document // nil: a file that is no document
	label  *label
	types  []string // of the representations, without parameters
	reps   []*representation
	taken  []bool // which reps are there, while the snapshot is built
	direct bool   // the URL of one representation, not the negotiated one
}

// representation is one file as one URL answers it.
type representation struct {
	file     *file
	fields   []field // but for those that depend on the content coding
	prepared atomic.Pointer[[codings]*answer]
}

// file is a covered file.
type file struct {
	path string
	size int64
	sum  attest.Digest
}

// field is a header field, ready to be put into the map of an answer.
type field struct {
	name  string
	value []string
}

// answer is a representation in one content coding.
type answer struct {
	fields []field // all of a 200
	etag   string
	body   []byte   // nil: read from source
	root   *os.Root // where source is
	source string
	size   int64
	plain  *answer // of a compressed form: the form that the tree itself holds
}

// buildAgain says what to do about a tree that goes with other settings or keys, or is not there. A
// server keeps those it began with.
const buildAgain = "hint: run store build, or, if that was done while the store ran, start the store again"

var errChanged = errors.New("the file is not the one in the manifest")

// open reads the manifest of a tree and prepares what every path answers. No file is read yet.
func (s *Site) open(dir string) (*snapshot, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	held, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	// Both are closed by the runtime when nobody has the snapshot any more.
	if err = hold(held); err != nil {
		err = fmt.Errorf("marking the tree as in use: %w", err)
	}
	var snap *snapshot
	if err == nil {
		snap, err = s.read(root)
	}
	if err != nil {
		return nil, errors.Join(err, held.Close(), root.Close())
	}
	snap.held = held
	return snap, nil
}

func (s *Site) read(root *os.Root) (*snapshot, error) {
	tree, layout := root.FS(), attest.PublicLayout()
	m, _, err := attest.OpenManifest(tree, layout, s.cfg.Ring)
	switch {
	case errors.Is(err, attest.ErrUnknownKey):
		return nil, fmt.Errorf("%w; %s", err, buildAgain)
	case err != nil:
		return nil, err
	case m.BaseURL != s.cfg.BaseURL:
		return nil, fmt.Errorf("it was built for %s, not for %s; %s", m.BaseURL, s.cfg.BaseURL, buildAgain)
	}
	snap := &snapshot{site: s, root: root, pages: make(map[string]*page, m.Files)}
	if s.cfg.Edition != nil {
		if snap.edition, err = s.cfg.Edition(m.ContentDigest); err != nil {
			return nil, err
		}
	}
	for e, err := range m.Entries(tree, layout) {
		if err != nil {
			return nil, err
		}
		if !servable(e.Path) {
			continue
		}
		snap.add(&file{path: e.Path, size: e.Size, sum: e.SHA256})
	}
	for _, p := range m.Parts {
		f := &file{path: p.Path, sum: p.SHA256, size: -1}
		snap.addDirect(f, nil, api.JSON, api.Checked)
	}
	for _, name := range []string{layout.Head(), layout.Cosignatures()} {
		if err := snap.addUncovered(tree, name); err != nil {
			return nil, err
		}
	}
	for urlPath, p := range snap.pages {
		p.compact(urlPath)
	}
	return snap, nil
}

// servable says no to files that are not for readers: hidden ones outside .well-known, and
// _headers.
func servable(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part[0] == '_' || part[0] == '.' && part != ".well-known" {
			return false
		}
	}
	return true
}

// add makes a covered file answer at its addresses.
func (snap *snapshot) add(f *file) {
	b, urlPath, found := snap.site.find(f.path)
	if !found {
		snap.addDirect(f, nil, api.TypeOf(f.path), api.Short)
		return
	}
	d := b.doc
	if urlPath != "" {
		p := snap.pages[urlPath]
		if p == nil || p.direct {
			p = &page{doc: d, label: d.own, reps: make([]*representation, len(d.Files)),
				taken: make([]bool, len(d.Files))}
			snap.pages[urlPath] = p
		}
		p.reps[b.rep], p.taken[b.rep] = &representation{file: f}, true
	}
	if mediaType := d.Files[b.rep].MediaType; urlPath != "/"+f.path && (mediaType != api.HTML || urlPath == "") {
		snap.addDirect(f, d, mediaType, d.Cache)
		if l := d.twins[b.rep]; l != nil {
			snap.pages["/"+f.path].label = l
		}
	}
}

// addDirect makes a file answer at its own path.
func (snap *snapshot) addDirect(f *file, d *document, mediaType string, cache api.Cache) {
	if p := snap.pages["/"+f.path]; p != nil && !p.direct {
		return // a document's own path, such as /menu.json, comes first
	}
	fields := append(commonFields("/"+f.path), field{"Content-Type", []string{mediaType}},
		field{"Cache-Control", []string{cache.Control()}})
	if d != nil && d.Path != "" {
		// The parameter's value is what the file's path has in its place.
		if _, urlPath, ok := snap.site.find(f.path); ok {
			fields = append(fields, field{"Link", []string{"<" + urlPath + `>; rel="canonical"`}})
		}
	}
	snap.pages["/"+f.path] = &page{doc: d, label: snap.site.plain, direct: true, types: []string{mediaType},
		reps: []*representation{{file: f, fields: fields}}}
}

// addUncovered adds a file that the manifest leaves out of itself, if it is there.
func (snap *snapshot) addUncovered(tree fs.FS, name string) error {
	b, err := fs.ReadFile(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	snap.addDirect(&file{path: name, size: int64(len(b)), sum: sha256.Sum256(b)}, nil, api.JSON, api.Checked)
	return nil
}

// compact drops the representations that the tree does not have and writes the fields of the
// others.
func (p *page) compact(urlPath string) {
	if p.direct {
		return
	}
	var reps []*representation
	var files []api.Representation
	for i, there := range p.taken {
		if there {
			reps = append(reps, p.reps[i])
			files = append(files, p.doc.Files[i])
			p.types = append(p.types, bareType(p.doc.Files[i].MediaType))
		}
	}
	p.reps, p.taken = reps, nil
	for i, rep := range reps {
		rep.fields = append(commonFields(urlPath), field{"Content-Type", []string{files[i].MediaType}},
			field{"Cache-Control", p.doc.cache})
		if len(reps) == 1 {
			continue
		}
		// A content network that does not look at Accept must not keep one of several.
		rep.fields = append(rep.fields, field{"Cdn-Cache-Control", noStore})
		var links []string
		for j, other := range reps {
			address := "/" + other.file.path
			if files[j].MediaType == api.HTML {
				address = urlPath
			}
			if j == i {
				rep.fields = append(rep.fields, field{"Content-Location", []string{address}})
			} else {
				links = append(links, "<"+address+`>; rel="alternate"; type="`+p.types[j]+`"`)
			}
		}
		rep.fields = append(rep.fields, field{"Link", []string{strings.Join(links, ", ")}})
	}
}

var varyAll = []string{"Accept, Accept-Encoding, User-Agent"}

// commonFields are on every answer from the tree at a path.
func commonFields(urlPath string) []field {
	fields := append([]field{
		{"Access-Control-Allow-Origin", anyOrigin}, {"Access-Control-Expose-Headers", exposeHeaders},
		{"Vary", varyAll},
	}, securityAt(urlPath)...)
	if urlPath == api.APICatalogPath { // RFC 9727, section 3
		fields = append(fields, field{"Link", []string{"<" + urlPath + `>; rel="api-catalog"`}})
	}
	return fields
}

// answer prepares a representation in the coding the client prefers. Small files are read and
// compared with the manifest the first time, and then answered from memory.
func (snap *snapshot) answer(rep *representation, acceptEncoding string) (*answer, error) {
	all := rep.prepared.Load()
	if all == nil {
		var err error
		if all, err = snap.prepare(rep); err != nil {
			return nil, err
		}
		if snap.keep(all) {
			rep.prepared.Store(all)
		}
	}
	c := identity
	if acceptEncoding != "" {
		c = chooseCoding(acceptEncoding, [codings]bool{true, all[brotlied] != nil, all[gzipped] != nil})
	}
	return all[c], nil
}

// keep accounts for the memory of prepared answers.
func (snap *snapshot) keep(all *[codings]*answer) bool {
	var n int64
	for _, a := range all {
		if a != nil {
			n += int64(len(a.body)) + 512
		}
	}
	if snap.kept.Add(n) > snap.site.cfg.Memory {
		snap.kept.Add(-n)
		return false
	}
	return true
}

func (snap *snapshot) prepare(rep *representation) (*[codings]*answer, error) {
	var all [codings]*answer
	f := rep.file
	plain := &answer{root: snap.root, source: f.path, size: f.size}
	if f.size <= smallFile {
		b, err := snap.root.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		if sha256.Sum256(b) != f.sum {
			return nil, fmt.Errorf("reading %s: %w", f.path, errChanged)
		}
		plain.body, plain.size = b, int64(len(b))
	}
	all[identity] = plain
	if snap.site.twins != nil {
		for c, ext := range map[coding]string{brotlied: ".br", gzipped: ".gz"} {
			a, err := twin(snap.site.twins, f.sum.String()+ext)
			if err != nil {
				return nil, err
			}
			if a != nil { // there may be none, or a build has just swept it
				a.plain = plain
			}
			all[c] = a
		}
	}
	// 128 of the digest's 256 bits name the bytes well enough; each coding is other bytes and has
	// another tag.
	tag := hex.EncodeToString(f.sum[:16])
	for c, a := range all {
		if a == nil {
			continue
		}
		a.etag = `"` + tag + `"`
		a.fields = append(a.fields, rep.fields...)
		if coding(c) != identity {
			a.etag = `"` + tag + "-" + codingNames[c] + `"`
			a.fields = append(a.fields, field{"Content-Encoding", []string{codingNames[c]}})
		}
		a.fields = append(a.fields, field{"Etag", []string{a.etag}},
			field{"Content-Length", []string{strconv.FormatInt(a.size, 10)}})
	}
	return &all, nil
}

// twin finds the compressed form of a file, or nil.
func twin(root *os.Root, name string) (*answer, error) {
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading twin: %w", err)
	}
	a := &answer{root: root, source: name, size: info.Size()}
	if a.size <= smallFile {
		a.body, err = root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		a.size = int64(len(a.body))
	}
	return a, nil
}

// reader opens the body of an answer. The size is compared, because Content-Length was promised.
func (a *answer) reader() (io.ReadSeeker, func() error, error) {
	if a.body != nil {
		return bytes.NewReader(a.body), func() error { return nil }, nil
	}
	f, err := a.root.Open(a.source)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != a.size {
		err = fmt.Errorf("reading %s: %w", a.source, errChanged)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, f.Close, nil
}

func bareType(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return t
}
