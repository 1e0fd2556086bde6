package pages

import (
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// serverCard is that of SEP-2127: where a server is and what it is for, without its tools.
type serverCard struct {
	Schema      string       `json:"$schema"`
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Version     string       `json:"version"`
	WebsiteURL  string       `json:"websiteUrl"`
	Remotes     []cardRemote `json:"remotes"`
}

type cardRemote struct {
	Type     string   `json:"type"`
	URL      string   `json:"url"`
	Versions []string `json:"supportedProtocolVersions"`
}

// renderMCPGuide renders the page about the doors, which offers their tools to a browser's agent.
func renderMCPGuide(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.plainPage(u, "mcp", made)
	if err != nil {
		return nil, err
	}
	return u.twin(&templates.PlainView{Chrome: s.chrome, Page: page, Body: body, WebMCP: true,
		Contents: s.contents(page.Path, body.Markdown)}, mediaType)
}

// reversed is the host as names of servers begin: example.store for store.example.
func (s *Source) reversed() string {
	host := strings.Map(func(r rune) rune {
		if r == ':' || r == '[' || r == ']' {
			return '-'
		}
		return r
	}, s.host)
	parts := strings.Split(host, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".")
}

func renderMCPCard(i int) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	d := api.MCPDoors[i]
	return func(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
		return indented(serverCard{
			Schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
			Name:   s.reversed() + "/" + d.Name, Title: d.Title, Description: d.Purpose, Version: api.ContractVersion,
			WebsiteURL: s.Base + "/mcp", Remotes: []cardRemote{{"streamable-http", s.Base + d.Path,
				api.MCPRevisions}},
		})
	}
}

// renderAICatalog names each card; both spellings of its media type are in use.
func renderAICatalog(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	type entry struct {
		Identifier string `json:"identifier"`
		Name       string `json:"displayName"`
		Type       string `json:"type"`
		MediaType  string `json:"mediaType"`
		URL        string `json:"url"`
	}
	doc := struct {
		SpecVersion string  `json:"specVersion"`
		Entries     []entry `json:"entries"`
	}{SpecVersion: "1.0"}
	for _, d := range api.MCPDoors {
		doc.Entries = append(doc.Entries, entry{"urn:air:" + s.host + ":mcp:" + d.Name, d.Title, api.ServerCard,
			api.ServerCard, s.Base + d.Card()})
	}
	return indented(doc)
}

// renderMCPLocator is the store's own list of its doors, since no address for one is a standard.
func renderMCPLocator(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	type endpoint struct {
		URL       string   `json:"url"`
		Transport string   `json:"transport"`
		Revisions []string `json:"revisions"`
		Purpose   string   `json:"purpose"`
		Card      string   `json:"card"`
	}
	doc := struct {
		Endpoints      []endpoint `json:"endpoints"`
		Guide          string     `json:"guide"`
		Catalog        string     `json:"ai_catalog"`
		Authentication string     `json:"authentication"`
		Unpaid         string     `json:"unpaid"`
		WebMCP         string     `json:"webmcp"`
	}{
		Guide: s.Base + "/mcp.md", Catalog: s.Base + "/.well-known/ai-catalog.json",
		WebMCP:         s.Base + templates.WebMCPPath,
		Authentication: "none: no account, no key. Tools named buy_* take a payment in _meta.",
		Unpaid: "An unpaid buy_* call is error 402 with the terms in error.data. At " + s.Base +
			"/mcp?unpaid=result, and in revision " + api.MCP2026 + ", it is a result with isError, which stock " +
			"x402 and MPP clients pay on.",
	}
	for _, d := range api.MCPDoors {
		doc.Endpoints = append(doc.Endpoints, endpoint{s.Base + d.Path, "streamable-http", api.MCPRevisions, d.Purpose,
			s.Base + d.Card()})
	}
	return indented(doc)
}

// guideTopics are the parts of the guide for language models, by name.
func guideTopics(*Source) []string { return []string{"about", "free", "goods", "optional"} }

// guide is the guide for language models by topic. It follows the grammar of llmstxt.org: one
// title, a quoted summary, text without headings, which is the topic about, then sections that hold
// nothing but links, each a topic by its heading.
func (s *Source) guide() (map[string]string, error) {
	p, err := s.need("llms")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(p.Body) {
		if strings.HasPrefix(line, "#") {
			return nil, fmt.Errorf("pages/llms.md: a heading (%q) would end the summary of llms.txt",
				strings.TrimSpace(line))
		}
	}
	parts := map[string]string{"about": fmt.Sprintf("# %s\n\n> %s\n\n%s\n", s.Site.Config.Title, p.Summary,
		s.Site.Expand(p.Body))}
	section := func(name string, links []templates.Pointer) {
		var b strings.Builder
		fmt.Fprintf(&b, "## %s\n\n", name)
		for _, l := range links {
			fmt.Fprintf(&b, "- [%s](%s%s): %s\n", l.Text, s.Base, l.Href, strings.Join(strings.Fields(l.Note), " "))
		}
		parts[strings.ToLower(name)] = b.String()
	}
	section("Free", append(s.free(),
		templates.Pointer{Text: "The API in Markdown", Href: "/api.md",
			Note: "every route with its parameters and limits"},
		templates.Pointer{Text: "The artifact format", Href: "/spec/store-attestation/v1.md",
			Note: "store-attestation/v1 with test vectors"},
	))
	var goods []templates.Pointer
	for _, g := range s.Site.Goods {
		var amounts []string
		for _, t := range g.Tiers() {
			amounts = append(amounts, t.USDC())
		}
		goods = append(goods, templates.Pointer{
			Text: g.Name, Href: "/menu/" + g.ID + ".md",
			Note: strings.Join(amounts, ", ") + " USDC at " + templates.BuyURL(s.Base, g.ID) + ". " + g.Description,
		})
	}
	section("Goods", goods)
	section("Optional", []templates.Pointer{
		{Text: "The storefront", Href: "/index.md", Note: "the same shop for readers"},
		{Text: "The documentation", Href: "/docs.md", Note: "programs that buy, recover and verify, in four languages"},
		{Text: "The skill", Href: "/skill.md", Note: "the store as a SKILL.md"},
	})
	return parts, nil
}

func renderLLMs(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	parts, err := s.guide()
	if err != nil {
		return nil, err
	}
	var whole []string
	for _, topic := range guideTopics(s) {
		whole = append(whole, parts[topic])
	}
	return []byte(strings.Join(whole, "\n")), nil
}

func renderGuideSection(s *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	parts, err := s.guide()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(guideTopics(s), u.Key) || parts[u.Key] == "" {
		return nil, fmt.Errorf("the guide has no section %q", u.Key)
	}
	return []byte(parts[u.Key]), nil
}
