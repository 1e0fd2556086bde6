package generator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/bulk"
)

// The places of what package bulk makes.
const (
	bulkFolder = "corpus/bulk"
	gitFolder  = "corpus.git"
	// bulkRow is the row of the build cache that remembers these files. No output has this name.
	bulkRow = "files of package bulk"
)

// apart brings the files of package bulk to the state of the record, tells the manifest of them and
// remembers them for the next build.
func (b *build) apart(ctx context.Context) error {
	if b.in.Bulk == nil || len(b.s.Rounds) == 0 {
		return nil
	}
	if err := b.vouch(bulkFolder + "/digests.json"); err != nil {
		return err
	}
	report, err := bulk.Write(ctx, b.in.Corpus, b.s.Record, filepath.Join(b.in.OutDir, filepath.FromSlash(bulkFolder)))
	if err != nil {
		return err
	}
	for _, f := range append(slices.Clone(report.Files), report.Head) {
		if err := b.keepFile(path.Join(bulkFolder, f.Path), f.SHA256, f.Bytes); err != nil {
			return err
		}
	}
	b.report.Written += len(report.Written)
	if b.in.Bulk.Signer != nil {
		return b.git(ctx)
	}
	return nil
}

// keepFile remembers a file that package bulk made.
func (b *build) keepFile(name string, sum attest.Digest, size int64) error {
	return b.keep(bulkRow, name, buildcache.Unit{
		Files: []buildcache.File{{Path: name, SHA256: string(sum[:]), Size: size}}})
}

// vouch removes a file that is not what the tree's signed manifest says. By digests.json package
// bulk knows what it may keep, so that what somebody else put there is made again and not signed.
func (b *build) vouch(name string) error {
	fsys := b.tree.FS()
	body, err := fs.ReadFile(fsys, name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	m, _, err := attest.OpenManifest(fsys, attest.PublicLayout(), b.in.Ring)
	if err != nil {
		return b.tree.Remove(name)
	}
	top, _, _ := strings.Cut(name, "/")
	bucket := attest.Digest(sha256.Sum256([]byte(name))).String()
	m.Parts = slices.DeleteFunc(m.Parts, func(p attest.PartRef) bool {
		return p.Directory != top || p.Bucket != "all" && !strings.HasPrefix(bucket, p.Bucket)
	})
	for e, err := range m.Entries(fsys, attest.PublicLayout()) {
		if err != nil {
			break
		}
		if e.Path == name && e.SHA256 == sha256.Sum256(body) {
			return nil
		}
	}
	return b.tree.Remove(name)
}

// git makes the repository and remembers its files.
func (b *build) git(ctx context.Context) error {
	beside, err := b.s.BesideRecord()
	if err != nil {
		return err
	}
	report, err := bulk.Repository(ctx, b.in.Corpus, b.s.Record, filepath.Join(b.in.OutDir, gitFolder),
		bulk.RepositoryOptions{Name: b.in.Bulk.Name, Email: b.in.Bulk.Email, Signer: b.in.Bulk.Signer,
			Beside: beside})
	if err != nil {
		return err
	}
	b.report.Written += len(report.Written)
	fsys := b.tree.FS()
	err = fs.WalkDir(fsys, gitFolder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if was, ok := b.before[name]; ok && strings.HasPrefix(name, gitFolder+"/objects/pack/") {
			return b.keepFile(name, was.Sum(), was.Size) // packs are named by what they hold
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		sum := sha256.New()
		n, err := io.Copy(sum, f)
		if err != nil {
			return err
		}
		return b.keepFile(name, attest.Digest(sum.Sum(nil)), n)
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", gitFolder, err)
	}
	return nil
}
