package bulk

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// The files that Write makes, and how the delta of a week is named.
const (
	fileRows     = "rows.jsonl.gz"
	fileCSV      = "rows.csv.gz"
	fileSQLite   = "rows.sqlite"
	fileJSON     = "dictionary.json"
	fileMarkdown = "dictionary.md"
	fileDigests  = "digests.json"
)

func deltaName(week string) string { return "delta-" + week + ".jsonl.gz" }

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
	Deltas  string        `json:"deltas"` // how they and rows.jsonl.gz hang together, in words
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
	Round  attest.Digest `json:"round,omitzero"` // of a delta: digest of its round; the file never changes
}

// Report says what Write found or made.
type Report struct {
	Digests
	// Written are the files that are new or changed, by path; none if all were kept.
	Written []string
	// Head is the entry of digests.json itself.
	Head File
}

// Write brings the bulk files in dir to the state of the record. Files that are of this state stay
// as they are, deltas for ever. Every file is replaced as a whole, digests.json last. Only one
// Write may work on a folder at a time; what else is in the folder stays, but for the files of an
// earlier Write.
func Write(ctx context.Context, rec *record.Record, dir string) (_ Report, err error) {
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

// plan says of which record the files will be.
func (w *writer) plan() error {
	w.next.State = State{Format: DigestsFormat,
		Deltas: "joined in the order of their weeks, the delta files are rows.jsonl.gz byte for byte; append the new " +
			"delta to last week's file"}
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
	if w.held.State != w.next.State || len(w.held.Files) != len(w.rec.Rounds())+5 {
		return Report{}, false
	}
	if f, ok := w.holds(fileJSON); !ok || f.SHA256 != sha256.Sum256(w.json) {
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

// done closes the file and returns its entry.
func (s *sink) done() (File, error) {
	err := errors.Join(s.buf.Flush(), s.file.Close())
	return File{Path: filepath.Base(s.file.Name()), SHA256: attest.Digest(s.sum.Sum(nil)), Bytes: s.n}, err
}

// make writes every file into the work folder, but for the deltas that are kept.
func (w *writer) make(ctx context.Context) (err error) {
	db, err := createDatabase(filepath.Join(w.work, fileSQLite))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	table, err := w.createCSV()
	if err != nil {
		return err
	}
	defer table.out.file.Close() // a second time, if all went well
	whole, err := w.create(fileRows)
	if err != nil {
		return err
	}
	defer whole.file.Close()
	for _, round := range w.rec.Rounds() {
		if err := w.round(ctx, round, db, table, whole); err != nil {
			return err
		}
	}
	if err := db.finish(w.rec); err != nil {
		return err
	}
	if err := db.close(); err != nil {
		return err
	}
	for _, finish := range []func() (File, error){
		whole.done, table.done,
		func() (File, error) { return entry(filepath.Join(w.work, fileSQLite)) },
	} {
		f, err := finish()
		if err != nil {
			return err
		}
		f.Rows = w.next.Rows
		w.files = append(w.files, f)
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
		e, doneErr := out.done()
		if err := errors.Join(err, doneErr); err != nil {
			return err
		}
		w.files = append(w.files, e)
	}
	return nil
}

// round adds a round's rows to every file.
func (w *writer) round(ctx context.Context, round record.Round, db *database, table *csvFile, whole *sink) error {
	name := deltaName(round.Week)
	delta, keep := w.holds(name)
	keep = keep && delta.Round == round.Digest
	var out *sink
	var lines *gzip.Writer
	if !keep {
		var err error
		if out, err = w.create(name); err != nil {
			return err
		}
		defer out.file.Close()
		lines = gzip.NewWriter(out)
	}
	values := make([]any, len(columns))
	for row, err := range w.rec.Rows(round.Sequence) {
		if err == nil {
			err = ctx.Err()
		}
		for i := 0; i < len(columns) && err == nil; i++ {
			values[i], err = columns[i].value(&row)
		}
		if err == nil {
			err = errors.Join(db.add(values), table.add(values))
		}
		if err == nil && lines != nil {
			_, err = lines.Write(append(row.Raw[:len(row.Raw):len(row.Raw)], '\n'))
		}
		if err != nil {
			return err
		}
	}
	from := filepath.Join(w.dir, name)
	if !keep {
		if err := lines.Close(); err != nil {
			return err
		}
		var err error
		if delta, err = out.done(); err != nil {
			return err
		}
		delta.Rows, delta.Round = round.Rows, round.Digest
		from = filepath.Join(w.work, name)
	}
	w.files = append(w.files, delta)
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{whole}, f)
	return errors.Join(err, f.Close())
}

// csvFile is rows.csv.gz in the making.
type csvFile struct {
	out    *sink
	gz     *gzip.Writer
	lines  *csv.Writer
	record []string
}

func (w *writer) createCSV() (*csvFile, error) {
	out, err := w.create(fileCSV)
	if err != nil {
		return nil, err
	}
	t := &csvFile{out: out, gz: gzip.NewWriter(out)}
	t.lines = csv.NewWriter(t.gz)
	for _, c := range columns {
		t.record = append(t.record, c.name)
	}
	return t, t.lines.Write(t.record)
}

func (t *csvFile) add(values []any) error {
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			t.record[i] = ""
		case string:
			t.record[i] = v
		case []byte:
			t.record[i] = string(v)
		case int64:
			t.record[i] = strconv.FormatInt(v, 10)
		case bool:
			t.record[i] = strconv.FormatBool(v)
		default:
			return fmt.Errorf("no column has a %T", v)
		}
	}
	return t.lines.Write(t.record)
}

func (t *csvFile) done() (File, error) {
	t.lines.Flush()
	err := errors.Join(t.lines.Error(), t.gz.Close())
	f, doneErr := t.out.done()
	return f, errors.Join(err, doneErr)
}

// place moves what was made into the folder, digests.json last, and removes what an earlier state
// of the folder had and this one has not.
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
	head, doneErr := out.done()
	if err := errors.Join(err, doneErr); err != nil {
		return Report{}, err
	}
	r := Report{Digests: w.next, Head: head}
	names := []string{fileDigests}
	for _, f := range w.files {
		names = append(names, f.Path)
	}
	slices.Reverse(names)
	for _, name := range names {
		made := filepath.Join(w.work, name)
		if _, err := os.Stat(made); errors.Is(err, os.ErrNotExist) {
			continue // a delta that is kept
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
	for _, f := range w.held.Files {
		if !slices.Contains(names, f.Path) {
			if err := os.Remove(filepath.Join(w.dir, f.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return Report{}, err
			}
		}
	}
	slices.Sort(r.Written)
	return r, nil
}
