package attest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"store.example/agentstore/corpus/rule"
)

// The kinds of problems that VerifyTree finds.
const (
	ProblemChanged  = "changed"  // its bytes are not those that were signed
	ProblemMissing  = "missing"  // signed for, not there
	ProblemAdded    = "added"    // there, not signed for
	ProblemUnsigned = "unsigned" // signed by no key of the ring
)

// Problem is one file that is not as it was signed.
type Problem struct {
	Path   string
	Kind   string // Problem…
	Detail string
	Rule   rule.Rule // of store-corpus/v1, which is broken
}

// Report is the outcome of VerifyTree.
type Report struct {
	Manifest Manifest
	Signer   Signer
	Files    int64     // files found as they were signed
	LeftOut  []string  // files found that the manifest names as left out
	Problems []Problem // sorted by path; none: every byte is covered or named
}

// VerifyTree checks every file of fsys against its manifest and the keys of
// the ring, without any network. It hashes on all cores and streams, so that
// memory follows the number of files, not their size. The error is for trees
// that cannot be read; what is wrong with a readable one stands in the
// report's problems. While the head is bad, nothing else is judged; while a
// part is bad, the files of that part are not.
func VerifyTree(ctx context.Context, fsys fs.FS, l Layout, ring Ring) (Report, error) {
	var r Report
	problem := func(broken rule.Rule, path, kind, detail string) {
		r.Problems = append(r.Problems, Problem{path, kind, detail, broken})
	}
	m, by, err := OpenManifest(fsys, l, ring)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem(rule.FileMissing, l.Head(), ProblemMissing, "")
		return r, nil
	case errors.Is(err, ErrUnknownKey):
		problem(rule.ManifestKey, l.Head(), ProblemUnsigned, "signed by "+m.KID+", which is no published identity key")
		return r, nil
	case err != nil:
		problem(rule.Or(err, rule.ManifestForm), l.Head(), ProblemChanged, err.Error())
		return r, nil
	}
	r.Manifest, r.Signer = m, by

	v := verifier{layout: l, left: m.LeavesOut, want: map[string]Entry{}, parts: map[string]bool{},
		digits: map[string]int{}, report: &r}
	v.readParts(fsys, m)
	if err := v.walk(ctx, fsys); err != nil {
		return r, fmt.Errorf("verifying tree: %w", err)
	}
	for name := range v.want {
		problem(rule.ManifestMissing, name, ProblemMissing, "")
	}
	slices.Sort(r.LeftOut)
	slices.SortFunc(r.Problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return r, nil
}

type verifier struct {
	layout Layout
	left   []LeftOut
	parts  map[string]bool // path of each part the head names: whether it is good
	digits map[string]int  // of each directory's buckets

	mu     sync.Mutex // guards what follows
	want   map[string]Entry
	report *Report
}

func (v *verifier) readParts(fsys fs.FS, m Manifest) {
	for _, ref := range m.Parts {
		v.digits[ref.Directory] = BucketDigits(ref.Bucket)
		entries, err := ReadPart(fsys, v.layout, ref)
		v.parts[ref.Path] = err == nil
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.problem(rule.ManifestPart, ref.Path, ProblemMissing, "")
		case err != nil:
			v.problem(rule.ManifestPart, ref.Path, ProblemChanged, err.Error())
		}
		for _, e := range entries {
			v.want[e.Path] = e
		}
	}
}

func (v *verifier) problem(broken rule.Rule, path, kind, detail string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Problems = append(v.report.Problems, Problem{path, kind, detail, broken})
}

// walk looks at every file of the tree and takes those it finds out of want.
func (v *verifier) walk(ctx context.Context, fsys fs.FS) error {
	return HashFiles(ctx, fsys, func(send func(string) bool) error {
		return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				if name != "." && IsLeftOut(v.left, name+"/") {
					v.report.LeftOut = append(v.report.LeftOut, name+"/")
					return fs.SkipDir
				}
				if name != "." && IsLeftOut(v.left, name) {
					v.problem(rule.FileKind, name, ProblemChanged, "not a regular file")
				}
				return nil
			case IsLeftOut(v.left, name) && !d.Type().IsRegular():
				v.problem(rule.FileKind, name, ProblemChanged, "not a regular file")
				return nil
			case IsLeftOut(v.left, name):
				v.report.LeftOut = append(v.report.LeftOut, name)
				return nil
			case v.layout.IsPart(name):
				if _, known := v.parts[name]; !known {
					v.problem(rule.ManifestPart, name, ProblemAdded, "no part of the manifest")
				}
				return nil
			case !utf8.ValidString(name):
				v.problem(rule.ManifestAdded, name, ProblemAdded, "its name is not UTF-8")
				return nil
			}
			want, signed := v.expects(name)
			switch {
			case !signed && v.underBadPart(name):
			case !signed:
				v.problem(rule.ManifestAdded, name, ProblemAdded, "")
			case !d.Type().IsRegular():
				v.take(name)
				v.problem(rule.FileKind, name, ProblemChanged, "not a regular file")
			case !v.sized(d, want):
			default:
				if !send(name) {
					return fs.SkipAll
				}
			}
			return nil
		})
	}, v.found)
}

func (v *verifier) expects(name string) (Entry, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.want[name]
	return e, ok
}

// sized reports whether a file has the size that was signed, so that one that
// has another, and may be without end, is not read. A size that cannot be told
// is left to whoever reads the file.
func (v *verifier) sized(d fs.DirEntry, want Entry) bool {
	info, err := d.Info()
	if err != nil || info.Size() == want.Size {
		return true
	}
	v.take(want.Path)
	v.problem(rule.ManifestChanged, want.Path, ProblemChanged,
		fmt.Sprintf("it has %d bytes, and %d were signed", info.Size(), want.Size))
	return false
}

func (v *verifier) take(name string) Entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.want[name]
	delete(v.want, name)
	return e
}

// found judges one file that was hashed.
func (v *verifier) found(name string, size int64, sum Digest, err error) error {
	want := v.take(name)
	switch {
	case err != nil:
		v.problem(rule.ManifestChanged, name, ProblemChanged, "it cannot be read: "+err.Error())
	case sum != want.SHA256 || size != want.Size:
		v.problem(rule.ManifestChanged, name, ProblemChanged, "")
	default:
		v.mu.Lock()
		v.report.Files++
		v.mu.Unlock()
	}
	return nil
}

// underBadPart reports whether a file would stand in a part that is itself
// changed or missing, so that nothing can be said about it.
func (v *verifier) underBadPart(name string) bool {
	dir := TopDirectory(name)
	digits, ok := v.digits[dir]
	if !ok {
		return false
	}
	good, known := v.parts[v.layout.PartPath(dir, bucketOf(name, digits))]
	return known && !good
}

// HashFiles hashes the files that list sends, on all cores, and gives each
// result to take, from several goroutines. The first error ends it.
func HashFiles(ctx context.Context, fsys fs.FS, list func(send func(string) bool) error,
	take func(string, int64, Digest, error) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	names := make(chan string, 256)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			buf := make([]byte, 64<<10)
			for name := range names {
				if ctx.Err() != nil {
					continue // drain
				}
				size, sum, err := hashFile(fsys, name, buf)
				if err := take(name, size, sum, err); err != nil {
					cancel(err)
				}
			}
		})
	}
	err := list(func(name string) bool {
		select {
		case names <- name:
			return true
		case <-ctx.Done():
			return false
		}
	})
	close(names)
	wg.Wait()
	return errors.Join(err, context.Cause(ctx))
}

func hashFile(fsys fs.FS, name string, buf []byte) (int64, Digest, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, Digest{}, err
	}
	defer f.Close()
	h := sha256.New()
	// The hash is wrapped because io.CopyBuffer would leave buf to WriterTo.
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf)
	if err != nil {
		return 0, Digest{}, fmt.Errorf("hashing %s: %w", name, err)
	}
	return n, Digest(h.Sum(nil)), nil
}
