package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
)

// newWords are what store new makes.
func newWords() []word {
	return []word{
		{name: "good", about: "ID", short: "a good: a text, or with a flag a file, files, an HTTP service or a pool"},
		{name: "page", about: "PATH", short: "a page of your own at /PATH"},
		{name: "publication", about: "NAME",
			short: "the index and a first page of one of: " + strings.Join(publications(), ", ")},
	}
}

// publications are those whose pages are files of their own. A week of the zodiac is written whole.
func publications() (names []string) {
	for _, p := range content.Publications {
		if len(p.Params) == 1 {
			names = append(names, p.Name)
		}
	}
	return names
}

// runNew writes a file of the site with what it needs, and says what to do next. It writes over
// nothing.
func runNew(_ context.Context, c *call) error {
	what := c.subverb("good", "page", "publication")
	name := ""
	if what != "" && len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") {
		name, c.args = c.args[0], c.args[1:]
	}
	config := c.flags.String("config", ownConfig, "configuration file, which names the folders of the site")
	file := c.flags.String("file", "", "good: the `FILE` that every buyer gets, below files in the stock")
	folder := c.flags.String("folder", "", "good: the `FOLDER` below files in the stock, of which each file is "+
		"sold once")
	upstream := c.flags.String("upstream", "", "good: the `URL` of an HTTP service whose answer is sold")
	pool := c.flags.String("pool", "", "good: the pool `NAME` that it draws a text from")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	if name == "" {
		c.flags.Usage()
		return errUsage
	}
	cfg, err := shop.Load(*config)
	if err != nil {
		return err
	}
	if cfg.Content == "" {
		return fmt.Errorf("%s names no folder of content: store init DIR makes a store with one", *config)
	}
	n := newFiles{c: c, cfg: cfg}
	switch what {
	case "good":
		return n.good(name, map[string]string{content.KindFile: *file, "folder": *folder,
			content.KindUpstream: *upstream, "pool": *pool})
	case "page":
		return n.page(name)
	default:
		return n.publication(name)
	}
}

// newFiles writes new files of a site.
type newFiles struct {
	c   *call
	cfg *shop.Config
}

// write writes a file that is not there, and says so.
func (n newFiles) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := shop.WriteNew(path, []byte(text), 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and nothing is written over it: change it, or take another name",
			near(path))
	}
	if err == nil {
		fmt.Fprintf(n.c.stdout, "%s\n", near(path))
	}
	return err
}

// stock is the folder of a kind of private sources.
func (n newFiles) stock(parts ...string) string {
	in, pools := n.cfg.Stock, parts[0] == "pools"
	if in == "" {
		in = n.cfg.Content
	} else if pools {
		parts = parts[1:]
	}
	return filepath.Join(append([]string{in}, parts...)...)
}

func (n newFiles) next(format string, args ...any) error {
	fmt.Fprintf(n.c.stdout, "Next: "+format+"\n", args...)
	return nil
}

const thenBuild = "store watch shows it at every change; store build takes it into the shop"

func (n newFiles) good(id string, from map[string]string) error {
	if !content.IsID(id) {
		return because(errUsage, "%q is no id: lower-case words joined by underscores, such as green_tea", id)
	}
	var given []string
	for what, v := range from {
		if v != "" {
			given = append(given, what)
		}
	}
	if len(given) > 1 {
		slices.Sort(given)
		return because(errUsage, "give one of -%s", strings.Join(given, " and -"))
	}
	at := filepath.Join(n.cfg.Content, "shelf", id+".md")
	if pool := from["pool"]; pool != "" {
		return n.drawing(id, at, pool)
	}
	kind, key, value := content.KindText, "text", id+".md"
	for _, f := range []struct{ from, kind, key string }{{content.KindFile, content.KindFile, "file"},
		{"folder", content.KindFile, "folder"}, {content.KindUpstream, content.KindUpstream, "upstream.url"}} {
		if from[f.from] != "" {
			kind, key, value = f.kind, f.key, filepath.ToSlash(from[f.from])
		}
	}
	if err := n.write(at, content.NewGood(id, kind, map[string]string{key: fmt.Sprintf("%q", value)})); err != nil {
		return err
	}
	switch key {
	case "file":
		return n.next("put the file at %s, say in %s what it is and costs; %s", near(n.stock("files", value)), near(at),
			thenBuild)
	case "folder":
		return n.next("put into %s the files that are sold, each once; %s", near(n.stock("files", value)), thenBuild)
	case "upstream.url":
		return n.next("allow the address in the configuration, store.toml, by a table [[upstream]] with url = %q, and "+
			"private = true where it is on this machine or in your own network; say in %s what it sells; %s", value,
			near(at), thenBuild)
	}
	text := n.stock("texts", value)
	if err := n.write(text, "# For you\n\nYou asked about {detail}. This is what is sold.\n"); err != nil {
		return err
	}
	return n.next("write what is sold into %s, and into %s what it is and costs; %s", near(text), near(at), thenBuild)
}

// drawing makes a good that draws from a pool, and the pool where there is none.
func (n newFiles) drawing(id, at, pool string) error {
	if !content.IsID(pool) {
		return because(errUsage, "%q is no name of a pool: lower-case words joined by underscores", pool)
	}
	made := map[string]string{"pool": fmt.Sprintf("%q", pool)}
	if err := n.write(at, content.NewGood(id, content.KindGreeting, made)); err != nil {
		return err
	}
	file := n.stock("pools", pool+".toml")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		if err := n.write(file, "# One text of which a buyer is given any. Add as many as you like.\n[[entry]]\n"+
			"text = \"A first text of the pool "+pool+".\"\n"); err != nil {
			return err
		}
	}
	return n.next("write the texts into %s, each once; %s", near(file), thenBuild)
}

func (n newFiles) page(name string) error {
	name = strings.Trim(strings.TrimSuffix(name, ".md"), "/")
	if !content.IsOwnPage(name) {
		return because(errUsage, "%q is no address of a page: lower-case words joined by hyphens, such as about-us",
			name)
	}
	words := strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "-", " ")
	at := filepath.Join(n.cfg.Content, "pages", filepath.FromSlash(name)+".md")
	if err := n.write(at, content.NewPage(strings.ToUpper(words[:1])+words[1:])); err != nil {
		return err
	}
	return n.next("write its text; it will stand at %s/%s. %s", n.cfg.BaseURL, name, thenBuild)
}

func (n newFiles) publication(name string) error {
	i := slices.IndexFunc(content.Publications, func(p content.Publication) bool { return p.Name == name })
	if i < 0 || !slices.Contains(publications(), name) {
		return because(errUsage, "%q is none of: %s", name, strings.Join(publications(), ", "))
	}
	p := content.Publications[i]
	date := "2026-01-01"
	if site, err := shop.LoadSite(n.cfg); err == nil {
		date = site.Config.Date.Format("2006-01-02")
	}
	file, text := content.NewIssue(p, date)
	at := n.stock("paid", name, file)
	if err := n.write(at, text); err != nil {
		return err
	}
	index := filepath.Join(n.cfg.Content, "pages", name+".md")
	if _, err := os.Lstat(index); errors.Is(err, fs.ErrNotExist) {
		if err := n.write(index, content.NewPage(strings.ToUpper(name[:1])+name[1:])); err != nil {
			return err
		}
	}
	return n.next("write the page at %s, which is sold for %s USDC; its index stands at %s%s, with the prose of %s. %s",
		near(at), content.FormatUSDC(p.Price), n.cfg.BaseURL, p.Index, near(index), thenBuild)
}

// near is a path as it is seen from where the program runs, where it lies below.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
