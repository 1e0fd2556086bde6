package bulk

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// The files that Write makes beside those of weeks and years.
const (
	fileJSON     = "dictionary.json"
	fileMarkdown = "dictionary.md"
	fileDigests  = "digests.json"
)

// DigestsFormat names the format of Digests.
const DigestsFormat = "store-bulk/v1"

// State says of which record the files were made.
type State struct {
	Format  string        `json:"format"` // DigestsFormat
	Origin  string        `json:"origin"`
	Rounds  int64         `json:"rounds"`
	Week    string        `json:"week"`     // of the last round
	TakenAt string        `json:"taken_at"` // of the last round
	Round   attest.Digest `json:"round"`    // digest of the last round, which by the chain names all before it
	Rows    int64         `json:"rows"`
}

// Digests is the file digests.json: what the others are.
type Digests struct {
	State
	Files []File `json:"files"` // sorted by path
}

// File is one of the bulk files.
type File struct {
	Path   string        `json:"path"` // in the folder
	SHA256 attest.Digest `json:"sha256"`
	Bytes  int64         `json:"bytes"`
	Rows   int64         `json:"rows,omitzero"`
	Round  attest.Digest `json:"round,omitzero"` // digest of the last round that it has something of
}

// Report says what Write found or made.
type Report struct {
	Digests
	// Written are the files that are new or changed, by path; none if all were kept.
	Written []string
	// Head is the entry of digests.json itself.
	Head File
}

// Write brings the bulk files in dir to the state of rec, which was opened of fsys. Files of rounds
// that they had before stay as they are, so that a week costs what it has itself, and its year's
// database. Every file is replaced as a whole, digests.json last. Only one Write may work on a
// folder at a time; what else is in the folder stays, but for the files of an earlier Write.
func Write(ctx context.Context, fsys fs.FS, rec *record.Record, dir string) (_ Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the bulk files: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Report{}, err
	}
	held := readDigests(dir)
	w := writer{rec: rec, dir: dir, held: held}
	if err := w.plan(); err != nil {
		return Report{}, err
	}
	if r, ok := w.kept(); ok {
		return r, nil
	}
	leftovers, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil {
		return Report{}, err
	}
	for _, l := range leftovers {
		if err := os.RemoveAll(l); err != nil {
			return Report{}, err
		}
	}
	if w.work, err = os.MkdirTemp(dir, workPrefix); err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(w.work)) }()
	if err := w.make(ctx); err != nil {
		return Report{}, err
	}
	return w.place()
}

const workPrefix = ".making-"

// writer is one Write.
type writer struct {
	rec   *record.Record
	dir   string
	held  Digests
	work  string // folder of files in the making
	next  Digests
	json  []byte // of the dictionary
	parts []part // by weeks and years
	files []File // of next, in the making
}

// readDigests reads what an earlier Write left. Without it, or with one that cannot be read,
// nothing is kept.
func readDigests(dir string) Digests {
	raw, err := os.ReadFile(filepath.Join(dir, fileDigests))
	if err != nil {
		return Digests{}
	}
	var d Digests
	if err := json.Unmarshal(raw, &d, json.RejectUnknownMembers(true)); err != nil || d.Format != DigestsFormat {
		return Digests{}
	}
	d.Files = slices.DeleteFunc(d.Files, func(f File) bool {
		return f.Path != filepath.Base(f.Path) ||
			strings.HasPrefix(f.Path, ".")
	})
	return d
}

// plan says of which record the files will be, and which there will be.
func (w *writer) plan() error {
	w.next.State = State{Format: DigestsFormat}
	weeks := make(map[string]bool)
	for _, r := range w.rec.Rounds() {
		if weeks[r.Week] {
			return fmt.Errorf("two rounds of week %s", r.Week)
		}
		weeks[r.Week] = true
		w.next.Origin, w.next.Week, w.next.TakenAt, w.next.Round = r.Origin, r.Week, r.TakenAt, r.Digest
		w.next.Rounds++
		w.next.Rows += r.Rows
	}
	w.parts = parts(w.rec.Rounds())
	var err error
	w.json, err = dictionary().json()
	return err
}

// holds returns the entry of a file that stands in the folder as digests.json says.
func (w *writer) holds(path string) (File, bool) {
	i := slices.IndexFunc(w.held.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	f := w.held.Files[i]
	now, err := entry(filepath.Join(w.dir, path))
	return f, err == nil && now.SHA256 == f.SHA256 && now.Bytes == f.Bytes
}

// kept reports what stands in the folder if it is of this record and was made with these tables.
func (w *writer) kept() (Report, bool) {
	if w.held.State != w.next.State || len(w.held.Files) != len(w.parts)+2 || !w.sameColumns() {
		return Report{}, false
	}
	for _, f := range w.held.Files {
		if _, ok := w.holds(f.Path); !ok {
			return Report{}, false
		}
	}
	head, err := entry(filepath.Join(w.dir, fileDigests))
	return Report{Digests: w.held, Head: head}, err == nil
}

// sameColumns reports whether what stands in the folder has the columns and tables of today.
func (w *writer) sameColumns() bool {
	f, ok := w.holds(fileJSON)
	return ok && f.SHA256 == sha256.Sum256(w.json)
}

// entry digests a file.
func entry(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return File{Path: filepath.Base(name), SHA256: attest.Digest(sum.Sum(nil)), Bytes: n}, err
}

// sink is a file in the making.
type sink struct {
	file *os.File
	buf  *bufio.Writer
	sum  hash.Hash
	n    int64
}

func (w *writer) create(path string) (*sink, error) {
	f, err := os.Create(filepath.Join(w.work, path))
	if err != nil {
		return nil, err
	}
	s := &sink{file: f, sum: sha256.New()}
	s.buf = bufio.NewWriterSize(f, 256<<10)
	return s, nil
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.buf.Write(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	return n, err
}

func (s *sink) close() error { return errors.Join(s.buf.Flush(), s.file.Close()) }

// entry is that of the file once it is closed.
func (s *sink) entry() File {
	return File{Path: filepath.Base(s.file.Name()), SHA256: attest.Digest(s.sum.Sum(nil)), Bytes: s.n}
}

// make writes every file into the work folder, but for those that are kept.
func (w *writer) make(ctx context.Context) (err error) {
	same := w.sameColumns()
	for i := range w.parts {
		p := &w.parts[i]
		if f, ok := w.holds(p.path); ok && f.Round == p.last().Digest && (same || !p.kind.columns) {
			w.files = append(w.files, f)
			p.kept = true
		}
	}
	defer func() {
		for _, p := range w.parts {
			if p.open != nil {
				err = errors.Join(err, p.open.close())
			}
		}
	}()
	for _, round := range w.rec.Rounds() {
		if err := w.round(ctx, round); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		path string
		body []byte
	}{{fileJSON, w.json}, {fileMarkdown, dictionary().markdown()}} {
		out, err := w.create(f.path)
		if err != nil {
			return err
		}
		_, err = out.Write(f.body)
		if err := errors.Join(err, out.close()); err != nil {
			return err
		}
		w.files = append(w.files, out.entry())
	}
	return nil
}

// round adds a round's rows to every file that is made anew and has them.
func (w *writer) round(ctx context.Context, round record.Round) error {
	var to []*part
	for i := range w.parts {
		p := &w.parts[i]
		if p.kept || !slices.ContainsFunc(p.rounds, func(r record.Round) bool { return r.Sequence == round.Sequence }) {
			continue
		}
		if p.open == nil {
			var err error
			if p.open, err = p.kind.create(w, p); err != nil {
				return err
			}
		}
		to = append(to, p)
	}
	if len(to) == 0 {
		return nil
	}
	values := make([]any, len(columns))
	for row, err := range w.rec.Rows(round.Sequence) {
		if err == nil {
			err = ctx.Err()
		}
		for i := 0; i < len(columns) && err == nil; i++ {
			values[i], err = columns[i].value(&row)
		}
		for i := 0; i < len(to) && err == nil; i++ {
			err = to[i].open.add(&row, values)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range to {
		if p.last().Sequence != round.Sequence {
			continue
		}
		err := p.open.finish()
		if err = errors.Join(err, p.open.close()); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		p.open = nil
		f, err := entry(filepath.Join(w.work, p.path))
		if err != nil {
			return err
		}
		f.Rows, f.Round = p.rows(), round.Digest
		w.files = append(w.files, f)
	}
	return nil
}

// place removes what an earlier state of the folder had and this one has not, and moves what was
// made into the folder, digests.json last.
func (w *writer) place() (Report, error) {
	slices.SortFunc(w.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	w.next.Files = w.files
	raw, err := attest.Canonical(w.next)
	if err != nil {
		return Report{}, err
	}
	out, err := w.create(fileDigests)
	if err != nil {
		return Report{}, err
	}
	_, err = out.Write(append(raw, '\n'))
	if err := errors.Join(err, out.close()); err != nil {
		return Report{}, err
	}
	r := Report{Digests: w.next, Head: out.entry()}
	names := []string{fileDigests}
	for _, f := range w.files {
		names = append(names, f.Path)
	}
	slices.Reverse(names)
	// As long as digests.json tells of them, a crash leaves none behind.
	for _, f := range w.held.Files {
		if !slices.Contains(names, f.Path) {
			if err := os.Remove(filepath.Join(w.dir, f.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return Report{}, err
			}
		}
	}
	for _, name := range names {
		made := filepath.Join(w.work, name)
		if _, err := os.Stat(made); errors.Is(err, os.ErrNotExist) {
			continue // kept
		}
		if now, err := entry(filepath.Join(w.dir, name)); err == nil {
			if fresh, err := entry(made); err == nil && fresh == now {
				continue
			}
		}
		if err := os.Rename(made, filepath.Join(w.dir, name)); err != nil {
			return Report{}, err
		}
		r.Written = append(r.Written, name)
	}
	slices.Sort(r.Written)
	return r, nil
}
