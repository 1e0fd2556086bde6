package pages

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"store.example/agentstore/content/api"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// The page with the one search: it lists the goods and the pages, and its script looks through
// them and through the index of hosts.

func depsFind(s *Source, _ int, d *Digester) {
	depsCatalogue(s, 0, d)
	for i := range s.Site.Pages {
		if p := &s.Site.Pages[i]; p.Own || strings.HasPrefix(p.Name, docsFolder) {
			d.text(p.Name, p.Title, p.Summary)
		}
	}
}

func renderFind(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page := s.viewOf(u, "Search", "Goods, pages and hosts of the record, in one box.", made)
	goods := templates.Section{ID: "goods", Title: "Goods"}
	for _, g := range s.goods {
		goods.Links = append(goods.Links, templates.Pointer{Text: g.Name, Href: "/menu/" + g.ID, Note: g.Description})
	}
	pages := templates.Section{ID: "pages", Title: "Pages"}
	for _, d := range s.docs {
		html := slices.ContainsFunc(d.Files, func(f api.Representation) bool { return f.MediaType == api.HTML })
		if html && !d.Hidden && d.Path != "" && d.Path != page.Path && !strings.ContainsRune(d.Path, '{') {
			pages.Links = append(pages.Links, templates.Pointer{Text: d.Path, Href: d.Path, Note: d.Summary})
		}
	}
	for i := range s.Site.Pages {
		if p := &s.Site.Pages[i]; p.Own || strings.HasPrefix(p.Name, docsFolder) {
			pages.Links = append(pages.Links, templates.Pointer{Text: p.Title, Href: "/" + p.Name, Note: p.Summary})
		}
	}
	v := templates.FindView{Chrome: s.chrome, Page: page, Sections: []templates.Section{goods, pages}}
	return u.twin(&v, mediaType)
}

// The index of the search: goods first, then the pages of prose by name, then the pages of the
// program, then what else has a page.

const findIndexFile = "search/pages.json"

func depsFindIndex(s *Source, _ int, d *Digester) {
	depsFind(s, 0, d)
	d.digest(s.sums...)
	for _, g := range s.goods {
		d.text(g.Body)
	}
	for i := range s.rows {
		if p := s.rows[i].program; p != nil {
			p.deps(s, 0, d)
		}
	}
}

func renderFindIndex(s *Source, _ Unit, mediaType string, _ attest.Digest) ([]byte, error) {
	doc, err := indented(s.indexPages())
	if err != nil || mediaType == api.JSON {
		return doc, err
	}
	return fmt.Appendf(nil, "(window.storeSearch = window.storeSearch || {})[%q] = %s;\n", findIndexFile,
		bytes.TrimSpace(doc)), nil
}

// indexPages makes the index. Nothing is read any more once it is full.
func (s *Source) indexPages() *api.SearchIndex {
	x := &api.SearchIndex{Pages: []api.SearchPage{}}
	add := func(path, title, summary, prose string, around frame) {
		p := api.SearchPage{Path: path, Title: title, Summary: s.Site.Expand(summary)}
		if !x.Full() {
			p.Parts = partsOf(s.Site.Expand(prose), around)
		}
		x.Add(p)
	}
	for _, g := range s.goods {
		add("/menu/"+g.ID, g.Name, g.Description, g.Body, fullFrame)
	}
	prose, program := make(map[string]bool), make(map[string]*programPage)
	for i := range s.rows {
		prose[s.rows[i].prose], program[s.rows[i].Name] = true, s.rows[i].program
	}
	told, known := make(map[string]bool), s.linkable()
	for i := range s.Site.Pages {
		p := &s.Site.Pages[i]
		if path := pathOf(p); path != "" && known.has(path) {
			told[path] = true
			around := fullFrame
			if p.Own || prose[p.Name] || strings.HasPrefix(p.Name, docsFolder) ||
				strings.HasPrefix(p.Name, runningFolder) {
				around = plainFrame
			}
			add(path, p.Title, p.Summary, p.Body, around)
		}
	}
	for _, d := range s.docs {
		html := slices.ContainsFunc(d.Files, func(f api.Representation) bool { return f.MediaType == api.HTML })
		if !html || d.Hidden || d.Path == "" || told[d.Path] || strings.ContainsRune(d.Path, '{') {
			continue
		}
		if p := program[d.Name]; p != nil {
			add(d.Path, p.title, p.summary, p.body(s.Input), plainFrame)
			continue
		}
		add(d.Path, d.Path, d.Summary, "", plainFrame)
	}
	return x
}

// partsOf cuts prose at its headings into plain text. Of a program or a listing it takes the
// beginning. A heading whose name is taken by what stands around the prose has no place in it that
// is known here.
func partsOf(text string, around frame) []api.SearchPart {
	src := []byte(text)
	doc, _ := parsed(src, around)
	parts := []api.SearchPart{{}}
	var b strings.Builder
	end := func() {
		parts[len(parts)-1].Text = strings.Join(strings.Fields(b.String()), " ")
		b.Reset()
	}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			end()
			id, _ := n.AttributeString("id")
			at, _ := id.([]byte)
			parts = append(parts, api.SearchPart{At: string(at), Title: plainTextOf(src, n)})
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			code := n.Lines().Value(src)
			b.Write(code[:min(len(code), api.CodeBytes)])
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
	end()
	return slices.DeleteFunc(parts, func(p api.SearchPart) bool { return p.Title == "" && p.Text == "" })
}
