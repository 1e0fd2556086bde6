// Package buildcache remembers what the last build made from what, in one file that is replaced as
// a whole. Without it, or with one that cannot be read, a build is a full one.
//
//	store-build-record/3, a line
//	the SHA-256 of the rest
//	a Cache in the encoding of encoding/gob
package buildcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"store.example/agentstore/corpus/attest"
)

// Format is the first line of the file. A file of another format is no cache.
const Format = "store-build-record/3\n"

// Cache is what one build made.
type Cache struct {
	// Program made it: another one may render otherwise. Head is the SHA-256 of the signed manifest
	// of the tree that was made.
	Program string
	Head    attest.Digest
	// Rows are the units of each row of the table of outputs, by key.
	Rows map[string]map[string]Unit
}

// Unit is one member of a row. Digests stand as their 32 bytes in a string, which gob reads and
// writes several times as fast as an array.
type Unit struct {
	Made  string // digest of what it was made from
	Files []File // in the row's order
}

// File is a file of the tree.
type File struct {
	Path   string
	SHA256 string
	Size   int64
}

// Sum is the file's digest.
func (f File) Sum() attest.Digest { return attest.Digest([]byte(f.SHA256)) }

// New begins the cache of a build by this program.
func New() *Cache { return &Cache{Program: program(), Rows: make(map[string]map[string]Unit)} }

// Open reads a cache that this program wrote for the tree whose manifest has a digest. For anything
// else it returns nil.
func Open(name string, head attest.Digest) *Cache {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	raw, ok := bytes.CutPrefix(raw, []byte(Format))
	if !ok || len(raw) < sha256.Size || sha256.Sum256(raw[sha256.Size:]) != attest.Digest(raw[:sha256.Size]) {
		return nil
	}
	c := new(Cache)
	err = gob.NewDecoder(bytes.NewReader(raw[sha256.Size:])).Decode(c)
	if err != nil || c.Program == "" || c.Program != program() || c.Head != head {
		return nil
	}
	return c
}

// Save puts the cache in the place of the last one, as a whole.
func (c *Cache) Save(name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("saving the build cache: %w", err)
		}
	}()
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(c); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	temp := name + ".new"
	if err := os.WriteFile(temp, append(append([]byte(Format), sum[:]...), body.Bytes()...), 0o644); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, name)
}

// Unit returns what is remembered of a unit. A nil cache remembers nothing.
func (c *Cache) Unit(row, key string) (u Unit, ok bool) {
	if c != nil {
		u, ok = c.Rows[row][key]
	}
	return u, ok
}

// Put remembers a unit.
func (c *Cache) Put(row, key string, u Unit) {
	if c.Rows[row] == nil {
		c.Rows[row] = make(map[string]Unit)
	}
	c.Rows[row][key] = u
}

// Files are all files, by path. A nil cache has none.
func (c *Cache) Files() map[string]File {
	all := make(map[string]File)
	if c != nil {
		for _, units := range c.Rows {
			for _, u := range units {
				for _, f := range u.Files {
					all[f.Path] = f
				}
			}
		}
	}
	return all
}

// program tells builds by different programs apart: the executable's path, size and time.
func program() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", exe, info.Size(), info.ModTime().UnixNano())
}
