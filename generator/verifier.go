package generator

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// The page on which evidence is checked in the reader's browser, and the program that it runs,
// which is an input: it is made by another compiler run and kept in no repository.

func depsVerifier(s *source, _ int, d *digester) {
	s.page(d, "verify-run")
	s.depsVerifying(d, "record/evidence")
	d.flag(s.Verifier != nil)
}

func renderVerifier(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.prosePage(u, "verify-run", made, s.verifying("record/evidence")...)
	if err != nil {
		return nil, err
	}
	v := templates.VerifierView{Chrome: s.chrome, Page: page, Body: body, Here: s.Verifier != nil}
	return u.twin(&v, mediaType)
}

// renderProse renders a page that is prose alone.
func renderProse(name string) func(*source, unit, string, attest.Digest) ([]byte, error) {
	return func(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
		page, body, err := s.plainPage(u, name, made)
		if err != nil {
			return nil, err
		}
		v := templates.PlainView{Chrome: s.chrome, Page: page, Body: body}
		v.Contents = s.contents(page.Path, body.Markdown, plainFrame)
		return u.twin(&v, mediaType)
	}
}

// verifierFiles streams the program and what starts it. A folder that lacks one of them is no
// verifier.
func verifierFiles(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if s.Verifier == nil {
			return
		}
		for _, name := range []string{"verify.wasm", "wasm_exec.js"} {
			b, err := fs.ReadFile(s.Verifier, name)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: the verifier's folder has no %s: make verifier", ErrInput, name)
			}
			if !yield(unit{key: name, value: b, made: func(d *digester) { d.digest(sha256.Sum256(b)) }}, err) ||
				err != nil {
				return
			}
		}
	}
}

// renderBytes gives what the stream has read.
func renderBytes(_ *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	return u.value.([]byte), nil
}
