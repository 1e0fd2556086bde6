package generator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/extsort"
)

// sweep removes every file that a manifest, which stands in the tree, does not
// cover, and every folder without files, and counts the files. The lists of both
// are sorted on disk and compared.
func (t *tree) sweep(m attest.Manifest) (deleted int, err error) {
	wanted, found := extsort.New(spoolMemory), extsort.New(spoolMemory)
	defer func() { err = errors.Join(err, wanted.Close(), found.Close()) }()
	layout := attest.PublicLayout()
	// Others' signatures are not ours to remove.
	for _, name := range []string{layout.Head(), layout.Cosignatures()} {
		if err := wanted.Add([]byte(name), nil); err != nil {
			return 0, err
		}
	}
	for _, p := range m.Parts {
		if err := wanted.Add([]byte(p.Path), nil); err != nil {
			return 0, err
		}
	}
	for e, err := range m.Entries(t.fsys(), layout) {
		if err == nil {
			err = wanted.Add([]byte(e.Path), nil)
		}
		if err != nil {
			return 0, err
		}
	}
	if _, err := t.list(".", found); err != nil {
		return 0, fmt.Errorf("listing the published tree: %w", err)
	}
	err = without(found, wanted, func(name []byte) error {
		deleted++
		return t.remove(string(name))
	})
	return deleted, err
}

// list adds the files below a folder, and the folders that hold none, to a
// sorter. It reports whether the folder holds anything.
func (t *tree) list(dir string, to *extsort.Sorter) (any bool, err error) {
	f, err := t.root.Open(dir)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var below []string
	for {
		const some = 1024
		entries, err := f.ReadDir(some)
		for _, e := range entries {
			any = true
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				below = append(below, name)
				continue
			}
			if err := to.Add([]byte(name), nil); err != nil {
				return any, err
			}
		}
		// A folder of many folders is gone through piece by piece.
		for _, name := range below {
			holds, err := t.list(name, to)
			if err != nil {
				return any, err
			}
			if !holds {
				if err := to.Add([]byte(name), nil); err != nil {
					return any, err
				}
			}
		}
		below = below[:0]
		if errors.Is(err, io.EOF) {
			return any, nil
		}
		if err != nil {
			return any, err
		}
	}
}

// without calls do with each key of a that is not in b, once.
func without(a, b *extsort.Sorter, do func(key []byte) error) error {
	next, stop := iter.Pull2(b.Sorted())
	defer stop()
	other, err, ok := next()
	var last []byte
	first := true
	for r, failed := range a.Sorted() {
		if failed != nil {
			return failed
		}
		if !first && bytes.Equal(r.Key, last) {
			continue
		}
		first, last = false, append(last[:0], r.Key...)
		for ok && err == nil && bytes.Compare(other.Key, last) < 0 {
			other, err, ok = next()
		}
		if err != nil {
			return err
		}
		if ok && bytes.Equal(other.Key, last) {
			continue
		}
		if err := do(last); err != nil {
			return err
		}
	}
	return err
}
