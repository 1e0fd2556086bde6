package pagecheck

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"store.example/agentstore/corpus/exchange"
)

// A Row is one check: its name, what it asks and why, and what to change.
type Row struct {
	Name   string `json:"name"`
	Asks   string `json:"asks"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`

	run func(x exchange.Exchange, p page) (State, string)
}

// The sizes that the checks compare with. They are customs of search engines, not rules: beyond
// them is a warning.
const (
	minTitle       = 10
	maxTitle       = 65
	minDescription = 50
	maxDescription = 160
	largeBody      = 128 << 10
)

// Battery returns the twelve checks in order. GET publishes it.
func Battery() []Row { return append([]Row(nil), rows...) }

var rows = []Row{
	{"serves-html", "does the page answer 200 with HTML?", "a reader that gets something else reads nothing",
		"answer 200 with Content-Type: text/html; charset=utf-8", servesHTML},
	{"title", "is there one title with text?", "it is the line that is shown", "put one <title> into the head", title},
	{"title-length", "is the title between 10 and 65 characters long?", "shorter says little, longer is cut off",
		"write a title of 10 to 65 characters", titleLength},
	{"meta-description", "is there one meta description?", "without one, readers pick a sentence",
		`put one <meta name="description" content="…"> into the head`, metaDescription},
	{"description-length", "is the description between 50 and 160 characters long?",
		"shorter says little, longer is cut off", "write a description of 50 to 160 characters", descriptionLength},
	{"canonical", "does one canonical link name this page?", "copies of a page compete with it",
		`put one <link rel="canonical" href="…"> with the absolute URL of the page into the head`, canonical},
	{"structured-data", "is there structured data that parses?", "agents read it instead of guessing",
		"add a script of type application/ld+json with one JSON value", structuredData},
	{"robots-noindex", "may the page be indexed?", "noindex keeps readers away, often left over from a test",
		"take noindex out of the robots meta and of X-Robots-Tag", robotsNoindex},
	{"heading-shape", "is there one h1, and does no level skip one?", "headings are the outline that readers follow",
		"use one h1 and go down one level at a time, with text in each", headingShape},
	{"lang", "does the html element name its language?", "readers choose voice and dictionary by it",
		`write <html lang="en"> with the page's language`, lang},
	{"dead-anchors", "do links within the page lead somewhere?", "a link to nowhere is a dead end",
		"give the target its id, and links a URL", deadAnchors},
	{"large-body", "is the HTML below 128 KiB?", "readers stop, and agents pay for every byte",
		"move data and scripts out of the page", largeBodyCheck},
}

func servesHTML(x exchange.Exchange, p page) (State, string) {
	if x.Response.Status != http.StatusOK {
		return Fail, fmt.Sprintf("status %d", x.Response.Status)
	}
	t, _, err := mime.ParseMediaType(x.Response.Header.Get("Content-Type"))
	switch {
	case err != nil || t != "text/html" && t != "application/xhtml+xml":
		return Fail, fmt.Sprintf("Content-Type is %.100q", x.Response.Header.Get("Content-Type"))
	case p.elements == 0:
		return Fail, "there is no element in it"
	}
	return Pass, t
}

func title(_ exchange.Exchange, p page) (State, string) {
	switch {
	case p.title == "":
		return Fail, "there is no title with text"
	case p.titles > 1:
		return Warn, fmt.Sprintf("there are %d titles", p.titles)
	}
	return Pass, bounded(p.title, 200)
}

func length(what, s string, least, most int) (State, string) {
	n := utf8.RuneCountInString(s)
	switch {
	case n == 0:
		return NotReached, "there is no " + what
	case n < least || n > most:
		return Warn, fmt.Sprintf("%d characters", n)
	}
	return Pass, fmt.Sprintf("%d characters", n)
}

func titleLength(_ exchange.Exchange, p page) (State, string) {
	return length("title", p.title, minTitle, maxTitle)
}

func metaDescription(_ exchange.Exchange, p page) (State, string) {
	switch {
	case p.description == "":
		return Fail, "there is no description with text"
	case p.descriptions > 1:
		return Warn, fmt.Sprintf("there are %d descriptions", p.descriptions)
	}
	return Pass, bounded(p.description, 300)
}

func descriptionLength(_ exchange.Exchange, p page) (State, string) {
	return length("description", p.description, minDescription, maxDescription)
}

func canonical(x exchange.Exchange, p page) (State, string) {
	switch {
	case len(p.canonical) == 0:
		return Warn, "there is no canonical link"
	case len(p.canonical) > 1:
		return Fail, fmt.Sprintf("there are %d canonical links", len(p.canonical))
	}
	u, err := url.Parse(p.canonical[0])
	here, errHere := url.Parse(x.Request.URL)
	switch {
	case err != nil || !u.IsAbs() || u.Host == "":
		return Warn, fmt.Sprintf("%.200q is not an absolute URL", p.canonical[0])
	case errHere == nil && !strings.EqualFold(u.Host, here.Host):
		return Warn, fmt.Sprintf("it names another host: %.200q", p.canonical[0])
	case errHere == nil && strings.TrimSuffix(u.EscapedPath(), "/") != strings.TrimSuffix(here.EscapedPath(), "/"):
		return Warn, fmt.Sprintf("it names another page: %.200q", p.canonical[0])
	}
	return Pass, bounded(p.canonical[0], 300)
}

func structuredData(_ exchange.Exchange, p page) (State, string) {
	for i, d := range p.data {
		var v jsontext.Value
		if err := json.Unmarshal([]byte(d), &v); err != nil || v.Kind() != '{' && v.Kind() != '[' {
			return Fail, fmt.Sprintf("script %d of application/ld+json is not a JSON object or array", i+1)
		}
	}
	if len(p.data)+p.microdata == 0 {
		return Warn, "there is none"
	}
	return Pass, fmt.Sprintf("%d scripts of JSON-LD, %d elements of microdata or RDFa", len(p.data), p.microdata)
}

func robotsNoindex(x exchange.Exchange, p page) (State, string) {
	for _, r := range append(p.robots, x.Response.Header.Values("X-Robots-Tag")...) {
		for _, d := range strings.FieldsFunc(strings.ToLower(bounded(r, 1000)),
			func(c rune) bool { return c == ',' || c == ':' || c == ' ' }) {
			if d == "noindex" || d == "none" {
				return Warn, "the page asks not to be indexed"
			}
		}
	}
	return Pass, "nothing keeps readers away"
}

func headingShape(_ exchange.Exchange, p page) (State, string) {
	ones, last := 0, 0
	for i, l := range p.headings {
		if l == 1 {
			ones++
		}
		if l > last+1 {
			return Warn, fmt.Sprintf("heading %d is h%d after h%d", i+1, l, last)
		}
		last = l
	}
	switch {
	case ones != 1:
		return Warn, fmt.Sprintf("there are %d h1", ones)
	case p.emptyHeadings > 0:
		return Warn, fmt.Sprintf("%d headings have no text", p.emptyHeadings)
	}
	return Pass, fmt.Sprintf("%d headings", len(p.headings))
}

// language is the shape of a tag (BCP 47), not its registration.
var language = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

func lang(_ exchange.Exchange, p page) (State, string) {
	switch {
	case p.lang == "":
		return Warn, "the html element has no lang"
	case !language.MatchString(p.lang):
		return Warn, fmt.Sprintf("%.50q is not a language tag", p.lang)
	}
	return Pass, bounded(p.lang, 50)
}

func deadAnchors(x exchange.Exchange, p page) (State, string) {
	missing, first := 0, ""
	for _, f := range p.fragments {
		plain, err := url.PathUnescape(f)
		if err != nil {
			plain = f
		}
		if p.ids[f] || p.ids[plain] || strings.EqualFold(f, "top") || strings.HasPrefix(f, ":~:") ||
			strings.HasPrefix(f, "/") || strings.HasPrefix(f, "!") {
			continue
		}
		if missing++; first == "" {
			first = bounded(f, 100)
		}
	}
	switch {
	case p.base != "" && len(p.fragments) > 0:
		return NotReached, "a base element sends links elsewhere"
	case p.cut || x.Response.Truncated:
		return NotReached, "the page is longer than what was read"
	case missing > 0:
		return Warn, fmt.Sprintf("%d links lead to no id of the page, the first to %q", missing, first)
	case p.dead > 0:
		return Warn, fmt.Sprintf("%d links have no target", p.dead)
	}
	return Pass, "links within the page lead somewhere"
}

func largeBodyCheck(x exchange.Exchange, _ page) (State, string) {
	n := len(x.Response.Body)
	switch {
	case x.Response.Truncated:
		return Warn, fmt.Sprintf("longer than the %d bytes that were read", n)
	case n > largeBody:
		return Warn, fmt.Sprintf("%d bytes", n)
	}
	return Pass, fmt.Sprintf("%d bytes", n)
}
