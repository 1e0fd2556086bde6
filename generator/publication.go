package generator

import (
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/paidpage"
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
	Signed    attest.Proof `json:"signed"` // of a paidpage.Page
}

const howToCheckPage = "signed.signed_payload is signed as every artifact here is; its digest is the SHA-256 of a " +
	"salt of 32 bytes and the text behind it. Who buys the page gets both."

func publicationOf(name string) content.Publication {
	i := slices.IndexFunc(content.Publications, func(p content.Publication) bool { return p.Name == name })
	return content.Publications[i]
}

// depsPublication: bodies count by what is published of them.
func depsPublication(name string) func(*source, int, *digester) {
	return func(s *source, _ int, d *digester) {
		s.page(d, publicationOf(name).Index[1:])
		d.text(s.Key.KID(), drawing.Publication(name))
		for _, i := range s.Site.IssuesOf(name) {
			d.text(i.ID, i.Title, i.Summary, i.Date.Format(time.DateOnly), i.By, i.Body)
			d.number(i.Publication.Price)
		}
	}
}

func renderPublication(name string) func(*source, unit, string, attest.Digest) ([]byte, error) {
	return func(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
		pub, issues := publicationOf(name), s.Site.IssuesOf(name)
		page, body, err := s.prosePage(u, pub.Index[1:], made)
		if err != nil {
			return nil, err
		}
		if mediaType == api.JSON {
			return s.publicationJSON(pub, page, issues)
		}
		page.Feed = documents[name+"_feed"].Path // "" for none
		v := templates.PublicationView{Chrome: s.chrome, Page: page, Body: body, One: pub.One,
			Drawing: templates.Markup(drawing.Publication(name)),
			Price:   content.FormatUSDC(pub.Price)}
		for _, i := range issues {
			v.Issues = append(v.Issues, templates.IssueLine{Title: i.Title, Summary: i.Summary, Href: i.Path(),
				Date: i.Date.Format(time.DateOnly), By: i.By, Words: i.Words()})
		}
		return u.twin(&v, mediaType)
	}
}

func (s *source) publicationJSON(pub content.Publication, page templates.Page, issues []content.Issue) ([]byte, error) {
	doc := publicationDocument{Publication: pub.Name, Summary: page.Summary, PriceUSDC: content.FormatUSDC(pub.Price),
		PriceAtomic: pub.Price, HowToBuy: howToBuyPage, HowToCheck: howToCheckPage, AsOf: s.chrome.Day(),
		Count: len(issues), Pages: []paidEntry{}}
	for _, i := range issues {
		e := paidEntry{ID: i.ID, URL: s.base + i.Path(), Title: i.Title, Summary: i.Summary,
			Published: i.Date.Format(time.DateOnly), By: i.By, Words: i.Words()}
		body := s.Site.Expand(i.Body)
		e.Digest = paidpage.Digest(paidpage.Salt(s.Key, e.URL, body), body)
		var err error
		e.Signed, err = attest.SignPayload(s.Key, paidpage.Page{Type: paidpage.Type, URL: e.URL, Title: e.Title,
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
