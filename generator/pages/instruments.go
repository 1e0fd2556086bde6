package pages

import (
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/criteria"
	"store.example/agentstore/corpus/criteria/lab"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/offerreceipt"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/templates"
)

// The pages of the free instruments. What they say of checks, defects and practice doors is derived
// from the rows that the instruments run on; the program's digest is part of every build record, so
// new rows make new pages.

// depsPage is of a page that is prose and rows of the program.
func depsPage(name string) func(*Source, int, *Digester) {
	return func(s *Source, _ int, d *Digester) { s.page(d, name) }
}

// proseDocument is a page of prose in JSON: what stands before its first heading, and then part by
// part.
type proseDocument struct {
	Title   string      `json:"title"`
	Summary string      `json:"summary"`
	Intro   string      `json:"intro_markdown,omitzero"`
	Parts   []prosePart `json:"parts"`
}

type prosePart struct {
	Title string `json:"title"`
	Body  string `json:"body_markdown"`
}

func proseJSON(page templates.Page, body templates.Prose) proseDocument {
	before, after := splitAtHeading(body.Markdown)
	doc := proseDocument{Title: page.Title, Summary: page.Summary, Intro: strings.TrimSpace(before),
		Parts: []prosePart{}}
	for part := range strings.SplitSeq("\n"+after, "\n## ") {
		if title, text, _ := strings.Cut(part, "\n"); strings.TrimSpace(part) != "" {
			doc.Parts = append(doc.Parts, prosePart{strings.TrimSpace(title), strings.TrimSpace(text)})
		}
	}
	return doc
}

func renderTry(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "try", made)
	if err != nil {
		return nil, err
	}
	v := templates.TryView{Chrome: s.chrome, Page: page, Body: body, Battery: probe.Current()}
	for _, d := range practice.Shown() {
		v.Examples = append(v.Examples, templates.Pointer{Text: d.Title, Href: s.Base + "/api/practice/" + d.ID,
			Note: d.Teaches})
	}
	return u.twin(&v, mediaType)
}

// criteriaDocument is /criteria in JSON: what is asked of a door, and how what was seen of a host
// is counted.
type criteriaDocument struct {
	criteria.Criteria
	Tiers derive.Rules `json:"tiers"`
}

func renderLaboratory(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	l, err := lab.Current()
	if err != nil {
		return nil, err
	}
	if mediaType == api.JSON {
		return indented(l)
	}
	page, body, err := s.prosePage(u, "record/laboratory", made)
	if err != nil {
		return nil, err
	}
	v := templates.LaboratorySheet(templates.SheetView{Chrome: s.chrome, Page: page, Body: body}, l)
	return u.twin(&v, mediaType)
}

func renderCriteria(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	c, rules := criteria.Current(), derive.CurrentRules()
	if mediaType == api.JSON {
		return indented(criteriaDocument{c, rules})
	}
	page, body, err := s.prosePage(u, "criteria", made)
	if err != nil {
		return nil, err
	}
	v := templates.CriteriaView{Chrome: s.chrome, Page: page, Body: body, Rule: c.ReproducibilityRule, Limit: c.Limit,
		Facts: []templates.Fact{
			{Name: "Dated", Value: c.Dated, Mono: true},
			{Name: "What a badge is", Value: c.WhatABadgeIs},
			{Name: "What retires a badge", Value: c.WhatRetiresABadge},
			{Name: "Never a score", Value: c.NeverAScoreOnAnActor},
			{Name: "Who pays, and for what", Value: c.WhoPaysAndWhatItBuys},
		},
		Verdicts: words(c.VerdictVocabulary), Classes: words(c.ResultClasses),
		Order: rules.Order,
	}
	for _, t := range rules.Tiers {
		v.Tiers = append(v.Tiers, templates.Fact{Name: t.Tier, Value: templates.Plainly(t.Rule)})
	}
	v.Counting = []templates.Fact{{Name: "Label", Value: rules.Label}, {Name: "Suspect host", Value: rules.Suspect},
		{Name: "Suspect round", Value: rules.Thin}, {Name: "Coverage", Value: rules.Coverage}}
	for i := range v.Counting {
		v.Counting[i].Value = templates.Plainly(v.Counting[i].Value)
	}
	for _, g := range rules.Gaps {
		v.Gaps = append(v.Gaps, templates.Fact{Name: templates.Beside(g.Reason), Value: g.Meaning})
	}
	for _, l := range probe.Levels() {
		v.Ladder = append(v.Ladder, templates.Fact{Name: l.Name, Value: l.Meaning})
	}
	for _, k := range c.CriteriaBattery {
		v.Checks = append(v.Checks, templates.CriterionLine{Name: k.Name, Battery: k.Battery, Title: k.Title,
			Reason: k.Reason, Citation: k.Citation, Fix: k.Fix, Since: k.Since})
	}
	for _, a := range probe.Advisories() {
		if a.Scheme != "" {
			continue // on /docs/clients
		}
		v.Advisories = append(v.Advisories, templates.CriterionLine{Name: a.Name, Title: a.Doc.Title,
			Reason: a.Doc.Reason, Citation: a.Doc.Citation, Fix: a.Fix, Since: a.Since})
	}
	for _, a := range c.ArtifactClasses {
		v.Artifacts = append(v.Artifacts, templates.ArtifactLine{Name: a.Name, TrustModel: a.TrustModel, Signs: a.Signs,
			DoesNotProve: a.DoesNotProve, VerifyURL: a.VerifyURL})
	}
	return u.twin(&v, mediaType)
}

func words(list []criteria.Word) []templates.Fact {
	var out []templates.Fact
	for _, w := range list {
		out = append(out, templates.Fact{Name: templates.Beside(w.Word), Value: w.Meaning})
	}
	return out
}

// defectsDocument is /defects.json.
type defectsDocument struct {
	Version     string          `json:"version"`
	License     string          `json:"license"`
	WhatThisIs  string          `json:"what_this_is"`
	Stability   string          `json:"stability"`
	NotExamined []criteria.Word `json:"evidence_labels"` // two kinds of silence that are kept apart
	Count       int             `json:"count"`
	Defects     []defectRecord  `json:"defects"`
}

type defectRecord struct {
	criteria.Defect
	Page string `json:"page"`
}

func batteryKeys(*Source) []string { return probe.Versions() }

func renderBattery(_ *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	return probe.Batteries()[u.at].Document()
}

func defectKeys(*Source) []string {
	var ids []string
	for _, d := range criteria.Defects() {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	return ids
}

func renderDefects(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "defects", made)
	if err != nil {
		return nil, err
	}
	if mediaType == api.JSON {
		doc := defectsDocument{Version: criteria.DefectVersion, License: "CC-BY-4.0", WhatThisIs: page.Summary,
			Stability: "Ids are permanent; entries are added and never removed.",
			NotExamined: []criteria.Word{
				{Word: "listed_not_walked", Meaning: "the host was named and not examined: nothing is said"},
				{Word: "cleared_not_examined",
					Meaning: "the signal was looked for and not seen once: the defect itself was not ruled out"},
			}}
		for _, d := range criteria.Defects() {
			doc.Defects = append(doc.Defects, defectRecord{d, s.Base + "/defects/" + d.ID})
		}
		doc.Count = len(doc.Defects)
		return indented(doc)
	}
	v := templates.DefectsView{Chrome: s.chrome, Page: page, Body: body, Version: criteria.DefectVersion}
	for _, d := range criteria.Defects() {
		v.Defects = append(v.Defects, templates.DefectLine{ID: d.ID, Title: d.Title, Detectable: seenBy(d)})
	}
	return u.twin(&v, mediaType)
}

// seenBy says in words who can see a defect.
func seenBy(d criteria.Defect) string {
	switch {
	case d.Series:
		return "several rounds"
	case d.Detectable == criteria.Paid:
		return "a purchase"
	}
	return "a free probe"
}

func renderDefect(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	id := defectKeys(s)[u.at]
	all := criteria.Defects()
	d := all[slices.IndexFunc(all, func(d criteria.Defect) bool { return d.ID == id })]
	page := s.viewOf(u, d.Title, "", made)
	v := templates.DefectView{Chrome: s.chrome, Page: page, ID: d.ID, Seen: "seen by " + seenBy(d), Asserts: d.Asserts,
		Facts: []templates.Fact{
			{Name: "What it costs", Value: d.Costs},
			{Name: "What shows it", Value: d.OurSignal},
			{Name: "What would refute it", Value: d.FalsifiedBy},
			{Name: "For the seller", Value: d.RepairHint},
			{Name: "For the buyer", Value: d.BuyerHint},
		}}
	return u.twin(&v, mediaType)
}

func depsConformance(s *Source, _ int, d *Digester) {
	s.page(d, "conformance")
	depsRing(s, 0, d)
}

func renderVectors(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	return offerreceipt.Fixtures(s.Key, s.Base)
}

// conformanceDocument is /conformance.json.
type conformanceDocument struct {
	proseDocument
	SetDigest   string               `json:"set_digest"`
	FixturesURL string               `json:"fixtures_url"`
	Fixtures    []conformanceFixture `json:"fixtures"`
	Practice    []conformanceDoor    `json:"practice"`
}

type conformanceFixture struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
	Live    *bool  `json:"live"`
	Note    string `json:"note"`
}

type conformanceDoor struct {
	ID         string `json:"id"`
	URL        string `json:"url"`
	Teaches    string `json:"teaches"`
	RightBuyer string `json:"right_buyer"`
}

func renderConformance(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "conformance", made)
	if err != nil {
		return nil, err
	}
	raw, err := offerreceipt.Fixtures(s.Key, s.Base)
	if err != nil {
		return nil, err
	}
	var set offerreceipt.FixtureSet
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("reading the fixtures back: %w", err)
	}
	if mediaType == api.JSON {
		doc := conformanceDocument{proseDocument: proseJSON(page, body), SetDigest: set.Digest,
			FixturesURL: s.Base + "/.well-known/conformance/offer-receipt-vectors.json"}
		for _, f := range set.Fixtures {
			doc.Fixtures = append(doc.Fixtures, conformanceFixture{f.ID, f.Expect.Verdict, f.Expect.Live, f.Note})
		}
		for _, p := range practice.All() {
			doc.Practice = append(doc.Practice, conformanceDoor{p.ID, s.Base + "/api/practice/" + p.ID, p.Teaches,
				p.RightBuyer})
		}
		return indented(doc)
	}
	v := templates.ConformanceView{Chrome: s.chrome, Page: page, Body: body, SetDigest: set.Digest}
	for _, f := range set.Fixtures {
		live := "null"
		if f.Expect.Live != nil {
			live = fmt.Sprint(*f.Expect.Live)
		}
		v.Fixtures = append(v.Fixtures, templates.FixtureLine{ID: f.ID, Verdict: f.Expect.Verdict, Live: live,
			Note: f.Note})
	}
	for _, p := range practice.All() {
		v.Practice = append(v.Practice, templates.PracticeLine{ID: p.ID, Teaches: p.Teaches, RightBuyer: p.RightBuyer})
	}
	return u.twin(&v, mediaType)
}
