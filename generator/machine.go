package generator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentstore/content/api"
	"agentstore/corpus/attest"
	"agentstore/templates"
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

// info is what the API description says of the service. The prices are those
// of the shelf.
func (s *source) info() (api.Info, error) {
	guide, err := s.need("llms")
	if err != nil {
		return api.Info{}, err
	}
	cfg := s.Site.Config
	info := api.Info{
		BaseURL: s.base, Title: cfg.Title, Summary: cfg.Tagline,
		Description: "Free routes need nothing. A paid route answers 402 with its terms; sign one of them and send the same request again. " +
			"Prices are in USDC, paid on " + strings.Join(s.networks(), ", ") + "; the terms of the 402 are the ones that count. The catalogue is at /menu.json, and what was signed verifies free at /api/verify/{id}.",
		Networks: s.networks(),
		Guidance: s.Site.Expand(guide.Body), Contact: cfg.Contact, License: "Apache-2.0",
	}
	for _, g := range s.Site.Goods {
		for _, t := range g.Tiers() {
			info.Prices = append(info.Prices, t.Amount)
		}
	}
	slices.Sort(info.Prices)
	info.Prices = slices.Compact(info.Prices)
	return info, nil
}

// networks are those on which payments are taken; a site that does not say takes them on Base.
func (s *source) networks() []string {
	if len(s.Networks) == 0 {
		return []string{"eip155:8453"}
	}
	return s.Networks
}

func renderOpenAPI(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	if mediaType == api.Markdown {
		return renderAPIGuide(s, u, mediaType, made)
	}
	info, err := s.info()
	if err != nil {
		return nil, err
	}
	return api.BuildOpenAPI(info, s.API, api.Documents)
}

func renderTools(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	info, err := s.info()
	if err != nil {
		return nil, err
	}
	return api.BuildTools(info, s.API, api.Documents)
}

func renderAPIGuide(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	info, err := s.info()
	if err != nil {
		return nil, err
	}
	return api.BuildMarkdown(info, s.API, api.Documents), nil
}

func renderSigningKey(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	return attest.SigningKeyDocument(s.host, s.Ring)
}

func renderDID(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	return attest.DIDDocument(s.host, s.Ring)
}

func renderStyle(*source, unit, string, attest.Digest) ([]byte, error) { return templates.Style(), nil }
func renderFavicon(*source, unit, string, attest.Digest) ([]byte, error) {
	return templates.Favicon(), nil
}

// renderRobots says the same in both vocabularies for uses by models:
// contentsignals.org, and the attachment draft of the IETF's AIPREF group.
func renderRobots(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	return fmt.Appendf(nil, `# Read, quote and learn from everything here. Doors under /api/ cost money or
# attention, so crawlers are asked to leave them alone.
User-agent: *
Content-Signal: search=yes, ai-input=yes, ai-train=yes
Content-Usage: train-ai=y, search=y
Allow: /
Disallow: /api/

Sitemap: %s/sitemap.xml
`, s.base), nil
}

// renderSecurityText follows RFC 9116.
func renderSecurityText(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	cfg := s.Site.Config
	return fmt.Appendf(nil, "Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s/.well-known/security.txt\n",
		cfg.Contact, cfg.SecurityExpires.UTC().Format(time.RFC3339), s.base), nil
}

// renderHeaders writes the rules by which a content network serves the tree:
// every page of the table, by the class of its document.
func renderHeaders(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	var b strings.Builder
	b.WriteString("/*\n  Access-Control-Allow-Origin: *\n")
	for _, f := range templates.SecurityFields("/") {
		fmt.Fprintf(&b, "  %s: %s\n", f.Name, f.Value)
	}
	rule := func(urlPath, mediaType string, cache api.Cache, negotiated bool) {
		fmt.Fprintf(&b, "%s\n  Cache-Control: %s\n", placeholders(urlPath), cache.Control())
		if negotiated {
			b.WriteString("  CDN-Cache-Control: no-store\n  Vary: Accept, Accept-Encoding, User-Agent\n")
			return
		}
		fmt.Fprintf(&b, "  Content-Type: %s\n", mediaType)
	}
	for _, d := range api.Documents {
		if d.TreeOnly {
			for _, name := range ownKeys(s) {
				rule("/"+name, api.HTML, d.Cache, true)
				rule("/"+api.FileFor("/"+name, api.Markdown), api.Markdown, d.Cache, false)
			}
			continue
		}
		if d.Path == "" {
			for _, f := range d.Files {
				if before, _, family := strings.Cut(f.Path, "{"); family {
					rule("/"+before+"*", f.MediaType, d.Cache, false)
				}
			}
			continue
		}
		rule(d.Path, d.Files[0].MediaType, d.Cache, d.Serve == api.Negotiated)
		for _, twin := range d.Twins() {
			rule("/"+twin.Path, twin.MediaType, d.Cache, false)
		}
	}
	// A worker has a policy of its own; this one alone may compile the verifier.
	fmt.Fprintf(&b, "%s\n  ! Content-Security-Policy\n  Content-Security-Policy: %s\n", templates.WorkerPath, templates.VerifierPolicy())
	layout := attest.PublicLayout()
	rule("/"+layout.Head(), api.JSON, api.Checked, false)
	rule("/"+layout.Place+"/*", api.JSON, api.Checked, false)
	return []byte(b.String()), nil
}

// placeholders writes {item_id} as the :item_id that rule files know, and as a
// splat where something follows it in the same segment.
func placeholders(urlPath string) string {
	i, j := strings.IndexByte(urlPath, '{'), strings.IndexByte(urlPath, '}')
	if i < 0 {
		return urlPath
	}
	if rest := urlPath[j+1:]; rest != "" {
		return urlPath[:i] + "*" + rest
	}
	return urlPath[:i] + ":" + urlPath[i+1:j]
}
