package dynamic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// SiteConfig says where the published tree is and what it must be.
type SiteConfig struct {
	// Pointer is the tree itself, or a symbolic link to it, or a file whose one line is its path
	// (relative to the file), or a folder that holds such a link or file by the name of current.
	// When a link or file is changed, or the manifest of a tree is replaced, the new tree is
	// opened.
	Pointer string
	// Twins holds the precompressed forms of files as <sha256>.br and <sha256>.gz; empty: there are
	// none.
	Twins string
	// Ring holds the keys whose signature a manifest must have.
	Ring attest.Ring
	// BaseURL is what the manifest must name.
	BaseURL string
	// Edition finds what a tree was built from, by the content digest in its manifest; its error
	// refuses the tree. nil: a tree stands for itself, and Now and Chrome are nil.
	Edition func(contentDigest string) (*Edition, error)
	// Documents are the files that are routes; nil: api.Documents.
	Documents []api.Document
	// Memory bounds the bytes of small files that are kept; 0: 256 MiB.
	Memory int64
}

// Edition is what the store says and sells while a tree is served: what the tree was built from.
// The two are taken up together, so that no page says another price than the till asks.
type Edition struct {
	Site   *content.Site
	Chrome *templates.Chrome // of pages that are rendered on request
}

// Site is the published tree: a snapshot that is replaced as a whole when another tree takes its
// place. A request is answered from one snapshot. Its methods may be called by many goroutines at
// once.
type Site struct {
	cfg       SiteConfig
	documents []*document
	labels    []*label
	plain     *label             // of files that are no documents
	exact     map[string]binding // file path → what it represents
	patterns  []pattern
	twins     *os.Root
	log       *slog.Logger
	metrics   *Metrics

	current atomic.Pointer[snapshot]

	mu      sync.Mutex // guards opening
	seen    identityOf // of the tree that was opened last
	refused refusal    // of the tree that was not

	past struct {
		sync.Mutex
		sites map[string]*content.Site // that are not in force, by digest; nil: not to be had
	}
}

// refusal remembers a tree that was refused, so that it is not tried every second.
type refusal struct {
	tree  identityOf
	next  time.Time     // when it is tried again
	after time.Duration // how long that was put off
}

// The times between tries of a tree that is refused.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// pastSites bounds how many sites that are not in force are held.
const pastSites = 8

// document is a row of the table with what all its answers share.
type document struct {
	api.Document
	own   *label
	twins []*label // of each representation; nil where it has no route of its own
	cache []string
}

// label is a route's name with its counters, which are there once a server has the site.
type label struct {
	name string
	m    *measured
}

// binding is what a file is: a representation of a document.
type binding struct {
	doc *document
	rep int
}

// pattern is a representation whose path holds a parameter.
type pattern struct {
	binding
	api.FilePattern
	urlHead, urlTail string // of the document's path
}

// identityOf tells trees apart without reading them.
type identityOf struct {
	dir  string
	head os.FileInfo
}

func (a identityOf) same(b identityOf) bool {
	return a.dir == b.dir && a.head != nil && b.head != nil && os.SameFile(a.head, b.head) &&
		a.head.ModTime().Equal(b.head.ModTime()) && a.head.Size() == b.head.Size()
}

// OpenSite opens the tree that the pointer names. It fails if there is none, or if it is not the
// one that the configuration expects.
func OpenSite(cfg SiteConfig) (*Site, error) {
	if cfg.Documents == nil {
		cfg.Documents = api.Documents
	}
	cfg.Memory = cmp.Or(cfg.Memory, 256<<20)
	s := &Site{cfg: cfg, exact: make(map[string]binding), log: slog.New(slog.DiscardHandler)}
	s.plain = s.label("file")
	for _, d := range cfg.Documents {
		if err := s.bind(d); err != nil {
			return nil, err
		}
	}
	if cfg.Twins != "" {
		twins, err := os.OpenRoot(cfg.Twins)
		switch {
		case err == nil:
			s.twins = twins
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("opening twins: %w", err)
		}
	}
	switch err := s.Refresh(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; hint: run store build", err)
	case err != nil:
		return nil, err
	}
	return s, nil
}

// bind notes which files represent a document.
func (s *Site) bind(d api.Document) error {
	doc := &document{Document: d, cache: []string{d.Cache.Control()}, twins: make([]*label, len(d.Files))}
	doc.own = s.label(d.Name)
	for i, f := range d.Files {
		if slices.Contains(d.Twins(), f) {
			doc.twins[i] = s.label(d.TwinName(f))
		}
	}
	s.documents = append(s.documents, doc)
	for i, f := range d.Files {
		b := binding{doc, i}
		p := pattern{binding: b, FilePattern: f.Pattern()}
		if p.Fixed {
			if _, taken := s.exact[f.Path]; taken {
				return fmt.Errorf("document %s: %s represents another one too", d.Name, f.Path)
			}
			s.exact[f.Path] = b
			continue
		}
		if d.Path == "" {
			s.patterns = append(s.patterns, p)
			continue
		}
		var param, rest string
		p.urlHead, rest, _ = strings.Cut(d.Path, "{")
		param, p.urlTail, _ = strings.Cut(rest, "}")
		if strings.Contains(p.Suffix, "{") || strings.Contains(p.urlTail, "{") ||
			!strings.Contains(f.Path, "{"+param+"}") {
			return fmt.Errorf("document %s: %s must hold the one parameter of %s", d.Name, f.Path, d.Path)
		}
		s.patterns = append(s.patterns, p)
	}
	return nil
}

func (s *Site) label(name string) *label {
	l := &label{name: name}
	s.labels = append(s.labels, l)
	return l
}

// find says which document a file represents and at which path, if any.
func (s *Site) find(file string) (b binding, urlPath string, found bool) {
	if b, ok := s.exact[file]; ok {
		return b, b.doc.Path, true
	}
	for _, p := range s.patterns {
		value, ok := p.Value(file)
		if !ok {
			continue
		}
		if p.doc.Path == "" {
			return p.binding, "", true
		}
		return p.binding, p.urlHead + value + p.urlTail, true
	}
	return binding{}, "", false
}

// attach gives the site the server's log and metrics.
func (s *Site) attach(m *Metrics, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics, s.log = m, log
	for _, l := range s.labels {
		l.m = m.measure(l.name)
		l.m.document = true
	}
}

// Refresh opens the tree that the pointer names now, if it is another one than before. When that
// one is refused, the old one goes on being served.
func (s *Site) Refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, err := follow(s.cfg.Pointer)
	if err != nil {
		return err
	}
	id := identityOf{dir: dir}
	id.head, err = os.Stat(filepath.Join(dir, filepath.FromSlash(attest.PublicLayout().Head())))
	if err != nil {
		return fmt.Errorf("opening site: %w", err)
	}
	if id.same(s.seen) || id.same(s.refused.tree) && time.Now().Before(s.refused.next) {
		return nil
	}
	snap, err := s.open(dir)
	if err != nil {
		s.count("refused")
		after := firstRetry
		if id.same(s.refused.tree) {
			after = min(2*s.refused.after, lastRetry)
		}
		s.refused = refusal{id, time.Now().Add(after), after}
		return fmt.Errorf("opening site %s: %w", dir, err)
	}
	s.count("opened")
	s.seen, s.refused = id, refusal{}
	s.current.Store(snap)
	return nil
}

// Now is what the store says and sells. It is that of the tree in force.
func (s *Site) Now() *content.Site {
	if e := s.current.Load().edition; e != nil {
		return e.Site
	}
	return nil
}

// Chrome is what the pages of the tree in force share.
func (s *Site) Chrome() *templates.Chrome {
	if e := s.current.Load().edition; e != nil {
		return e.Chrome
	}
	return nil
}

// Of is what the store said and sold under a digest; what it does now where that is no longer to be
// had.
func (s *Site) Of(digest string) *content.Site {
	now := s.Now()
	if digest == "" || s.cfg.Edition == nil || now.Digest == digest {
		return now
	}
	s.past.Lock()
	defer s.past.Unlock()
	site, known := s.past.sites[digest]
	if !known {
		e, err := s.cfg.Edition(digest)
		if err == nil {
			site = e.Site
		} else {
			s.log.Error("the content that something was sold under is gone, today's stands in", "content_digest",
				digest, "err", err)
		}
		if s.past.sites == nil || len(s.past.sites) >= pastSites {
			s.past.sites = make(map[string]*content.Site)
		}
		s.past.sites[digest] = site
	}
	if site == nil {
		return now
	}
	return site
}

func (s *Site) count(outcome string) {
	if s.metrics != nil {
		s.metrics.snapshots.WithLabelValues(outcome).Inc()
	}
}

// watch refreshes until ctx ends.
func (s *Site) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.Refresh()
		if err != nil && err.Error() != said {
			said = err.Error()
			s.log.Error("published tree refused, the old one stays", "err", err)
		}
	}
}

// follow resolves a pointer to the directory it names.
func follow(pointer string) (string, error) {
	info, err := os.Lstat(pointer)
	if err != nil {
		return "", fmt.Errorf("reading site pointer: %w", err)
	}
	switch {
	case info.IsDir():
		inside := filepath.Join(pointer, "current")
		if at, err := os.Lstat(inside); err == nil && !at.IsDir() {
			return follow(inside)
		}
		return pointer, nil
	case info.Mode()&fs.ModeSymlink != 0:
		dir, err := filepath.EvalSymlinks(pointer)
		if err != nil {
			return "", fmt.Errorf("reading site pointer: %w", err)
		}
		return dir, nil
	}
	b, err := os.ReadFile(pointer)
	if err != nil {
		return "", fmt.Errorf("reading site pointer: %w", err)
	}
	dir := strings.TrimSpace(string(b))
	if dir == "" || strings.ContainsAny(dir, "\n\x00") {
		return "", fmt.Errorf("reading site pointer %s: want one line with the path of the tree", pointer)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(pointer), dir)
	}
	return dir, nil
}
