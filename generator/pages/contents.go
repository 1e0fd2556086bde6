package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/templates"
)

// documentation is what the contents list, by who reads it. A page is called by its title, or by
// what stands behind its address here.
var documentation = []struct {
	title string
	pages []string
}{
	{"For buyers", []string{"/docs/free", "/docs/buying", "/docs/idempotency", "/docs/recovery", "/docs/budget",
		"/docs/vouchers", "/holds",
		"/docs/callers", "/docs/npm", "/mcp", "/pricing Prices"}},
	{"For sellers", []string{"/try", "/docs/clients", "/criteria", "/criteria/laboratory The laboratory",
		"/defects", "/conformance"}},
	{"For keepers", []string{"/running", "/running/install", "/running/service", "/running/container", "/running/proxy",
		"/running/cdn", "/running/s3", "/running/postgres", "/running/backup", "/running/census", "/running/desk",
		"/running/keeping", "/running/money", "/running/listings", "/running/upgrade", "/running/configuration",
		"/docs/goods"}},
	{"For readers of the record", []string{"/corpus The record", "/corpus/errors Our errors",
		"/corpus/purchases Purchases at doors", "/corpus/query", "/docs/proof", "/verify", "/verify/run",
		"/spec/store-corpus/v1", "/spec/store-corpus/v1/rules",
		"/spec/store-evidence/v1", "/spec/store-bundle/v1"}},
	{"Reference", []string{"/glossary", "/docs/api", "/problems Problem codes", "/deprecation Versions and their ends",
		"/spec/store-attestation/v1", "/spec/store-report/v1", "/spec/store-callback/v1",
		"/spec/sign-in/v1", "/spec/mpp-usdc/v1", "/spec/delivery-receipt/v1"}},
}

// documented are the pages of the documentation that this store has, by group.
func (s *Source) documented() [][]listed {
	told := make(map[string]listed)
	for i := range s.Site.Pages {
		p := &s.Site.Pages[i]
		told[pathOf(p)] = listed{templates.Link{Text: p.Title}, p.Summary}
	}
	for i := range s.rows {
		if p := s.rows[i].program; p != nil {
			told[Documents[s.rows[i].Name].Path] = listed{templates.Link{Text: p.title}, p.summary}
		}
	}
	told["/corpus/query"] = listed{templates.Link{Text: query.title}, query.summary}
	all, known := make([][]listed, len(documentation)), s.linkable()
	for i, group := range documentation {
		for _, page := range group.pages {
			path, name, named := strings.Cut(page, " ")
			if !known.has(path) {
				continue
			}
			l := told[path]
			if l.Href = path; named {
				l.Text = name
			}
			if l.note == "" {
				d := slices.IndexFunc(s.docs, func(d api.Document) bool { return d.Path == path })
				l.note = s.docs[d].Summary
			}
			all[i] = append(all[i], l)
		}
	}
	return all
}

// docsList is the list of the documentation in Markdown, for the page that has all of it.
func (s *Source) docsList() string {
	var b strings.Builder
	for i, group := range s.documented() {
		fmt.Fprintf(&b, "\n## %s\n\n", documentation[i].title)
		for _, l := range group {
			fmt.Fprintf(&b, "- [%s](%s): %s\n", l.Text, l.Href, l.note)
		}
	}
	return b.String()
}

// contents stand beside a page of the documentation: all of it, and the headings of its own prose.
// A page that is none of it has none, and neither has what is too long for them: formats, which are
// read from end to end, and the list of all settings.
func (s *Source) contents(path, text string) *templates.Contents {
	if strings.HasPrefix(path, "/spec") || path == "/running/configuration" {
		return nil
	}
	c := &templates.Contents{Path: path}
	in := strings.HasPrefix(path, "/docs")
	for i, group := range s.documentation() {
		links := templates.LinkGroup{Title: documentation[i].title}
		for _, l := range group {
			links.Links = append(links.Links, l.Link)
			in = in || l.Href == path
		}
		c.Groups = append(c.Groups, links)
	}
	if !in {
		return nil
	}
	src := []byte(text)
	doc, _ := parsed(src, plainFrame)
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			id, _ := h.AttributeString("id")
			at, _ := id.([]byte)
			c.Here = append(c.Here, templates.Link{Text: plainTextOf(src, h), Href: "#" + string(at)})
		}
	}
	return c
}

// digestDocumentation is over what the contents of all pages depend on.
func (s *Source) digestDocumentation(d *Digester) {
	for _, group := range s.documentation() {
		for _, l := range group {
			d.text(l.Text, l.Href, l.note)
		}
	}
}

// apiReference is the page with all groups of routes.
var apiReference = programPage{"The API", "Every address of this store that programs call, by group: what it takes, " +
	"what it gives, and a request to copy.", func(in *Input) string {
	var b strings.Builder
	b.WriteString(programText("api"))
	for _, g := range apiGroupsOf(in) {
		fmt.Fprintf(&b, "\n\n## %s\n\n%s\n", titled(g.Title), g.Text)
		files := 0
		for _, r := range g.Routes {
			if r.Serve == api.File || r.Serve == api.Negotiated {
				files++
				continue
			}
			fmt.Fprintf(&b, "\n- [`%s %s`](/docs/api/%s#%s)", r.Method, r.Pattern, g.Name, idOf(r.Method+" "+r.Pattern))
		}
		if files > 0 {
			fmt.Fprintf(&b, "\n- [%d published files](/docs/api/%s)", files, g.Name)
		}
	}
	return b.String()
}}

// apiGroupsOf are the groups of what a site answers, by name.
func apiGroupsOf(in *Input) []api.Group {
	routes := slices.DeleteFunc(slices.Clone(in.API), func(r api.Route) bool { return !in.Site.Serves(r.Pattern) })
	for i := range routes {
		routes[i].Params = ownExample(routes[i].Params, in.Site.Cheapest().ID)
	}
	docs := slices.DeleteFunc(slices.Clone(api.Documents), func(d api.Document) bool { return !in.Site.Serves(d.Path) })
	groups := api.Reference(routes, docs)
	slices.SortFunc(groups, func(a, b api.Group) int { return strings.Compare(a.Name, b.Name) })
	return groups
}

func titled(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func apiGroups(s *Source) (names []string) {
	for _, g := range apiGroupsOf(s.Input) {
		names = append(names, g.Name)
	}
	return names
}

func renderAPIGroup(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	g := apiGroupsOf(s.Input)[u.at]
	text := g.Markdown(s.Base)
	body, err := s.prose(text, plainFrame)
	if err != nil {
		return nil, err
	}
	page := s.viewOf(u, "The API: "+g.Title, "What these addresses take and give, with a request to copy. "+
		"The same for programs is /openapi.json.", made)
	return u.twin(&templates.PlainView{Chrome: s.chrome, Page: page, Body: body,
		Contents: s.contents(page.Path, text)}, mediaType)
}

// renderMoved makes a page that leads people and programs to where each finds what they typed.
func renderMoved(title, text, to, data string) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, _ string, made attest.Digest) ([]byte, error) {
		page := s.viewOf(u, s.Site.Expand(title), "", made)
		page.NoIndex = true
		return templates.RenderMoved(templates.MovedView{Chrome: s.chrome, Page: page,
			To: templates.Link{Text: text, Href: to}, Data: data})
	}
}

// renderPricingPage is /pricing.md as a page.
func renderPricingPage(s *Source, u Unit, _ string, made attest.Digest) ([]byte, error) {
	page, err := s.need("pricing")
	if err != nil {
		return nil, err
	}
	v := s.viewOf(u, page.Title, page.Summary, made)
	twin, err := templates.RenderPrices(templates.PricesView{Chrome: s.chrome, Page: v,
		Body: templates.Prose{Markdown: s.Site.Expand(page.Body)}, Goods: s.Site.Goods})
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(strings.ReplaceAll(string(twin), "---:", "---"), page.Summary) // styles are in the sheet
	body, err := s.prose(strings.TrimSpace(text), plainFrame)
	if err != nil {
		return nil, err
	}
	v.Twin = "/pricing.md"
	return u.twin(&templates.PlainView{Chrome: s.chrome, Page: v, Body: body,
		Contents: s.contents(v.Path, body.Markdown)}, api.HTML)
}

// Pages of the program say what is so on every store of this release. Their text comes with the
// program and not with the keeper's sources, so that those of a former release go on building.

// depsForms: the table of the record's forms comes with the program too.
func depsForms(_ *Source, _ int, d *Digester) { d.text(string(rule.Forms())) }

func (p programPage) deps(s *Source, _ int, d *Digester) { d.text(p.title, p.summary, p.body(s.Input)) }

func (p programPage) render(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	body, err := s.prose(p.body(s.Input), plainFrame)
	if err != nil {
		return nil, err
	}
	v := templates.PlainView{Chrome: s.chrome, Page: s.viewOf(u, p.title, p.summary, made), Body: body}
	v.Contents = s.contents(v.Page.Path, p.body(s.Input))
	return u.twin(&v, mediaType)
}
