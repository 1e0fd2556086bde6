// Package gitpack makes git's objects in bulk: trees, signed commits and packs, without a work tree
// and without a file for each object. What is written with it is a function of its input, so that
// equal objects give equal packs.
//
//	tree := new(gitpack.Tree)
//	err := tree.Set("rounds/1/header.json", hash)
//	root := tree.Encode(take)
//	commit, err := gitpack.Commit(&object.Commit{TreeHash: root, …}, signer)
//	name, err := gitpack.WritePack(ctx, "corpus.git/objects/pack", objects, gitpack.Options{})
package gitpack

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Hash names an object.
type Hash = plumbing.Hash

// Signer signs the bytes of a commit and returns the armoured signature that goes into it, an SSH
// signature in the namespace git.
type Signer = git.Signer

// ErrChanged is returned when a file is not any more what it was when it was hashed.
var ErrChanged = errors.New("a file changed while it was stored")

// Object is an object to be stored. A blob is read again from its file when its turn comes, so that
// memory does not follow the size of the tree.
type Object struct {
	Kind plumbing.ObjectType
	Hash Hash
	Body []byte // nil: read from File
	File string
	// Read reads File, nil for a file on disk.
	Read func(file string) ([]byte, error)
}

// Bytes returns the object's body and makes sure that it is still the one that was hashed.
func (o Object) Bytes() ([]byte, error) {
	if o.Body != nil {
		return o.Body, nil
	}
	read := o.Read
	if read == nil {
		read = os.ReadFile
	}
	b, err := read(o.File)
	if err != nil {
		return nil, fmt.Errorf("reading a file to store: %w", err)
	}
	if Sum(o.Kind, b) != o.Hash {
		return nil, fmt.Errorf("%w: %s; hint: try again", ErrChanged, o.File)
	}
	return b, nil
}

// Sum names an object: SHA-1 over its kind, size and body.
func Sum(kind plumbing.ObjectType, body []byte) Hash {
	h := sha1.New()
	h.Write(kind.Bytes())
	h.Write([]byte{' '})
	h.Write(strconv.AppendInt(nil, int64(len(body)), 10))
	h.Write([]byte{0})
	h.Write(body)
	return Hash(h.Sum(nil))
}

// Commit encodes and signs a commit.
func Commit(c *object.Commit, signer Signer) (Object, error) {
	plain := &plumbing.MemoryObject{}
	if err := c.EncodeWithoutSignature(plain); err != nil {
		return Object{}, fmt.Errorf("encoding the commit: %w", err)
	}
	r, err := plain.Reader()
	if err != nil {
		return Object{}, fmt.Errorf("encoding the commit: %w", err)
	}
	signature, err := signer.Sign(r)
	if err != nil {
		return Object{}, fmt.Errorf("signing the commit: %w", err)
	}
	c.PGPSignature = string(signature)
	signed := &plumbing.MemoryObject{}
	if err := c.Encode(signed); err != nil {
		return Object{}, fmt.Errorf("encoding the commit: %w", err)
	}
	if r, err = signed.Reader(); err != nil {
		return Object{}, fmt.Errorf("encoding the commit: %w", err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return Object{}, fmt.Errorf("encoding the commit: %w", err)
	}
	return Object{Kind: plumbing.CommitObject, Hash: Sum(plumbing.CommitObject, body), Body: body}, nil
}
