package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// member is one file of an archive.
type member struct {
	name string
	mode int64
	data []byte
}

// archive builds the programs for a platform, and packs them: a tarball, for Windows a zip file.
func (r *release) archive(ctx context.Context, platform string) (name string, packed []byte, err error) {
	system, arch, _ := strings.Cut(platform, "/")
	folder := fmt.Sprintf("store-%s-%s-%s", r.version, system, arch)
	name, pack, end := folder+".tar.gz", r.tarball, ""
	if system == "windows" {
		name, pack, end = folder+".zip", r.zipped, ".exe"
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(work)
	var members []member
	for _, file := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", nil, err
		}
		members = append(members, member{folder + "/" + file, 0o644, data})
	}
	for _, p := range r.programs {
		at := filepath.Join(work, p+end)
		// -trimpath and an empty build id leave out where it was built; the commit stays in.
		_, err := output(ctx, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOOS=" + system, "GOARCH=" + arch},
			"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", at, "./cmd/"+p)
		if err != nil {
			return "", nil, err
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return "", nil, err
		}
		members = append(members, member{folder + "/" + p + end, 0o755, data})
	}
	var b bytes.Buffer
	if err := pack(&b, members); err != nil {
		return "", nil, fmt.Errorf("packing: %w", err)
	}
	return name, b.Bytes(), nil
}

// tarball writes a gzipped tar file, whose members are nobody's and as old as the commit.
func (r *release) tarball(w io.Writer, members []member) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, m := range members {
		err := t.WriteHeader(&tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(m.data)), ModTime: r.made,
			Format: tar.FormatUSTAR})
		if err != nil {
			return err
		}
		if _, err := t.Write(m.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// zipped writes a zip file.
func (r *release) zipped(w io.Writer, members []member) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: r.made}
		h.SetMode(os.FileMode(m.mode))
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(m.data); err != nil {
			return err
		}
	}
	return z.Close()
}
