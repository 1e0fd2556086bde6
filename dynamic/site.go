package dynamic

import (
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

	"agentstore/content/api"
	"agentstore/corpus/attest"
)

// SiteConfig says where the published tree is and what it must be.
type SiteConfig struct {
	// Pointer is the tree itself, or a symbolic link to it, or a file whose one line is its path (relative to the
	// file), or a folder that holds such a link or file by the name of current. When a link or file is changed, or the
	// manifest of a tree is replaced, the new tree is opened.
	Pointer string
	// Twins holds the precompressed forms of files as <sha256>.br and <sha256>.gz; empty: there are none.
	Twins string
	// Ring holds the keys whose signature a manifest must have.
	Ring attest.Ring
	// BaseURL and ContentDigest are what the manifest must name; an empty digest is not compared.
	BaseURL, ContentDigest string
	// Documents are the files that are routes; nil: api.Documents.
	Documents []api.Document
	// Memory bounds the bytes of small files that are kept; 0: 256 MiB.
	Memory int64
}

// Site is the published tree: a snapshot that is replaced as a whole when another tree takes its place. A request is
// answered from one snapshot. Its methods may be called by many goroutines at once.
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

	mu   sync.Mutex // guards opening
	seen identityOf // of the tree that was opened or refused last
}

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
	prefix, suffix   string // of the file
	deep             bool   // the parameter takes slashes
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

// OpenSite opens the tree that the pointer names. It fails if there is none, or if it is not the one that the
// configuration expects.
func OpenSite(cfg SiteConfig) (*Site, error) {
	if cfg.Documents == nil {
		cfg.Documents = api.Documents
	}
	if cfg.Memory == 0 {
		cfg.Memory = 256 << 20
	}
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
		prefix, rest, holds := strings.Cut(f.Path, "{")
		if !holds {
			if _, taken := s.exact[f.Path]; taken {
				return fmt.Errorf("document %s: %s represents another one too", d.Name, f.Path)
			}
			s.exact[f.Path] = b
			continue
		}
		name, suffix, _ := strings.Cut(rest, "}")
		p := pattern{binding: b, prefix: prefix, suffix: suffix, deep: strings.HasSuffix(name, "...")}
		if d.Path == "" {
			s.patterns = append(s.patterns, p)
			continue
		}
		var param string
		p.urlHead, rest, _ = strings.Cut(d.Path, "{")
		param, p.urlTail, _ = strings.Cut(rest, "}")
		if strings.Contains(suffix, "{") || strings.Contains(p.urlTail, "{") || !strings.Contains(f.Path, "{"+param+"}") {
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
		value, ok := strings.CutPrefix(file, p.prefix)
		if !ok {
			continue
		}
		value, ok = strings.CutSuffix(value, p.suffix)
		if !ok || value == "" || !p.deep && strings.Contains(value, "/") {
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

// Refresh opens the tree that the pointer names now, if it is another one than before. When that one is refused, the
// old one goes on being served.
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
	if id.same(s.seen) {
		return nil
	}
	s.seen = id
	snap, err := s.open(dir)
	if err != nil {
		s.count("refused")
		return fmt.Errorf("opening site %s: %w", dir, err)
	}
	s.count("opened")
	s.current.Store(snap)
	return nil
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.Refresh(); err != nil {
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
