package shop

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/tree"
)

// A tree names the digest of the content that it was built from, and a build keeps that content,
// pools included, in a private folder under that digest, and beside it, in a folder of their own
// that nothing is swept from, the files that it sells. So a store that starts between an edit and a
// build serves and sells what the tree says, and a purchase is finished with what it was claimed
// under.

// keptFor is how long content that no tree names is kept after its last build: longer than a
// purchase stays open.
const keptFor = 30 * 24 * time.Hour

// SourcesDir is where a configuration keeps the content of its trees: beside the twins unless it
// says otherwise. It is empty for a configuration that has neither.
func SourcesDir(c *Config) string {
	if c.Sources == "" && c.Twins != "" {
		return filepath.Join(filepath.Dir(c.Twins), "sources")
	}
	return c.Sources
}

// keptFile is where the content with a digest is kept.
func keptFile(c *Config, digest string) string { return filepath.Join(SourcesDir(c), digest+".zip") }

// KeepSources keeps the content that a build is made from. It comes before the build, so that no
// tree is without its own.
func KeepSources(c *Config, site *content.Site) error {
	if SourcesDir(c) == "" {
		return errors.New("sources, the private folder for what trees are built from, is not configured; hint: name " +
			"one, or name twins, beside which it is then kept")
	}
	packed, now, err := content.Pack(sources(c))
	if err != nil {
		return fmt.Errorf("keeping the sources: %w", err)
	}
	if now.Digest != site.Digest {
		return errors.New("the sources changed while they were read; hint: run store build again")
	}
	if err := keepFiles(c, site); err != nil {
		return err
	}
	dir, at := SourcesDir(c), keptFile(c, site.Digest)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keeping the sources: %w", err)
	}
	// Written anew also where it is there: it may be damaged, and its time says when it was built
	// from last.
	temp := filepath.Join(dir, ".new-"+strings.ToLower(rand.Text()[:8]))
	if err := errors.Join(WriteNew(temp, packed, 0o600), os.Rename(temp, at)); err != nil {
		return fmt.Errorf("keeping the sources: %w", err)
	}
	return nil
}

// SweepSources removes kept content that no tree names any more and that was not built from for a
// while.
func SweepSources(c *Config) error {
	entries, err := os.ReadDir(SourcesDir(c))
	if err != nil {
		return fmt.Errorf("sweeping the sources: %w", err)
	}
	trees, err := tree.Trees(c.Public)
	if err != nil {
		return err
	}
	named := make(map[string]bool)
	for _, dir := range trees {
		if digest, err := contentOf(dir); err == nil {
			named[digest+".zip"] = true
		}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.IsDir() || named[e.Name()] || time.Since(info.ModTime()) < keptFor {
			continue
		}
		if err := os.Remove(filepath.Join(SourcesDir(c), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweeping the sources: %w", err)
		}
	}
	return nil
}

// contentOf is the content digest that a tree's manifest names, whoever signed it.
func contentOf(tree string) (string, error) {
	layout := attest.PublicLayout()
	b, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(layout.Head())))
	if err != nil {
		return "", err
	}
	m, err := attest.ParseManifest(b, layout)
	return m.ContentDigest, err
}

// siteWith loads the content with a digest: what a build kept, or the sources where they are still
// that.
func siteWith(c *Config, digest string) (*content.Site, error) {
	var why []error
	if SourcesDir(c) != "" {
		packed, err := os.ReadFile(keptFile(c, digest))
		if err == nil {
			site, err := content.Unpack(packed)
			if err == nil && site.Digest == digest {
				site.Config.BaseURL = c.BaseURL
				return site, nil
			}
			why = append(why, fmt.Errorf("%s is damaged", keptFile(c, digest)), err)
		} else if !errors.Is(err, fs.ErrNotExist) {
			why = append(why, err)
		}
	}
	site, err := LoadSite(c)
	if err == nil && site.Digest == digest {
		return site, nil
	}
	why = append(why, err)
	return nil, errors.Join(
		append([]error{fmt.Errorf("it was built from content %s, which is neither kept nor what the sources are now; "+
			"hint: run store build", digest)}, why...)...)
}

// edition is what goes with a tree that was built from the content with a digest.
func (s *Shop) edition(digest string) (*dynamic.Edition, error) {
	site, err := siteWith(&s.Config, digest)
	if err != nil {
		return nil, err
	}
	return s.editionOf(site)
}

// editionOf checks that this store may sell a site, and makes what its pages share.
func (s *Shop) editionOf(site *content.Site) (*dynamic.Edition, error) {
	if err := s.MaySell(site); err != nil {
		return nil, err
	}
	for _, g := range site.Goods {
		if _, err := goods.Of(goodsKinds(), g); err != nil {
			return nil, err
		}
	}
	chrome, err := pages.Chrome(site, s.Ring)
	if err != nil {
		return nil, err
	}
	return &dynamic.Edition{Site: site, Chrome: chrome}, nil
}
