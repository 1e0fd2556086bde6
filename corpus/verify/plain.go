package verify

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// errNotPlain is what reading gives of a device, a pipe, a socket and of a link, wherever it leads.
var errNotPlain = errors.New("not a regular file")

// notPlain reports whether what a walk met is neither a directory nor a regular file.
func notPlain(d fs.DirEntry, err error) bool {
	return errors.Is(err, errNotPlain) || err == nil && !d.IsDir() && !d.Type().IsRegular()
}

// plainFS shows the directories and regular files of a tree that a stranger made, and opens nothing
// else: a clone may hold links that lead out of it, and a pipe or a device that never ends. What is
// read whole is bounded by the most that a file of a record may have.
type plainFS struct{ fs.FS }

// Plain shows of a tree that somebody else made what can be read safely.
func Plain(tree fs.FS) fs.FS { return plainFS{tree} }

func (f plainFS) Open(name string) (fs.File, error) {
	info, err := fs.Lstat(f.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotPlain}
	}
	return f.FS.Open(name)
}

// ReadFile reads a file that is no larger than its kind may be, and allocates no more than that.
func (f plainFS) ReadFile(name string) (_ []byte, err error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	most := maxFile(name)
	tooLarge := func() ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: name,
			Err: rule.FileSize.Errorf("larger than %d bytes, which no such file is", most)}
	}
	if info.Size() > most {
		return tooLarge()
	}
	// There is room behind what it says it has, so that its end is met without growing.
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(file, most+1))
	switch {
	case n > most:
		return tooLarge()
	case err != nil:
		return nil, err
	}
	return b.Bytes(), nil
}

// maxFile is the most bytes that a file of a record may have. The rows of a part are the most there
// is.
func maxFile(name string) int64 {
	if strings.HasPrefix(path.Base(name), "part-") {
		return record.MaxPartRows * (record.MaxRow + 1)
	}
	return record.MaxPack
}
