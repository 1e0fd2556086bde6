// Package tree keeps published trees on disk: one that is written to, the compressed forms of its
// files beside it, and the trees of a served site with the pointer to one of them. It knows nothing
// of what stands in the files but that a signed manifest names them.
package tree

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

// Tree is the folder that is written to. Nothing leaves it, whatever a name or
// a link inside it says. A file is never changed where it stands: it is made
// anew, so that another tree may share it by a hard link.
type Tree struct {
	Root *os.Root // for reading
	// Fresh says that the folder was empty, so that there is nothing to sweep.
	Fresh bool

	mu   sync.Mutex
	made map[string]bool // folders known to exist
}

// Open opens a folder, which it makes if there is none.
func Open(dir string) (*Tree, error) {
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
	return &Tree{Root: root, Fresh: len(entries) == 0, made: map[string]bool{".": true}}, nil
}

// Close lets the folder go.
func (t *Tree) Close() error { return t.Root.Close() }

// FS reads the tree.
func (t *Tree) FS() fs.FS { return t.Root.FS() }

// Place makes a file hold body and reports whether it did not before.
func (t *Tree) Place(name string, body []byte) (changed bool, err error) {
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
	if err := t.Root.Rename(temp, name); err != nil {
		return false, fmt.Errorf("writing %s: %w", name, err)
	}
	return true, nil
}

// beside returns the name under which a file is made before it takes its place,
// and makes it free: one that no output can have, so that two writers of one
// tree meet in O_EXCL instead of in each other's bytes.
func (t *Tree) beside(name string) (string, error) {
	temp := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	if err := t.Root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("removing %s: %w", temp, err)
	}
	return temp, nil
}

// Draft is a file that is written piece by piece beside its place.
type Draft struct {
	*os.File
	t          *Tree
	name, temp string
}

// Begin opens a draft of a file. It must be ended by Settle or Drop.
func (t *Tree) Begin(name string) (*Draft, error) {
	if err := t.folder(path.Dir(name)); err != nil {
		return nil, err
	}
	temp, err := t.beside(name)
	if err != nil {
		return nil, err
	}
	f, err := t.Root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", temp, err)
	}
	return &Draft{File: f, t: t, name: name, temp: temp}, nil
}

// Settle puts a draft of a size in its place and reports whether that changed
// anything. The draft stays open for reading.
func (d *Draft) Settle(size int64) (changed bool, err error) {
	if _, err := d.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("reading %s: %w", d.temp, err)
	}
	same, err := d.t.holds(d.name, size, d.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if same {
		return false, d.t.Root.Remove(d.temp)
	}
	if err := d.t.Root.Rename(d.temp, d.name); err != nil {
		return false, fmt.Errorf("writing %s: %w", d.name, err)
	}
	return true, nil
}

// Drop removes a draft.
func (d *Draft) Drop() error { return d.t.Root.Remove(d.temp) }

func (t *Tree) create(name string, body []byte) error {
	f, err := t.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(body); err != nil {
		// A short file must not pass for the whole one.
		return errors.Join(err, f.Close(), t.Root.Remove(name))
	}
	return f.Close()
}

// holds reports whether the file is a regular one with exactly the bytes of
// want, which are of a size. A folder in its place is removed.
func (t *Tree) holds(name string, size int64, want io.Reader) (bool, error) {
	info, err := t.Root.Lstat(name)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	if info.IsDir() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.made = map[string]bool{".": true}
		if err := t.Root.RemoveAll(name); err != nil {
			return false, fmt.Errorf("clearing the folder at %s: %w", name, err)
		}
		return false, nil
	}
	if !info.Mode().IsRegular() || info.Size() != size || info.Mode().Perm() != 0o644 {
		return false, nil
	}
	f, err := t.Root.Open(name)
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
func (t *Tree) folder(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var missing []string
	for ; !t.made[dir]; dir = path.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		err := t.Root.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			var info fs.FileInfo
			if info, err = t.Root.Lstat(dir); err == nil && !info.IsDir() {
				err = errors.Join(t.Root.Remove(dir), t.Root.Mkdir(dir, 0o755))
			}
		}
		if err != nil {
			return fmt.Errorf("making folder %s: %w", dir, err)
		}
		t.made[dir] = true
	}
	return nil
}

// Remove takes a file away, and folders that it leaves empty.
func (t *Tree) Remove(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if t.Root.Remove(dir) != nil {
			break // not empty, or gone already
		}
		delete(t.made, dir)
	}
	return nil
}

// Sweep removes every file that is not wanted, and every folder without files, and counts what it
// removed.
func (t *Tree) Sweep(wanted func(name string) bool) (deleted int, err error) {
	var stray []string
	empty := make(map[string]bool) // folders in which nothing was found yet
	err = fs.WalkDir(t.FS(), ".", func(name string, d fs.DirEntry, err error) error {
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
		if err := t.Remove(name); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// HeadDigest is the digest of the tree's signed manifest, zero without one.
func (t *Tree) HeadDigest() attest.Digest {
	b, err := t.Root.ReadFile(attest.PublicLayout().Head())
	if err != nil {
		return attest.Digest{}
	}
	return sha256.Sum256(b)
}
