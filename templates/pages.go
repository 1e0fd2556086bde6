package templates

// PlainView is a page that is the keeper's prose, with facts below it where
// there are any.
type PlainView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// FactsTitle heads the facts.
	FactsTitle string
	Facts      []Fact
}

// RenderPlain returns the page in HTML.
func RenderPlain(v PlainView) ([]byte, error) { return renderHTML("plain.html", &v) }

// RenderPlainMarkdown returns its twin.
func RenderPlainMarkdown(v PlainView) ([]byte, error) { return renderText("plain.md", &v) }

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

// RenderProblem returns the page in HTML.
func RenderProblem(v ProblemView) ([]byte, error) { return renderHTML("problem.html", &v) }

// RenderProblemMarkdown returns its twin.
func RenderProblemMarkdown(v ProblemView) ([]byte, error) { return renderText("problem.md", &v) }

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

// RenderProblems returns the page in HTML.
func RenderProblems(v ProblemsView) ([]byte, error) { return renderHTML("problems.html", &v) }

// RenderProblemsMarkdown returns its twin.
func RenderProblemsMarkdown(v ProblemsView) ([]byte, error) { return renderText("problems.md", &v) }

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

// RenderSpec returns the page in HTML.
func RenderSpec(v SpecView) ([]byte, error) { return renderHTML("spec.html", &v) }

// RenderSpecMarkdown returns its twin.
func RenderSpecMarkdown(v SpecView) ([]byte, error) { return renderText("spec.md", &v) }

// RenderNotFound returns 404.html.
func RenderNotFound(v PlainView) ([]byte, error) { return renderHTML("notfound.html", &v) }
