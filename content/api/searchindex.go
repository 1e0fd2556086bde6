// This file is the index of what a site's pages say, and the search in it. A page is found by
// its title, its summary, its headings and its prose; the index is a published file,
// search/pages.json, which templates/search.js reads in a browser and the server where there is
// one, by the same rule:
//
//	words     of a query: letters and digits in lower case, a plural's s cut off, at most 8
//	found     a word stands at the beginning of a word of the text
//	pages     those that have most of the words, which is all of them where any page has all
//	order     by what a word stands in: title 8, heading 4, summary 3, prose 1; then as in the index
//
// It knows neither goods nor pages of the record: whoever makes an index says what there is.

package api

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of an index, in bytes of text: of a page, of all pages, of a title, summary or
// heading, and of one program or listing in the prose.
const (
	PageBytes = 24 << 10
	AllBytes  = 512 << 10
	LineBytes = 300
	CodeBytes = 300
)

// The bounds of a query.
const (
	QueryLength = 120 // characters
	queryWords  = 8
)

// SearchIndex is what a site's pages say.
type SearchIndex struct {
	Pages []SearchPage `json:"pages"`
	// LeftOut is how many pages are not in it, because it would be too large.
	LeftOut int `json:"left_out"`

	bytes int
	lower [][]string // of each page: title, summary, then heading and text of each part
}

// SearchPage is one page.
type SearchPage struct {
	Path    string       `json:"path"` // below the base URL
	Title   string       `json:"title"`
	Summary string       `json:"summary,omitzero"`
	Parts   []SearchPart `json:"parts,omitzero"`
}

// SearchPart is what stands under one heading, or before all of them.
type SearchPart struct {
	At    string `json:"at,omitzero"` // the heading's id, "" for none
	Title string `json:"title,omitzero"`
	Text  string `json:"text,omitzero"`
}

// SearchHit is a page that was found, with the part of it that has most of the words.
type SearchHit struct {
	Path    string // with the part's id
	Title   string
	Part    string // the part's heading, "" for the page itself
	Excerpt string
}

// Full reports whether an index takes no prose any more.
func (x *SearchIndex) Full() bool { return x.bytes >= AllBytes }

// Add takes a page, as much of it as the bounds let in.
func (x *SearchIndex) Add(p SearchPage) {
	if x.Full() {
		x.LeftOut++
		return
	}
	p.Title, p.Summary = cut(p.Title, LineBytes), cut(p.Summary, LineBytes)
	room := min(PageBytes, AllBytes-x.bytes)
	var parts []SearchPart
	for _, part := range p.Parts {
		part.Title = cut(part.Title, LineBytes)
		part.Text = cut(part.Text, max(0, room-len(part.Title)))
		if room -= len(part.Title) + len(part.Text) + len(part.At); room < 0 {
			break
		}
		parts = append(parts, part)
		x.bytes += len(part.Title) + len(part.Text) + len(part.At)
	}
	p.Parts = parts
	x.bytes += len(p.Path) + len(p.Title) + len(p.Summary)
	x.Pages = append(x.Pages, p)
}

// cut is at most some bytes of a text, whole characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// SearchWords are those of a query or of an address.
func SearchWords(q string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(q), func(r rune) bool { return !inWord(r) }) {
		if stem, plural := strings.CutSuffix(w, "s"); plural && utf8.RuneCountInString(stem) > 2 {
			w = stem
		}
		if len(words) < queryWords && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Prepare makes an index that was read ready for searches, which may then be made by many
// goroutines at once.
func (x *SearchIndex) Prepare() {
	x.lower = make([][]string, len(x.Pages))
	for i, p := range x.Pages {
		texts := []string{strings.ToLower(p.Title), strings.ToLower(p.Summary)}
		for _, part := range p.Parts {
			texts = append(texts, strings.ToLower(part.Title), strings.ToLower(part.Text))
		}
		x.lower[i] = texts
	}
}

// Find returns the pages that have most of a query's words, at most some of them, and how many
// there are. The index has been prepared.
func (x *SearchIndex) Find(query string, most int) (hits []SearchHit, all int) {
	words := SearchWords(query)
	type found struct{ page, words, score int }
	var pages []found
	for i, texts := range x.lower {
		f := found{page: i}
		for _, w := range words {
			score := weight(texts, w)
			f.score += score
			if score > 0 {
				f.words++
			}
		}
		if f.words > 0 {
			pages = append(pages, f)
		}
	}
	slices.SortStableFunc(pages, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(b.score, a.score))
	})
	for _, f := range pages {
		if f.words < pages[0].words {
			break
		}
		if all++; all <= most {
			hits = append(hits, x.hit(f.page, words))
		}
	}
	return hits, all
}

// weight is what a word adds to the score of a page.
func weight(texts []string, word string) (score int) {
	if at(texts[0], word) >= 0 {
		score += 8
	}
	if at(texts[1], word) >= 0 {
		score += 3
	}
	headed, told := false, false
	for i := 2; i < len(texts); i += 2 {
		headed = headed || at(texts[i], word) >= 0
		told = told || at(texts[i+1], word) >= 0
	}
	if headed {
		score += 4
	}
	if told {
		score++
	}
	return score
}

// hit describes a page by its title and summary, or by the part that has more of the words.
func (x *SearchIndex) hit(page int, words []string) SearchHit {
	p, texts := x.Pages[page], x.lower[page]
	best, count := -1, held(words, texts[0], texts[1])*2
	for i := range p.Parts {
		title, text := texts[2+2*i], texts[3+2*i]
		if n := held(words, title, text)*2 + min(1, held(words, title)); n > count {
			best, count = i, n
		}
	}
	h := SearchHit{Path: p.Path, Title: p.Title, Excerpt: p.Summary}
	if best < 0 {
		return h
	}
	part := p.Parts[best]
	if h.Part = part.Title; part.At != "" {
		h.Path += "#" + part.At
	}
	first := len(part.Text)
	for _, w := range words {
		if i := at(texts[3+2*best], w); i >= 0 {
			first = min(first, i)
		}
	}
	if len(part.Text) != len(texts[3+2*best]) || first == len(part.Text) {
		first = 0 // its letters change their length with their case, or the heading alone has the words
	}
	h.Excerpt = excerpt(part.Text, first)
	return h
}

// held is how many of the words stand in some texts.
func held(words []string, texts ...string) (n int) {
	for _, w := range words {
		if slices.ContainsFunc(texts, func(t string) bool { return at(t, w) >= 0 }) {
			n++
		}
	}
	return n
}

// at is where a word begins a word of a text, -1 for nowhere.
func at(text, word string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return -1
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		if from+i == 0 || !inWord(before) {
			return from + i
		}
		from += i + len(word)
	}
}

// excerpt is what stands around a place of a text, in whole words.
func excerpt(text string, place int) string {
	const before, length = 60, 180
	start, end := 0, len(text)
	if place > before {
		start = place - before
		start += strings.IndexByte(text[start:place], ' ') + 1
	}
	if end-start > length {
		if end = start + strings.LastIndexByte(text[start:start+length], ' '); end <= start {
			end = len(cut(text, start+length))
		}
	}
	out := cut(text[start:], end-start)
	if start > 0 {
		out = "… " + out
	}
	if end < len(text) {
		out += " …"
	}
	return strings.ToValidUTF8(out, "")
}
