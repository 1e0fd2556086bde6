package generator

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
)

// A link may lead to a place within a page: to a heading of its prose, or to what the page has
// around that. Pages that the record alone makes are not looked into.

// places are the ids to which links on a page may lead. nil ids are unknown, and so is everything
// then.
type places struct {
	ids   map[string]bool // of the headings of its prose
	whole bool            // the prose is all there is but for the frame of plain pages
}

// numberBehind is what stands behind an id that was taken.
var numberBehind = regexp.MustCompile(`-[0-9]+$`)

// lacks says why there is no place of a name, "" where there is one.
func (p places) lacks(fragment string) string {
	fragment, _, _ = strings.Cut(fragment, ":~:") // what is behind it is a text to be marked
	around := fullFrame
	if p.whole {
		around = plainFrame
	}
	switch {
	case fragment == "" || fragment == "top" || p.ids == nil || p.ids[fragment] || around.ids[fragment]:
		return ""
	case !p.whole && around.ids[numberBehind.ReplaceAllString(fragment, "")]:
		return "" // a heading that is called as something around the prose is
	case len(p.ids) == 0:
		return fmt.Sprintf("that page has no place #%s, and no headings", fragment)
	}
	const most = 12
	ids := slices.Sorted(maps.Keys(p.ids))
	more := ""
	if len(ids) > most {
		ids, more = ids[:most], " and others"
	}
	return fmt.Sprintf("that page has no place #%s; its headings are #%s%s", fragment, strings.Join(ids, ", #"), more)
}

// placesAt are the places of the page at a path.
func (s *source) placesAt(path string) places {
	if p, ok := s.placed.Load(path); ok {
		return p.(places)
	}
	var p places
	if text, whole, ok := s.proseAt(path); ok {
		_, ids := parsed([]byte(s.Site.Expand(text)), plainFrame)
		p = places{ids, whole}
	}
	s.placed.Store(path, p)
	return p
}

// proseAt is the prose of the page at a path; whole says that there is nothing else on the page.
func (s *source) proseAt(path string) (text string, whole, ok bool) {
	if id, good := strings.CutPrefix(path, "/menu/"); good {
		g, ok := s.Site.Good(id)
		return g.Body, false, ok
	}
	name := strings.TrimPrefix(path, "/")
	if name == "" {
		name = "index"
	}
	p, ok := s.Site.Page(name)
	text = p.Body
	if name == "verify" {
		for _, more := range s.verifying("record/clone") {
			q, _ := s.Site.Page(more)
			text += "\n\n" + q.Body
		}
	}
	return text, p.Own, ok
}

// withFragment finds what in a text may be an address of this site with a place in it.
var withFragment = regexp.MustCompile(`(/[\p{L}\p{N}/_.-]*)#`)

// digestTargets is over the pages into which the links of a text lead: where these change, the
// links are looked at anew.
func (s *source) digestTargets(d *digester, text string) {
	if !mayLead(text) {
		return
	}
	for _, m := range withFragment.FindAllStringSubmatch(strings.ReplaceAll(s.Site.Expand(text), s.base, ""), -1) {
		if target, _, ok := s.proseAt(m[1]); ok {
			d.text(m[1], target)
		}
	}
}

// mayLead reports whether an address with a fragment may stand in a text. Few have one, and this
// reads about a gigabyte a second, which an expression does not.
func mayLead(text string) bool {
	for i := 1; i < len(text); i++ {
		n := strings.IndexByte(text[i:], '#')
		if n < 0 {
			return false
		}
		i += n
		if before := text[i-1]; before > ' ' && !strings.ContainsRune("#([`", rune(before)) {
			return true
		}
	}
	return false
}

// note is a reference to a footnote, or with a colon behind it at the beginning of a line its text.
var note = regexp.MustCompile(`\[\^([^\[\]\n]+)\](:?)`)

// looseNotes finds footnotes that have no text, and texts to which nothing refers: the former would
// stand on the page as they were typed, the latter nowhere.
func looseNotes(src []byte, doc ast.Node, fault func(offset int, format string, args ...any)) {
	if !bytes.Contains(src, []byte("[^")) {
		return
	}
	told := make(map[string]bool)
	var code [][2]int                                                           // what stands there is shown as it is
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *extensionast.Footnote:
			told[string(n.Ref)] = true
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				code = append(code, [2]int{n.Lines().At(i).Start, n.Lines().At(i).Stop})
			}
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					code = append(code, [2]int{t.Segment.Start, t.Segment.Stop})
				}
			}
		}
		return ast.WalkContinue, nil
	})
	for _, m := range note.FindAllSubmatchIndex(src, -1) {
		start, label := m[0], string(src[m[2]:m[3]])
		shown := slices.ContainsFunc(code, func(c [2]int) bool { return c[0] <= start && start < c[1] })
		switch {
		case told[label] || shown || start > 0 && src[start-1] == '\\':
		case m[5] > m[4] && len(bytes.TrimSpace(src[bytes.LastIndexByte(src[:start], '\n')+1:start])) == 0:
			fault(start, "footnote [^%s]: nothing refers to it, so it would stand nowhere: write [^%s] where it "+
				"belongs", label, label)
		default:
			fault(start, "footnote [^%s] has no text: write a paragraph that begins with [^%s]: and has one", label,
				label)
		}
	}
}
