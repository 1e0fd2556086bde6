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

func (l *loader) config() Config {
	var raw struct {
		Title           string `toml:"title"`
		Tagline         string `toml:"tagline"`
		BaseURL         string `toml:"base_url"`
		Keeper          string `toml:"keeper"`
		Contact         string `toml:"contact"`
		Date            string `toml:"date"`
		SecurityExpires string `toml:"security_expires"`
	}
	text, ok := l.text(siteFile)
	if !ok {
		l.fail(siteFile, 0, "missing: store init makes a site that has one")
		return Config{}
	}
	if !l.decode(siteFile, text, &raw) {
		return Config{}
	}
	f := sourceFile{l: l, name: siteFile, text: text}
	f.prose("title", raw.Title, 60)
	f.prose("tagline", raw.Tagline, 160)
	f.prose("keeper", raw.Keeper, 80)
	if why := checkBaseURL(raw.BaseURL); why != "" {
		f.fail("base_url", "%s", why)
	}
	u, err := url.Parse(raw.Contact)
	if err != nil || !(u.Scheme == "mailto" && strings.Contains(u.Opaque, "@") || u.Scheme == "https" && u.Host != "") {
		f.fail("contact", "must be a mailto: or https: address")
	}
	c := Config{Title: raw.Title, Tagline: raw.Tagline, BaseURL: raw.BaseURL, Keeper: raw.Keeper, Contact: raw.Contact}
	c.Date = f.date("date", raw.Date)
	c.SecurityExpires = f.date("security_expires", raw.SecurityExpires)
	if !c.Date.IsZero() && !c.SecurityExpires.IsZero() &&
		(!c.SecurityExpires.After(c.Date) || c.SecurityExpires.After(c.Date.AddDate(1, 0, 0))) {
		f.fail("security_expires", "must be after date and within a year of it")
	}
	return c
}

// WithBaseURL returns a copy of the site under another address, for a shop
// that runs on a loopback port. Its digest stays that of the sources.
func (s *Site) WithBaseURL(base string) (*Site, error) {
	if why := checkBaseURL(base); why != "" {
		return nil, &url.Error{Op: "base url", URL: base, Err: errText(why)}
	}
	c := *s
	c.Config.BaseURL = base
	return &c, nil
}

type errText string

func (e errText) Error() string { return string(e) }

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

// pages reads the pages. A site has all pages of the specimen, since each is an
// address the store serves, and as many of its own at the top of the folder as
// the keeper writes.
func (l *loader) pages() []Page {
	spec := &loader{files: make(map[string][]byte)}
	spec.read(Specimen, "", true)
	want := spec.allPages()
	l.errs = append(l.errs, spec.errs...)
	pages := l.allPages()

	status := make(map[string]int)
	for _, p := range want {
		status[p.Name] = p.Status
		if file := pageFolder + p.Name + ".md"; !l.used[file] {
			if strings.HasPrefix(p.Name, problemFolder) { // a release's own text, of a release after the site's
				pages = append(pages, p)
				continue
			}
			l.fail(file, 0, "missing: store init makes a site that has one")
		}
	}
	for i, p := range pages {
		file := p.File()
		switch s, is := status[p.Name]; {
		case !is && (!ownPage.MatchString(p.Name) || len(p.Name) > maxPageName ||
			strings.HasPrefix(p.Name, problemFolder)):
			l.fail(file, 0, "no page of a store has this name; a page of your own is pages/<name>.md, or in folders "+
				"below pages, in lower-case words joined by hyphens")
		case !is:
			pages[i].Own = true
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
