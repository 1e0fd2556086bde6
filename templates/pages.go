package templates

import (
	"bytes"
	"net/url"
	"strings"
)

// PlainView is a page that is the keeper's prose, with facts below it where
// there are any.
type PlainView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// FactsTitle heads the facts.
	FactsTitle string
	Facts      []Fact
	// Contents stand beside the prose, nil for none.
	Contents *Contents
	// WebMCP says that the page offers the store's tools to a browser's agent.
	WebMCP bool
}

func (*PlainView) template() string { return "plain" }

// ProblemView is the page of one problem code, /problems/{code}.
type ProblemView struct {
	Chrome *Chrome
	Page   Page
	Code   string
	Status int
	// StatusText is the status in words.
	StatusText string
	Body       Prose
}

func (*ProblemView) template() string { return "problem" }

// ProblemsView is the index of all problem codes, /problems.
type ProblemsView struct {
	Chrome   *Chrome
	Page     Page
	Problems []ProblemLine
}

// ProblemLine is one code of the index.
type ProblemLine struct {
	Code    string
	Status  int
	Title   string
	Summary string
}

func (*ProblemsView) template() string { return "problems" }

// SpecView is a specification with its test vectors.
type SpecView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// Specimen is a certificate signed by the specimen key.
	Specimen Paper
	// Vectors are values that an implementation must reproduce.
	Vectors []Vector
}

// Vector is one named value of a specification.
type Vector struct {
	Name, Value string
}

func (*SpecView) template() string { return "spec" }

// Lost is the page of an unknown address with a link to the search for what the address says.
func Lost(page []byte, words []string) []byte {
	const link = `href="/search?q=`
	return bytes.Replace(page, []byte(link), []byte(link+url.QueryEscape(strings.Join(words, " "))), 1)
}

// RenderNotFound returns 404.html, with a link that Lost completes.
func RenderNotFound(v PlainView) ([]byte, error) { return renderHTML("notfound.html", &v) }
