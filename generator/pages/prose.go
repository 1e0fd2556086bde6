package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"golang.org/x/sync/errgroup"

	"store.example/agentstore/corpus/attest"
)

// What the keeper writes is read before it is published: a link within the site leads somewhere, a
// picture is there, and there is no HTML in it, since that would be left out in silence.

// ErrProse is wrapped by what is wrong with the keeper's prose.
var ErrProse = errors.New("the site's prose has faults")

// prose is a text of the keeper's, which begins on a line of its file. It is the whole of its page
// but for the frame, or not.
type prose struct {
	file, text string
	line       int
	whole      bool
}

// CheckProse reads the prose of all pages and goods that is new, or stands beside new addresses:
// known reports whether a file was read before with this digest of its text and of all that a link
// may lead to, and notes that it is now. It is called by several workers. The error has a line for
// each fault, as "file:line: what".
func (s *Source) CheckProse(ctx context.Context, known func(file string, sum attest.Digest) bool) error {
	var all []prose
	for i := range s.Site.Pages {
		p := &s.Site.Pages[i]
		all = append(all, prose{p.File(), p.Body, p.Line, p.Own})
	}
	for _, g := range s.goods {
		all = append(all, prose{g.File(), g.Body, g.Line, false})
	}
	linkable, addresses, faults := s.linkable(), s.digestAddresses(), make([]error, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.Concurrency())
	for i := range all {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			p := &all[i]
			d := NewDigester()
			d.digest(addresses)
			d.text(p.text)
			d.number(int64(p.line))
			s.digestTargets(d, p.text)
			if !known(p.file, d.sum()) {
				faults[i] = errors.Join(s.faults(p, linkable)...)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("%w:\n%w", ErrProse, err)
	}
	return nil
}

// digestAddresses is over all that a link may lead to: what linkable reads, but for what is of the
// program.
func (s *Source) digestAddresses() attest.Digest {
	d := NewDigester()
	d.digest(s.api)
	d.config(s.Site.Config)
	for i := range s.rows {
		if row := &s.rows[i]; row.keys != nil {
			d.text(row.Name)
			d.text(row.keys(s)...)
		}
	}
	return d.sum()
}

// faults are those of a text.
func (s *Source) faults(p *prose, known addresses) (faults []error) {
	if !strings.ContainsAny(p.text, "<[") {
		return nil // neither a link nor a picture nor HTML begins otherwise
	}
	src := []byte(p.text)
	doc, ids := parsed(src, plainFrame)
	here := places{ids, p.whole}
	at := 0 // in src, of the block that is being read
	fault := func(offset int, format string, args ...any) {
		line := p.line + bytes.Count(src[:min(offset, len(src))], []byte("\n"))
		faults = append(faults, fmt.Errorf("%s:%d: %s", p.file, line, fmt.Sprintf(format, args...)))
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
	return faults
}

// deadLink says why a link from a page leads nowhere, "" where it does not.
func (s *Source) deadLink(to string, known addresses, here places) string {
	to = s.Site.Expand(to)
	if own, ok := strings.CutPrefix(to, s.Base); ok && (own == "" || own[0] == '/' || own[0] == '#' || own[0] == '?') {
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
func (s *Source) linkable() addresses {
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
			members[row.Name] = row.keys(s)
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
