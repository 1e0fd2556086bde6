package generator

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/generator/publish"
)

// ErrNotEmpty is returned when a site would be made where something is.
var ErrNotEmpty = errors.New("the folder is not empty")

const siteReadme = `# A shop of your own

This folder is the private side of a shop: what you write, what you sell and what
nobody else may read. What is published is built from it and lives in a repository
of its own.

    content/     site.toml, the shelf, the pages: yours to write
    var/stock/   what your goods are made of and the pages you sell: private, never committed
    var/         everything else that is private or can be made again

1. Set title, base_url, keeper, contact and the two dates in content/site.toml.
2. Write your own goods: store new good ID makes a file with every key that counts.
   What came with the program is public, and a shop that is open to others refuses to sell it.
3. Make keys: store key init. They are not part of this folder's history.
4. store build, then store serve. store doctor says what is missing.
5. To publish: git init --bare -b main somewhere, then store publish.
`

const siteIgnore = `# Private or made again by a build: never committed.
/var/
/public/
*.pem
`

//go:embed starter
var starter embed.FS

// Start is what a shop begins with: files, and where each of them stands in the shop's folder.
type Start struct {
	files fs.FS
	place func(name string) string
}

// What a shop may begin with: Empty has one example good and one page, both to be replaced, and
// LikeSpecimen is a copy of the specimen.
var (
	Empty = Start{starter, func(name string) string {
		name = strings.TrimPrefix(name, "starter/")
		if strings.HasPrefix(name, "stock/") {
			return "var/" + name
		}
		return name
	}}
	LikeSpecimen = Start{content.Specimen, func(name string) string {
		if pool, ok := strings.CutPrefix(name, "pools/"); ok {
			return "var/stock/" + pool
		}
		if strings.HasPrefix(name, "paid/") {
			return "var/stock/" + name
		}
		return "content/" + name
	}}
)

// LoadEmpty loads the site that Empty begins with.
func LoadEmpty() (*content.Site, error) {
	of := func(folder string) fs.FS {
		sub, err := fs.Sub(starter, "starter/"+folder)
		if err != nil {
			panic(err) // the folder is part of the program
		}
		return sub
	}
	return content.Load(content.Sources{Content: of("content"), Stock: of("stock")})
}

// Init makes a keeper's site in dir, which must be empty or missing: content and the private stock
// folder var/stock, a .gitignore that keeps var out of history, a .gitattributes that keeps bytes
// as they are, and a README. Keys are not made here. A folder that holds anything is left as it is
// (ErrNotEmpty).
func Init(dir string, from Start) error {
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
	err = fs.WalkDir(from.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from.files, name)
		if err != nil {
			return err
		}
		to, mode := from.place(name), fs.FileMode(0o644)
		if strings.HasPrefix(to, "var/") {
			mode = 0o600
		}
		return write(to, body, mode)
	})
	if err != nil {
		return err
	}
	if err := write("README.md", []byte(siteReadme), 0o644); err != nil {
		return err
	}
	if err := write(".gitattributes", []byte(publish.Attributes), 0o644); err != nil {
		return err
	}
	return write(".gitignore", []byte(siteIgnore), 0o644)
}
