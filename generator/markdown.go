package generator

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	goldtext "github.com/yuin/goldmark/text"

	"store.example/agentstore/content/api"
	"store.example/agentstore/templates"
)

// markdown renders the keeper's prose. Raw HTML in it would be left out, as it
// is not needed and would escape the checks of the pages; a build refuses it.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// markupBuffer is the memory of a conversion. Without Buffered and Flush, goldmark would put a
// buffer of its own in front.
type markupBuffer struct{ bytes.Buffer }

func (*markupBuffer) Buffered() int { return 0 }
func (*markupBuffer) Flush() error  { return nil }

var markupBuffers = sync.Pool{New: func() any { return new(markupBuffer) }}

func (s *source) prose(text string) (templates.Prose, error) {
	text = s.Site.Expand(text)
	if html, ok := s.checked.LoadAndDelete(text); ok {
		return templates.Prose{Markdown: text, HTML: html.(templates.Markup)}, nil
	}
	html, err := markup(text)
	return templates.Prose{Markdown: text, HTML: html}, err
}

// proseIn is prose for one form of a page: HTML takes its time, and is in no other.
func (s *source) proseIn(mediaType, text string) (templates.Prose, error) {
	if mediaType == api.HTML {
		return s.prose(text)
	}
	return templates.Prose{Markdown: s.Site.Expand(text)}, nil
}

// scrolling lets what may be wider than the page scroll in a box of its own, which a keyboard
// reaches. Text holds no < of its own.
var scrolling = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", strings.Replace(templates.Wide, `"wide"`,
	`"wide prose"`, 1)+"<table>", "</table>", "</table></div>")

// markup is the HTML of Markdown.
func markup(text string) (templates.Markup, error) {
	src := []byte(text)
	return written(src, markdown.Parser().Parse(goldtext.NewReader(src)))
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
