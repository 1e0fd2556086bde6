package pages

import (
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
	"store.example/agentstore/templates"
)

// figures are what a spending is approved by.
func (s *Source) figures() ([]templates.Fact, error) {
	if len(s.Site.Goods) == 0 {
		return nil, fmt.Errorf("%w: the shelf is empty", ErrInput)
	}
	least, most := s.Site.Goods[0], s.Site.Goods[0]
	top := func(g content.Good) int64 { t := g.Tiers(); return t[len(t)-1].Amount }
	for _, g := range s.Site.Goods {
		if g.Price < least.Price {
			least = g
		}
		if top(g) > top(most) {
			most = g
		}
	}
	return []templates.Fact{
		{Name: "Goods on the shelf", Value: fmt.Sprint(len(s.Site.Goods))},
		{Name: "Least that buys something", Value: least.PriceUSDC() + " USDC (" + least.ID + ")"},
		{Name: "Most that any good asks", Value: content.FormatUSDC(top(most)) + " USDC (" + most.ID + ")"},
		{Name: "Paid in", Value: "USDC, one signed payment a purchase, by x402 version 2 or MPP"},
		{Name: "Repeats itself", Value: "never: no account, no subscription, no stored permission"},
		{Name: "If making the goods fails", Value: "nothing is taken"},
		{Name: "Kept by", Value: s.Site.Config.Keeper},
		{Name: "Signing key", Value: s.chrome.PublicKey, Mono: true},
	}, nil
}

type whatDocument struct {
	Title   string      `json:"title"`
	Summary string      `json:"summary"`
	Body    string      `json:"body_markdown"`
	Figures []jsonFact  `json:"figures"`
	Links   []freeShelf `json:"links"`
	AsOf    string      `json:"as_of"`
}

type jsonFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func renderWhat(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "what", made)
	if err != nil {
		return nil, err
	}
	facts, err := s.figures()
	if err != nil {
		return nil, err
	}
	links := s.free()
	if mediaType == api.JSON {
		doc := whatDocument{Title: page.Title, Summary: page.Summary, Body: body.Markdown, AsOf: s.chrome.Day()}
		for _, f := range facts {
			doc.Figures = append(doc.Figures, jsonFact{f.Name, f.Value})
		}
		for _, l := range links {
			doc.Links = append(doc.Links, freeShelf{Name: l.Text, URL: s.Base + l.Href, Note: l.Note})
		}
		return indented(doc)
	}
	v := templates.WhatView{Chrome: s.chrome, Page: page, Body: body, Facts: facts, Links: links}
	return u.twin(&v, mediaType)
}

func renderVerify(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	facts := []templates.Fact{
		{Name: "ed25519 public key", Value: s.chrome.PublicKey, Mono: true},
		{Name: "Key id (RFC 7638)", Value: s.chrome.KID, Mono: true},
		{Name: "In force since", Value: s.Ring.Identity().Since, Mono: true},
		{Name: "DID", Value: attest.DID(s.host), Mono: true},
		{Name: "Published at", Value: s.Base + "/.well-known/store-signing-key", Mono: true},
		{Name: "Signed manifest of this site", Value: s.Base + "/" + attest.PublicLayout().Head(), Mono: true},
	}
	for _, k := range s.Ring.Retired {
		if k.Purpose == attest.PurposeIdentity {
			facts = append(facts, templates.Fact{Name: "Retired on " + k.RetiredOn, Value: k.Public.String(),
				Mono: true})
		}
	}
	if s.chrome.Specimen {
		facts = append(facts, templates.Fact{Name: "Careful",
			Value: "this is the specimen key: its private half is public by design, so a signature by it proves " +
				"nothing"})
	}
	page, body, err := s.prosePage(u, "verify", made, s.verifying("record/clone")...)
	if err != nil {
		return nil, err
	}
	return u.twin(&templates.VerifyView{Chrome: s.chrome, Page: page, Body: body, Facts: facts,
		Specimen: attest.SpecimenRing().Identity().Public.String()}, mediaType)
}

func renderHolds(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "holds", made)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string)
	for _, t := range networks.Tokens() {
		if c, ok := networks.Find(t.Network); ok && t.Method == networks.EIP3009 {
			names[c.ID] = c.Name
		}
	}
	known, err := json.Marshal(names, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return u.twin(&templates.ReclaimView{Chrome: s.chrome, Page: page, Body: body, Escrow: stockclient.EscrowV11,
		Networks: string(known)}, mediaType)
}

func renderNotFound(s *Source, _ Unit, _ string, made attest.Digest) ([]byte, error) {
	p, err := s.need("404")
	if err != nil {
		return nil, err
	}
	body, err := s.prose(p.Body, plainFrame)
	if err != nil {
		return nil, err
	}
	page := templates.Page{Title: p.Title, Summary: p.Summary, Made: made.String(), NoIndex: true, Reload: s.Reload}
	return templates.RenderNotFound(templates.PlainView{Chrome: s.chrome, Page: page, Body: body})
}

func renderProblem(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	code := s.codes[u.at]
	page, body, err := s.prosePage(u, "problems/"+code, made)
	if err != nil {
		return nil, err
	}
	p, _ := s.Site.Problem(code)
	v := templates.ProblemView{
		Chrome: s.chrome, Page: page, Code: code, Status: p.Status, StatusText: http.StatusText(p.Status), Body: body,
	}
	return u.twin(&v, mediaType)
}

func renderProblems(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page := s.viewOf(u, "When the shop says no", "Every problem code, what it means and whether money moved.", made)
	v := templates.ProblemsView{Chrome: s.chrome, Page: page}
	for _, code := range s.codes {
		p, err := s.need("problems/" + code)
		if err != nil {
			return nil, err
		}
		v.Problems = append(v.Problems, templates.ProblemLine{Code: code, Status: p.Status, Title: p.Title,
			Summary: p.Summary})
	}
	return u.twin(&v, mediaType)
}

// wordGood is the good that retires words, if it is on the shelf.
func (s *Source) wordGood() (content.Good, bool) {
	for i := range s.Site.Goods { // each is too large to be copied
		if s.Site.Goods[i].Kind == content.KindWord {
			return s.Site.Goods[i], true
		}
	}
	return content.Good{}, false
}

type wordsDocument struct {
	Register string                  `json:"register"`
	Count    int                     `json:"count"`
	Words    []templates.RetiredWord `json:"words"`
	Empty    string                  `json:"why_it_is_empty,omitzero"`
	HowTo    string                  `json:"how_to_retire_one,omitzero"`
}

func renderWords(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page := s.viewOf(u, "The register of retired words",
		"Words that a patron has retired. The store no longer uses them; others may, but they have been told.", made)
	v := templates.WordsView{Chrome: s.chrome, Page: page, Words: s.words}
	if g, ok := s.wordGood(); ok {
		v.HowTo = "/menu/" + g.ID
	}
	if mediaType == api.JSON {
		doc := wordsDocument{Register: page.Summary, Count: len(s.words), Words: s.words}
		if len(s.words) == 0 {
			doc.Words = []templates.RetiredWord{}
			doc.Empty = v.Empty().Says + " " + v.Empty().Why
		}
		if v.HowTo != "" {
			doc.HowTo = s.Base + v.HowTo
		}
		return indented(doc)
	}
	return u.twin(&v, mediaType)
}

type deprecationDocument struct {
	Note     string          `json:"note"`
	Versions []servedVersion `json:"versions"`
}

// servedVersion is a row of the table as JSON: every row has every column, null for a date that is
// not set.
type servedVersion struct {
	Name       string  `json:"name"`
	Path       string  `json:"path"`
	Version    string  `json:"version"`
	Status     string  `json:"status"`
	Since      *string `json:"since"`
	Deprecated *string `json:"deprecated"`
	Sunset     *string `json:"sunset"`
}

func served(v templates.Version) servedVersion {
	date := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return servedVersion{Name: v.Name, Path: v.Path, Version: v.Version, Status: v.Status, Since: date(v.Since),
		Deprecated: date(v.Deprecated), Sunset: date(v.Sunset)}
}

func (s *Source) versions() []templates.Version {
	list := []templates.Version{
		{Name: "openapi", Path: "/openapi.json", Version: api.ContractVersion, Status: "served",
			Since: api.ContractSince},
		{Name: "store-attestation", Path: "/spec/store-attestation/v1", Version: "v1", Status: "served",
			Since: s.firstSigned()},
		{Name: "x402", Path: "/api/buy/{item_id}", Version: "2", Status: "served", Since: api.ContractSince},
		{Name: "MPP evm/charge", Path: "/api/buy/{item_id}", Version: "draft-evm-charge-00", Status: "served",
			Since: "2026-11-22"},
		{Name: "MPP usdc/charge", Path: "/api/buy/{item_id}", Version: "draft-usdc-charge-00", Status: "served",
			Since: "2026-11-30"},
	}
	for _, r := range s.API {
		if r.Internal || r.Version == "" && r.Deprecated.IsZero() {
			continue
		}
		v := templates.Version{Name: r.Name, Path: r.Method + " " + r.Pattern, Version: r.Version, Status: "served",
			Since: r.Since}
		if !r.Deprecated.IsZero() {
			v.Status, v.Deprecated = "deprecated", r.Deprecated.UTC().Format(time.DateOnly)
		}
		if !r.Sunset.IsZero() {
			v.Sunset = r.Sunset.UTC().Format(time.DateOnly)
		}
		list = append(list, v)
	}
	return list
}

// firstSigned is the date from which this store signs artifacts: that of its first identity key.
func (s *Source) firstSigned() string {
	first := s.Ring.Identity().Since
	for _, k := range s.Ring.Retired {
		if k.Purpose == attest.PurposeIdentity && k.Since < first {
			first = k.Since
		}
	}
	return first
}

func renderDeprecation(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page := s.viewOf(u, "Served versions", "Which versions are served, and until when.", made)
	v := templates.DeprecationView{Chrome: s.chrome, Page: page, Versions: s.versions()}
	if mediaType == api.JSON {
		note := "Nothing is deprecated at present."
		if n := v.Leaving(); n > 0 {
			note = fmt.Sprintf("%d of %d versions are being retired.", n, len(v.Versions))
		}
		doc := deprecationDocument{Note: note}
		for _, row := range v.Versions {
			doc.Versions = append(doc.Versions, served(row))
		}
		return indented(doc)
	}
	return u.twin(&v, mediaType)
}

// The page on which evidence is checked in the reader's browser, and the program that it runs,
// which is an input: it is made by another compiler run and kept in no repository.

func depsVerifier(s *Source, _ int, d *Digester) {
	s.page(d, "verify-run")
	s.depsVerifying(d, "record/evidence")
	d.flag(s.Verifier != nil)
}

func renderVerifier(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "verify-run", made, s.verifying("record/evidence")...)
	if err != nil {
		return nil, err
	}
	v := templates.VerifierView{Chrome: s.chrome, Page: page, Body: body, Here: s.Verifier != nil}
	return u.twin(&v, mediaType)
}

// verifierFiles streams the program and what starts it. A folder that lacks one of them is no
// verifier.
func verifierFiles(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.Verifier == nil {
			return
		}
		for _, name := range []string{"verify.wasm", "wasm_exec.js"} {
			b, err := fs.ReadFile(s.Verifier, name)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: the verifier's folder has no %s: make verifier", ErrInput, name)
			}
			if !yield(Unit{Key: name, value: b, Made: func(d *Digester) { d.digest(sha256.Sum256(b)) }}, err) ||
				err != nil {
				return
			}
		}
	}
}

// renderBytes gives what the stream has read.
func renderBytes(_ *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	return u.value.([]byte), nil
}
