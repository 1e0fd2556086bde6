package pages

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// info is what the API description says of the service. The prices are those
// of the shelf.
func (s *Source) info() (api.Info, error) {
	guide, err := s.need("llms")
	if err != nil {
		return api.Info{}, err
	}
	cfg := s.Site.Config
	info := api.Info{
		BaseURL: s.Base, Title: cfg.Title, Summary: cfg.Tagline,
		Description: "Free routes need nothing. A paid route answers 402 with its terms; sign one of them and send " +
			"the same request again. " +
			"Prices are in USDC, paid on " + strings.Join(s.networks(), ", ") +
			"; the terms of the 402 are the ones that count. The catalogue is at /menu.json, and what was signed " +
			"verifies free at /api/verify/{id}.", Networks: s.networks(),
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

func renderOpenAPI(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	if mediaType == api.Markdown {
		return renderAPIGuide(s, u, mediaType, made)
	}
	info, err := s.info()
	if err != nil {
		return nil, err
	}
	return api.BuildOpenAPI(info, s.withOrders(), s.docs)
}

// withOrders is the routes of the API, with an example of an order for each good that takes inputs
// at the doors where goods are bought.
func (s *Source) withOrders() []api.Route {
	all := slices.Clone(s.API)
	for i := range all {
		r := &all[i]
		if r.Pattern != templates.BuyURL("", "{item_id}") {
			continue
		}
		r.Params = slices.Clone(r.Params)
		if r.Body != nil {
			body := *r.Body
			r.Body = &body
		}
		for n := range s.Site.Goods {
			addOrder(r, &s.Site.Goods[n])
		}
	}
	return all
}

// addOrder adds the examples of a good's inputs to a route, under the good's id.
func addOrder(r *api.Route, g *content.Good) {
	value := func(in content.Input) any {
		if in.Type == "string" {
			return in.Example
		}
		return jsontext.Value(in.Example)
	}
	for _, in := range g.Inputs {
		p := slices.IndexFunc(r.Params, func(p api.Param) bool { return p.In == api.QueryP && p.Name == in.Name })
		if p >= 0 && in.Example != "" {
			r.Params[p].Examples = append(r.Params[p].Examples, api.Example{Name: g.ID, Value: value(in)})
		}
	}
	if r.Body == nil {
		return
	}
	order := map[string]any{}
	for _, in := range g.Example() {
		order[in.Name] = value(in)
	}
	ofPath := slices.ContainsFunc(r.Params, func(p api.Param) bool { return p.In == api.Path && p.Example == g.ID })
	switch example := (api.Example{Name: g.ID, Value: order}); {
	case ofPath: // a client that takes the first example of everything makes a good order
		r.Body.Examples = slices.Insert(slices.Clone(r.Body.Examples), 0, example)
	case len(order) > 0:
		r.Body.Examples = append(r.Body.Examples, example)
	}
}

func renderTools(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	info, err := s.info()
	if err != nil {
		return nil, err
	}
	return api.BuildTools(info, s.API, s.docs)
}

func renderAPIGuide(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	info, err := s.info()
	if err != nil {
		return nil, err
	}
	return api.BuildMarkdown(info, s.API, s.docs), nil
}

func renderSigningKey(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	return attest.SigningKeyDocument(s.host, s.Ring)
}

func renderDID(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	return attest.DIDDocument(s.host, s.Ring,
		attest.Service{ID: "agent-card", Type: "A2AAgentCard", Endpoint: s.Base + "/.well-known/agent-card.json"},
		attest.Service{ID: "trust", Type: "StoreTrust", Endpoint: s.Base + "/.well-known/trust.json"})
}

// renderRobots says the same in both vocabularies for uses by models:
// contentsignals.org, and the attachment draft of the IETF's AIPREF group.
// renderRobots follows RFC 9309, by which the longest rule that fits counts.
func renderRobots(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	var described []byte
	for _, r := range s.API {
		if describes(r) {
			described = fmt.Appendf(described, "Allow: %s$\n", r.Pattern)
		}
	}
	return fmt.Appendf(nil, `# Read, quote and learn from everything here. Doors under /api/ cost money or
# attention, so crawlers are asked to leave them alone, but for what describes
# the free instruments.
User-agent: *
Content-Signal: search=yes, ai-input=yes, ai-train=yes
Content-Usage: train-ai=y, search=y
Allow: /
Disallow: /api/
%s
Sitemap: %s/sitemap.xml
`, described, s.Base), nil
}

// describes reports whether a route is what a free instrument says of itself: it asks for nothing,
// and answers everybody alike.
func describes(r api.Route) bool {
	return r.Method == http.MethodGet && r.Tag == "instruments" && !strings.Contains(r.Pattern, "{") &&
		r.Serve != api.Private && r.Serve != api.Metered &&
		!slices.ContainsFunc(r.Params, func(p api.Param) bool { return p.Required })
}

// renderSecurityText follows RFC 9116.
func renderSecurityText(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	cfg := s.Site.Config
	return fmt.Appendf(nil, "Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: "+
		"%s/.well-known/security.txt\n",
		cfg.Contact, cfg.SecurityExpires.UTC().Format(time.RFC3339), s.Base), nil
}

// headerRule is what a content network says with the files that a pattern fits.
type headerRule struct {
	pattern string
	head    int            // bytes in front of what fits anything
	length  int            // with a byte for each of those
	fits    *regexp.Regexp // nil for a pattern that fits one file
	fields  []templates.HeaderField
}

// wildcards are the parts of a pattern that fit anything, or anything within a segment.
var wildcards = regexp.MustCompile(`\*|:[a-z_]+`)

func newHeaderRule(pattern string, fields ...templates.HeaderField) headerRule {
	r := headerRule{pattern: pattern, head: len(pattern), length: len(pattern), fields: fields}
	if !strings.ContainsAny(pattern, "*:") {
		return r // as nearly all, without the search
	}
	at := wildcards.FindAllStringIndex(pattern, -1)
	if at == nil {
		return r
	}
	r.head, r.length = at[0][0], len(wildcards.ReplaceAllString(pattern, "*"))
	expression, from := "^", 0
	for _, w := range at {
		expression += regexp.QuoteMeta(pattern[from:w[0]])
		if pattern[w[0]] == '*' {
			expression += ".*"
		} else {
			expression += "[^/]+"
		}
		from = w[1]
	}
	r.fits = regexp.MustCompile(expression + regexp.QuoteMeta(pattern[from:]) + "$")
	return r
}

// narrower sorts patterns: what fits more files stands before what fits some of them.
func narrower(a, b headerRule) int {
	return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.length, b.length))
}

// renderHeaders writes the rules by which a content network serves the tree: every page of the
// table, by the class of its document. A network applies all rules that fit an address, in order,
// and joins what they say, so a rule first takes away what broader ones said.
func renderHeaders(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	var rules []headerRule
	rule := func(urlPath, mediaType string, cache api.Cache, negotiated bool) {
		r := newHeaderRule(Placeholders(urlPath), templates.HeaderField{Name: "Cache-Control", Value: cache.Control()})
		if negotiated {
			r.fields = append(r.fields, templates.HeaderField{Name: "CDN-Cache-Control", Value: "no-store"},
				templates.HeaderField{Name: "Vary", Value: "Accept, Accept-Encoding, User-Agent"})
		} else {
			r.fields = append(r.fields, templates.HeaderField{Name: "Content-Type", Value: mediaType})
		}
		if policy := templates.PolicyAt(urlPath); policy != templates.ContentSecurityPolicy() {
			r.fields = append(r.fields, templates.HeaderField{Name: "Content-Security-Policy", Value: policy})
		}
		rules = append(rules, r)
	}
	for _, d := range s.docs {
		if d.TreeOnly {
			for _, name := range ownKeys(s) {
				rule("/"+name, api.HTML, d.Cache, true)
				rule("/"+api.FileFor("/"+name, api.Markdown), api.Markdown, d.Cache, false)
			}
			continue
		}
		files := d.Files
		if d.Path != "" {
			rule(d.Path, d.Files[0].MediaType, d.Cache, d.Serve == api.Negotiated)
			files = d.Twins()
		}
		for _, f := range files {
			rule("/"+f.Path, f.MediaType, d.Cache, false)
		}
	}
	layout := attest.PublicLayout()
	rule("/"+layout.Head(), api.JSON, api.Checked, false)
	rule("/"+layout.Place+"/{part...}", api.JSON, api.Checked, false)
	slices.SortStableFunc(rules, narrower)
	everywhere := newHeaderRule("/*", append([]templates.HeaderField{{Name: "Access-Control-Allow-Origin", Value: "*"}},
		templates.SecurityFields("/")...)...)
	rules = slices.Insert(rules, 0, everywhere)
	const each = 128 // bytes of a rule, about
	b := bytes.NewBuffer(make([]byte, 0, each*len(rules)))
	var before []headerRule // that fit more than one file
	for _, r := range rules {
		b.WriteString(r.pattern + "\n")
		var said []string
		one := r.pattern
		if r.fits != nil {
			one = wildcards.ReplaceAllString(one, "x")
		}
		for i, other := range before {
			if !strings.HasPrefix(one, other.pattern[:other.head]) || !other.fits.MatchString(one) {
				continue
			}
			for _, f := range other.fields {
				if i > 0 || slices.ContainsFunc(r.fields,
					func(own templates.HeaderField) bool { return own.Name == f.Name }) {
					said = append(said, f.Name)
				}
			}
		}
		if r.fits != nil {
			before = append(before, r)
		}
		slices.Sort(said)
		for _, name := range slices.Compact(said) {
			b.WriteString("  ! " + name + "\n")
		}
		for _, f := range r.fields {
			b.WriteString("  " + f.Name + ": " + f.Value + "\n")
		}
	}
	return b.Bytes(), nil
}

// Placeholders writes {item_id} as the :item_id that rule files know, and as a
// splat where something follows it in the same segment or it is of several.
func Placeholders(urlPath string) string {
	i, j := strings.IndexByte(urlPath, '{'), strings.IndexByte(urlPath, '}')
	if i < 0 {
		return urlPath
	}
	name, several := strings.CutSuffix(urlPath[i+1:j], "...")
	if rest := urlPath[j+1:]; rest != "" || several {
		return urlPath[:i] + "*" + rest
	}
	return urlPath[:i] + ":" + name
}
