package generator

import (
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// The page with the one search: it lists the goods and the pages, and its script looks through
// them and through the index of hosts.

func depsFind(s *source, _ int, d *digester) {
	depsCatalogue(s, 0, d)
	for i := range s.Site.Pages {
		if p := &s.Site.Pages[i]; p.Own || strings.HasPrefix(p.Name, docsFolder) {
			d.text(p.Name, p.Title, p.Summary)
		}
	}
}

func renderFind(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
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
