package gitpack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrTree is returned for names that cannot stand together in a tree.
var ErrTree = errors.New("not a tree of files")

// Tree is a folder of a repository in the making. The zero value is an empty one. It remembers what
// has been encoded and not changed since.
type Tree struct {
	entries map[string]object.TreeEntry
	folders map[string]*Tree
	hash    Hash // zero if it has to be encoded
}

func (t *Tree) make() {
	if t.entries == nil {
		t.entries, t.folders = make(map[string]object.TreeEntry), make(map[string]*Tree)
	}
	t.hash = plumbing.ZeroHash
}

// Put puts an entry of any mode directly into the folder, whatever was there.
func (t *Tree) Put(e object.TreeEntry) {
	t.make()
	t.entries[e.Name] = e
}

// Hang puts a folder directly into the folder. It is not to be changed by itself any more.
func (t *Tree) Hang(name string, folder *Tree) {
	t.make()
	t.folders[name] = folder
}

// Set puts a regular file at a path, making folders as needed, or another in its place.
func (t *Tree) Set(path string, hash Hash) error {
	for at := path; ; {
		dir, rest, deep := strings.Cut(at, "/")
		t.make()
		_, isFile := t.entries[dir]
		if isFile && deep || !deep && t.folders[dir] != nil {
			return fmt.Errorf("%w: in %s, %s is both a file and a folder", ErrTree, path, dir)
		}
		if dir == "" || strings.IndexByte(dir, 0) >= 0 {
			return fmt.Errorf("%w: %q", ErrTree, path)
		}
		if !deep {
			t.entries[dir] = object.TreeEntry{Name: dir, Mode: filemode.Regular, Hash: hash}
			return nil
		}
		if t.folders[dir] == nil {
			t.folders[dir] = &Tree{}
		}
		t, at = t.folders[dir], rest
	}
}

// Remove takes a file away, if it is there.
func (t *Tree) Remove(path string) {
	for {
		dir, rest, deep := strings.Cut(path, "/")
		t.hash = plumbing.ZeroHash
		if !deep {
			delete(t.entries, dir)
			return
		}
		if t.folders[dir] == nil {
			return
		}
		t, path = t.folders[dir], rest
	}
}

// emptyTree is the name of the tree without entries.
var emptyTree = Sum(plumbing.TreeObject, nil)

// Encode names every folder that changed since the last time and hands it to take, deepest first.
// It returns the name of the tree. A folder without files is left out, as git knows none.
func (t *Tree) Encode(take func(Object)) Hash {
	if t.hash != plumbing.ZeroHash {
		return t.hash
	}
	entries := slices.Collect(maps.Values(t.entries))
	for _, name := range slices.Sorted(maps.Keys(t.folders)) {
		if hash := t.folders[name].Encode(take); hash != emptyTree {
			entries = append(entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
		}
	}
	// Git sorts folders as if their names ended in a slash.
	sortKey := func(e object.TreeEntry) string {
		if e.Mode == filemode.Dir {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(entries, func(x, y object.TreeEntry) int { return cmp.Compare(sortKey(x), sortKey(y)) })
	var body []byte
	for _, e := range entries {
		body = strconv.AppendUint(body, uint64(e.Mode), 8)
		body = append(append(append(body, ' '), e.Name...), 0)
		body = append(body, e.Hash[:]...)
	}
	t.hash = Sum(plumbing.TreeObject, body)
	if t.hash != emptyTree {
		take(Object{Kind: plumbing.TreeObject, Hash: t.hash, Body: body})
	}
	return t.hash
}
