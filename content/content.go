// Package content loads what the keeper says and sells: the site's own facts,
// the shelf (one file per good), the pools the goods draw from, and the prose
// of the pages. It knows nothing of purchases, pages' markup or the network.
//
// A site is a folder of sources:
//
//	site.toml              the site's facts (Config)
//	retired.toml           goods that are no longer sold (optional)
//	porch.toml             the lines that are said on the porch (optional)
//	directory.toml         reviews of neighbours (optional)
//	shelf/<id>.md          one good: TOML between +++ lines, then Markdown
//	pages/<name>.md        one page: the same form; those of the store, and the keeper's own
//	pages/problems/<code>.md
//	pools/<name>.toml      the texts a good gives out, as [[entry]] tables
//	paid/<publication>/<name>.md  one page that is paid for (Publications), or those of a week
//	files/…                a file that a good sells, or a folder of which each file is sold once
//	texts/<name>.md        a text that a good sells, with words in braces for what an order says
//
// A keeper's pools, paid pages, files and texts are private and may live in a folder of their
// own (Sources.Stock), the vault. Loading is strict: an unknown key, an unknown file, a
// duplicate or a value over its limit is an error that names file and line.
// Names that start with a dot are skipped, as version control and editors
// leave them behind, and so is Go source, since the specimen lives beside it.
package content

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Specimen is the site every clone starts from: complete, public on purpose,
// and the default of Load. Its root is the content folder.
//
//go:embed site.toml retired.toml porch.toml directory.toml shelf pages pools paid
var Specimen embed.FS

// Sources says where a site is read from.
type Sources struct {
	// Content holds site.toml, shelf and pages; nil means Specimen.
	Content fs.FS
	// Stock holds the pools, <name>.toml at its root, and the folders paid, files and texts; nil
	// means the folders pools, paid, files and texts of Content. When it is set, Content may
	// not hold them as well.
	Stock fs.FS
	// StockName is what errors call the folder of Stock, such as var/stock; "" calls what is in it
	// by its name in a site without one, such as pools/tea.toml.
	StockName string
}

// Site is everything loaded and checked. It is read-only after Load and may be
// shared by any number of goroutines.
type Site struct {
	// Config is site.toml.
	Config Config
	// Goods is the shelf in shelf order.
	Goods []Good
	// Pools maps a pool's name to its entries.
	Pools map[string]Pool
	// Pages is sorted by name.
	Pages []Page
	// Retired is in the order of retired.toml.
	Retired []RetiredGood
	// Issues are the pages that are paid for, in the order of Publications, the newest first in
	// each.
	Issues []Issue
	// Porch is what is said on the porch.
	Porch Porch
	// Directory is in the order of directory.toml.
	Directory []Neighbour
	// Digest is the SHA-256 in hex over the path and bytes of every source
	// file, pools included, in path order.
	Digest string

	off     []string // names of parts
	stock   string   // what errors call the folder of the private sources
	goods   map[string]int
	pages   map[string]int
	retired map[string]int
	issues  map[string]int
}

// Good returns the good with this id, if it is on the shelf.
func (s *Site) Good(id string) (Good, bool) {
	i, ok := s.goods[id]
	if !ok {
		return Good{}, false
	}
	return s.Goods[i], true
}

// Page returns the page with this name, such as "index" or "problems/gone".
func (s *Site) Page(name string) (Page, bool) {
	i, ok := s.pages[name]
	if !ok {
		return Page{}, false
	}
	return s.Pages[i], true
}

// Problem returns the page of a problem code.
func (s *Site) Problem(code string) (Page, bool) { return s.Page(problemFolder + code) }

// Problems returns the pages of all problem codes, by code.
func (s *Site) Problems() []Page {
	var ps []Page
	for _, p := range s.Pages {
		if p.Code() != "" {
			ps = append(ps, p)
		}
	}
	return ps
}

// RetiredGood returns the entry of a good that is no longer sold.
func (s *Site) RetiredGood(id string) (RetiredGood, bool) {
	i, ok := s.retired[id]
	if !ok {
		return RetiredGood{}, false
	}
	return s.Retired[i], true
}

// Load reads and checks a whole site. The error joins everything that is
// wrong, one line each, as "file:line: what".
func Load(src Sources) (*Site, error) {
	if src.Content == nil && src.Stock == nil {
		site, err := builtIn()
		if err != nil {
			return nil, err
		}
		return site.clone(), nil
	}
	return gather(src).site()
}

// builtIn is the built-in site, which is the same for as long as the program runs.
var builtIn = sync.OnceValues(func() (*Site, error) { return gather(Sources{}).site() })

// clone is a site whose lists are its own, so that one may be made of another.
func (s *Site) clone() *Site {
	c := *s
	c.Goods, c.Pages, c.Issues = slices.Clone(s.Goods), slices.Clone(s.Pages), slices.Clone(s.Issues)
	c.Retired, c.Directory, c.Pools = slices.Clone(s.Retired), slices.Clone(s.Directory), maps.Clone(s.Pools)
	return &c
}

// gather reads the files of a site, and what is wrong with them as files.
func gather(src Sources) *loader {
	if src.Content == nil {
		src.Content = Specimen
	}
	l := newLoader()
	l.read(src.Content, "", true)
	private := src.Content
	if src.Stock != nil {
		private, l.stock = src.Stock, src.StockName
		for folder, what := range map[string]string{poolFolder: "the pools", paidFolder: "the paid pages",
			textFolder: "the texts"} {
			if l.has(folder) {
				l.fail(strings.TrimSuffix(folder, "/"), 0,
					"%s are kept in the stock folder, so this folder must not exist", what)
			}
		}
		if _, err := fs.Stat(src.Content, strings.TrimSuffix(fileFolder, "/")); err == nil {
			l.fail("files", 0, "the files are kept in the stock folder, so this folder must not exist")
		}
		l.read(src.Stock, poolFolder, false)
		for _, folder := range []string{paidFolder, textFolder} {
			if sub, ok := folderOf(src.Stock, folder); ok {
				l.read(sub, folder, true)
			}
		}
	}
	if files, ok := folderOf(private, fileFolder); ok {
		l.weigh(files)
	}
	return l
}

func newLoader() *loader {
	return &loader{files: make(map[string][]byte), used: make(map[string]bool), units: make(map[string]Pool)}
}

// folderOf is a folder of a file system, where there is one.
func folderOf(fsys fs.FS, folder string) (fs.FS, bool) {
	name := strings.TrimSuffix(folder, "/")
	if info, err := fs.Stat(fsys, name); err != nil || !info.IsDir() {
		return nil, false
	}
	sub, err := fs.Sub(fsys, name)
	return sub, err == nil
}

// site reads and checks what was gathered.
func (l *loader) site() (*Site, error) {
	if l.err() != nil {
		return nil, l.err()
	}
	s, digest := &Site{stock: l.stock}, make(chan string, 1)
	go func() { digest <- l.digest() }()
	config, parts := l.config()
	s.Config = config
	s.Goods = l.goods()
	s.Retired = l.retired(s.Goods)
	s.Pools = l.pools(s.Goods)
	s.Issues = l.issues()
	s.Porch, s.Directory = l.porch(), l.directory()
	l.decide(s, parts)
	s.Pages = l.pages(s)
	l.refuseUnread()
	s.Digest = <-digest
	if l.err() != nil {
		return nil, l.err()
	}

	s.goods = index(s.Goods, func(g Good) string { return g.ID })
	s.pages = index(s.Pages, func(p Page) string { return p.Name })
	s.retired = index(s.Retired, func(r RetiredGood) string { return r.ID })
	s.issues = index(s.Issues, func(i Issue) string { return i.ID })
	return s, nil
}

func index[T any](list []T, key func(T) string) map[string]int {
	m := make(map[string]int, len(list))
	for i, v := range list {
		m[key(v)] = i
	}
	return m
}

// loader gathers the files and everything that is wrong with them, so that a
// keeper sees all of it at once.
type loader struct {
	files map[string][]byte // path under the site → bytes
	used  map[string]bool   // files that something has read; nil where that is noted elsewhere
	// lost says that a good could not be read, so that a pool nobody seems to
	// draw from may be that good's.
	lost bool
	// packed says that the files come from an archive, which an older program may have written.
	packed bool
	// told are the files of which something was said: one that was refused is not missing too.
	told map[string]bool
	// stock is what errors call the folder of the private sources, "" for what they are called in a
	// site that has them among the others.
	stock string
	// units are the folders of files of which each is sold once, by the names of their pools.
	units map[string]Pool
	errs  []error
}

// maxFile bounds a source file; a pool of a few thousand entries fits.
const maxFile = 1 << 20

// walk visits what a keeper wrote below a folder, in the order of fs.WalkDir.
func walk(fsys fs.FS, visit func(name string, d fs.DirEntry) error) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case !PassedOver(d.Name()):
			return visit(name, d)
		case d.IsDir():
			return fs.SkipDir
		}
		return nil
	})
}

func (l *loader) read(fsys fs.FS, prefix string, deep bool) {
	var names []string
	err := walk(fsys, func(name string, d fs.DirEntry) error {
		switch {
		case d.IsDir() && l.apart(prefix, name+"/"):
			return fs.SkipDir
		case prefix == "" && name == "api" && d.IsDir():
			return fs.SkipDir // the package in the specimen's folder, with its released descriptions
		case d.IsDir() && slices.Contains([]string{".md", ".toml"}, path.Ext(name)):
			l.fail(prefix+name, 0, "is a folder, and a file has this name: rename it")
			return fs.SkipDir
		case d.IsDir():
			if !deep {
				l.fail(prefix+name, 0, "unknown folder")
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) == ".go":
			return nil // the specimen's folder is also this package's
		case !d.Type().IsRegular() && !l.readable(fsys, prefix, name):
			return nil
		}
		names = append(names, name)
		return nil
	})
	bodies, errs := make([][]byte, len(names)), make([]error, len(names))
	atOnce(len(names), func(i int) { bodies[i], errs[i] = fs.ReadFile(fsys, names[i]) })
	for i, name := range names {
		if len(bodies[i]) > maxFile {
			l.fail(prefix+name, 0, "larger than %d bytes", maxFile)
			continue
		}
		l.files[prefix+name] = byLineFeeds(bodies[i])
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		l.errs = append(l.errs, fmt.Errorf("reading %ssources: %w", prefix, err))
	}
}

// apart reports whether a folder is read by itself: those of a stock, and files, which are weighed.
func (l *loader) apart(prefix, folder string) bool {
	if prefix == poolFolder {
		return slices.Contains([]string{paidFolder, fileFolder, textFolder}, folder)
	}
	return prefix == "" && folder == fileFolder && !l.packed
}

// readable reports whether a name that is no regular file leads to one, and otherwise refuses it: a
// pipe or a device may have no end, and folders are not followed, so that none holds itself.
func (l *loader) readable(fsys fs.FS, prefix, name string) bool {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		l.fail(prefix+name, 0, "leads to nothing that can be read: %v", err)
	case info.IsDir():
		l.fail(prefix+name, 0, "is a link to a folder, which is not followed: put the folder itself there")
	case !info.Mode().IsRegular():
		l.fail(prefix+name, 0, "is no file but a pipe, a socket or a device: remove it")
	default:
		return true
	}
	return false
}

// atOnce calls do with 0 to n-1, on all processors.
func atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func (l *loader) has(prefix string) bool {
	for name := range l.files {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// take marks a file as read and returns it.
func (l *loader) take(name string) ([]byte, bool) {
	b, ok := l.files[name]
	if ok && l.used != nil {
		l.used[name] = true
	}
	return b, ok
}

// under lists the files below a folder, sorted.
func (l *loader) under(folder string) []string {
	var names []string
	for name := range l.files {
		if strings.HasPrefix(name, folder) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (l *loader) refuseUnread() {
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		folder, _, _ := strings.Cut(name, "/")
		drawn := slices.Contains([]string{poolFolder, fileFolder, textFolder}, folder+"/")
		switch {
		case l.used[name], l.lost && drawn: // or that of the good that could not be read
		case drawn:
			l.fail(name, 0, "unknown file: no good is made of it")
		default:
			l.fail(name, 0, "unknown file")
		}
	}
}

// missing tells of a file that has to be there, unless it was told why it cannot be read.
func (l *loader) missing(file, why string) {
	if !l.told[file] {
		l.fail(file, 0, "missing%s", why)
	}
}

// real is where a file, or a folder, of the sources lies.
func (l *loader) real(name string) string { return lies(l.stock, name) }

// lies is where a file, or a folder, of the sources lies by what their private folder is called.
func lies(stock, name string) string {
	for _, folder := range []string{poolFolder, paidFolder, fileFolder, textFolder} {
		if rest, private := strings.CutPrefix(name, folder); private && stock != "" {
			return path.Join(stock, strings.TrimPrefix(folder, poolFolder), rest)
		}
	}
	return name
}

func (l *loader) fail(file string, line int, format string, args ...any) {
	if l.told == nil {
		l.told = make(map[string]bool)
	}
	l.told[file] = true
	msg, file := fmt.Sprintf(format, args...), l.real(file)
	if line > 0 {
		l.errs = append(l.errs, fmt.Errorf("%s:%d: %s", file, line, msg))
		return
	}
	l.errs = append(l.errs, fmt.Errorf("%s: %s", file, msg))
}

func (l *loader) err() error { return errors.Join(l.errs...) }

// digest is over length-prefixed path and bytes, so that no two trees share it.
func (l *loader) digest() string {
	h, length := sha256.New(), make([]byte, 8)
	put := func(b []byte) {
		binary.BigEndian.PutUint64(length, uint64(len(b)))
		h.Write(length)
		h.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		put([]byte(name))
		put(l.files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}
