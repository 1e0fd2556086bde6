package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"store.example/agentstore/content"
)

// ErrNotEmpty is returned when a site would be made where something is.
var ErrNotEmpty = errors.New("the folder is not empty")

const siteReadme = `# A shop of your own

This folder is the private side of a shop: what you write, what you sell and what
nobody else may read. What is published is built from it and lives in a repository
of its own.

    content/     site.toml, the shelf, the pages: yours to rewrite
    var/stock/   the pools your goods draw from and the pages you sell: private, never committed
    var/         everything else that is private or can be made again

It starts as a copy of the specimen. Before it sells for real money:

1. Set title, base_url, keeper, contact and the two dates in content/site.toml.
2. Write your own pools in var/stock. The ones there now are the specimen's, which
   everyone can read, so a shop that is open to others refuses to sell from them.
3. Make keys: store key init. They are not part of this folder's history.
4. store build, then store serve.
5. To publish: git init --bare -b main somewhere, then store publish.
`

const siteIgnore = `# Private or made again by a build: never committed.
/var/
/public/
*.pem
`

// Init makes a keeper's site in dir, which must be empty or missing: the
// specimen's content to start from, its pools and paid pages in the private stock
// folder var/stock, a .gitignore that keeps var out of history, a .gitattributes that keeps
// bytes as they are, and a README. Keys are not made here. A folder that holds anything is
// left as it is (ErrNotEmpty).
func Init(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the site: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("making the site: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("making the site in %s: %w; hint: name a new folder", dir, ErrNotEmpty)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("making the site: %w", err)
	}
	defer root.Close()
	write := func(name string, body []byte, mode fs.FileMode) error {
		folder := fs.FileMode(0o755)
		if mode&0o077 == 0 {
			folder = 0o700
		}
		if err := root.MkdirAll(path.Dir(name), folder); err != nil {
			return fmt.Errorf("making the site: %w", err)
		}
		if err := root.WriteFile(name, body, mode); err != nil {
			return fmt.Errorf("making the site: %w", err)
		}
		return nil
	}
	err = fs.WalkDir(content.Specimen, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(content.Specimen, name)
		if err != nil {
			return err
		}
		if pool, ok := strings.CutPrefix(name, "pools/"); ok {
			return write(path.Join("var/stock", pool), body, 0o600)
		}
		if strings.HasPrefix(name, "paid/") {
			return write(path.Join("var/stock", name), body, 0o600)
		}
		return write(path.Join("content", name), body, 0o644)
	})
	if err != nil {
		return err
	}
	if err := write("README.md", []byte(siteReadme), 0o644); err != nil {
		return err
	}
	if err := write(".gitattributes", []byte(BytesAsTheyAre), 0o644); err != nil {
		return err
	}
	return write(".gitignore", []byte(siteIgnore), 0o644)
}

// SiteSources says where the parts of a site that Init made are read from.
func SiteSources(dir string) content.Sources {
	return content.Sources{
		Content: os.DirFS(filepath.Join(dir, "content")),
		Stock:   os.DirFS(filepath.Join(dir, "var", "stock")),
	}
}
