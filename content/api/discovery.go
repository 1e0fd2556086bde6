package api

// The versions of the A2A protocol that are spoken at A2APath. Cards and header fields name later
// ones by two numbers.
const (
	A2AVersion    = "0.3.0"
	A2AVersionOne = "1.0"
	A2APath       = "/a2a"
)

// UCPRelease is the release of the Universal Commerce Protocol whose profile is served.
const UCPRelease = "2026-08-25"

// SkillName is the name of the skill and of its folder (agentskills.io).
const SkillName = "agent-store"

// TrustSchema is where the schema of trust.json is, which has no form of anybody else's.
const TrustSchema = "/spec/store-trust-v1.schema.json"

// discoveryDocuments are the files that readers of other protocols look for.
var discoveryDocuments = []Document{
	{
		Name: "agent_card", Path: "/.well-known/agent-card.json",
		Summary: "The store's A2A agent card, signed.",
		Description: "A2A " + A2AVersion + " and " + A2AVersionOne + " in one card. Its skills are the free tools, " +
			"called at `" + A2APath + "`. One signature for each canonical form in use, all by the key in did.json.",
		Tag: tagAgents, Files: pages("/.well-known/agent-card.json", JSON),
	},
	{
		Name: "skill", Path: "/skill.md", Summary: "The store as a skill (agentskills.io): the same bytes as in the " +
			"index of skills.",
		Tag: tagAgents, Files: pages("/skill.md", Markdown),
	},
	{
		Name: "skill_file", Path: "/.well-known/agent-skills/" + SkillName + "/SKILL.md",
		Summary: "The store as a skill, in a folder of its name.", Tag: tagAgents,
		Files: pages("/.well-known/agent-skills/"+SkillName+"/SKILL.md", Markdown),
	},
	{
		Name: "skills_index", Path: "/.well-known/agent-skills/index.json",
		Summary: "The index of skills, with their digests (discovery 0.2.0).", Tag: tagAgents,
		Files: pages("/.well-known/agent-skills/index.json", JSON),
	},
	{
		Name: "docs", Path: "/docs", Summary: "The documentation: the contract in readable pages with programs.",
		Tag: tagStorefront, Files: pages("/docs", HTML, Markdown),
	},
	{
		Name: "docs_goods", Path: "/docs/goods", Summary: "Goods of one's own: every key, kind and input.",
		Tag: tagStorefront, Files: pages("/docs/goods", HTML, Markdown),
	},
	{
		Name: "docs_api", Path: "/docs/api", Summary: "The API in pages for people: every route by its group.",
		Tag: tagStorefront, Files: pages("/docs/api", HTML, Markdown),
	},
	{
		Name: "docs_api_group", Path: "/docs/api/{group}",
		Summary: "One group of routes: inputs, answers, an example of each.",
		Tag:     tagStorefront,
		Params: []Param{{Name: "group", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 40,
			Pattern: "^[a-z0-9-]+$", Description: "The group, such as purchase."}},
		Files: pages("/docs/api/{group}", HTML, Markdown),
	},
	{
		Name: "docs_page", Path: "/docs/{topic}", Summary: "One page of the documentation.",
		Tag: tagStorefront,
		Params: []Param{{Name: "topic", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 40,
			Pattern: "^[a-z]+$", Description: "The page, such as buying."}},
		Files: pages("/docs/{topic}", HTML, Markdown),
	},
	{
		Name: "ucp", Path: "/.well-known/ucp", Summary: "The UCP business profile, release " + UCPRelease + ".",
		Description: "It names the doors that agents may use and the key that signs. The shopping capabilities of " +
			"UCP are not among them: goods are bought by x402 or MPP.",
		Tag: tagAgents, Files: []Representation{{MediaType: JSON, Path: ".well-known/ucp"}},
	},
	{
		Name: "trust", Path: "/.well-known/trust.json",
		Summary: "Who keeps the store, what it claims, how each claim is checked, and what it does not claim.",
		Tag:     tagSigning, Files: pages("/.well-known/trust.json", JSON),
	},
	{
		Name: "trust_schema", Path: TrustSchema, Summary: "The JSON Schema of trust.json.",
		Tag: tagSigning, Files: pages(TrustSchema, JSON), Cache: Immutable,
	},
	{
		Name: "x402", Path: "/.well-known/x402", Summary: "The paid doors of this host, for readers of x402.",
		Description: "`version` 1 and `resources`, each an object of a URL, which takes a GET, and `type` `http`: at " +
			"most twenty, the cheapest goods first, as readers take no more. All of them stand in " +
			"`/discovery/resources`, with their terms; the API description is the fuller source.",
		Tag: tagAgents, Files: []Representation{{MediaType: JSON, Path: ".well-known/x402"}},
	},
	asset("listing_mcp", "/listings/server.json", JSON, "The store's entry for the MCP Registry."),
	asset("listing_mpp", "/listings/mpp.json", JSON, "The store's entry for the directory of mpp.dev."),
	asset("listing_pay", "/listings/PAY.md", Markdown, "The store's entry for pay-skills."),
	asset("listing_a2a", "/listings/a2a-directory.md", Markdown, "The store's line for the A2A Directory."),
}
