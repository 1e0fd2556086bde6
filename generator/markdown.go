package generator

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	goldtext "github.com/yuin/goldmark/text"

	"store.example/agentstore/content/api"
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
func (s *source) prose(text string, around frame) (templates.Prose, error) {
	text = s.Site.Expand(text)
	html, err := markup(text, around)
	return templates.Prose{Markdown: text, HTML: html}, err
}

// proseIn is prose for one form of a page: HTML takes its time, and is in no other.
func (s *source) proseIn(mediaType, text string, around frame) (templates.Prose, error) {
	if mediaType == api.HTML {
		return s.prose(text, around)
	}
	return templates.Prose{Markdown: s.Site.Expand(text)}, nil
}

// twoProses is a text that stands in two places of a page, cut at its first heading. It is read as
// one: ids, notes and the addresses of links are those of both.
func (s *source) twoProses(text string, around frame) (before, after templates.Prose, err error) {
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
