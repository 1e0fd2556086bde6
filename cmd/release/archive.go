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
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/templates/npm"
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
	members := make([]member, 0, len(r.files)+len(r.programs))
	for _, f := range r.files {
		members = append(members, member{folder + "/" + f.name, f.mode, f.data})
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

// npm packs the npm package as npm pack does: all of it below one folder, package.
func (r *release) npm() (name string, packed []byte, err error) {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", nil, err
	}
	files, err := npm.Files(r.version, licence)
	if err != nil {
		return "", nil, err
	}
	members := make([]member, 0, len(files))
	for _, f := range files {
		members = append(members, member{"package/" + f.Name, 0o644, f.Data})
	}
	var b bytes.Buffer
	err = r.tarball(&b, members)
	return fmt.Sprintf("agentstore-%s.tgz", npm.Version(r.version)), b.Bytes(), err
}

// linked is a link of the README into the repository.
var linked = regexp.MustCompile(`\]\(([A-Za-z0-9._/-]+\.md)\)`)

// common are the files of every archive: the licence, the README and the pages it leads to by their
// own paths, what a machine is set up with, and the verifier for browsers in the folder in which
// the store looks for it.
func (r *release) common(ctx context.Context) (files []member, err error) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return nil, err
	}
	names := []string{"LICENSE", "README.md"}
	for _, m := range linked.FindAllSubmatch(readme, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	units, err := filepath.Glob(filepath.Join("cmd", "store", "deploy", "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range append(names, units...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := filepath.ToSlash(file)
		if rest, unit := strings.CutPrefix(name, "cmd/store/"); unit {
			name = rest
		}
		files = append(files, member{name, 0o644, data})
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	wasm := filepath.Join(work, "verify.wasm")
	_, err = output(ctx, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOOS=js", "GOARCH=wasm"}, "go", "build", "-trimpath",
		"-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", wasm, "./cmd/verify/wasm")
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(wasm)
	if err != nil {
		return nil, err
	}
	root, err := output(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	starts, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	return append(files, member{"verifier/verify.wasm", 0o644, program},
		member{"verifier/wasm_exec.js", 0o644, fmt.Appendf(nil, "/*\n%s*/\n%s", licence, starts)}), nil
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
