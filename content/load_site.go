package content

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	siteFile    = "site.toml"
	retiredFile = "retired.toml"
	pageFolder  = "pages/"
)

// config reads site.toml: the facts, and what it says of parts.
func (l *loader) config() (Config, map[string]bool) {
	var raw struct {
		Title           string          `toml:"title"`
		Tagline         string          `toml:"tagline"`
		BaseURL         string          `toml:"base_url"`
		Keeper          string          `toml:"keeper"`
		Contact         string          `toml:"contact"`
		Date            string          `toml:"date"`
		SecurityExpires string          `toml:"security_expires"`
		Parts           map[string]bool `toml:"parts"`
	}
	text, ok := l.text(siteFile)
	if !ok {
		l.missing(siteFile, ": store init makes a site that has one")
		return Config{}, nil
	}
	if !l.decode(siteFile, text, &raw) {
		return Config{}, nil
	}
	f := sourceFile{l: l, name: siteFile, text: text}
	f.prose("title", raw.Title, maxTitle)
	f.prose("tagline", raw.Tagline, 160)
	f.prose("keeper", raw.Keeper, maxKeeper)
	if why := checkBaseURL(raw.BaseURL); why != "" {
		f.fail("base_url", "%s", why)
	}
	f.contact(raw.Contact)
	c := Config{Title: raw.Title, Tagline: raw.Tagline, BaseURL: raw.BaseURL, Keeper: raw.Keeper, Contact: raw.Contact}
	c.Date = f.date("date", raw.Date)
	c.SecurityExpires = f.date("security_expires", raw.SecurityExpires)
	if !c.Date.IsZero() && !c.SecurityExpires.IsZero() &&
		(!c.SecurityExpires.After(c.Date) || c.SecurityExpires.After(c.Date.AddDate(1, 0, 0))) {
		f.fail("security_expires", "must be after date and within a year of it")
	}
	return c, raw.Parts
}

// CheckConfig says what is wrong with a value of site.toml, by its key: title, keeper, base_url or
// contact.
func CheckConfig(key, value string) error {
	l := &loader{}
	f := sourceFile{l: l, name: siteFile}
	switch key {
	case "title":
		f.prose(key, value, maxTitle)
	case "keeper":
		f.prose(key, value, maxKeeper)
	case "base_url":
		if why := checkBaseURL(value); why != "" {
			f.fail(key, "%s", why)
		}
	case "contact":
		f.contact(value)
	}
	return l.err()
}

// Characters of a title and of a keeper's name.
const (
	maxTitle  = 60
	maxKeeper = 80
)

func (f sourceFile) contact(value string) {
	u, err := url.Parse(value)
	if err != nil || !(u.Scheme == "mailto" && strings.Contains(u.Opaque, "@") || u.Scheme == "https" && u.Host != "") {
		f.fail("contact", "must be an address such as mailto:me@shop.example, or one with https:")
	}
}

// checkBaseURL says what is wrong with a base URL, "" for nothing. Plain http
// is for loopback addresses alone.
func checkBaseURL(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "", u.Path != "", u.String() != base:
		return "must be scheme and host alone, such as https://store.example"
	case u.Scheme == "https":
		return ""
	case u.Scheme == "http":
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
			return ""
		}
	}
	return "must be https, or http on a loopback address"
}

func (f sourceFile) date(key, value string) time.Time {
	t, err := time.Parse(time.DateOnly, value)
	if err != nil {
		f.fail(key, "must be a date such as 2026-11-17")
		return time.Time{}
	}
	return t
}

// pages reads the pages. A site has all pages of the specimen but for those of parts that are off,
// since each is an address the store serves, and as many of its own as the keeper writes. A page
// that the site does not have is the program's, so that a new release's texts reach every store;
// the first page alone is always the keeper's.
func (l *loader) pages(s *Site) []Page {
	spec := &loader{files: make(map[string][]byte)}
	spec.read(Specimen, "", true)
	want := spec.allPages()
	l.errs = append(l.errs, spec.errs...)
	pages := l.allPages()

	status := make(map[string]int)
	for _, p := range want {
		status[p.Name] = p.Status
		switch file := pageFolder + p.Name + ".md"; {
		case l.used[file]:
		case p.Name == "index":
			l.missing(file, ": it is the first page; store init makes a site that has one")
		case s.needs(p.Name):
			p.Program, p.Body, p.Title, p.Summary = true, s.unlink(p.Body), s.unlink(p.Title), s.unlink(p.Summary)
			pages = append(pages, p)
		}
	}
	slices.SortFunc(pages, func(a, b Page) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range pages {
		file := p.File()
		switch s, is := status[p.Name]; {
		case !is && (!ownPage.MatchString(p.Name) || len(p.Name) > maxPageName ||
			strings.HasPrefix(p.Name, problemFolder)):
			l.fail(file, 0, "no page of a store has this name; a page of your own is pages/<name>.md, or in folders "+
				"below pages, in lower-case words joined by hyphens")
		case !is:
			pages[i].Own = true
		case p.Program:
		case s != p.Status:
			l.fail(file, 2, "status: %d, must be %d", p.Status, s)
		case p.Nav != "":
			l.fail(file, 0, "nav: this page has its place in the store already; only pages of your own have a row in "+
				"the header")
		}
	}
	return pages
}

// ownPage is the form of the name of a keeper's own page.
var ownPage = regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*/)*[a-z0-9]+(-[a-z0-9]+)*$`)

const maxPageName = 60

func (l *loader) allPages() []Page {
	files := slices.DeleteFunc(l.under(pageFolder), func(file string) bool {
		return !strings.HasSuffix(file, ".md") // refused as an unknown file at the end
	})
	read, pages := make([]loader, len(files)), make([]Page, len(files))
	atOnce(len(files), func(i int) {
		read[i].files = l.files
		pages[i] = read[i].page(files[i])
	})
	for i, file := range files {
		l.take(file)
		l.errs = append(l.errs, read[i].errs...)
	}
	pages = slices.DeleteFunc(pages, func(p Page) bool { return p.Name == "" })
	// which is not the order of files
	slices.SortFunc(pages, func(a, b Page) int { return strings.Compare(a.Name, b.Name) })
	return pages
}

// page reads one page, which has no name where that fails.
func (l *loader) page(file string) Page {
	front, body, line, ok := l.cut(file)
	if !ok {
		return Page{}
	}
	var raw struct {
		Status  int    `toml:"status"`
		Title   string `toml:"title"`
		Summary string `toml:"summary"`
		Nav     string `toml:"nav"`
	}
	if !l.decode(file, front, &raw) {
		return Page{}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(file, pageFolder), ".md")
	f := sourceFile{l: l, name: file, text: front}
	f.prose("title", raw.Title, 80)
	f.prose("summary", raw.Summary, 240)
	f.optional("nav", raw.Nav, 20)
	if problem := strings.HasPrefix(name, problemFolder); problem != (raw.Status >= 400 && raw.Status <= 599) ||
		!problem && raw.Status != 0 {
		f.fail("status", "problem pages have an HTTP error status, others have none")
	}
	if body == "" {
		l.fail(file, 0, "has no body")
	}
	l.checkPlaceholders(file, body)
	return Page{Name: name, Title: raw.Title, Summary: raw.Summary, Status: raw.Status, Nav: raw.Nav, Body: body,
		Line: line}
}

func (l *loader) retired(goods []Good) []RetiredGood {
	text, ok := l.text(retiredFile)
	if !ok {
		return nil
	}
	var raw struct {
		Retired []RetiredGood `toml:"retired"`
	}
	if !l.decode(retiredFile, text, &raw) {
		return nil
	}
	sold := index(goods, func(g Good) string { return g.ID })
	lines := linesOf(text, "retired")
	seen := make(map[string]bool)
	for i, r := range raw.Retired {
		f := sourceFile{l: l, name: retiredFile, text: text}
		if i < len(lines) {
			f.line = lines[i]
		}
		if !IsID(r.ID) {
			f.fail("id", "%q is not an id", r.ID)
		}
		if _, is := sold[r.ID]; is || seen[r.ID] {
			f.fail("id", "%s is on the shelf or retired twice", r.ID)
		}
		seen[r.ID] = true
		if _, is := sold[r.FoldedInto]; r.FoldedInto != "" && !is {
			f.fail("folded_into", "%s is not on the shelf", r.FoldedInto)
		}
		f.prose("reason", r.Reason, 240)
	}
	return raw.Retired
}
