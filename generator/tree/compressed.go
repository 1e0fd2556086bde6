package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"store.example/agentstore/corpus/attest"
)

// Compressed are the precompressed forms of published files, outside the published
// tree: <sha256>.gz and <sha256>.br, made once for each digest. A file that
// does not shrink has none.
type Compressed struct {
	root *os.Root
	// making holds the compressed forms that are being made: equal files have the same.
	making sync.Map
}

// smallest is the size below which compressing a file saves nothing worth it.
const smallest = 256

// compressor is a writer that can be used again, as making one takes longer
// than compressing a page.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

// compressedForms are made by levels whose next ones take twice as long for half a percent of the
// size.
var compressedForms = []struct {
	ext  string
	pool *sync.Pool // of compressor
}{
	{".gz", &sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(io.Discard, 8)
		if err != nil {
			panic(err) // the level is a constant
		}
		return w
	}}},
	{".br", &sync.Pool{New: func() any { return brotli.NewWriterLevel(io.Discard, 6) }}},
}

// OpenCompressed opens a folder of compressed forms, which it makes if there is none.
func OpenCompressed(dir string) (*Compressed, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of twins: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of twins: %w", err)
	}
	return &Compressed{root: root}, nil
}

// Close lets the folder go.
func (t *Compressed) Close() error { return t.root.Close() }

// compressible says which files shrink: all that we publish are text.
func compressible(name string) bool {
	switch path.Ext(name) {
	case ".png", ".jpg", ".gz", ".br", ".zip", ".ots":
		return false
	}
	return true
}

// Keep makes the compressed forms of a file unless they exist. It may be called by
// several goroutines, also for equal files.
func (t *Compressed) Keep(name string, sum attest.Digest, body []byte) error {
	if len(body) < smallest || !compressible(name) {
		return nil
	}
	for _, form := range compressedForms {
		twin := sum.String() + form.ext
		if _, err := t.root.Lstat(twin); err == nil {
			continue
		}
		var b bytes.Buffer
		w := form.pool.Get().(compressor)
		w.Reset(&b)
		_, err := w.Write(body)
		err = errors.Join(err, w.Close())
		form.pool.Put(w)
		if err != nil {
			return fmt.Errorf("compressing %s: %w", name, err)
		}
		if b.Len() >= len(body) {
			continue
		}
		if err := t.write(twin, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// KeepFile makes the compressed forms of a file that is too large for memory.
func (t *Compressed) KeepFile(name string, sum attest.Digest, size int64, f io.ReadSeeker) error {
	if size < smallest || !compressible(name) {
		return nil
	}
	for _, form := range compressedForms {
		twin := sum.String() + form.ext
		if _, err := t.root.Lstat(twin); err == nil {
			continue
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("compressing %s: %w", name, err)
		}
		err := t.make(twin, size, func(to io.Writer) error {
			w := form.pool.Get().(compressor)
			defer form.pool.Put(w)
			w.Reset(to)
			_, err := io.CopyN(w, f, size)
			return errors.Join(err, w.Close())
		})
		if err != nil {
			return fmt.Errorf("compressing %s: %w", name, err)
		}
	}
	return nil
}

// write stores one under its name only when it is whole.
func (t *Compressed) write(twin string, body []byte) error {
	return t.make(twin, int64(len(body))+1, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

// make stores what fill writes as one, only when it is whole and smaller than
// the file, which has a size.
func (t *Compressed) make(twin string, size int64, fill func(io.Writer) error) error {
	if _, under := t.making.LoadOrStore(twin, nil); under {
		return nil
	}
	defer t.making.Delete(twin)
	temp := "." + twin + ".new"
	create := func() (*os.File, error) { return t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) }
	f, err := create()
	if errors.Is(err, fs.ErrExist) { // a build that was killed may have left one
		if err = t.root.Remove(temp); err == nil {
			f, err = create()
		}
	}
	if err != nil {
		return fmt.Errorf("writing twin: %w", err)
	}
	err = fill(f)
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
	case info.Size() >= size:
		return t.root.Remove(temp)
	default:
		err = t.root.Rename(temp, twin)
	}
	if err != nil {
		return fmt.Errorf("writing twin: %w", errors.Join(err, t.root.Remove(temp)))
	}
	return nil
}

// Drop removes the compressed forms of a digest that is published no more.
func (t *Compressed) Drop(sum attest.Digest) error {
	for _, form := range compressedForms {
		if err := t.root.Remove(sum.String() + form.ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing twin: %w", err)
		}
	}
	return nil
}

// isCompressed says which files of the folder are compressed forms, or were going to be. What else
// is there is somebody's, and stays.
var isCompressed = regexp.MustCompile(`^(?:[0-9a-f]{64}\.(?:gz|br)|\.[0-9a-f]{64}\.(?:gz|br)\.new)$`)

// Sweep removes all compressed forms but those of published files.
func (t *Compressed) Sweep(published map[attest.Digest]bool) error {
	entries, err := fs.ReadDir(t.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("listing twins: %w", err)
	}
	wanted := make(map[string]bool)
	for sum := range published {
		for _, form := range compressedForms {
			wanted[sum.String()+form.ext] = true
		}
	}
	for _, e := range entries {
		if name := e.Name(); isCompressed.MatchString(name) && !wanted[name] {
			if err := t.root.RemoveAll(name); err != nil {
				return fmt.Errorf("removing twin: %w", err)
			}
		}
	}
	return nil
}
