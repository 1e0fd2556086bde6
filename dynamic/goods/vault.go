// Vault keeps the bytes of files that are sold, each under its SHA-256.
//
// A build puts the files of the shelf in, and nothing takes them out: a file that was sold is
// fetched by its buyer for as long as the vault has it, also when the keeper has put another in its
// place or sells it no more. A file is written beside its name and linked to it when it is whole
// and has the digest, so a name never leads to anything else, whoever writes at the same time.
// Replicas share a vault, or each has one of the same builds.
//
//	<folder>/<sha256, hex>   mode 0400

package goods

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"store.example/agentstore/content"
)

// Dir is a vault in a folder.
type Vault string

// at is where a file lies, "" for what is no digest: no name leads out of the folder.
func (d Vault) at(digest string) string {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return ""
	}
	return filepath.Join(string(d), digest)
}

// Holds reports whether a file is there, whole.
func (d Vault) Holds(f content.File) bool {
	info, err := os.Stat(d.at(f.SHA256))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.Size
}

// Open opens the bytes with a digest. fs.ErrNotExist: they are not there.
func (d Vault) Open(digest string) (io.ReadSeekCloser, error) {
	at := d.at(digest)
	if at == "" {
		return nil, fs.ErrNotExist
	}
	return os.Open(at)
}

// Keep puts a file in, unless it is there. What is read must be the file.
func (d Vault) Keep(f content.File, r io.Reader) error {
	at := d.at(f.SHA256)
	if at == "" {
		return fmt.Errorf("keeping %s: %q is no SHA-256", f.Path, f.SHA256)
	}
	if d.Holds(f) {
		return nil
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("keeping %s: %w", f.Path, err)
	}
	temp, err := os.CreateTemp(string(d), ".new-*")
	if err != nil {
		return fmt.Errorf("keeping %s: %w", f.Path, err)
	}
	defer os.Remove(temp.Name())
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(temp, h), io.LimitReader(r, content.MaxStored+1))
	err = errors.Join(err, temp.Chmod(0o400), temp.Sync(), temp.Close())
	if err == nil && (n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.SHA256) {
		err = errors.New("it changed while it was read; hint: run store build again")
	}
	if err == nil {
		err = os.Rename(temp.Name(), at)
	}
	if err != nil {
		return fmt.Errorf("keeping %s: %w", f.Path, err)
	}
	return nil
}
