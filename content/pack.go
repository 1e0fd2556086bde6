package content

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Editions is what a store says and sells, which may become another while the store is open. A
// *Site is one that stays as it is.
type Editions interface {
	// Now is the site in force. Whoever needs several facts that agree asks once.
	Now() *Site
	// Of is the site with a digest, so that what was promised under it is kept; where it is no
	// longer known, the one in force.
	Of(digest string) *Site
}

// Now is the site itself.
func (s *Site) Now() *Site { return s }

// Of is the site itself.
func (s *Site) Of(string) *Site { return s }

// Pack writes the files that Load would read, pools included, as one archive, and returns it with
// the site that they are. Unpack reads it back. The same files give the same bytes. It holds
// private texts, and of the files that are sold their digests alone.
func Pack(src Sources) ([]byte, *Site, error) {
	l := gather(src)
	if l.err() != nil {
		return nil, nil, l.err()
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write(l.files[name])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, nil, fmt.Errorf("packing the sources: %w", err)
	}
	site, err := l.site()
	return buf.Bytes(), site, err
}

// Unpack loads the site in an archive that Pack wrote.
func Unpack(packed []byte) (*Site, error) {
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("unpacking the sources: %w", err)
	}
	l := newLoader()
	l.packed = true
	l.read(fs.FS(r), "", true)
	return l.site()
}
