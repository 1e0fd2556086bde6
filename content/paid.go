package content

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Publication is a row of what is published and paid for by the page: an index that is free, and
// pages whose bodies are private.
type Publication struct {
	// Name is the folder below paid.
	Name string
	// Index is the path of its index, whose prose is the page of that name: /zodiac/archive.
	Index string
	// Pattern is the address of its pages, with Params in it: /zodiac/archive/{sign}/week-{week}.
	Pattern string
	Params  []PublicationParam
	// One is what a page of it is called.
	One string
	// Price of a page, in atomic units of USDC.
	Price int64
}

// PublicationParam is a part of the address of a publication's pages.
type PublicationParam struct {
	Name    string
	Form    string // what it must be, an anchored RE2 expression
	Example string // one of the specimen's
	Says    string // where it is from
}

const slugForm = "^[a-z0-9]+(-[a-z0-9]+)*$"

// Publications are all of them.
var Publications = []Publication{
	{Name: "almanac", Index: "/almanac", Pattern: "/almanac/{slug}", One: "page", Price: USDC / 100,
		Params: []PublicationParam{{"slug", slugForm, "the-till-at-night", "of the index at /almanac"}}},
	{Name: "gazette", Index: "/gazette", Pattern: "/gazette/issue-{issue_number}", One: "issue", Price: USDC / 100,
		Params: []PublicationParam{{"issue_number", "^[1-9][0-9]*$", "1", "of the index at /gazette"}}},
	zodiac,
	{Name: "tips", Index: "/tips", Pattern: "/tips/{slug}", One: "tip", Price: USDC / 100,
		Params: []PublicationParam{{"slug", slugForm, "send-your-own-key", "of the index at /tips"}}},
}

// forms are those of all parameters, compiled.
var forms = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := make(map[string]*regexp.Regexp)
	for _, p := range Publications {
		for _, param := range p.Params {
			all[param.Form] = regexp.MustCompile(param.Form)
		}
	}
	return all
})

// path is the address of a page, by the values of the parameters in their order, and whether they
// have the forms that the publication asks for.
func (p Publication) path(values ...string) (path string, ok bool) {
	path, ok = p.Pattern, len(values) == len(p.Params)
	for i, param := range p.Params[:min(len(values), len(p.Params))] {
		ok = ok && len(values[i]) <= maxSlug && forms()[param.Form].MatchString(values[i])
		path = strings.Replace(path, "{"+param.Name+"}", values[i], 1)
	}
	return path, ok
}

// Issue is one page that is paid for.
type Issue struct {
	// ID is "almanac/tides", and the address but for its first slash. It is permanent.
	ID          string
	Publication Publication
	// Title and Summary are public, plain text.
	Title, Summary string
	// Date is when it is published, midnight UTC: from then on, by the site's own date, it is
	// listed and sold.
	Date time.Time
	// By is who is credited with it in public, "" for the keeper.
	By string
	// Body is private: Markdown with the placeholders of Site.Expand.
	Body string
}

// Path is where it is bought.
func (i Issue) Path() string { return "/" + i.ID }

// Words counts the words of the body, which the index tells.
func (i Issue) Words() int { return len(strings.Fields(i.Body)) }

// Issue returns the page with this id, if it is published: an id of a day to come is nobody's yet.
func (s *Site) Issue(id string) (Issue, bool) {
	i, ok := s.issues[id]
	if !ok || s.Issues[i].Date.After(s.Config.Date) {
		return Issue{}, false
	}
	return s.Issues[i], true
}

// IssuesOf returns the pages of a publication that are published, the newest first.
func (s *Site) IssuesOf(publication string) []Issue {
	var of []Issue
	for _, i := range s.Issues {
		if i.Publication.Name == publication && !i.Date.After(s.Config.Date) {
			of = append(of, i)
		}
	}
	return of
}

const (
	paidFolder = "paid/"
	// maxIssue bounds the body of a page that is paid for, in bytes.
	maxIssue = 64 << 10
	maxSlug  = 60
)

// issues reads the pages that are paid for, newest first within their publication.
func (l *loader) issues() []Issue {
	var all []Issue
	for _, p := range Publications {
		folder := paidFolder + p.Name + "/"
		var of []Issue
		titles := make(map[string]bool)
		for _, file := range l.under(folder) {
			name, known := strings.CutSuffix(strings.TrimPrefix(file, folder), ".md")
			if !known {
				continue // refused as an unknown file at the end
			}
			read := l.leaf
			if p.Name == zodiac.Name {
				read = l.week
			}
			for _, i := range read(p, file, name) {
				if key := strings.ToLower(i.Title); titles[key] {
					l.fail(file, 0, "title: %q stands twice", i.Title)
				} else {
					titles[key] = true
				}
				of = append(of, i)
			}
		}
		slices.SortStableFunc(of, func(a, b Issue) int { return b.Date.Compare(a.Date) })
		all = append(all, of...)
	}
	return all
}

// leaf reads a file that is one page, named by the last part of its address.
func (l *loader) leaf(p Publication, file, name string) []Issue {
	prefix, _, _ := strings.Cut(path.Base(p.Pattern), "{")
	word, prefixed := strings.CutPrefix(name, prefix)
	at, formed := p.path(word)
	if !prefixed || !formed {
		l.take(file)
		l.fail(file, 0, "no %s of the %s has this name: %s%s", p.One, p.Name, prefix, p.Params[0].Form)
		return nil
	}
	i, ok := l.issue(file)
	if !ok {
		return nil
	}
	i.ID, i.Publication = at[1:], p
	return []Issue{i}
}

func (l *loader) issue(file string) (Issue, bool) {
	front, body, _, ok := l.cut(file)
	if !ok {
		return Issue{}, false
	}
	var raw struct {
		Title   string `toml:"title"`
		Summary string `toml:"summary"`
		Date    string `toml:"date"`
		By      string `toml:"by"`
	}
	if !l.decode(file, front, &raw) {
		return Issue{}, false
	}
	f := sourceFile{l: l, name: file, text: front}
	f.prose("title", raw.Title, 80)
	f.prose("summary", raw.Summary, 240)
	f.optional("by", raw.By, 80)
	switch {
	case strings.TrimSpace(body) == "":
		l.fail(file, 0, "has no body")
	case len(body) > maxIssue:
		l.fail(file, 0, "its body is longer than %d bytes", maxIssue)
	}
	l.checkPlaceholders(file, body)
	return Issue{Title: raw.Title, Summary: raw.Summary, Date: f.date("date", raw.Date), By: raw.By,
		Body: body}, true
}
