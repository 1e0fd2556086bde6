package filetree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"

	"store.example/agentstore/corpus/attest"
)

// change is what a tree was told of a file. Changes wait sorted by directory,
// then by the digest of the path, which is the order of the buckets.
type change struct {
	attest.Entry
	gone bool
	dir  string
	hash attest.Digest // of the path
}

func (t *Tree) tell(c change) error {
	if err := t.layout.CheckPath(c.Path, t.left); err != nil {
		return err
	}
	var room [512]byte // most names find room here, and Add copies
	var hash attest.Digest
	key := append(append(room[:0], attest.TopDirectory(c.Path)...), 0)
	at := len(key)
	key = append(append(key, hash[:]...), c.Path...)
	hash = sha256.Sum256(key[at+len(hash):])
	copy(key[at:], hash[:])
	n := len(key)
	if !c.gone {
		key = append(binary.AppendVarint(key, c.Size), c.SHA256[:]...)
	}
	key, value := key[:n], key[n:]
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending.Add(key, value)
}

// parseChange reads what tell wrote.
func parseChange(key, value []byte) (c change, err error) {
	dir, rest, ok := bytes.Cut(key, []byte{0})
	if !ok || len(rest) < len(c.hash) {
		return c, errors.New("a change without its key")
	}
	c.dir, c.Path = string(dir), string(rest[copy(c.hash[:], rest):])
	if c.gone = len(value) == 0; c.gone {
		return c, nil
	}
	size, n := binary.Varint(value)
	if n <= 0 || len(value)-n != len(c.SHA256) {
		return c, errors.New("a change without its value")
	}
	c.Size = size
	copy(c.SHA256[:], value[n:])
	return c, nil
}

// changes yields the last change of each file, in order.
func (t *Tree) changes() iter.Seq2[change, error] {
	return func(yield func(change, error) bool) {
		var last change
		any := false
		for r, err := range t.pending.Sorted() {
			var c change
			if err == nil {
				c, err = parseChange(r.Key, r.Value)
			}
			if err != nil {
				yield(change{}, err)
				return
			}
			if any && c.Path != last.Path && !yield(last, nil) {
				return
			}
			last, any = c, true
		}
		if any {
			yield(last, nil)
		}
	}
}

// told counts a directory's changes.
type told struct{ put, gone int64 }

// count counts the last changes of files, as changes yields them, by directory. The keys say
// enough.
func (t *Tree) count() (map[string]*told, error) {
	counts := make(map[string]*told)
	var key []byte
	gone := false
	end := func() {
		dir, _, _ := bytes.Cut(key, []byte{0})
		n := counts[string(dir)]
		if n == nil {
			n = new(told)
			counts[string(dir)] = n
		}
		if gone {
			n.gone++
		} else {
			n.put++
		}
	}
	for r, err := range t.pending.Sorted() {
		if err != nil {
			return nil, err
		}
		if len(key) > 0 && !bytes.Equal(key, r.Key) {
			end()
		}
		key, gone = append(key[:0], r.Key...), len(r.Value) == 0
	}
	if len(key) > 0 {
		end()
	}
	return counts, nil
}
