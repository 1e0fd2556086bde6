package generator

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// Pages of the keeper's own: prose at an address of its own, with a word in the header of every
// page where it has one.

func ownKeys(s *source) []string { return s.names }

func depsOwn(s *source, i int, d *digester) { d.digest(s.sums[s.own[i]]) }

func renderOwn(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	p := &s.Site.Pages[s.own[u.at]]
	page := s.viewOf(u, p.Title, p.Summary, made)
	body, err := s.proseIn(mediaType, p.Body, plainFrame)
	if err != nil {
		return nil, err
	}
	v := templates.PlainView{Chrome: s.chrome, Page: page, Body: body}
	return u.twin(&v, mediaType)
}

// checkOwn refuses a page of the keeper's own at an address that the store uses, or below which it
// does.
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
	for _, r := range s.Input.API {
		take(r.Pattern)
	}
	var errs []error
	for _, i := range s.own {
		p := &s.Site.Pages[i]
		if first, _, _ := strings.Cut(p.Name, "/"); taken[first] {
			errs = append(errs, fmt.Errorf("%s: the store itself uses the address /%s; hint: give your page another "+
				"name", p.File(), p.Name))
		}
	}
	return errors.Join(errs...)
}
