package pages

import (
	_ "embed" // cloneText
	"fmt"
	"iter"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/generator/publish"
)

// signersUnit is the file by which git checks the commits of the repository, if there is one.
func signersUnit(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.cloned() {
			yield(Unit{Made: func(d *Digester) { d.text(s.Bulk.Email); depsRing(s, 0, d) }}, nil)
		}
	}
}

func renderSigners(s *Source, _ Unit, mediaType string, _ attest.Digest) ([]byte, error) {
	if mediaType != api.PlainText {
		return unknown(mediaType)
	}
	text, err := attest.AllowedSigners(s.Bulk.Email, s.Ring)
	return []byte(text), err
}

// cloneText says what the record's repository is and how it is checked.
//
//go:embed clone.md
var cloneText string

// BesideRecord is what stands beside the record in its repository: what it is, on what terms it is
// used, how it is checked, and with what a verifier is tried.
func (s *Source) BesideRecord() (map[string][]byte, error) {
	license := derive.License
	if license == derive.License {
		license += ", https://creativecommons.org/licenses/by/4.0/legalcode"
	}
	const format = "spec/store-corpus-v1"
	page, ok := s.Site.Page(format)
	if !ok {
		return nil, fmt.Errorf("%w: there is no page %s, which stands in corpus.git", ErrInput, format)
	}
	out := map[string][]byte{
		".gitattributes": []byte(publish.Attributes),
		"README.md":      []byte(s.Site.Expand(cloneText)),
		"LICENCE":        fmt.Appendf(nil, "The record of %s (%s): %s\n", s.Site.Config.Title, s.Base, license),
		format + ".md":   fmt.Appendf(nil, "# %s\n\n%s\n", page.Title, strings.TrimSpace(s.Site.Expand(page.Body))),

		"spec/store-corpus-v1-rules.md":  recordRules.file(s.Input),
		"spec/store-corpus-v1-forms.txt": rule.Forms(),
		"spec/store-evidence-v1.md":      evidenceFormat.file(s.Input),
	}
	files, err := vectorFiles()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		out["spec/vectors/"+f.Path] = f.Body
	}
	return out, nil
}
