package verify

import (
	"bytes"
	"context"
	"io/fs"
)

// lineEnds reports whether all that is wrong with a clone is that git changed the ends of its
// lines, as Git for Windows does: with the ends that it had, it holds.
func lineEnds(ctx context.Context, tree fs.FS, o CloneOptions, found []Problem) bool {
	changed := false
	for _, p := range found {
		raw, err := fs.ReadFile(tree, p.Path)
		changed = changed || err == nil && len(lineFeeds(raw)) < len(raw)
	}
	if !changed {
		return false
	}
	o.Commits, o.Progress = nil, nil
	again, err := clone(ctx, unixFS{tree}, o)
	return err == nil && !again.Refused()
}

// lineFeeds is a text of which every line ends in CR LF, with line feeds alone, and any other as it
// is: git changes the ends of all lines of a file or of none.
func lineFeeds(raw []byte) []byte {
	if n := bytes.Count(raw, []byte("\n")); n == 0 || n != bytes.Count(raw, []byte("\r\n")) ||
		bytes.IndexByte(raw, 0) >= 0 {
		return raw
	}
	return bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
}

// unixFS shows a tree as it was before the ends of its lines were changed.
type unixFS struct{ fs.FS }

func (f unixFS) ReadFile(name string) ([]byte, error) {
	raw, err := fs.ReadFile(f.FS, name)
	return lineFeeds(raw), err
}

func (f unixFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		return file, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	raw, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &textFile{bytes.NewReader(raw), sized{info, int64(len(raw))}}, nil
}

func (f unixFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

func (f unixFS) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

func (f unixFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	for i, e := range entries {
		if e.Type().IsRegular() {
			entries[i] = textEntry{e, f, name + "/" + e.Name()}
			if name == "." {
				entries[i] = textEntry{e, f, e.Name()}
			}
		}
	}
	return entries, err
}

// textEntry is a file of a folder with the size that it had.
type textEntry struct {
	fs.DirEntry
	in   unixFS
	path string
}

func (e textEntry) Info() (fs.FileInfo, error) {
	info, err := e.DirEntry.Info()
	if err != nil {
		return nil, err
	}
	raw, err := e.in.ReadFile(e.path)
	return sized{info, int64(len(raw))}, err
}

type textFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *textFile) Close() error               { return nil }

type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }
