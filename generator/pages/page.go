package pages

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// indented is JSON for people as well: two spaces, no HTML escapes, a final
// newline.
func indented(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return append(b, '\n'), nil
}

// asset renders a file that is served as it stands in package templates.
func asset(name string) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return ready(func() []byte { return templates.Asset(name) })
}

// ready renders what stands ready in the program.
func ready(file func() []byte) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(*Source, Unit, string, attest.Digest) ([]byte, error) { return file(), nil }
}

// prosePage is the head and the prose of the page of a unit. more are pages whose prose goes with
// it.
func (s *Source) prosePage(u Unit, name string, made attest.Digest, more ...string) (templates.Page, templates.Prose,
	error) {
	return s.pageIn(fullFrame, u, name, made, more...)
}

// plainPage is prosePage for a PlainView.
func (s *Source) plainPage(u Unit, name string, made attest.Digest) (templates.Page, templates.Prose, error) {
	return s.pageIn(plainFrame, u, name, made)
}

func (s *Source) pageIn(around frame, u Unit, name string, made attest.Digest, more ...string) (templates.Page,
	templates.Prose, error) {
	p, err := s.need(name)
	if err != nil {
		return templates.Page{}, templates.Prose{}, err
	}
	page := s.viewOf(u, p.Title, p.Summary, made)
	if name == "docs" {
		p.Body = strings.Replace(p.Body, "\nDOCUMENTATION\n", s.docsList(), 1)
	}
	for _, name := range more {
		q, err := s.need(name)
		if err != nil {
			return page, templates.Prose{}, err
		}
		// A host that the record has, so that the commands are not for show.
		p.Body += "\n\n" + strings.ReplaceAll(q.Body, "HOST", s.firstHost)
	}
	body, err := s.prose(p.Body, around)
	return page, body, err
}

// renderProse renders a page that is prose alone.
func renderProse(name string) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
		page, body, err := s.plainPage(u, name, made)
		if err != nil {
			return nil, err
		}
		v := templates.PlainView{Chrome: s.chrome, Page: page, Body: body}
		v.Contents = s.contents(page.Path, body.Markdown)
		return u.twin(&v, mediaType)
	}
}

// Pages of the keeper's own: prose at an address of its own, with a word in the header of every
// page where it has one.

func depsOwn(s *Source, i int, d *Digester) { d.digest(s.sums[s.own[i]]) }

func renderOwn(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	p := &s.Site.Pages[s.own[u.at]]
	page := s.viewOf(u, p.Title, p.Summary, made)
	body, err := s.proseIn(mediaType, p.Body, plainFrame)
	if err != nil {
		return nil, err
	}
	v := templates.PlainView{Chrome: s.chrome, Page: page, Body: body}
	return u.twin(&v, mediaType)
}
