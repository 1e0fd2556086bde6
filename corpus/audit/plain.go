package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"agentstore/corpus/record"
)

// errNotPlain is what reading gives of a device, a pipe, a socket and of a link, wherever it leads.
var errNotPlain = errors.New("not a regular file")

// plainFS shows the directories and regular files of a tree that a stranger made, and opens nothing else: a clone may
// hold links that lead out of it, and a pipe or a device that never ends. What is read whole is bounded by the most that
// a file of a record may have.
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
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d bytes, which no such file is", most)}
	}
	if info.Size() > most {
		return tooLarge()
	}
	// One more than it says it has, so that its end is met without growing.
	b := make([]byte, 0, info.Size()+1)
	for {
		n, err := file.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > most:
			return tooLarge()
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

// maxFile is the most bytes that a file of a record may have. The rows of a part are the most there is.
func maxFile(name string) int64 {
	if strings.HasPrefix(path.Base(name), "part-") {
		return record.MaxPartRows * (record.MaxRow + 1)
	}
	return record.MaxPack
}
