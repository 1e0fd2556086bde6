package pagecheck

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what is read of a page.
const (
	MaxTokens  = 100_000
	maxText    = 2000 // of one text that is kept
	maxAnchors = 5000
)

// A page is what one pass over the tokens keeps.
type page struct {
	title         string
	titles        int
	description   string
	descriptions  int
	lang          string
	canonical     []string
	robots        []string
	headings      []int // levels in order
	emptyHeadings int
	ids           map[string]bool
	fragments     []string // of links within the page
	dead          int      // links that lead nowhere: "", "#", javascript:
	data          []string // scripts of structured data
	microdata     int
	elements      int
	base          string
	cut           bool // MaxTokens was reached
}

// read makes one pass.
func read(raw []byte) page {
	p := page{ids: map[string]bool{}}
	z := html.NewTokenizer(bytes.NewReader(raw))
	z.SetMaxBuf(1 << 20)
	var text *strings.Builder // of the title, heading or script that is open
	var open atom.Atom
	foreign := 0 // depth inside svg, whose title is not the page's
	for n := 0; ; n++ {
		if n == MaxTokens {
			p.cut = true
			break
		}
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				p.cut = true
			}
			return p
		case html.TextToken:
			if text != nil && text.Len() < 1<<18 {
				text.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			p.elements++
			p.element(t, foreign > 0)
			switch {
			case t.DataAtom == atom.Svg && t.Type == html.StartTagToken:
				foreign++
			case t.Type != html.StartTagToken:
			case t.DataAtom == atom.Title && foreign == 0, level(t.DataAtom) > 0, t.DataAtom == atom.Script &&
				linked(t):
				text, open = &strings.Builder{}, t.DataAtom
			case text != nil && t.DataAtom == atom.Img && level(open) > 0:
				text.WriteString(attribute(t, "alt"))
			}
		case html.EndTagToken:
			t := z.Token()
			if t.DataAtom == atom.Svg && foreign > 0 {
				foreign--
			}
			if text != nil && t.DataAtom == open {
				p.close(open, text.String())
				text = nil
			}
		}
	}
	return p
}

// level is that of a heading, 0 for everything else.
func level(a atom.Atom) int {
	return slices.Index([]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}, a) + 1
}

func linked(t html.Token) bool {
	kind, _, _ := strings.Cut(strings.ToLower(attribute(t, "type")), ";")
	return strings.TrimSpace(kind) == "application/ld+json"
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(t html.Token, name string) bool {
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func (p *page) close(a atom.Atom, text string) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case a == atom.Title:
		if p.titles++; p.titles == 1 {
			p.title = bounded(text, maxText)
		}
	case a == atom.Script:
		p.data = append(p.data, text)
	case text == "":
		p.emptyHeadings++
	}
}

func (p *page) element(t html.Token, foreign bool) {
	if id := attribute(t, "id"); id != "" && len(p.ids) < maxAnchors {
		p.ids[id] = true
	}
	if has(t, "itemscope") && has(t, "itemtype") || has(t, "typeof") &&
		(has(t, "vocab") || strings.Contains(attribute(t, "typeof"), ":")) {
		p.microdata++
	}
	if foreign {
		return
	}
	if l := level(t.DataAtom); l > 0 && len(p.headings) < maxAnchors {
		p.headings = append(p.headings, l)
	}
	switch t.DataAtom {
	case atom.Html:
		if p.lang == "" {
			p.lang = strings.TrimSpace(attribute(t, "lang"))
		}
	case atom.Base:
		if p.base == "" {
			p.base = attribute(t, "href")
		}
	case atom.Meta:
		content := strings.Join(strings.Fields(attribute(t, "content")), " ")
		switch strings.ToLower(strings.TrimSpace(attribute(t, "name"))) {
		case "description":
			if p.descriptions++; p.descriptions == 1 {
				p.description = bounded(content, maxText)
			}
		case "robots", "googlebot":
			p.robots = append(p.robots, strings.ToLower(bounded(content, 200)))
		}
	case atom.Link:
		for rel := range strings.FieldsSeq(strings.ToLower(attribute(t, "rel"))) {
			if rel == "canonical" && len(p.canonical) < 10 {
				p.canonical = append(p.canonical, strings.TrimSpace(attribute(t, "href")))
			}
		}
	case atom.A:
		if name := attribute(t, "name"); name != "" && len(p.ids) < maxAnchors {
			p.ids[name] = true
		}
		p.link(t)
	}
}

func (p *page) link(t html.Token) {
	if !has(t, "href") {
		return
	}
	href := strings.TrimSpace(attribute(t, "href"))
	switch {
	case href == "" || href == "#" || strings.HasPrefix(strings.ToLower(href), "javascript:"):
		p.dead++
	case href[0] == '#' && len(p.fragments) < maxAnchors:
		p.fragments = append(p.fragments, href[1:])
	}
}

func bounded(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
