package generator

import (
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// colourOfPaper is the background of pages by day.
const colourOfPaper = "#f7f2e6"

// renderWebManifest follows the Web Application Manifest of the W3C. The site is one of pages, so
// that it opens in the browser.
func renderWebManifest(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	type icon struct {
		Source string `json:"src"`
		Sizes  string `json:"sizes"`
		Type   string `json:"type"`
	}
	return indented(struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Start       string `json:"start_url"`
		Display     string `json:"display"`
		Background  string `json:"background_color"`
		Theme       string `json:"theme_color"`
		Icons       []icon `json:"icons"`
	}{s.Site.Config.Title, s.Site.Config.Tagline, "/", "browser", colourOfPaper, colourOfPaper,
		[]icon{{"/favicon.svg", "any", api.SVG}, {"/apple-touch-icon.png", "180x180", api.PNG}}})
}
