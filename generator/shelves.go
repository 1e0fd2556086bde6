package generator

import (
	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// zodiacDocument is the twelve signs as JSON.
type zodiacDocument struct {
	Summary     string      `json:"summary"`
	HowAssigned string      `json:"how_assigned"`
	ReadingURL  string      `json:"reading_url"` // with {address}
	ArchiveURL  string      `json:"archive_url"`
	Count       int         `json:"count"`
	Signs       []signEntry `json:"signs"`
}

type signEntry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Says string `json:"says"`
}

func renderZodiac(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "zodiac", made)
	if err != nil {
		return nil, err
	}
	if mediaType == api.JSON {
		doc := zodiacDocument{Summary: page.Summary, HowAssigned: templates.HowAssigned,
			ReadingURL: s.base + "/zodiac/{address}", ArchiveURL: s.base + "/zodiac/archive", Count: len(content.Signs)}
		for _, sign := range content.Signs {
			doc.Signs = append(doc.Signs, signEntry(sign))
		}
		return indented(doc)
	}
	return u.twin(&templates.ZodiacView{Chrome: s.chrome, Page: page, Body: body, Signs: content.Signs,
		Drawing: templates.Markup(drawing.Zodiac())}, mediaType)
}

// depsZodiac: the signs are part of the program.
func depsZodiac(s *source, _ int, d *digester) {
	s.page(d, "zodiac")
	for _, sign := range content.Signs {
		d.text(sign.ID, sign.Name, sign.Says)
	}
	d.text(templates.HowAssigned, drawing.Zodiac())
}

// archived is how many weeks the page of the archive has; the JSON has all.
const archived = 13

func renderArchive(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	if mediaType == api.JSON {
		return renderPublication("zodiac")(s, u, mediaType, made)
	}
	pub := publicationOf("zodiac")
	page, body, err := s.prosePage(u, pub.Index[1:], made)
	if err != nil {
		return nil, err
	}
	v := templates.ArchiveView{Chrome: s.chrome, Page: page, Body: body, Price: content.FormatUSDC(pub.Price)}
	last := ""
	for _, i := range s.Site.IssuesOf(pub.Name) {
		week := content.Week(i.Date.AddDate(0, 0, -7))
		if week != last {
			last = week
			if len(v.Weeks) == archived {
				v.Older++
			} else {
				v.Weeks = append(v.Weeks, templates.ArchiveWeek{Week: week})
			}
		}
		if v.Older == 0 {
			of := &v.Weeks[len(v.Weeks)-1]
			sign := content.Signs[len(of.Pages)%len(content.Signs)]
			of.Pages = append(of.Pages, templates.ArchivePage{Sign: sign.Name, Title: i.Summary, Href: i.Path()})
		}
	}
	return u.twin(&v, mediaType)
}

// directoryDocument is the reviews of neighbours as JSON.
type directoryDocument struct {
	Summary string       `json:"summary"`
	AsOf    string       `json:"as_of"`
	Count   int          `json:"count"`
	Entries []neighbours `json:"entries"`
}

type neighbours struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Where  string `json:"where,omitzero"`
	Review string `json:"review"`
}

func renderDirectory(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "directory", made)
	if err != nil {
		return nil, err
	}
	if mediaType == api.JSON {
		doc := directoryDocument{Summary: page.Summary, AsOf: s.chrome.Day(), Count: len(s.Site.Directory),
			Entries: []neighbours{}}
		for _, n := range s.Site.Directory {
			doc.Entries = append(doc.Entries, neighbours(n))
		}
		return indented(doc)
	}
	return u.twin(&templates.DirectoryView{Chrome: s.chrome, Page: page, Body: body, Neighbours: s.Site.Directory},
		mediaType)
}

func depsDirectory(s *source, _ int, d *digester) {
	s.page(d, "directory")
	for _, n := range s.Site.Directory {
		d.text(n.Name, n.Kind, n.Where, n.Review)
	}
}
