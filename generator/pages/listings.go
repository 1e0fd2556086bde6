package pages

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/templates"
)

// Listings are what a keeper hands to directories in which agents look for a store, each in the
// form that its directory takes. The store sends none of them: /running/listings says where they
// go.

// renderListingMCP is server.json of the MCP Registry, schema 2025-12-11: the door that sells.
func renderListingMCP(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	type remote struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	d := api.MCPDoors[0]
	return indented(struct {
		Schema      string   `json:"$schema"`
		Name        string   `json:"name"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Version     string   `json:"version"`
		WebsiteURL  string   `json:"websiteUrl"`
		Remotes     []remote `json:"remotes"`
	}{"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", s.reversed() + "/" + d.Name,
		s.Site.Config.Title, d.Purpose, api.ContractVersion, s.Base + "/mcp",
		[]remote{{"streamable-http", s.Base + d.Path}}})
}

// mppNetwork is the network of payments by MPP.
const mppNetwork = "eip155:8453"

// renderListingMPP is an entry of the services of mpp.dev (ServiceDef of its schemas/services.ts).
func renderListingMPP(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	usdc, ok := networks.USDC(mppNetwork)
	if !ok {
		return nil, fmt.Errorf("%w: no USDC on %s", ErrInput, mppNetwork)
	}
	type link struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	type payment struct {
		Method   string `json:"method"`
		Currency string `json:"currency"`
		Decimals int    `json:"decimals"`
	}
	type endpoint struct {
		Route    string `json:"route"`
		About    string `json:"desc"`
		Amount   string `json:"amount"` // atomic units: the least that is asked
		UnitType string `json:"unitType"`
	}
	doc := struct {
		ID          string            `json:"id"`
		Name        string            `json:"name"`
		URL         string            `json:"url"`
		ServiceURL  string            `json:"serviceUrl"`
		Description string            `json:"description"`
		Categories  []string          `json:"categories"`
		Integration string            `json:"integration"`
		Tags        []string          `json:"tags"`
		Docs        map[string]string `json:"docs"`
		Provider    link              `json:"provider"`
		Realm       string            `json:"realm"`
		Intent      string            `json:"intent"`
		Payments    []payment         `json:"payments"`
		Endpoints   []endpoint        `json:"endpoints"`
	}{s.slug(), s.Site.Config.Title, s.Base, s.Base, s.Site.Config.Tagline, []string{"data", "web"}, "first-party",
		[]string{"agents", "certificates", "receipts", "x402"},
		map[string]string{"homepage": s.Base + "/docs", "llmsTxt": s.Base + "/llms.txt",
			"apiReference": s.Base + "/openapi.json"},
		link{s.Site.Config.Keeper, s.Base}, s.host, "charge", []payment{{"evm", usdc.Address, usdc.Decimals}},
		[]endpoint{}}
	sells := func(path, about string, price int64) {
		doc.Endpoints = append(doc.Endpoints, endpoint{"GET " + path, about, strconv.FormatInt(price, 10), "request"})
	}
	for i := range s.Site.Goods {
		g := &s.Site.Goods[i]
		sells(templates.BuyURL("", g.ID), g.Description, g.Price)
	}
	for _, p := range content.Publications {
		if len(s.Site.IssuesOf(p.Name)) > 0 {
			sells(inBraces.ReplaceAllString(p.Pattern, ":$1"), "One "+p.One+" of the "+p.Name+", in Markdown.", p.Price)
		}
	}
	return indented(doc)
}

// inBraces is a parameter of an address.
var inBraces = regexp.MustCompile(`\{([a-z_]+)\}`)

// renderListingPay is PAY.md of pay-skills, with /openapi.json beside it.
func renderListingPay(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	var names []string
	for i := range s.Site.Goods {
		names = append(names, s.Site.Goods[i].Name)
	}
	lines := [][2]string{
		{"name", s.slug()},
		{"title", s.Site.Config.Title},
		{"description", within(255, s.Site.Config.Tagline+" A shop whose goods and pages are bought one request at a "+
			"time in USDC, each with a signed certificate or receipt that verifies offline, beside free tools that "+
			"check other paid endpoints.")},
		{"use_case", within(255, "Use for checking a paid endpoint, a signed offer, a receipt or a certificate before "+
			"you rely on it, and for buying "+strings.Join(names, ", ")+".")},
		{"category", "shopping"},
		{"service_url", s.Base},
	}
	var b strings.Builder
	b.WriteString("---\n")
	for _, l := range lines {
		value, err := api.Marshal(l[1]) // JSON is YAML
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s: %s\n", l[0], value)
	}
	fmt.Fprintf(&b, "openapi:\n  path: openapi.json\n---\n\n%s\n\n## Spend-aware usage\n\n"+
		"- A request without a payment gives the terms, and charges and reserves nothing.\n"+
		"- Send `Idempotency-Key`, one for each order. A lost answer is had by sending the identical request with the "+
		"identical payment again; it is never charged twice.\n"+
		"- Prices: <%s/pricing.md>. What is free: <%s/docs/free>. How to buy: <%s/agents.md>.\n",
		s.Site.Config.Tagline, s.Base, s.Base, s.Base)
	return []byte(b.String()), nil
}

// renderListingA2A is a line of the table of agents of the A2A Directory.
func renderListingA2A(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	plain := strings.NewReplacer("|", `\|`, "[", `\[`, "]", `\]`, "\n", " ").Replace
	c := s.Site.Config
	return fmt.Appendf(nil, "| [%s](%s) | [%s](%s) | %s A2A %s and %s over JSON-RPC, no account: free tools that "+
		"check paid endpoints, signed offers and receipts. Goods by x402 and MPP. "+
		"[Agent Card](%s/.well-known/agent-card.json) \\| [llms.txt](%s/llms.txt) | N/A |\n",
		plain(c.Title), s.Base, plain(c.Keeper), s.Base, plain(c.Tagline), api.A2AVersion, api.A2AVersionOne, s.Base,
		s.Base), nil
}

// slug is the shop's title as directories name entries: the-general-store.
func (s *Source) slug() string {
	id := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(s.Site.Config.Title), "-"), "-")
	if id == "" {
		return "store"
	}
	return id
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// within cuts a text of names or sentences behind the last that ends within so many bytes.
func within(most int, text string) string {
	if len(text) <= most {
		return text
	}
	cut := text[:most-1]
	if i := strings.LastIndexAny(cut, ",."); i > 0 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + "."
}
