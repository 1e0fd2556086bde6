package templates

import _ "embed"

// VerifyView is the page where what the store signed is checked: an id, or a pasted paper.
type VerifyView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	Facts  []Fact // of the store's key
	// Specimen is the specimen key in hex, so that what it signed is called a specimen anywhere.
	Specimen string
}

func (*VerifyView) template() string { return "verify" }

//go:embed papers.js
var papersScript []byte

// PapersScript returns the script of that page, served as /verify/papers.js: it checks in the
// reader's browser, and without it the store checks ids. The caller must not change it.
func PapersScript() []byte { return papersScript }

// VerifierView is the page where evidence is checked in the reader's browser.
type VerifierView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// Here says that the verifier's program stands beside the page. Where it does not, the page
	// says how it gets there.
	Here bool
}

func (*VerifierView) template() string { return "verifier" }

//go:embed verify.js
var verifierScript []byte

//go:embed worker.js
var verifierWorker []byte

// VerifierScript returns the script of the page, served as /verify/run.js. The caller must not
// change it.
func VerifierScript() []byte { return verifierScript }

// VerifierWorker returns the script of its worker, served as /verify/worker.js. The caller must not
// change it.
func VerifierWorker() []byte { return verifierWorker }
