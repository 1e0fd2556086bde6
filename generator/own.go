package generator

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"agentstore/content/api"
	"agentstore/corpus/attest"
	"agentstore/templates"
)

// Pages of the keeper's own: prose at an address of its own, with a word in the header of every page where it has one.

func ownKeys(s *source) []string { return s.names }

func depsOwn(s *source, i int, d *digester) { d.page(s.own[i]) }

func renderOwn(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	p := s.own[u.at]
	page, err := s.viewOf("own_page", p.Name, p.Title, p.Summary, made)
	if err != nil {
		return nil, err
	}
	body, err := s.proseIn(mediaType, p.Body)
	if err != nil {
		return nil, err
	}
	v := templates.PlainView{Chrome: s.chrome, Page: page, Body: body}
	switch mediaType {
	case api.HTML:
		return templates.RenderPlain(v)
	case api.Markdown:
		return templates.RenderPlainMarkdown(v)
	}
	return unknown(mediaType)
}

// checkOwn refuses a page of the keeper's own at an address that the store uses, or below which it does.
func (s *source) checkOwn() error {
	taken := make(map[string]bool)
	take := func(p string) {
		first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
		taken[strings.TrimSuffix(first, path.Ext(first))] = true
	}
	for _, d := range api.Documents {
		if d.TreeOnly {
			continue
		}
		take(d.Path)
		for _, f := range d.Files {
			take(f.Path)
		}
	}
	for _, r := range s.API {
		take(r.Pattern)
	}
	var errs []error
	for _, p := range s.own {
		if first, _, _ := strings.Cut(p.Name, "/"); taken[first] {
			errs = append(errs, fmt.Errorf("%s: the store itself uses the address /%s; hint: give your page another name", p.File(), p.Name))
		}
	}
	return errors.Join(errs...)
}
