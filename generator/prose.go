package generator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"store.example/agentstore/corpus/attest"
)

// What the keeper writes is read before it is published: a link within the site leads somewhere, a
// picture is there, and there is no HTML in it, since that would be left out in silence.

// ErrProse is wrapped by what is wrong with the keeper's prose.
var ErrProse = errors.New("the site's prose has faults")

// checkProse reads the prose of all pages and goods that the record of the last build does not
// know, or knows beside other addresses. The error has a line for each fault, as "file:line: what".
func (b *build) checkProse(ctx context.Context) error {
	s := b.s
	known, addresses, made := s.linkable(), s.digestAddresses(), b.old == nil
	names := make([]string, len(s.Site.Pages))
	for i := range names {
		names[i] = s.Site.Pages[i].Name
	}
	pages := output{name: "page_prose", keys: func(*source) []string { return names }}
	pages.deps = func(_ *source, i int, d *digester) {
		d.digest(addresses, s.sums[i])
		d.number(int64(s.Site.Pages[i].Line))
		s.digestTargets(d, s.Site.Pages[i].Body)
	}
	pages.check = func(u unit) []error {
		p := &s.Site.Pages[u.at]
		return s.faults(p.File(), p.Line, p.Body, known, p.Own, made)
	}
	goods := output{name: "good_prose", keys: goodKeys}
	goods.deps = func(_ *source, i int, d *digester) {
		d.digest(addresses)
		d.text(s.goods[i].Body)
		d.number(int64(s.goods[i].Line))
		s.digestTargets(d, s.goods[i].Body)
	}
	goods.check = func(u unit) []error {
		g := s.goods[u.at]
		return s.faults(g.File(), g.Line, g.Body, known, false, made)
	}
	pages.bare, goods.bare = true, true
	if err := b.render(ctx, []output{pages, goods}); err != nil {
		return err
	}
	if len(b.faults) > 0 {
		return fmt.Errorf("%w:\n%w", ErrProse, errors.Join(b.faults...))
	}
	return nil
}

// digestAddresses is over all that a link may lead to: what linkable reads, but for what is of the
// program.
func (s *source) digestAddresses() attest.Digest {
	d := newDigester()
	d.digest(s.api)
	d.config(s.Site.Config)
	for i := range s.rows {
		if row := &s.rows[i]; row.keys != nil {
			d.text(row.name)
			d.text(row.keys(s)...)
		}
	}
	return d.sum()
}

// faults are those of a text that begins on a line of its file and is all of its page, or not.
// Where its page will be made, its HTML is made here as well, from the same reading.
func (s *source) faults(file string, begins int, text string, known addresses, whole, made bool) (faults []error) {
	if !strings.ContainsAny(text, "<[") {
		return nil // neither a link nor a picture nor HTML begins otherwise
	}
	src := []byte(text)
	doc, ids := parsed(src, plainFrame)
	here := places{ids, whole}
	at := 0 // in src, of the block that is being read
	fault := func(offset int, format string, args ...any) {
		line := begins + bytes.Count(src[:min(offset, len(src))], []byte("\n"))
		faults = append(faults, fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...)))
	}
	// from is where a text stands behind the beginning of its block, whose beginning it is
	// otherwise.
	from := func(needle string) int {
		if i := bytes.Index(src[at:], []byte(needle)); i >= 0 {
			return at + i
		}
		return at
	}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			at = n.Lines().At(0).Start
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			fault(at, "raw HTML is not published: write Markdown, or put it between backquotes to show it")
		case *ast.RawHTML:
			fault(n.Segments.At(0).Start, "raw HTML is not published: write Markdown, or put it between backquotes "+
				"to show it")
		case *ast.Link:
			if why := s.deadLink(string(n.Destination), known, here); why != "" {
				fault(from("("+string(n.Destination)), "link to %s: %s", n.Destination, why)
			}
		case *ast.AutoLink:
			if why := s.deadLink(string(n.URL(src)), known, here); n.AutoLinkType == ast.AutoLinkURL && why != "" {
				fault(from(string(n.URL(src))), "link to %s: %s", n.URL(src), why)
			}
		case *ast.Image:
			if to := string(n.Destination); !strings.HasPrefix(to, "/") || !known.has(to) {
				fault(from("("+to), "picture %s: there is none on this site, and pages show none of others", to)
			}
		}
		return ast.WalkContinue, nil
	})
	looseNotes(src, doc, fault)
	if made && s.Site.Expand(text) == text {
		html, err := written(src, doc)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", file, err))
		}
		s.checked.Store(text, html)
	}
	return faults
}

// deadLink says why a link from a page leads nowhere, "" where it does not.
func (s *source) deadLink(to string, known addresses, here places) string {
	to = s.Site.Expand(to)
	if own, ok := strings.CutPrefix(to, s.base); ok && (own == "" || own[0] == '/' || own[0] == '#' || own[0] == '?') {
		to = "/" + strings.TrimPrefix(own, "/")
	}
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return "it is no address"
	case u.Scheme == "http" || u.Scheme == "https":
		if u.Host == "" {
			return "it is no address"
		}
		return ""
	case u.Scheme == "mailto":
		return ""
	case u.Scheme != "" || u.Host != "":
		return "want https:, mailto:, or an address of this site that begins with /"
	case u.Path == "":
		return here.lacks(u.Fragment)
	case u.Path[0] != '/':
		return "an address of this site begins with /"
	case !known.has(u.Path):
		return "there is nothing at this address of the site"
	}
	return s.placesAt(u.Path).lacks(u.Fragment)
}

// addresses are those that a link may lead to: exact ones, families of which any member may be
// there, and families of which the members are known.
type addresses struct {
	exact    map[string]bool
	families []string // such as /corpus/host/{host}
	listed   []listing
}

// listing is a family by what stands around the value of its parameter, and its values in order.
type listing struct {
	before, after string
	values        []string
}

func (l listing) has(path string) bool {
	rest, begins := strings.CutPrefix(path, l.before)
	value, ends := strings.CutSuffix(rest, l.after)
	_, found := slices.BinarySearch(l.values, value)
	return begins && ends && found
}

func (a addresses) has(path string) bool {
	return a.exact[path] || slices.ContainsFunc(a.listed, func(l listing) bool { return l.has(path) }) ||
		slices.ContainsFunc(a.families, func(family string) bool { return fits(family, path) })
}

// fits reports whether a path may be of a family.
func fits(family, path string) bool {
	head, rest, _ := strings.Cut(family, "{")
	parameter, tail, _ := strings.Cut(rest, "}")
	value, ok := strings.CutPrefix(path, head)
	if !ok {
		return false
	}
	if more, _, several := strings.Cut(tail, "{"); several {
		return strings.Contains(value, more)
	}
	value, ok = strings.CutSuffix(value, tail)
	return ok && value != "" && (strings.HasSuffix(parameter, "...") || !strings.Contains(value, "/"))
}

// linkable lists what the site answers. The members of families that the record grows are not
// counted one by one.
func (s *source) linkable() addresses {
	known := addresses{exact: make(map[string]bool)}
	add := func(pattern string) {
		if strings.Contains(pattern, "{") {
			known.families = append(known.families, pattern)
			return
		}
		known.exact[pattern] = true
	}
	members := make(map[string][]string) // of families that are listed here
	for i := range s.rows {
		if row := &s.rows[i]; row.keys != nil {
			members[row.name] = row.keys(s)
		}
	}
	for _, d := range s.docs {
		keys, listed := members[d.Name]
		var patterns []string
		if d.Path != "" {
			patterns = append(patterns, d.Path)
		}
		for _, f := range d.Files {
			patterns = append(patterns, "/"+f.Path)
		}
		for _, p := range patterns {
			if start, end := strings.IndexByte(p, '{'), strings.IndexByte(p, '}'); listed && start >= 0 {
				known.listed = append(known.listed, listing{p[:start], p[end+1:], keys})
				continue
			}
			add(p)
		}
		if d.Query != nil {
			known.exact[d.Query.Path] = true
		}
	}
	for _, r := range s.API {
		if r.Method == "GET" && !r.Internal {
			add(r.Pattern)
		}
	}
	// A copy of the record is cloned from here.
	known.exact["/corpus.git"] = true
	return known
}
