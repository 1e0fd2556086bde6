package dynamic

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"

	"store.example/agentstore/content/api"

	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// mostHits is how many pages a search shows, as templates/search.js does.
const mostHits = 40

// asked reports whether a request brings a query that a server answers.
func (p *page) asked(r *http.Request) bool {
	return p.doc != nil && p.doc.Asked && !p.direct && r.URL.RawQuery != "" && r.URL.Query().Get("q") != ""
}

// find answers the page of the search with what its query finds in the published index.
func (s *Server) find(w http.ResponseWriter, r *http.Request, p *page) error {
	form := route.Negotiate(joined(r.Header["Accept"]), p.types)
	if form < 0 {
		return notAcceptable(p.types)
	}
	snap := w.(*call).snap
	index, err := snap.index()
	if err != nil {
		return unreadable(err)
	}
	q := route.Inputs(r).String("q")
	v := &templates.FindView{Chrome: &templates.Chrome{}, Asked: q, Page: templates.Page{Title: "Search",
		Summary: "Goods, pages and hosts of the record, in one box.", Path: p.doc.Path, NoIndex: true}}
	if snap.edition != nil && snap.edition.Chrome != nil {
		v.Chrome = snap.edition.Chrome
	}
	hits, all := index.Find(q, mostHits)
	for _, h := range hits {
		text := h.Title
		if h.Part != "" {
			text += " › " + h.Part
		}
		v.Hits = append(v.Hits, templates.Pointer{Text: text, Href: h.Path, Note: h.Excerpt})
	}
	switch {
	case all == 0:
		v.Found = "No goods and pages. Try one word, or the name of a host at /corpus."
	case all == 1:
		v.Found = "1 good or page."
	default:
		v.Found = fmt.Sprintf("%d goods and pages.", all)
	}
	render, mediaType := templates.HTML, api.HTML
	if p.types[form] == "text/markdown" {
		render, mediaType = templates.Markdown, api.Markdown
	}
	body, err := render(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", api.Short.Control())
	_, _ = w.Write(body) // the client went away: nobody is left to tell
	return nil
}

// index is that of the snapshot's tree, which is read once.
func (snap *snapshot) index() (*api.SearchIndex, error) {
	const at = "/search/pages.json"
	if known, ok := snap.known.Load(at); ok {
		return known.(*api.SearchIndex), nil
	}
	p := snap.pages[at]
	if p == nil {
		return nil, fmt.Errorf("the tree has no %s", at)
	}
	a, err := snap.answer(p.reps[0], "")
	if err != nil {
		return nil, err
	}
	file, done, err := a.reader()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(file)
	if err := done(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	x := new(api.SearchIndex)
	if err := json.Unmarshal(b, x); err != nil {
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	x.Prepare()
	snap.known.Store(at, x)
	return x, nil
}
