package api

// The revisions of the Model Context Protocol that are spoken.
const (
	MCP2026 = "2026-07-28"
	MCP2025 = "2025-06-18"
)

// MCPRevisions are all of them, the newest first.
var MCPRevisions = []string{MCP2026, MCP2025}

// MediaType of a server card (SEP-2127) and of the catalogue that lists them.
const (
	ServerCard = "application/mcp-server-card+json"
	AICatalog  = "application/ai-catalog+json"
)

// MCPDoor is an address at which agents speak MCP.
type MCPDoor struct {
	Name  string // of the server, and in the names of its card
	Path  string
	Title string
	// Purpose is at most 100 characters, as in a server card.
	Purpose string
}

// MCPDoors are all of them.
var MCPDoors = []MCPDoor{
	{"store", "/mcp", "The store", "Free instruments, and every good on the shelf for one signed payment in USDC."},
	{"verifier", "/mcp/verifier", "The verifier", "Five free tools that check doors, offers, receipts and " +
		"certificates."},
	{"docs", "/mcp/docs", "The store's documents", "The store's guide, menu, prices and criteria to read. It acts " +
		"on nothing."},
}

// Card is the path of a door's server card.
func (d MCPDoor) Card() string { return d.Path + "/server-card" }

// agentDocuments are what tells agents how to begin.
var agentDocuments = []Document{
	{
		Name: "agents", Path: "/agents.md", Summary: "What an agent reads first: how to buy, and what never to do.",
		Tag: tagAgents, Files: pages("/agents.md", Markdown),
	},
	{
		Name: "auth", Path: "/auth.md", Summary: "Why there is nothing to log in to, and what takes its place.",
		Tag: tagAgents, Files: pages("/auth.md", Markdown),
	},
	{
		Name: "protected_resource", Path: "/.well-known/oauth-protected-resource",
		Summary: "Says that no authorization server exists (RFC 9728).",
		Tag:     tagAgents,
		Files:   []Representation{{MediaType: JSON, Path: ".well-known/oauth-protected-resource"}},
	},
	{
		Name: "api_catalog", Path: APICatalogPath, Summary: "The catalogue of the APIs here (RFC 9727).",
		Tag: tagAgents, Files: []Representation{{MediaType: Linkset, Path: APICatalogPath[1:]}},
	},
}

// APICatalogPath is where RFC 9727 has the catalogue, and Linkset its media type.
const (
	APICatalogPath = "/.well-known/api-catalog"
	Linkset        = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`
)

// mcpDocuments are what tells of the doors without a call.
var mcpDocuments = []Document{
	{
		Name: "mcp", Path: "/mcp", Summary: "How agents use the store over MCP.",
		Description: "The guide to the MCP doors: tools, how to pay, what to do when an answer is lost. The same " +
			"address takes the calls, as POST.",
		Tag: tagAgents, Files: pages("/mcp", HTML, Markdown),
	},
	{
		Name: "webmcp", Path: "/webmcp.js", Summary: "The script that offers the free tools to a browser's agent.",
		Description: "WebMCP: it registers the free tools, quote_store_purchase and complete_store_purchase, and " +
			"does " +
			"nothing in a browser without document.modelContext. It signs nothing.",
		Tag: tagAgents, Files: pages("/webmcp.js", JavaScript),
	},
	asset("webmcp_demo", "/webmcp-demo.js", JavaScript, "Shows those tools at work on /mcp."),
	{
		Name: "mcp_locator", Path: "/.well-known/mcp", Summary: "Where the MCP doors are, and what each is for.",
		Tag: tagAgents, Files: []Representation{{MediaType: JSON, Path: ".well-known/mcp"}},
	},
	{
		Name: "mcp_card", Path: "/mcp/server-card", Summary: "The server card of the store's MCP door.",
		Tag: tagAgents, Files: []Representation{{MediaType: ServerCard, Path: "mcp/server-card"}},
	},
	{
		Name: "mcp_verifier_card", Path: "/mcp/verifier/server-card",
		Summary: "The server card of the verifier's MCP door.",
		Tag:     tagAgents, Files: []Representation{{MediaType: ServerCard,
			Path: "mcp/verifier/server-card"}},
	},
	{
		Name: "mcp_docs_card", Path: "/mcp/docs/server-card", Summary: "The server card of the documents' MCP door.",
		Tag: tagAgents, Files: []Representation{{MediaType: ServerCard, Path: "mcp/docs/server-card"}},
	},
	{
		Name: "ai_catalog", Path: "/.well-known/ai-catalog.json", Summary: "The AI catalogue: the server cards.",
		Tag:   tagAgents,
		Files: []Representation{{MediaType: AICatalog, Path: ".well-known/ai-catalog.json"}},
	},
}
