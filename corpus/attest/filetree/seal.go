package filetree

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// Sealed is a finished manifest: the files to write and to remove so that the
// tree holds it. Parts that stand as they are appear in neither list. The head
// is the last of Write.
type Sealed struct {
	Manifest attest.Manifest
	Write    []File
	Remove   []string
}

// Seal takes in all changes, signs the head and returns the files that differ.
// The tree can go on from there: call Seal again after further changes, when a
// tree that was opened holds what this one returned.
func (t *Tree) Seal(k *attest.Key, meta Meta) (Sealed, error) {
	var s Sealed
	var err error
	s.Manifest, s.Remove, err = t.SealTo(k, meta, func(f File) error {
		s.Write = append(s.Write, f)
		return nil
	})
	if err != nil {
		return Sealed{}, err
	}
	if t.from == nil {
		if t.held == nil {
			t.held = map[string][]byte{}
		}
		for _, f := range s.Write {
			t.held[f.Path] = f.Body
		}
	}
	return s, nil
}

// SealTo is Seal for large trees: it hands each file that differs to write, one
// by one, the head last, and returns the files to remove. A part is read, if at
// all, before it is handed over. After an error the tree is of no use.
func (t *Tree) SealTo(k *attest.Key, meta Meta, write func(File) error) (attest.Manifest, []string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := attest.Manifest{
		Format: attest.ManifestFormat, BaseURL: meta.BaseURL, ContentDigest: meta.ContentDigest,
		LeavesOut: t.layout.Omitted(), Parts: []attest.PartRef{},
	}
	s := sealing{t: t, write: write}
	err := s.apply()
	if err == nil {
		err = t.pending.Close()
	}
	if err != nil {
		return attest.Manifest{}, nil, fmt.Errorf("sealing manifest: %w", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(t.groups)) {
		g := t.groups[dir]
		for _, bucket := range slices.Sorted(maps.Keys(g.parts)) {
			ref := g.parts[bucket]
			m.Parts = append(m.Parts, ref)
			m.Files, m.Bytes = m.Files+ref.Files, m.Bytes+ref.Bytes
		}
	}
	if m.Root, err = attest.PartsRoot(m.Parts); err != nil {
		return attest.Manifest{}, nil, err
	}
	if err := m.Sign(k); err != nil {
		return attest.Manifest{}, nil, fmt.Errorf("sealing manifest: %w", err)
	}
	head, err := m.Encode()
	if err == nil {
		err = write(File{t.layout.Head(), head})
	}
	if err != nil {
		return attest.Manifest{}, nil, fmt.Errorf("sealing manifest: %w", err)
	}
	return m, s.remove, nil
}

// sealing is one run of SealTo.
type sealing struct {
	t      *Tree
	write  func(File) error
	remove []string
	next   func() (change, error, bool)
	held   change // the next change
	ok     bool
}

func (s *sealing) apply() error {
	counts, err := s.t.count()
	if err != nil {
		return err
	}
	var stop func()
	s.next, stop = iter.Pull2(s.t.changes())
	defer stop()
	if err := s.advance(); err != nil {
		return err
	}
	for s.ok {
		dir := s.held.dir
		n := counts[dir]
		if n == nil {
			return fmt.Errorf("a change in %q that was not counted", dir)
		}
		g := s.t.group(dir)
		digits, err := s.digits(dir, g, *n)
		if err == nil && len(g.parts) > 0 && digits != g.digits {
			err = s.deal(dir, g, digits)
		} else if err == nil {
			g.digits = digits
			err = s.update(dir, g)
		}
		if err != nil {
			return err
		}
		if len(g.parts) == 0 {
			delete(s.t.groups, dir)
		}
	}
	return nil
}

func (s *sealing) advance() error {
	var err error
	s.held, err, s.ok = s.next()
	return err
}

// digits is how many digits name the buckets of a directory after its changes.
// Its files are counted only if they may be so few or so many that it differs.
func (s *sealing) digits(dir string, g *group, n told) (int, error) {
	if len(g.parts) == 0 {
		return digitsFor(n.put), nil
	}
	var files int64
	for _, ref := range g.parts {
		files += ref.Files
	}
	if digitsFor(files+n.put) == g.digits && digitsFor(files-n.gone) == g.digits {
		return g.digits, nil
	}
	changes := func(yield func(change, error) bool) {
		for c, err := range s.t.changes() {
			if (err != nil || c.dir == dir) && !yield(c, err) {
				return
			}
		}
	}
	next, stop := iter.Pull2(changes)
	defer stop()
	held, err, ok := next()
	files = 0
	for _, bucket := range slices.Sorted(maps.Keys(g.parts)) {
		had, loadErr := s.t.load(g.parts[bucket])
		if loadErr != nil {
			return 0, loadErr
		}
		files += int64(len(had))
		var mine []change
		for ; err == nil && ok && attest.BucketOfHash(held.hash, g.digits) <= bucket; held, err, ok = next() {
			if attest.BucketOfHash(held.hash, g.digits) == bucket {
				mine = append(mine, held)
			} else if !held.gone {
				files++
			}
		}
		merged, _ := merge(had, mine)
		files += int64(len(merged) - len(had))
	}
	for ; err == nil && ok; held, err, ok = next() {
		if !held.gone {
			files++
		}
	}
	return digitsFor(files), err
}

// revision is a part with the changes of its files.
type revision struct {
	bucket string
	was    attest.PartRef // of the part that stands
	known  bool           // that one stands
	mine   []change
	made   encodedPart
	dirty  bool
	err    error
	done   chan struct{}
}

// work makes the part. It may run beside others.
func (r *revision) work(t *Tree, dir string) {
	defer close(r.done)
	var had []attest.Entry
	if r.known {
		if had, r.err = t.load(r.was); r.err != nil {
			return
		}
	}
	var entries []attest.Entry
	if entries, r.dirty = merge(had, r.mine); r.dirty {
		r.made, r.err = t.encode(dir, r.bucket, entries)
	}
}

// update brings the changes of a directory into its parts: as many are worked out at once as there
// are cores, and they are handed over one by one in their order.
func (s *sealing) update(dir string, g *group) error {
	var under []*revision
	defer func() {
		for _, r := range under {
			<-r.done
		}
	}()
	hand := func() error {
		r := under[0]
		<-r.done
		under = under[1:]
		if r.err != nil || !r.dirty {
			return r.err
		}
		return s.put(r.bucket, g.parts, r.made)
	}
	for s.ok && s.held.dir == dir {
		r := &revision{bucket: attest.BucketOfHash(s.held.hash, g.digits), done: make(chan struct{})}
		for s.ok && s.held.dir == dir && attest.BucketOfHash(s.held.hash, g.digits) == r.bucket {
			r.mine = append(r.mine, s.held)
			if err := s.advance(); err != nil {
				return err
			}
		}
		r.was, r.known = g.parts[r.bucket]
		go r.work(s.t, dir)
		if under = append(under, r); len(under) > runtime.GOMAXPROCS(0) {
			if err := hand(); err != nil {
				return err
			}
		}
	}
	for len(under) > 0 {
		if err := hand(); err != nil {
			return err
		}
	}
	return nil
}

// merge applies changes to sorted entries and reports whether that makes a
// difference.
func merge(had []attest.Entry, changes []change) (entries []attest.Entry, dirty bool) {
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.Path, b.Path) })
	entries = make([]attest.Entry, 0, len(had)+len(changes))
	for _, c := range changes {
		for len(had) > 0 && had[0].Path < c.Path {
			entries, had = append(entries, had[0]), had[1:]
		}
		was := len(had) > 0 && had[0].Path == c.Path
		if c.gone != !was || !c.gone && (!was || had[0] != c.Entry) {
			dirty = true
		}
		if was {
			had = had[1:]
		}
		if !c.gone {
			entries = append(entries, c.Entry)
		}
	}
	return append(entries, had...), dirty
}

// encodedPart is a part as it is written; without files there is none.
type encodedPart struct {
	body []byte
	ref  attest.PartRef
}

func (t *Tree) encode(dir, bucket string, entries []attest.Entry) (p encodedPart, err error) {
	if len(entries) > 0 {
		p.body, p.ref, err = attest.EncodePart(t.layout, dir, bucket, entries)
	}
	return p, err
}

// put hands a part over if it differs from the one that stands. One without files is removed.
func (s *sealing) put(bucket string, parts map[string]attest.PartRef, made encodedPart) error {
	was, known := parts[bucket]
	switch {
	case made.body == nil && known:
		s.remove = append(s.remove, was.Path)
		delete(parts, bucket)
		return nil
	case made.body == nil || made.ref == was:
		return nil
	}
	parts[bucket] = made.ref
	return s.write(File{made.ref.Path, made.body})
}

// dealing deals a directory's files out to buckets of another size.
type dealing struct {
	*sealing
	dir     string
	digits  int
	parts   map[string]attest.PartRef
	bucket  string         // the one that is being filled
	entries []attest.Entry // its files so far
}

// flush hands the bucket over.
func (d *dealing) flush() error {
	slices.SortFunc(d.entries, func(a, b attest.Entry) int { return strings.Compare(a.Path, b.Path) })
	made, err := d.t.encode(d.dir, d.bucket, d.entries)
	d.entries = nil
	if err != nil {
		return err
	}
	return d.put(d.bucket, d.parts, made)
}

// take puts a file into its bucket. Files come in the order of the buckets.
func (d *dealing) take(hash attest.Digest, e attest.Entry) error {
	if to := attest.BucketOfHash(hash, d.digits); to != d.bucket {
		if err := d.flush(); err != nil {
			return err
		}
		d.bucket = to
	}
	d.entries = append(d.entries, e)
	return nil
}

// changed reports whether the next change is in the directory.
func (d *dealing) changed() bool { return d.ok && d.held.dir == d.dir }

// fresh takes the next change, unless it removes its file.
func (d *dealing) fresh() error {
	if !d.held.gone {
		if err := d.take(d.held.hash, d.held.Entry); err != nil {
			return err
		}
	}
	return d.advance()
}

// deal deals a directory's files out to buckets of another size, with its
// changes. Both come in the order of the buckets, so that one old part and one
// new one are in memory.
func (s *sealing) deal(dir string, g *group, digits int) error {
	d := &dealing{sealing: s, dir: dir, digits: digits, parts: map[string]attest.PartRef{}}
	type placed struct {
		hash attest.Digest
		attest.Entry
	}
	for _, old := range slices.Sorted(maps.Keys(g.parts)) {
		had, err := s.t.load(g.parts[old])
		if err != nil {
			return err
		}
		s.remove = append(s.remove, g.parts[old].Path)
		order := make([]placed, len(had))
		for i, e := range had {
			order[i] = placed{sha256.Sum256([]byte(e.Path)), e}
		}
		slices.SortFunc(order, func(a, b placed) int {
			return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), strings.Compare(a.Path, b.Path))
		})
		for _, p := range order {
			for d.changed() && bytes.Compare(s.held.hash[:], p.hash[:]) < 0 {
				if err := d.fresh(); err != nil {
					return err
				}
			}
			if d.changed() && s.held.Path == p.Path {
				continue // the change takes its place, or removes it
			}
			if err := d.take(p.hash, p.Entry); err != nil {
				return err
			}
		}
	}
	for d.changed() {
		if err := d.fresh(); err != nil {
			return err
		}
	}
	if err := d.flush(); err != nil {
		return err
	}
	g.parts, g.digits = d.parts, digits
	return nil
}

// load reads a part that stands.
func (t *Tree) load(ref attest.PartRef) ([]attest.Entry, error) {
	if body, ok := t.held[ref.Path]; ok {
		return attest.ParsePart(body, t.layout, ref)
	}
	if t.from == nil {
		return nil, fmt.Errorf("reading manifest part %s: the tree is not kept anywhere", ref.Path)
	}
	return attest.ReadPart(t.from, t.layout, ref)
}

// digitsFor is how many hex digits name the buckets of a directory of n files.
func digitsFor(n int64) int {
	digits := 0
	for limit := int64(attest.PartFiles); n > limit; limit *= 16 {
		digits++
	}
	return digits
}
