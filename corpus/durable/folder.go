package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// Folder is the record on disk. Names are slash-separated and cannot leave it. Its writers hold the
// lock, so that a leftover of a crash is nobody's work under way.
type Folder struct {
	Root *os.Root
	lock *os.File
}

// LockFile is beside the record's own directories and no part of it.
const LockFile = ".lock"

// ErrHeld is returned where another process holds a lock.
var ErrHeld = errors.New("another process is at work on it")

// Open opens dir for writing and waits until no other process writes to it.
func Open(dir string) (*Folder, error) { return open(dir, LockFile, true) }

// Hold opens dir for whoever writes to some of its files, for which a lock of a name of their own
// stands. It does not wait: ErrHeld if another process holds that.
func Hold(dir, name string) (*Folder, error) { return open(dir, name, false) }

func open(dir, name string, wait bool) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening folder: %w", err)
	}
	lock, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	switch {
	case err != nil:
	case wait:
		err = Lock(lock)
	default:
		err = TryLock(lock)
	}
	if errors.Is(err, ErrLocked) {
		err = ErrHeld
	}
	if err != nil {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), root.Close())
	}
	return &Folder{Root: root, lock: lock}, nil
}

// Close lets the next process in.
func (f *Folder) Close() error { return errors.Join(f.lock.Close(), f.Root.Close()) }

// fresh writes data to a temporary file beside name and returns its path once the bytes are on
// disk.
func (f *Folder) fresh(name string, data []byte) (_ string, err error) {
	if err := f.Root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return "", err
	}
	tmp := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	if err := f.Root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	w, err := f.Root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return "", err
	}
	_, err = w.Write(data)
	if err == nil {
		err = w.Sync()
	}
	return tmp, errors.Join(err, w.Close())
}

// Once writes a file that is never replaced: fs.ErrExist if it is there. On return it is durable.
func (f *Folder) Once(name string, data []byte) error {
	tmp, err := f.fresh(name, data)
	if err == nil {
		// Link fails where Rename would replace.
		err = errors.Join(f.Root.Link(tmp, name), f.Root.Remove(tmp))
	}
	if err == nil {
		err = f.SyncUp(path.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// Keep writes a file once; one that is there already must be the same.
func (f *Folder) Keep(name string, data []byte) error {
	err := f.Once(name, data)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	held, err := f.Root.ReadFile(name)
	if err == nil && string(held) != string(data) {
		err = fmt.Errorf("%s is there and differs", name)
	}
	return err
}

// Put writes a file whole or not at all, over an older one if need be. It is durable once its
// directory is synced.
func (f *Folder) Put(name string, data []byte) error {
	tmp, err := f.fresh(name, data)
	if err == nil {
		err = f.Root.Rename(tmp, name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// Sync makes the names in dir durable.
func (f *Folder) Sync(dir string) error {
	d, err := f.Root.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}

// SyncUp makes the names in dir and in the directories above it durable.
func (f *Folder) SyncUp(dir string) error {
	for {
		if err := f.Sync(dir); err != nil || dir == "." {
			return err
		}
		dir = path.Dir(dir)
	}
}

// SyncTree makes the names in dir, in all directories below it and in those above it durable.
func (f *Folder) SyncTree(dir string) error {
	err := fs.WalkDir(f.Root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a round without rows or without evidence
		}
		if err != nil || !d.IsDir() {
			return err
		}
		return f.Sync(name)
	})
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	top := path.Dir(dir)
	if _, err := f.Root.Stat(top); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.SyncUp(top)
}
