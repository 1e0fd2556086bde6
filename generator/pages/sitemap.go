package pages

import (
	"encoding/xml"
	"fmt"
	"html"
	"iter"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
)

// maxSitemap is the most addresses that one sitemap may list (sitemaps.org).
// A site with more has an index of several.
const maxSitemap = 50_000

type Sitemap struct {
	XMLName xml.Name      `xml:"urlset"`
	NS      string        `xml:"xmlns,attr"`
	URLs    []sitemapLine `xml:"url"`
}

type sitemapIndex struct {
	XMLName xml.Name      `xml:"sitemapindex"`
	NS      string        `xml:"xmlns,attr"`
	Parts   []sitemapLine `xml:"sitemap"`
}

type sitemapLine struct {
	Loc     string `xml:"loc"`
	Lastmod string `xml:"lastmod"`
}

const sitemapNamespace = "http://www.sitemaps.org/schemas/sitemap/0.9"

// address is a page that stands in the sitemap: its address in three parts, since those around the
// value of a parameter are the same for a whole family, and the day of its last change.
type address struct{ before, value, after, day string }

// addresses yields every page that stands in the sitemap, in the order of the
// table. Pages of a streamed family, which is one of the record, change with
// its rounds.
func (s *Source) addresses() iter.Seq2[address, error] {
	return func(yield func(address, error) bool) {
		for i := range s.rows {
			row := &s.rows[i]
			d, ok := Documents[row.Name]
			if !ok || !d.InSitemap {
				continue
			}
			day := s.chrome.Day()
			if row.Stream != nil {
				day = s.changed()
			}
			before, after, family := d.Path, "", false
			if i, j := strings.IndexByte(d.Path, '{'), strings.IndexByte(d.Path, '}'); i >= 0 && j > i {
				before, after, family = d.Path[:i], d.Path[j+1:], true
			}
			at := address{before: s.Base + before, after: after, day: day}
			for key, err := range row.names(s) {
				if family {
					at.value = row.placed(key)
				}
				if !yield(at, err) || err != nil {
					return
				}
			}
		}
	}
}

// changed is the day of the site's content, or of the newest round where that
// is later.
func (s *Source) changed() string {
	day := s.chrome.Day()
	if n := len(s.Rounds); n > 0 {
		day = max(day, s.Rounds[n-1].TakenAt[:len(time.DateOnly)])
	}
	return day
}

func (s *Source) countAddresses() (f sitemapFacts, err error) {
	for _, err := range s.addresses() {
		if err != nil {
			return f, err
		}
		f.n++
	}
	if f.parts() > 0 {
		return f, nil
	}
	d := NewDigester()
	var last address
	for at, err := range s.addresses() {
		if err != nil {
			return f, err
		}
		at.add(d, &last)
		last = at
	}
	f.digest = d.sum()
	return f, nil
}

// add adds the address that stands behind another: what they have in common enters once.
func (at *address) add(d *Digester, last *address) {
	begins := at.before != last.before || at.after != last.after || at.day != last.day
	if d.flag(begins); begins {
		d.text(at.before, at.after, at.day)
	}
	d.text(at.value)
}

// parts is how many sitemaps there are beside the index, none where one file
// takes all addresses.
func (f sitemapFacts) parts() int {
	if f.n <= maxSitemap {
		return 0
	}
	return (f.n + maxSitemap - 1) / maxSitemap
}

func sitemapPart(i int) string { return fmt.Sprintf("%04d", i+1) }

// sitemapUnit streams the sitemap itself.
func sitemapUnit(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		f, err := s.sitemap()
		yield(Unit{value: f, Made: func(d *Digester) {
			d.text(s.Base)
			d.number(int64(f.parts()))
			if f.parts() == 0 {
				d.digest(f.digest)
			}
		}}, err)
	}
}

// sitemapParts streams the parts of a sitemap, one in memory at a time.
func sitemapParts(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		f, err := s.sitemap()
		if err != nil {
			yield(Unit{}, err)
			return
		}
		if f.parts() == 0 {
			return
		}
		var part []address
		n := 0
		flush := func() bool {
			full := part
			u := Unit{Key: sitemapPart(n), value: full, Made: func(d *Digester) {
				var last address
				for i := range full {
					full[i].add(d, &last)
					last = full[i]
				}
			}}
			part = nil
			n++
			return yield(u, nil)
		}
		for at, err := range s.addresses() {
			if err != nil {
				yield(Unit{}, err)
				return
			}
			if part == nil {
				part = make([]address, 0, min(maxSitemap, f.n-n*maxSitemap))
			}
			if part = append(part, at); len(part) == maxSitemap && !flush() {
				return
			}
		}
		if len(part) > 0 {
			flush()
		}
	}
}

func renderSitemap(s *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	if parts := u.value.(sitemapFacts).parts(); parts > 0 {
		doc := sitemapIndex{NS: sitemapNamespace}
		for i := range parts {
			doc.Parts = append(doc.Parts, sitemapLine{Loc: s.Base + "/sitemaps/" + sitemapPart(i) + ".xml",
				Lastmod: s.changed()})
		}
		return encodedXML(doc)
	}
	doc := Sitemap{NS: sitemapNamespace}
	for at, err := range s.addresses() {
		if err != nil {
			return nil, err
		}
		doc.URLs = append(doc.URLs, sitemapLine{Loc: at.before + at.value + at.after, Lastmod: at.day})
	}
	return encodedXML(doc)
}

// renderSitemapPart makes its text in memory of its own: a worker that kept it would hold megabytes
// until the end.
func renderSitemapPart(_ *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	part := u.value.([]address)
	const each = 160 // bytes for an address, so that the text seldom grows
	body := append(make([]byte, 0, each*(len(part)+1)), xml.Header...)
	body = append(body, `<urlset xmlns="`+sitemapNamespace+`">`+"\n"...)
	for i := range part {
		at := &part[i]
		body = append(body, "  <url>\n    <loc>"...)
		for _, text := range []string{at.before, at.value, at.after} {
			body = append(body, html.EscapeString(text)...)
		}
		body = append(append(body, "</loc>\n    <lastmod>"...), at.day...)
		body = append(body, "</lastmod>\n  </url>\n"...)
	}
	return append(body, "</urlset>\n"...), nil
}

func encodedXML(doc any) ([]byte, error) {
	b, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the sitemap: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}
