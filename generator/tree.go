package generator

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"

	"store.example/agentstore/corpus/attest"
)

// tree is the folder that is written to. Nothing leaves it, whatever a name or
// a link inside it says. A file is never changed where it stands: it is made
// anew, so that another tree may share it by a hard link.
type tree struct {
	root *os.Root
	// fresh says that the folder was empty, so that there is nothing to sweep.
	fresh bool

	mu   sync.Mutex
	made map[string]bool // folders known to exist
}

func openTree(dir string) (*tree, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the published tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the published tree: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listing the published tree: %w", err), root.Close())
	}
	return &tree{root: root, fresh: len(entries) == 0, made: map[string]bool{".": true}}, nil
}

func (t *tree) close() error { return t.root.Close() }

func (t *tree) fsys() fs.FS { return t.root.FS() }

// place makes a file hold body and reports whether it did not before.
func (t *tree) place(name string, body []byte) (changed bool, err error) {
	if err := t.folder(path.Dir(name)); err != nil {
		return false, err
	}
	err = t.create(name, body)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("writing %s: %w", name, err)
	}
	same, err := t.holds(name, int64(len(body)), bytes.NewReader(body))
	if err != nil || same {
		return false, err
	}
	temp, err := t.beside(name)
	if err != nil {
		return false, err
	}
	if err := t.create(temp, body); err != nil {
		return false, fmt.Errorf("writing %s: %w", temp, err)
	}
	if err := t.root.Rename(temp, name); err != nil {
		return false, fmt.Errorf("writing %s: %w", name, err)
	}
	return true, nil
}

// beside returns the name under which a file is made before it takes its place,
// and makes it free: one that no output can have, so that two writers of one
// tree meet in O_EXCL instead of in each other's bytes.
func (t *tree) beside(name string) (string, error) {
	temp := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	if err := t.root.Remove(temp); err != nil && !isMissing(err) {
		return "", fmt.Errorf("removing %s: %w", temp, err)
	}
	return temp, nil
}

// draft is a file that is written piece by piece beside its place.
type draft struct {
	*os.File
	t          *tree
	name, temp string
}

// begin opens a draft of a file. It must be ended by settle or drop.
func (t *tree) begin(name string) (*draft, error) {
	if err := t.folder(path.Dir(name)); err != nil {
		return nil, err
	}
	temp, err := t.beside(name)
	if err != nil {
		return nil, err
	}
	f, err := t.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", temp, err)
	}
	return &draft{File: f, t: t, name: name, temp: temp}, nil
}

// settle puts a draft of a size in its place and reports whether that changed
// anything. The draft stays open for reading.
func (d *draft) settle(size int64) (changed bool, err error) {
	if _, err := d.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("reading %s: %w", d.temp, err)
	}
	same, err := d.t.holds(d.name, size, d.File)
	if err != nil && !isMissing(err) {
		return false, err
	}
	if same {
		return false, d.t.root.Remove(d.temp)
	}
	if err := d.t.root.Rename(d.temp, d.name); err != nil {
		return false, fmt.Errorf("writing %s: %w", d.name, err)
	}
	return true, nil
}

// drop removes a draft.
func (d *draft) drop() error { return d.t.root.Remove(d.temp) }

func (t *tree) create(name string, body []byte) error {
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(body); err != nil {
		// A short file must not pass for the whole one.
		return errors.Join(err, f.Close(), t.root.Remove(name))
	}
	return f.Close()
}

// holds reports whether the file is a regular one with exactly the bytes of
// want, which are of a size. A folder in its place is removed.
func (t *tree) holds(name string, size int64, want io.Reader) (bool, error) {
	info, err := t.root.Lstat(name)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	if info.IsDir() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.made = map[string]bool{".": true}
		if err := t.root.RemoveAll(name); err != nil {
			return false, fmt.Errorf("clearing the folder at %s: %w", name, err)
		}
		return false, nil
	}
	if !info.Mode().IsRegular() || info.Size() != size || info.Mode().Perm() != 0o644 {
		return false, nil
	}
	f, err := t.root.Open(name)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	same, err := equalReaders(f, want, size)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	return same, nil
}

// equalReaders compares size bytes of two readers.
func equalReaders(a, b io.Reader, size int64) (bool, error) {
	piece := min(size, 64<<10)
	x, y := make([]byte, piece), make([]byte, piece)
	for size > 0 {
		n := min(size, piece)
		if _, err := io.ReadFull(a, x[:n]); err != nil {
			return false, err
		}
		if _, err := io.ReadFull(b, y[:n]); err != nil {
			return false, err
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
		size -= n
	}
	return true, nil
}

// folder makes a folder and those above it. What else is in its way is removed: the table says what
// stands where.
func (t *tree) folder(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var missing []string
	for ; !t.made[dir]; dir = path.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		err := t.root.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			var info fs.FileInfo
			if info, err = t.root.Lstat(dir); err == nil && !info.IsDir() {
				err = errors.Join(t.root.Remove(dir), t.root.Mkdir(dir, 0o755))
			}
		}
		if err != nil {
			return fmt.Errorf("making folder %s: %w", dir, err)
		}
		t.made[dir] = true
	}
	return nil
}

// remove takes a file away, and folders that it leaves empty.
func (t *tree) remove(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.root.Remove(name); err != nil && !isMissing(err) {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if t.root.Remove(dir) != nil {
			break // not empty, or gone already
		}
		delete(t.made, dir)
	}
	return nil
}

// sweep removes every file that is not wanted, and every folder without files, and counts what it
// removed.
func (t *tree) sweep(wanted func(name string) bool) (deleted int, err error) {
	var stray []string
	empty := make(map[string]bool) // folders in which nothing was found yet
	err = fs.WalkDir(t.fsys(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		delete(empty, path.Dir(name))
		if d.IsDir() {
			empty[name] = name != "."
		} else if !wanted(name) {
			stray = append(stray, name)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("listing the published tree: %w", err)
	}
	for name, is := range empty {
		if is {
			stray = append(stray, name)
		}
	}
	for _, name := range stray {
		if err := t.remove(name); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// headDigest is the digest of the tree's signed manifest, zero without one.
func (t *tree) headDigest() attest.Digest {
	b, err := t.root.ReadFile(attest.PublicLayout().Head())
	if err != nil {
		return attest.Digest{}
	}
	return sha256.Sum256(b)
}
