package content

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Part is what a store may be without. It is on where the site has something for it, or where a
// line below [parts] in site.toml says so:
//
//	[parts]
//	guestbook = true
//
// A part that is off has no addresses: nothing answers there, no list or description names them,
// and the program's own texts do not link to them.
type Part struct {
	Name string
	// Pages are the pages of the program that only this part needs.
	Pages []string
	// At are its addresses. What stands below them is its own too, and so are their twins.
	At []string
	// filled reports whether the site has something for it; nil where there is nothing to have.
	filled func(*Site) bool
}

// Parts are all of them.
var Parts = []Part{
	{"almanac", []string{"almanac"}, []string{"/almanac"}, hasIssues("almanac")},
	{"gazette", []string{"gazette"}, []string{"/gazette"}, hasIssues("gazette")},
	{"zodiac", []string{"zodiac", "zodiac/archive"}, []string{"/zodiac"}, hasIssues("zodiac")},
	{"tips", []string{"tips"}, []string{"/tips", "/api/tip"}, hasIssues("tips")},
	{"directory", []string{"directory"}, []string{"/directory"}, func(s *Site) bool { return len(s.Directory) > 0 }},
	{"porch", nil, []string{"/porch"}, func(s *Site) bool { return s.Porch.Open() }},
	{"retired_words", nil, []string{"/retired-words"}, func(s *Site) bool {
		return slices.ContainsFunc(s.Goods, func(g Good) bool { return g.Kind == KindWord })
	}},
	{"guestbook", nil, []string{"/api/guestbook"}, nil},
	{"letters", nil, []string{"/api/letter"}, nil},
	{"stamps", nil, []string{"/api/stamp"}, nil},
	{"bell", nil, []string{"/api/bell"}, nil},
	{"requests", nil, []string{"/api/request", "/api/commission"}, nil},
	{"bounties", bountyProblems, []string{"/bounties", "/api/bounties", "/api/bounty-claim"}, nil},
}

// bountyProblems are the problems that nothing but a bounty's claim can have.
var bountyProblems = []string{"problems/already_claimed", "problems/domain_paid_this_week", "problems/not_open",
	"problems/payouts_disabled", "problems/screen_unavailable", "problems/screened", "problems/settlement_mismatch",
	"problems/settlement_not_final", "problems/settlement_predates"}

func hasIssues(publication string) func(*Site) bool {
	return func(s *Site) bool {
		return slices.ContainsFunc(s.Issues, func(i Issue) bool { return i.Publication.Name == publication })
	}
}

// partOf is the part whose address a path is, or a pattern of paths; false for what every store
// has.
func partOf(path string) (Part, bool) {
	i := slices.IndexFunc(Parts, func(p Part) bool {
		return slices.ContainsFunc(p.At, func(at string) bool {
			rest, below := strings.CutPrefix(path, at)
			return below && (rest == "" || strings.ContainsRune("/.?#", rune(rest[0])))
		})
	})
	if i < 0 {
		return Part{}, false
	}
	return Parts[i], true
}

// Has reports whether a part is on, by its name.
func (s *Site) Has(part string) bool { return !slices.Contains(s.off, part) }

// Serves reports whether a path, or a pattern of paths, is an address of this store: of what every
// store has, or of a part that is on.
func (s *Site) Serves(path string) bool {
	p, ok := partOf(path)
	return !ok || s.Has(p.Name)
}

// needs reports whether the store has an address for a page of the program: it belongs to no part
// that is off.
func (s *Site) needs(page string) bool {
	return !slices.ContainsFunc(Parts, func(p Part) bool { return slices.Contains(p.Pages, page) && !s.Has(p.Name) })
}

// decide says which parts are off, by what the site has and what site.toml says.
func (l *loader) decide(s *Site, said map[string]bool) {
	var names []string
	for _, p := range Parts {
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !slices.Contains(names, name) {
			l.fail(siteFile, 0, "parts: %s is no part of a store; there are %s", name, strings.Join(names, ", "))
		}
	}
	for _, p := range Parts {
		on, stands := said[p.Name]
		if !stands {
			on = p.filled != nil && p.filled(s)
		}
		if !on {
			s.off = append(s.off, p.Name)
		}
	}
}

// link is a link of Markdown to an address of the site: [text](/path).
var link = regexp.MustCompile(`\[([^\[\]]*)\]\((/[^()\s]*)\)`)

// unlink makes plain text of the links of a text of the program that lead to parts that are off.
func (s *Site) unlink(text string) string {
	if len(s.off) == 0 || !strings.Contains(text, "](/") {
		return text
	}
	return link.ReplaceAllStringFunc(text, func(of string) string {
		m := link.FindStringSubmatch(of)
		if s.Serves(m[2]) {
			return of
		}
		return m[1]
	})
}
