package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/generator"
	"store.example/agentstore/generator/publish"
)

// writeSite writes the sources of a site: the specimen's, and n pages of the keeper's own, which
// every site may have.
func writeSite(dir string, n int) error {
	if err := os.CopyFS(dir, content.Specimen); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "pages", "notes"), 0o755); err != nil {
		return err
	}
	for i := range n {
		page := fmt.Sprintf("+++\ntitle = \"Page number %d\"\nsummary = \"What stands on page number %d.\"\n+++\n%s", i,
			i, syntheticBody(i, 0))
		if err := os.WriteFile(filepath.Join(dir, "pages", pageName(i)+".md"), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pageName(i int) string { return fmt.Sprintf("notes/page-%06d", i) }

// pagesSite writes a site with n pages once, keeps it until the end, and loads it.
func (l *lab) pagesSite(n int) (*content.Site, string, error) {
	dir := filepath.Join(l.dir, fmt.Sprintf("pages-%d", n))
	if _, err := os.Stat(dir); err != nil {
		if err := writeSite(dir, n); err != nil {
			return nil, "", err
		}
	}
	site, err := content.Load(content.Sources{Content: os.DirFS(dir)})
	return site, dir, err
}

// The site that is measured has so many pages; what is published, two files of each.
const (
	somePages      = 10_000
	publishedPages = 15_000
)

// syntheticBody is prose of a few paragraphs, different for each page and edition.
func syntheticBody(i, edition int) string {
	var b strings.Builder
	for p := range 4 {
		fmt.Fprintf(&b, "## Part %d of number %d\n\nThis is edition %d. It stands *here* so that a page has "+
			"**something** to say, "+
			"with a [link](/what), a list and a few lines that are as long as prose is.\n\n- the first of %d\n- the "+
			"second of %d\n\n", p+1, i, edition, i*4+p, i*4+p)
	}
	return b.String()
}

// input is a build of a site into a folder.
func input(site *content.Site, out string) generator.Input {
	return generator.Input{Site: site, API: shop.API(), Ring: attest.SpecimenRing(), Key: attest.SpecimenKey(),
		OutDir: out, PublicPools: true}
}

// timed is how long f takes, in seconds. What earlier runs left to be written to the disk is
// written before.
func timed(f func() error) (float64, error) {
	syscall.Sync()
	began := time.Now()
	err := f()
	return time.Since(began).Seconds(), err
}

// onDisk is how long f takes, in seconds, and then the system to have what f wrote on the disk.
// Files are written when they are there: up to then, a write copies into memory, and how long that
// takes goes by how fast the machine, or the host under a virtual one, hands out pages: on one
// machine in one hour from 0.5 to 4 s for the same files.
func onDisk(f func() error) (float64, error) {
	return timed(func() error {
		err := f()
		syscall.Sync()
		return err
	})
}

// openNothing sets a build of a site in which nothing changed against the full build before
// it.
func openNothing(ctx context.Context, l *lab) (*contest, error) {
	return l.rebuild(func(*content.Site, int) {}, 0)
}

// openRebuild sets a build after one page's prose changed against the full build before it.
func openRebuild(ctx context.Context, l *lab) (*contest, error) {
	return l.rebuild(func(site *content.Site, edition int) {
		pages := site.Pages
		i := slices.IndexFunc(pages, func(p content.Page) bool { return p.Name == pageName(somePages/2) })
		pages[i].Body = syntheticBody(somePages/2, edition)
	}, 4) // the page and its twin, and the two files of the index by which the site is searched
}

// rebuild is a contest of building a site of many pages again, of which so many files are to be
// made anew, against building all of it.
func (l *lab) rebuild(change func(site *content.Site, edition int), files int) (*contest, error) {
	site, _, err := l.pagesSite(somePages)
	if err != nil {
		return nil, err
	}
	in := input(site, "")
	full := func(ctx context.Context) (float64, error) {
		dir, err := l.place("rebuild")
		if err != nil {
			return 0, err
		}
		in.OutDir, in.Cache = filepath.Join(dir, "site"), filepath.Join(dir, "record")
		return timed(func() error { _, err := generator.Build(ctx, in); return err })
	}
	edition := 0
	again := func(ctx context.Context) (float64, error) {
		if edition == 0 {
			if _, err := full(ctx); err != nil {
				return 0, err
			}
		}
		edition++
		change(site, edition)
		return timed(func() error {
			report, err := generator.Build(ctx, in)
			if err == nil && report.Rendered != files {
				err = fmt.Errorf("%d files were rendered, want %d", report.Rendered, files)
			}
			return err
		})
	}
	return &contest{ours: again, peer: full}, nil
}

// openPublish sets a publication into an empty repository against git's own add and commit.
func openPublish(ctx context.Context, l *lab) (*contest, error) {
	site, _, err := l.pagesSite(publishedPages)
	if err != nil {
		return nil, err
	}
	dir, err := l.folder("publish")
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(dir, "tree")
	if _, err := generator.Build(ctx, input(site, tree)); err != nil {
		return nil, err
	}
	git := func(ctx context.Context, args ...string) error {
		args = append([]string{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c",
			"commit.gpgsign=false",
			"-c", "maintenance.auto=false", "-c", "gc.auto=0"}, args...)
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git: %w\n%s", err, out)
		}
		return nil
	}
	signer := attest.NewSSHSigner(attest.SpecimenKeyFor(attest.PurposeGit))
	ours := func(ctx context.Context) (took float64, err error) {
		repo := filepath.Join(dir, "ours.git")
		defer func() { err = errors.Join(err, os.RemoveAll(repo)) }()
		if err := git(ctx, "init", "-q", "--bare", "-b", "main", repo); err != nil {
			return 0, err
		}
		return timed(func() error {
			_, err := publish.ToGit(ctx, publish.GitInput{
				Repo: repo, Folders: map[string]string{"public": tree}, Message: "publish", Name: "bench",
				Email: "bench@localhost", When: time.Now().UTC(), Signer: signer, Site: site, PublicPools: true,
				Ring: attest.SpecimenRing(),
			})
			return err
		})
	}
	peer := func(ctx context.Context) (took float64, err error) {
		repo := filepath.Join(dir, "peer.git")
		defer func() { err = errors.Join(err, os.RemoveAll(repo)) }()
		if err := git(ctx, "init", "-q", "--bare", "-b", "main", repo); err != nil {
			return 0, err
		}
		in := []string{"--git-dir=" + repo, "--work-tree=" + tree}
		return timed(func() error {
			return errors.Join(git(ctx, append(in, "add", "-A")...),
				git(ctx, append(in, "commit", "-q", "-m", "publish")...))
		})
	}
	return &contest{ours: ours, peer: peer}, nil
}
