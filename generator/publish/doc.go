// Package publish brings a published tree to where others read it: as a signed commit into a git
// repository, or as objects into a bucket. Both look for private text in every file first. It also
// has the writer of git's objects in bulk, without a work tree and without a file for each object,
// which the record's repository is made with: what is written with it is a function of its input,
// so that equal objects give equal packs.
//
//	w, files := publish.NewWriter(), publish.Files{}
//	files.Set("rounds/1/header.json", w.Body(raw))
//	tree, err := w.Tree(files)
//	commit, err := w.Commit(&object.Commit{TreeHash: tree, …}, signer)
//	name, err := w.WritePack("corpus.git/objects/pack")
package publish

import (
	"errors"
	"io/fs"
	"runtime"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// ErrInput is wrapped by what is wrong with an input.
var ErrInput = errors.New("incomplete input of a publication")

// Attributes is a .gitattributes by which no git changes the ends of lines, as Git for Windows does
// (core.autocrlf): what is signed is bytes.
const Attributes = "* -text\n"

// observations reads those of a record's folder. Nil holds none.
func observations(fsys fs.FS, ring attest.Ring) ([]record.Observation, error) {
	if fsys == nil {
		return nil, nil
	}
	return record.ReadObservations(fsys, ring)
}

// workers is how many files are read at once, one a processor for 0.
func workers(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
