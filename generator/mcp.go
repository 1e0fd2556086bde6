package generator

import (
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
func renderMCPGuide(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	page, body, err := s.plainPage(u, "mcp", made)
	if err != nil {
		return nil, err
	}
	return u.twin(&templates.PlainView{Chrome: s.chrome, Page: page, Body: body, WebMCP: true,
		Contents: s.contents(page.Path, body.Markdown, plainFrame)}, mediaType)
}

// reversed is the host as names of servers begin: example.store for store.example.
func (s *source) reversed() string {
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

func renderMCPCard(i int) func(*source, unit, string, attest.Digest) ([]byte, error) {
	d := api.MCPDoors[i]
	return func(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
		return indented(serverCard{
			Schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
			Name:   s.reversed() + "/" + d.Name, Title: d.Title, Description: d.Purpose, Version: api.ContractVersion,
			WebsiteURL: s.base + "/mcp", Remotes: []cardRemote{{"streamable-http", s.base + d.Path,
				[]string{api.MCPRevision}}},
		})
	}
}

// renderAICatalog names each card; both spellings of its media type are in use.
func renderAICatalog(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
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
			api.ServerCard, s.base + d.Card()})
	}
	return indented(doc)
}

// renderMCPLocator is the store's own list of its doors, since no address for one is a standard.
func renderMCPLocator(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	type endpoint struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
		Revision  string `json:"revision"`
		Purpose   string `json:"purpose"`
		Card      string `json:"card"`
	}
	doc := struct {
		Endpoints      []endpoint `json:"endpoints"`
		Guide          string     `json:"guide"`
		Catalog        string     `json:"ai_catalog"`
		Authentication string     `json:"authentication"`
		Unpaid         string     `json:"unpaid"`
		WebMCP         string     `json:"webmcp"`
	}{
		Guide: s.base + "/mcp.md", Catalog: s.base + "/.well-known/ai-catalog.json",
		WebMCP:         s.base + templates.WebMCPPath,
		Authentication: "none: no account, no key. Tools named buy_* take a payment in _meta.",
		Unpaid: "An unpaid buy_* call is error 402 with the terms in error.data. At " + s.base +
			"/mcp?unpaid=result it is a result with isError, which stock x402 and MPP clients pay on.",
	}
	for _, d := range api.MCPDoors {
		doc.Endpoints = append(doc.Endpoints, endpoint{s.base + d.Path, "streamable-http", api.MCPRevision, d.Purpose,
			s.base + d.Card()})
	}
	return indented(doc)
}
