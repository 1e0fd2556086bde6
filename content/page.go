package content

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config is site.toml: the facts about the site that are not prose.
type Config struct {
	// Title of the store.
	Title string
	// Tagline is one sentence.
	Tagline string
	// BaseURL is the site's own address, without a slash at its end. Links and
	// signed artifacts use it; a request's Host header never does.
	BaseURL string
	// Keeper is the human's name.
	Keeper string
	// Contact is a mailto: or https: address.
	Contact string
	// Date is the date of the site, midnight UTC: what a build writes wherever
	// it must say today.
	Date time.Time
	// SecurityExpires is when security.txt goes stale: after Date, at most a
	// year (RFC 9116, section 2.5.5).
	SecurityExpires time.Time
}

// Page is the prose of one page: pages/<name>.md.
type Page struct {
	// Name is the path below pages without .md: "index", "problems/gone".
	Name string
	// Title and Summary are plain text; the summary is one sentence.
	Title, Summary string
	// Status is the HTTP status of a problem page, 0 for others.
	Status int
	// Own says that the page is the keeper's own: one that the store does
	// not need. It stands at /<name>, and Nav is its word in the header of
	// every page, "" for none.
	Own bool
	Nav string
	// Program says that the page is the program's, since the site has none of this name.
	Program bool
	// Body is Markdown with placeholders that Site.Expand fills, and Line the
	// line of the file on which it begins.
	Body string
	Line int
}

// File is the source of the page, below the site's folder.
func (p Page) File() string { return pageFolder + p.Name + ".md" }

// Code is the problem code of a problem page, "" for others.
func (p Page) Code() string {
	if p.Status == 0 {
		return ""
	}
	return p.Name[len(problemFolder):]
}

const problemFolder = "problems/"

// placeholder is a word in braces that prose may use for a fact of the site.
var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// placeholders gives the value of each.
func (s *Site) placeholders() map[string]string {
	c := s.Config
	_, host, _ := strings.Cut(c.BaseURL, "://")
	return map[string]string{
		"{base_url}":  c.BaseURL,
		"{base_host}": host,
		// A port would be another part of the name (did:web, section 3.1).
		"{did}":    "did:web:" + strings.ReplaceAll(strings.ToLower(host), ":", "%3A"),
		"{keeper}": c.Keeper,
		"{title}":  c.Title,
		"{good}":   s.Cheapest().ID,
	}
}

// Cheapest is the good that examples buy: the cheapest that is handed over in the answer and asks
// for nothing, the first of several in the order of the shelf. Where there is none such it is the
// first of the shelf, and a site without goods has the zero value.
func (s *Site) Cheapest() Good {
	best := -1
	for i := range s.Goods {
		g := &s.Goods[i]
		asks := slices.ContainsFunc(g.Inputs, func(in Input) bool { return in.Required })
		if g.Fulfilment == Instant && !asks && (best < 0 || g.Price < s.Goods[best].Price) {
			best = i
		}
	}
	if len(s.Goods) == 0 {
		return Good{}
	}
	return s.Goods[max(0, best)]
}

// Expand fills the placeholders {base_url}, {base_host}, {did}, {keeper}, {title} and {good}, the
// cheapest, in prose. Bodies of pages and goods are kept unexpanded, because the base
// URL may be chosen after loading.
func (s *Site) Expand(prose string) string {
	if !strings.Contains(prose, "{") {
		return prose
	}
	values := s.placeholders()
	return placeholder.ReplaceAllStringFunc(prose, func(p string) string {
		if v, ok := values[p]; ok {
			return v
		}
		return p
	})
}

// checkPlaceholders refuses words in braces that nothing would fill.
func (l *loader) checkPlaceholders(file, body string) {
	if !strings.Contains(body, "{") {
		return
	}
	known := new(Site).placeholders()
	for _, p := range placeholder.FindAllString(body, -1) {
		if _, ok := known[p]; !ok {
			l.fail(file, 0, "unknown placeholder %s", p)
		}
	}
}
