package pages

import (
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// viewJSON renders a view that has no page.
func viewJSON(view func(*Source, *derive.Book, Unit) any) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
		b, err := s.book()
		if err != nil {
			return nil, err
		}
		return indented(view(s, b, u))
	}
}

// sheet renders a view that has a page of figures.
func sheet[D any](name string, data func(*derive.Book) D, fill func(templates.SheetView, D) templates.SheetView) func(
	*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
		b, err := s.book()
		if err != nil {
			return nil, err
		}
		if mediaType == api.JSON {
			return indented(data(b))
		}
		page, body, err := s.prosePage(u, name, made)
		if err != nil {
			return nil, err
		}
		page.Feed = Documents[strings.TrimPrefix(name, "record/")+"_feed"].Path // "" for none
		v := fill(templates.SheetView{Chrome: s.chrome, Page: page, Body: body}, data(b))
		return u.twin(&v, mediaType)
	}
}

// What stands on the page of every week.
const (
	weekSummary = "One round of the record beside the one before it: what was reached, from which lists, and what " +
		"changed."
	weekText = "The figures are counts of signed rows; a page of a week stays as it is."
)

// renderWeek makes the page of one round, beside the one before it.
func renderWeek(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	week := b.OfWeek(u.value.(int))
	if mediaType == api.JSON {
		return indented(week)
	}
	page := s.viewOf(u, week.Week, weekSummary, made)
	body, err := s.prose(weekText, fullFrame)
	if err != nil {
		return nil, err
	}
	v := templates.WeekSheet(templates.SheetView{Chrome: s.chrome, Page: page, Body: body}, week)
	return u.twin(&v, mediaType)
}

func renderScorers(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "record/scorers", made)
	if err != nil {
		return nil, err
	}
	if mediaType == api.JSON {
		return indented(scorersDocument{proseDocument: proseJSON(page, body), Data: s.dataFiles()})
	}
	v := templates.SheetView{Chrome: s.chrome, Page: page, Body: body}
	return u.twin(&v, mediaType)
}

// scorersDocument is /scorers.json: the page's prose and where the data is.
type scorersDocument struct {
	proseDocument
	Data []derive.DataFile `json:"data"`
}

// tiers is a page of the list of hosts. One worker makes all its forms, one after the other.
func (m *Scratch) tiers(b *derive.Book, page int) derive.TiersView {
	if m.page == nil || m.page.Page != page {
		m.page = new(b.Tiers(page))
	}
	return *m.page
}

func renderTiers(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	tiers := u.Scratch.tiers(b, u.value.(int))
	if mediaType == api.JSON {
		return indented(tiers)
	}
	prose, err := s.need("record/hosts")
	if err != nil {
		return nil, err
	}
	page := s.viewOf(u, fmt.Sprintf("%s, page %d", prose.Title, tiers.Page), prose.Summary, made)
	body, err := s.prose(prose.Body, fullFrame)
	if err != nil {
		return nil, err
	}
	v := templates.TiersSheet(templates.SheetView{Chrome: s.chrome, Page: page, Body: body}, tiers)
	return u.twin(&v, mediaType)
}

// views are what is derived, as the page of the record lists it.
var views = []templates.Pointer{
	{Text: "The brief", Href: "/corpus/brief", Note: "the newest week on one page"},
	{Text: "The trajectory", Href: "/corpus/trajectory", Note: "one point a round"},
	{Text: "Our errors", Href: "/corpus/errors", Note: "verdicts that were corrected, with the rate by week"},
	{Text: "Purchases at doors", Href: "/corpus/purchases", Note: "what came of them, by week, with denominators"},
	{Text: "The fresh set", Href: "/fresh-set", Note: "doors that were ready, with their cheapest ask"},
	{Text: "The registry", Href: "/registry", Note: "rails, schemes and prices, week by week"},
	{Text: "Inflows", Href: "/inflows", Note: "USDC seen arriving at advertised addresses"},
	{Text: "Tiers", Href: "/corpus/tiers.json", Note: "how many hosts have each, and the rules"},
	{Text: "Facts about addresses", Href: "/corpus/wallet-facts.json", Note: "counts, no names and no addresses"},
	{Text: "The feed", Href: "/corpus/feed.json", Note: "what was born between rounds"},
	{Text: "The index", Href: "/corpus/index.json", Note: "the rounds, paged"},
	{Text: "The bundle", Href: "/okf/index.md", Note: "the same evidence as linked Markdown"},
	{Text: "For scorers", Href: "/scorers", Note: "how to pull, verify, cite and reproduce"},
	{Text: "Criteria", Href: "/criteria", Note: "what is asked of a door"},
}

func renderCorpus(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	data := b.Dataset(s.Site.Config.Title, s.dataFiles())
	if mediaType == api.JSON {
		return indented(data)
	}
	page, body, err := s.prosePage(u, "record/corpus", made)
	if err != nil {
		return nil, err
	}
	page.Feed = Documents["corpus_feed"].Path
	if page.About, err = templates.LinkedData(data.DatasetFacts); err != nil {
		return nil, err
	}
	var week *derive.Week
	if n := len(b.Figures); n > 0 {
		week = &b.Figures[n-1].Week
	}
	parts := templates.CorpusParts{Tiers: b.Tiers(0), Week: week, Letters: letters(b), Views: views}
	if week != nil {
		parts.Weeks, parts.Map, parts.Changes = b.Trajectory().Weeks, b.Roll.Map(), b.Brief().Changes
	}
	if s.cloned() {
		parts.Clone = s.Base + "/corpus.git"
	}
	if s.inBulk() {
		parts.Views = append(slices.Clone(views), templates.Pointer{Text: "All rows", Href: "/corpus/bulk/digests.json",
			Note: "as JSON lines, CSV, Parquet and SQLite files"},
			templates.Pointer{Text: "Ask the record", Href: "/corpus/query", Note: "in SQL, in your browser"})
	}
	v := templates.CorpusSheet(templates.SheetView{Chrome: s.chrome, Page: page, Body: body}, data, parts)
	return u.twin(&v, mediaType)
}

// dataFiles are the ways to have the record as data.
func (s *Source) dataFiles() []derive.DataFile {
	file := func(name, format, path string) derive.DataFile {
		return derive.DataFile{Type: "DataDownload", Name: name, Format: format, URL: s.Base + path}
	}
	var bulk []derive.DataFile
	if s.inBulk() {
		week := "/corpus/bulk/rows-" + s.Rounds[len(s.Rounds)-1].Week
		bulk = []derive.DataFile{
			file("all rows, a file a week and a database a year: the list", api.JSON, "/corpus/bulk/digests.json"),
			file("rows of the newest week as JSON lines", api.Gzip, week+".jsonl.gz"),
			file("rows of the newest week as CSV", api.Gzip, week+".csv.gz"),
			file("rows of the newest week as Parquet", api.Parquet, week+".parquet"),
			file("rows of the newest year as a SQLite file", api.SQLite, week[:len(week)-len("-W01")]+".sqlite"),
		}
	}
	if s.cloned() {
		bulk = append(bulk, file("the signed record as a git repository", "application/x-git", "/corpus.git"))
	}
	return append(bulk, []derive.DataFile{
		file("rounds, one file each", "application/json", "/corpus/index.json"),
		file("histories of hosts", "application/json", "/corpus/tiers.json"),
		file("transparency log", "application/octet-stream", "/corpus/log/checkpoint"),
		file("observations between rounds", "application/json", "/corpus/feed.json"),
	}...)
}

func depsCorpus(s *Source, _ int, d *Digester) {
	depsRecord("record/corpus")(s, 0, d)
	d.flag(s.inBulk())
	d.flag(s.cloned())
}

// letters lead to the pages of the list of hosts by the first letter of the names.
func letters(b *derive.Book) []templates.Pointer {
	if b.Roll == nil {
		return nil
	}
	var out []templates.Pointer
	for i := range b.Roll.Len() {
		first := b.Roll.Host(i)[:1]
		if n := len(out); n == 0 || out[n-1].Text != first {
			out = append(out, templates.Pointer{Text: first,
				Href: fmt.Sprintf("/corpus/tiers/%d", i/derive.TiersPageLimit+1)})
		}
	}
	return out
}
