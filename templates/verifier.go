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
