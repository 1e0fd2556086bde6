package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// folder is the record on disk. Names are slash-separated and cannot leave it. Its writers hold the lock, so that a
// leftover of a crash is nobody's work under way.
type folder struct {
	root *os.Root
	lock *os.File
}

// lockFile is beside the record's own directories and no part of it.
const lockFile = ".lock"

// openFolder opens dir for writing and waits until no other process writes to it.
func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening record: %w", err)
	}
	lock, err := root.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = exclusive(lock)
	}
	if err != nil {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
		return nil, errors.Join(fmt.Errorf("locking record: %w", err), root.Close())
	}
	return &folder{root: root, lock: lock}, nil
}

// Close lets the next process in.
func (f *folder) Close() error { return errors.Join(f.lock.Close(), f.root.Close()) }

// fresh writes data to a temporary file beside name and returns its path once the bytes are on disk.
func (f *folder) fresh(name string, data []byte) (_ string, err error) {
	if err := f.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return "", err
	}
	tmp := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	if err := f.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	w, err := f.root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return "", err
	}
	_, err = w.Write(data)
	if err == nil {
		err = w.Sync()
	}
	return tmp, errors.Join(err, w.Close())
}

// once writes a file that is never replaced: fs.ErrExist if it is there. On return it is durable.
func (f *folder) once(name string, data []byte) error {
	tmp, err := f.fresh(name, data)
	if err == nil {
		// Link fails where Rename would replace.
		err = errors.Join(f.root.Link(tmp, name), f.root.Remove(tmp))
	}
	if err == nil {
		err = f.syncUp(path.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// keep writes a file once; one that is there already must be the same.
func (f *folder) keep(name string, data []byte) error {
	err := f.once(name, data)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	held, err := f.root.ReadFile(name)
	if err == nil && string(held) != string(data) {
		err = fmt.Errorf("%s is there and differs", name)
	}
	return err
}

// put writes a file whole or not at all, over an older one if need be. It is durable once its directory is synced.
func (f *folder) put(name string, data []byte) error {
	tmp, err := f.fresh(name, data)
	if err == nil {
		err = f.root.Rename(tmp, name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// syncUp makes the names in dir and in the directories above it durable.
func (f *folder) syncUp(dir string) error {
	for {
		d, err := f.root.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("syncing %s: %w", dir, err)
		}
		if dir == "." {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// syncTree makes the names in dir, in all directories below it and in those above it durable.
func (f *folder) syncTree(dir string) error {
	err := fs.WalkDir(f.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a round without rows or without evidence
		}
		if err != nil || !d.IsDir() {
			return err
		}
		w, err := f.root.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(w.Sync(), w.Close())
	})
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	top := path.Dir(dir)
	if _, err := f.root.Stat(top); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.syncUp(top)
}
