package generator

import (
	"context"
	"crypto/sha256"
	_ "embed" // cloneText
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/bulk"
	"store.example/agentstore/generator/publish"
)

// The places of what package bulk makes.
const (
	bulkFolder = "corpus/bulk"
	gitFolder  = "corpus.git"
	// bulkRow is the row of the build cache that remembers these files. No output has this name.
	bulkRow = "files of package bulk"
)

// signersUnit is the file by which git checks the commits of the repository, if there is one.
func signersUnit(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if s.cloned() {
			yield(unit{made: func(d *digester) { d.text(s.Bulk.Email); depsRing(s, 0, d) }}, nil)
		}
	}
}

func renderSigners(s *source, _ unit, mediaType string, _ attest.Digest) ([]byte, error) {
	if mediaType != api.PlainText {
		return unknown(mediaType)
	}
	text, err := attest.AllowedSigners(s.Bulk.Email, s.Ring)
	return []byte(text), err
}

// apart brings the files of package bulk to the state of the record, tells the manifest of them and
// remembers them for the next build.
func (b *build) apart(ctx context.Context) error {
	if b.in.Bulk == nil || len(b.s.rounds) == 0 {
		return nil
	}
	if err := b.vouch(bulkFolder + "/digests.json"); err != nil {
		return err
	}
	report, err := bulk.Write(ctx, b.in.Corpus, b.s.record, filepath.Join(b.in.OutDir, filepath.FromSlash(bulkFolder)))
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
	beside, err := b.s.besideRecord()
	if err != nil {
		return err
	}
	report, err := bulk.Repository(ctx, b.in.Corpus, b.s.record, filepath.Join(b.in.OutDir, gitFolder),
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

// cloneText says what the record's repository is and how it is checked.
//
//go:embed clone.md
var cloneText string

// besideRecord is what stands beside the record in its repository: what it is, on what terms it is
// used, how it is checked, and with what a verifier is tried.
func (s *source) besideRecord() (map[string][]byte, error) {
	license := derive.License
	if license == derive.License {
		license += ", https://creativecommons.org/licenses/by/4.0/legalcode"
	}
	const format = "spec/store-corpus-v1"
	page, ok := s.Site.Page(format)
	if !ok {
		return nil, fmt.Errorf("%w: there is no page %s, which stands in %s", ErrInput, format, gitFolder)
	}
	out := map[string][]byte{
		".gitattributes": []byte(publish.Attributes),
		"README.md":      []byte(s.Site.Expand(cloneText)),
		"LICENCE":        fmt.Appendf(nil, "The record of %s (%s): %s\n", s.Site.Config.Title, s.base, license),
		format + ".md":   fmt.Appendf(nil, "# %s\n\n%s\n", page.Title, strings.TrimSpace(s.Site.Expand(page.Body))),

		"spec/store-corpus-v1-rules.md":  recordRules.file(s.Input),
		"spec/store-corpus-v1-forms.txt": rule.Forms(),
		"spec/store-evidence-v1.md":      evidenceFormat.file(s.Input),
	}
	files, err := vectorFiles()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		out["spec/vectors/"+f.Path] = f.Body
	}
	return out, nil
}
