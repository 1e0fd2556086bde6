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
	"strings"
	"sync"
	"sync/atomic"

	"store.example/agentstore/corpus/attest"
)

// tree is the folder that is written to. Nothing leaves it, whatever a name or
// a link inside it says. A file is never changed where it stands: it is made
// anew, so that another tree may share it by a hard link.
type tree struct {
	root *os.Root
	dir  *os.File // the same folder
	fd   int      // of dir, for system calls
	// fresh says that the folder was empty, so that there is nothing to sweep.
	fresh bool
	// before is called once, before the first change of the tree; nil for no one.
	before  func() error
	touched atomic.Bool
	touch   sync.Mutex

	mu   sync.Mutex
	made map[string]bool     // folders known to exist, the latest of them
	tops map[string]*os.Root // open folders at the top, so that each file below need not pass through it

	// above is the folder in which a folder was made last, since many are made in one.
	above struct {
		sync.RWMutex
		name string
		root *os.Root // nil for none
	}
}

func openTree(dir string) (*tree, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the published tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the published tree: %w", err)
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the published tree: %w", err), root.Close())
	}
	_, err = self.ReadDir(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("listing the published tree: %w", err), self.Close(), root.Close())
	}
	return &tree{root: root, dir: self, fd: int(self.Fd()), fresh: err != nil, made: map[string]bool{".": true},
		tops: make(map[string]*os.Root)}, nil
}

func (t *tree) close() error {
	err := errors.Join(t.dir.Close(), t.root.Close())
	for _, top := range t.tops {
		err = errors.Join(err, top.Close())
	}
	return errors.Join(err, t.leave())
}

// near returns an open folder close above name, and name from there. The
// folder of name must exist.
func (t *tree) near(name string) (*os.Root, string, error) {
	top, rest, deep := strings.Cut(name, "/")
	if !deep {
		return t.root, name, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	root := t.tops[top]
	if root == nil {
		var err error
		if root, err = t.root.OpenRoot(top); err != nil {
			return nil, "", err
		}
		t.tops[top] = root
	}
	return root, rest, nil
}

// forget drops what is remembered of a folder that is gone.
func (t *tree) forget(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for known := range t.made {
		if known == dir || strings.HasPrefix(known, dir+"/") {
			delete(t.made, known)
		}
	}
	if top := t.tops[dir]; top != nil {
		delete(t.tops, dir)
		return errors.Join(top.Close(), t.leave())
	}
	return t.leave()
}

// leave closes the folder in which a folder was made last.
func (t *tree) leave() error {
	t.above.Lock()
	defer t.above.Unlock()
	if t.above.root == nil {
		return nil
	}
	err := t.above.root.Close()
	t.above.root = nil
	return err
}

func (t *tree) fsys() fs.FS { return t.root.FS() }

// knownFolders is how many folders are known to exist at once.
const knownFolders = 4096

// touching is called before every change.
func (t *tree) touching() error {
	if t.before == nil || t.touched.Load() {
		return nil
	}
	t.touch.Lock()
	defer t.touch.Unlock()
	if t.touched.Load() {
		return nil
	}
	if err := t.before(); err != nil {
		return err
	}
	t.touched.Store(true)
	return nil
}

// place makes a file hold body and reports whether it did not before.
func (t *tree) place(name string, body []byte) (changed bool, err error) {
	if err := t.touching(); err != nil {
		return false, err
	}
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
	if err := t.touching(); err != nil {
		return nil, err
	}
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
	if err := createBeneath(t.fd, name, body); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	root, name, err := t.near(name)
	if err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(body); err != nil {
		// A short file must not pass for the whole one.
		return errors.Join(err, f.Close(), root.Remove(name))
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
		if err := errors.Join(t.root.RemoveAll(name), t.forget(name)); err != nil {
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

// folder makes a folder and those above it. A file in its way is removed: the
// table says what stands where.
func (t *tree) folder(dir string) error {
	t.mu.Lock()
	known := t.made[dir]
	t.mu.Unlock()
	if known {
		return nil
	}
	if err := t.folder(path.Dir(dir)); err != nil {
		return err
	}
	err := t.mkdir(dir)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := t.root.Lstat(dir)
		switch {
		case statErr != nil:
			err = statErr
		case info.IsDir():
			err = nil
		default:
			err = errors.Join(t.root.Remove(dir), t.root.Mkdir(dir, 0o755))
		}
	}
	if err != nil {
		return fmt.Errorf("making folder %s: %w", dir, err)
	}
	t.mu.Lock()
	if len(t.made) >= knownFolders {
		clear(t.made)
		t.made["."] = true
	}
	t.made[dir] = true
	t.mu.Unlock()
	return nil
}

func (t *tree) mkdir(dir string) error {
	parent, name := path.Dir(dir), path.Base(dir)
	t.above.RLock()
	if t.above.root != nil && t.above.name == parent {
		defer t.above.RUnlock()
		return t.above.root.Mkdir(name, 0o755)
	}
	t.above.RUnlock()
	t.above.Lock()
	defer t.above.Unlock()
	if t.above.root == nil || t.above.name != parent {
		root, err := t.root.OpenRoot(parent)
		if err != nil {
			return err
		}
		if t.above.root != nil {
			err = t.above.root.Close()
		}
		t.above.name, t.above.root = parent, root
		if err != nil {
			return err
		}
	}
	return t.above.root.Mkdir(name, 0o755)
}

// remove takes a file away, and folders that it leaves empty.
func (t *tree) remove(name string) error {
	if err := t.touching(); err != nil {
		return err
	}
	if err := t.root.Remove(name); err != nil && !isMissing(err) {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if t.root.Remove(dir) != nil {
			break // not empty, or gone already
		}
		if err := t.forget(dir); err != nil {
			return fmt.Errorf("removing %s: %w", dir, err)
		}
	}
	return nil
}

// headDigest is the digest of the tree's signed manifest, zero without one.
func (t *tree) headDigest() attest.Digest {
	b, err := t.root.ReadFile(attest.PublicLayout().Head())
	if err != nil {
		return attest.Digest{}
	}
	return sha256.Sum256(b)
}
