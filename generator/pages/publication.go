package pages

import (
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// publicationDocument is the index of a publication as JSON.
type publicationDocument struct {
	Publication string      `json:"publication"`
	Summary     string      `json:"summary"`
	PriceUSDC   string      `json:"price_usdc"`
	PriceAtomic int64       `json:"price_atomic"`
	HowToBuy    string      `json:"how_to_buy"`
	HowToCheck  string      `json:"how_to_check"`
	AsOf        string      `json:"as_of"`
	Count       int         `json:"count"`
	Pages       []paidEntry `json:"pages"`
}

// paidEntry is a page that is paid for, without its text.
type paidEntry struct {
	ID      string `json:"id"`
	URL     string `json:"url"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
	// Published is a UTC date.
	Published string       `json:"published"`
	By        string       `json:"by,omitzero"` // who is credited with it
	Words     int          `json:"words"`
	Digest    attest.Hex   `json:"digest"` // salted; the salt comes with the body
	Signed    attest.Proof `json:"signed"` // of a attest.PaidPage
}

const howToCheckPage = "signed.signed_payload is signed as every artifact here is; its digest is the SHA-256 of a " +
	"salt of 32 bytes and the text behind it. Who buys the page gets both."

func publicationOf(name string) content.Publication {
	i := slices.IndexFunc(content.Publications, func(p content.Publication) bool { return p.Name == name })
	return content.Publications[i]
}

// depsPublication: bodies count by what is published of them.
func depsPublication(name string) func(*Source, int, *Digester) {
	return func(s *Source, _ int, d *Digester) {
		s.page(d, publicationOf(name).Index[1:])
		d.text(s.Key.KID(), drawing.Publication(name))
		for _, i := range s.Site.IssuesOf(name) {
			d.text(i.ID, i.Title, i.Summary, i.Date.Format(time.DateOnly), i.By, i.Body)
			d.number(i.Publication.Price)
		}
	}
}

func renderPublication(name string) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
		pub, issues := publicationOf(name), s.Site.IssuesOf(name)
		page, body, err := s.prosePage(u, pub.Index[1:], made)
		if err != nil {
			return nil, err
		}
		if mediaType == api.JSON {
			return s.publicationJSON(pub, page, issues)
		}
		page.Feed = Documents[name+"_feed"].Path // "" for none
		v := templates.PublicationView{Chrome: s.chrome, Page: page, Body: body,
			Drawing: templates.Markup(drawing.Publication(name)),
			Price:   content.FormatUSDC(pub.Price)}
		for _, i := range issues {
			v.Issues = append(v.Issues, templates.IssueLine{Title: i.Title, Summary: i.Summary, Href: i.Path(),
				Date: i.Date.Format(time.DateOnly), By: i.By, Words: i.Words()})
		}
		return u.twin(&v, mediaType)
	}
}

func (s *Source) publicationJSON(pub content.Publication, page templates.Page, issues []content.Issue) ([]byte, error) {
	doc := publicationDocument{Publication: pub.Name, Summary: page.Summary, PriceUSDC: content.FormatUSDC(pub.Price),
		PriceAtomic: pub.Price, HowToBuy: howToBuyPage, HowToCheck: howToCheckPage, AsOf: s.chrome.Day(),
		Count: len(issues), Pages: []paidEntry{}}
	for _, i := range issues {
		e := paidEntry{ID: i.ID, URL: s.Base + i.Path(), Title: i.Title, Summary: i.Summary,
			Published: i.Date.Format(time.DateOnly), By: i.By, Words: i.Words()}
		body := s.Site.Expand(i.Body)
		e.Digest = attest.PaidPageDigest(attest.PaidPageSalt(s.Key, e.URL, body), body)
		var err error
		e.Signed, err = attest.SignPayload(s.Key, attest.PaidPage{Type: attest.PaidPageType, URL: e.URL, Title: e.Title,
			Published: e.Published, Digest: e.Digest})
		if err != nil {
			return nil, fmt.Errorf("signing %s: %w", i.ID, err)
		}
		doc.Pages = append(doc.Pages, e)
	}
	return indented(doc)
}

const howToBuyPage = "GET the url of a page, read the 402, sign one of the payments it offers, and send the same " +
	"request again. The answer is Markdown; with Accept: application/json it is the whole delivery."

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

func renderZodiac(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "zodiac", made)
	if err != nil {
		return nil, err
	}
	if mediaType == api.JSON {
		doc := zodiacDocument{Summary: page.Summary, HowAssigned: templates.HowAssigned,
			ReadingURL: s.Base + "/zodiac/{address}", ArchiveURL: s.Base + "/zodiac/archive", Count: len(content.Signs)}
		for _, sign := range content.Signs {
			doc.Signs = append(doc.Signs, signEntry(sign))
		}
		return indented(doc)
	}
	return u.twin(&templates.ZodiacView{Chrome: s.chrome, Page: page, Body: body, Signs: content.Signs,
		Drawing: templates.Markup(drawing.Zodiac())}, mediaType)
}

// depsZodiac: the signs are part of the program.
func depsZodiac(s *Source, _ int, d *Digester) {
	s.page(d, "zodiac")
	for _, sign := range content.Signs {
		d.text(sign.ID, sign.Name, sign.Says)
	}
	d.text(templates.HowAssigned, drawing.Zodiac())
}

// archived is how many weeks the page of the archive has; the JSON has all.
const archived = 13

func renderArchive(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
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

func renderDirectory(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
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

func depsDirectory(s *Source, _ int, d *Digester) {
	s.page(d, "directory")
	for _, n := range s.Site.Directory {
		d.text(n.Name, n.Kind, n.Where, n.Review)
	}
}
