package publish

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// TempPrefix begins the names of files that a pack in the making has. What an interrupted WritePack
// left can be removed.
const TempPrefix = "tmp_"

// pack stands for the storage out of which a pack is encoded: an encoder without deltas asks for
// whole objects and nothing else.
type pack struct {
	storer.EncodedObjectStorer
	objects map[Hash]plumbing.EncodedObject
}

func (p pack) EncodedObject(_ plumbing.ObjectType, h Hash) (plumbing.EncodedObject, error) {
	return p.objects[h], nil
}

// WritePack stores what is pending as one pack with its index, in their order, and returns its name
// without extension. The index comes last: a pack without one is not seen by git. Both are on disk
// when it returns, which a writer of go-git's storage does not promise.
func (w *Writer) WritePack(dir string) (name string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing a pack: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	from := pack{objects: make(map[Hash]plumbing.EncodedObject)}
	hashes := make([]Hash, len(w.pending))
	for i, o := range w.pending {
		hashes[i] = o.Hash()
		from.objects[o.Hash()] = o
	}
	body, err := os.CreateTemp(dir, TempPrefix+"pack_*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	buffered := bufio.NewWriterSize(body, 1<<20)
	sum, err := packfile.NewEncoder(buffered, from, false).Encode(hashes, 0)
	if err = errors.Join(err, buffered.Flush()); err != nil {
		return "", errors.Join(err, os.Remove(body.Name()))
	}
	name = "pack-" + sum.String()
	if err := settle(body, filepath.Join(dir, name+".pack")); err != nil {
		return "", err
	}
	index, err := os.CreateTemp(dir, TempPrefix+"idx_*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	if err := encodeIndex(body, index); err != nil {
		return "", errors.Join(err, os.Remove(index.Name()))
	}
	w.pending = nil
	return name, settle(index, filepath.Join(dir, name+".idx"))
}

// encodeIndex reads a pack and writes its index.
func encodeIndex(body io.ReadSeeker, to io.Writer) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	entries := new(idxfile.Writer)
	parser, err := packfile.NewParser(packfile.NewScanner(body), entries)
	if err != nil {
		return err
	}
	if _, err := parser.Parse(); err != nil {
		return err
	}
	index, err := entries.Index()
	if err != nil {
		return err
	}
	_, err = idxfile.NewEncoder(to).Encode(index)
	return err
}

// settle gives a finished file its name.
func settle(f *os.File, name string) error {
	err := errors.Join(f.Chmod(0o444), f.Sync())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
