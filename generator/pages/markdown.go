package pages

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	goldtext "github.com/yuin/goldmark/text"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/templates"
)

// markdown renders the keeper's prose. Raw HTML in it would be left out, as it
// is not needed and would escape the checks of the pages; a build refuses it.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Footnote, extension.TaskList),
)

// markupBuffer is the memory of a conversion. Without Buffered and Flush, goldmark would put a
// buffer of its own in front.
type markupBuffer struct{ bytes.Buffer }

func (*markupBuffer) Buffered() int { return 0 }
func (*markupBuffer) Flush() error  { return nil }

var markupBuffers = sync.Pool{New: func() any { return new(markupBuffer) }}

// prose is a text for a page with a frame.
func (s *Source) prose(text string, around frame) (templates.Prose, error) {
	text = s.Site.Expand(text)
	html, err := markup(text, around)
	return templates.Prose{Markdown: text, HTML: html}, err
}

// proseIn is prose for one form of a page: HTML takes its time, and is in no other.
func (s *Source) proseIn(mediaType, text string, around frame) (templates.Prose, error) {
	if mediaType == api.HTML {
		return s.prose(text, around)
	}
	return templates.Prose{Markdown: s.Site.Expand(text)}, nil
}

// twoProses is a text that stands in two places of a page, cut at its first heading. It is read as
// one: ids, notes and the addresses of links are those of both.
func (s *Source) twoProses(text string, around frame) (before, after templates.Prose, err error) {
	text = s.Site.Expand(text)
	before.Markdown, after.Markdown = splitAtHeading(text)
	src := []byte(text)
	doc, _ := parsed(src, around)
	first := ast.NewDocument()
	for n := doc.FirstChild(); n != nil && n.Kind() != ast.KindHeading && n.Kind() != extensionast.KindFootnoteList; {
		next := n.NextSibling()
		first.AppendChild(first, n) // which takes it out of doc
		n = next
	}
	if before.HTML, err = written(src, first); err == nil {
		after.HTML, err = written(src, doc)
	}
	return before, after, err
}

// scrolling lets what may be wider than the page scroll in a box of its own, which a keyboard
// reaches. Text holds no < of its own.
var scrolling = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", strings.Replace(templates.Wide, `"wide"`,
	`"wide prose"`, 1)+"<table>", "</table>", "</table></div>")

// markup is the HTML of Markdown on a page with a frame.
func markup(text string, around frame) (templates.Markup, error) {
	src := []byte(text)
	doc, _ := parsed(src, around)
	return written(src, doc)
}

// parsed reads Markdown and gives each heading its id.
func parsed(src []byte, around frame) (doc ast.Node, ids map[string]bool) {
	doc = markdown.Parser().Parse(goldtext.NewReader(src))
	return doc, identify(src, doc, around)
}

// written is the HTML of Markdown that has been parsed.
func written(src []byte, doc ast.Node) (templates.Markup, error) {
	b := markupBuffers.Get().(*markupBuffer)
	defer markupBuffers.Put(b)
	b.Reset()
	if err := markdown.Renderer().Render(b, src, doc); err != nil {
		return "", fmt.Errorf("rendering markdown: %w", err)
	}
	html := b.String()
	if strings.Contains(html, "<pre>") || strings.Contains(html, "<table>") { // few do, and the rest need no copy
		html = scrolling.Replace(html)
	}
	return templates.Markup(html), nil
}

// splitAtHeading cuts Markdown before its first heading, so that the shelves
// can stand between.
func splitAtHeading(text string) (before, after string) {
	if strings.HasPrefix(text, "#") {
		return "", text
	}
	if i := strings.Index(text, "\n#"); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

// frame is what a page has around its prose.
type frame struct {
	ids   map[string]bool // none of which a heading of the prose may have
	plain bool
}

// The frames: of a page that is prose alone, and of the others.
var (
	plainFrame = frame{ids: idSet(templates.PlainFrame), plain: true}
	fullFrame  = frame{ids: idSet(templates.Frame, rowIDs())}
)

// rowIDs are the ids of rows that stand below prose: signs, criteria, practice doors.
func rowIDs() (ids []string) {
	for _, sign := range content.Signs {
		ids = append(ids, sign.ID)
	}
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			ids = append(ids, c.Name)
		}
	}
	for _, a := range probe.Advisories() {
		if a.Scheme == "" {
			ids = append(ids, a.Name)
		}
	}
	for _, p := range practice.All() {
		ids = append(ids, p.ID)
	}
	return ids
}

func idSet(lists ...[]string) map[string]bool {
	set := make(map[string]bool)
	for _, list := range lists {
		for _, id := range list {
			set[id] = true
		}
	}
	return set
}

// KnownIDs are the places that a link within the site may name: those of the frames, of rows below
// prose, and of every heading.
func KnownIDs(site *content.Site) map[string]bool {
	known := idSet(templates.PlainFrame, templates.Frame, rowIDs())
	for _, p := range site.Pages {
		_, ids := parsed([]byte(site.Expand(p.Body)), plainFrame)
		maps.Copy(known, ids)
	}
	return known
}

// identify gives each heading of a text an id and returns them. The id is made of the heading's
// text: letters, marks and digits of every script, in lower case, with hyphens for blanks, hyphens
// and low lines. Where it is taken, by another heading or by the frame, a number is behind it.
func identify(src []byte, doc ast.Node, around frame) map[string]bool {
	ids, last := make(map[string]bool), make(map[string]int)
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if !entering || n.Kind() != ast.KindHeading {
			return ast.WalkContinue, nil
		}
		id := idOf(plainTextOf(src, n))
		for base := id; ids[id] || around.ids[id]; {
			last[base]++
			id = fmt.Sprintf("%s-%d", base, last[base])
		}
		ids[id] = true
		n.SetAttributeString("id", []byte(id))
		return ast.WalkSkipChildren, nil
	})
	return ids
}

// idOf is the id that a heading's text makes.
func idOf(text string) string {
	id := strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c):
			return unicode.ToLower(c)
		case unicode.IsSpace(c) || c == '-' || c == '_':
			return '-'
		}
		return -1
	}, strings.TrimSpace(text))
	if id == "" {
		return "heading"
	}
	return id
}

// plainTextOf is the text of a node as it stands in its source, without the addresses of links.
func plainTextOf(src []byte, n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

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
func (s *Source) placesAt(path string) places {
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
func (s *Source) proseAt(path string) (text string, whole, ok bool) {
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
func (s *Source) digestTargets(d *Digester, text string) {
	if !mayLead(text) {
		return
	}
	for _, m := range withFragment.FindAllStringSubmatch(strings.ReplaceAll(s.Site.Expand(text), s.Base, ""), -1) {
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
