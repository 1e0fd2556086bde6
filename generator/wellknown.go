package generator

import (
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// renderProtectedResource says, in the form of RFC 9728, that there is nothing to log in to: it
// names no authorization server and no way to send a token.
func renderProtectedResource(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	return indented(struct {
		Resource      string   `json:"resource"`
		Name          string   `json:"resource_name"`
		Documentation string   `json:"resource_documentation"`
		Methods       []string `json:"bearer_methods_supported"`
	}{s.base, s.Site.Config.Title, s.base + "/auth.md", []string{}})
}

// link is a target of RFC 9264.
type link struct {
	Href  string `json:"href"`
	Type  string `json:"type,omitempty"`
	Title string `json:"title,omitempty"`
}

// linkContext is what links begin at, with those of each relation.
type linkContext struct {
	Anchor      string `json:"anchor"`
	Item        []link `json:"item,omitempty"`
	ServiceDesc []link `json:"service-desc,omitempty"`
	ServiceDoc  []link `json:"service-doc,omitempty"`
	ServiceMeta []link `json:"service-meta,omitempty"`
	Status      []link `json:"status,omitempty"`
}

// renderAPICatalog lists the HTTP API and the MCP doors (RFC 9727, in the form of RFC 9264).
func renderAPICatalog(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	web := linkContext{Anchor: s.base + "/",
		ServiceDesc: []link{{Href: s.base + "/openapi.json", Type: api.OpenAPIJSON}},
		ServiceDoc: []link{{Href: s.base + "/docs", Type: "text/html"},
			{Href: s.base + "/api.md", Type: "text/markdown"},
			{Href: s.base + "/auth.md", Type: "text/markdown"}},
		ServiceMeta: []link{{Href: s.base + "/.well-known/did.json", Type: api.DIDJSON},
			{Href: s.base + "/.well-known/trust.json", Type: api.JSON},
			{Href: s.base + "/.well-known/ucp", Type: api.JSON},
			{Href: s.base + "/.well-known/x402", Type: api.JSON},
			{Href: s.base + "/.well-known/agent-skills/index.json", Type: api.JSON},
			{Href: s.base + "/openapi-tools.json", Type: api.JSON}},
		Status: []link{{Href: s.base + "/deprecation", Type: "text/html"}}}
	all := linkContext{Anchor: s.base + api.APICatalogPath, Item: []link{{Href: web.Anchor, Title: "The HTTP API"}}}
	contexts := []linkContext{all, web}
	for _, d := range api.MCPDoors {
		contexts[0].Item = append(contexts[0].Item, link{Href: s.base + d.Path, Title: d.Title})
		contexts = append(contexts, linkContext{Anchor: s.base + d.Path,
			ServiceDesc: []link{{Href: s.base + d.Card(), Type: api.ServerCard}},
			ServiceDoc:  []link{{Href: s.base + "/mcp.md", Type: "text/markdown"}}})
	}
	contexts[0].Item = append(contexts[0].Item, link{Href: s.base + api.A2APath, Title: "The free tools over A2A"})
	contexts = append(contexts, linkContext{Anchor: s.base + api.A2APath,
		ServiceDesc: []link{{Href: s.base + "/.well-known/agent-card.json", Type: api.JSON}},
		ServiceDoc:  []link{{Href: s.base + "/agents.md", Type: "text/markdown"}}})
	return indented(struct {
		Linkset []linkContext `json:"linkset"`
	}{contexts})
}
