package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Hash names an object.
type Hash = plumbing.Hash

// Signer signs the bytes of a commit and returns the armoured signature that goes into it, an SSH
// signature in the namespace git.
type Signer = git.Signer

// ErrChanged is returned when a file is not any more what it was when it was hashed, ErrTree for
// names that cannot stand together in a tree.
var (
	ErrChanged = errors.New("a file changed while it was stored")
	ErrTree    = errors.New("not a tree of files")
)

// Writer gathers the objects that a repository lacks, until they are stored.
type Writer struct {
	known   map[Hash]bool // stored or pending
	pending []plumbing.EncodedObject
}

// NewWriter begins with an empty repository.
func NewWriter() *Writer { return &Writer{known: make(map[Hash]bool)} }

// Pending are the objects that are to be stored, in the order in which they came.
func (w *Writer) Pending() []plumbing.EncodedObject { return w.pending }

func (w *Writer) add(o plumbing.EncodedObject) Hash {
	if !w.known[o.Hash()] {
		w.known[o.Hash()] = true
		w.pending = append(w.pending, o)
	}
	return o.Hash()
}

// Body adds a file of these bytes.
func (w *Writer) Body(body []byte) Hash {
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.BlobObject)
	_, _ = o.Write(body) // which does not fail
	return w.add(o)
}

// File adds a file of a hash and a size. It is read again when its turn comes, so that memory does
// not follow the size of the tree.
func (w *Writer) File(hash Hash, size int64, name string, read func(name string) ([]byte, error)) {
	f := &file{hash: hash, name: name, read: read}
	f.SetType(plumbing.BlobObject)
	f.SetSize(size)
	w.add(f)
}

type file struct {
	plumbing.MemoryObject // its type and size
	hash                  Hash
	name                  string
	read                  func(name string) ([]byte, error)
}

func (f *file) Hash() Hash { return f.hash }

func (f *file) Reader() (io.ReadCloser, error) {
	b, err := f.read(f.name)
	if err != nil {
		return nil, fmt.Errorf("reading a file to store: %w", err)
	}
	if plumbing.ComputeHash(plumbing.BlobObject, b) != f.hash {
		return nil, fmt.Errorf("%w: %s; hint: try again", ErrChanged, f.name)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Files are what a commit holds, by path; of an entry, mode and hash count.
type Files map[string]object.TreeEntry

// Set puts a regular file at a path.
func (f Files) Set(path string, hash Hash) {
	f[path] = object.TreeEntry{Mode: filemode.Regular, Hash: hash}
}

// List reads what the tree of a commit holds. Its objects are stored already.
func (w *Writer) List(c *object.Commit) (Files, error) {
	tree, err := c.Tree()
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", c.Hash, err)
	}
	w.known[tree.Hash] = true
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	files := make(Files)
	for {
		name, e, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading commit %s: %w", c.Hash, err)
		}
		w.known[e.Hash] = true
		if e.Mode != filemode.Dir {
			files[name] = object.TreeEntry{Mode: e.Mode, Hash: e.Hash}
		}
	}
}

// Tree adds the folders of these files, deepest first, and names the one that holds all.
func (w *Writer) Tree(files Files) (Hash, error) {
	return w.folder("", slices.Sorted(maps.Keys(files)), files)
}

// folder adds the folder at a path, which is empty or ends in a slash, with the files of these
// names, which are in order.
func (w *Writer) folder(at string, names []string, files Files) (Hash, error) {
	var tree object.Tree
	for len(names) > 0 {
		first, _, deep := strings.Cut(names[0][len(at):], "/")
		if first == "" {
			return Hash{}, fmt.Errorf("%w: %q", ErrTree, names[0])
		}
		entry, size := files[names[0]], 1
		if deep {
			if _, isFile := files[at+first]; isFile {
				return Hash{}, fmt.Errorf("%w: %s is both a file and a folder", ErrTree, at+first)
			}
			below := at + first + "/"
			size = sort.Search(len(names), func(i int) bool { return !strings.HasPrefix(names[i], below) })
			hash, err := w.folder(below, names[:size], files)
			if err != nil {
				return Hash{}, err
			}
			entry = object.TreeEntry{Mode: filemode.Dir, Hash: hash}
		}
		entry.Name = first
		tree.Entries, names = append(tree.Entries, entry), names[size:]
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	o := &plumbing.MemoryObject{}
	if err := tree.Encode(o); err != nil {
		return Hash{}, fmt.Errorf("%w: %w", ErrTree, err)
	}
	return w.add(o), nil
}

// Commit signs a commit and adds it.
func (w *Writer) Commit(c *object.Commit, signer Signer) (Hash, error) {
	plain, signed := &plumbing.MemoryObject{}, &plumbing.MemoryObject{}
	if err := c.EncodeWithoutSignature(plain); err != nil {
		return Hash{}, fmt.Errorf("encoding the commit: %w", err)
	}
	r, err := plain.Reader()
	if err != nil {
		return Hash{}, fmt.Errorf("encoding the commit: %w", err)
	}
	signature, err := signer.Sign(r)
	if err != nil {
		return Hash{}, fmt.Errorf("signing the commit: %w", err)
	}
	c.PGPSignature = string(signature)
	if err := c.Encode(signed); err != nil {
		return Hash{}, fmt.Errorf("encoding the commit: %w", err)
	}
	return w.add(signed), nil
}
