package pages

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/agentcard"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// agentCard is an AgentCard of A2A 0.3.0, section 5.5, and of 1.0 in one: readers of either find
// what they need and pass over the rest. It has no security: nothing is asked of a caller.
type agentCard struct {
	ProtocolVersion    string          `json:"protocolVersion"`
	Name               string          `json:"name"`
	Description        string          `json:"description"`
	URL                string          `json:"url"`
	PreferredTransport string          `json:"preferredTransport"`
	Interfaces         []cardInterface `json:"additionalInterfaces"`
	Supported          []cardSupported `json:"supportedInterfaces"` // of 1.0: the first is preferred
	Provider           cardProvider    `json:"provider"`
	Version            string          `json:"version"`
	DocumentationURL   string          `json:"documentationUrl"`
	Capabilities       cardAbilities   `json:"capabilities"`
	InputModes         []string        `json:"defaultInputModes"`
	OutputModes        []string        `json:"defaultOutputModes"`
	Skills             []cardSkill     `json:"skills"`
}

type cardInterface struct {
	URL       string `json:"url"`
	Transport string `json:"transport"`
}

type cardSupported struct {
	URL     string `json:"url"`
	Binding string `json:"protocolBinding"`
	Version string `json:"protocolVersion"`
}

type cardProvider struct {
	Organization string `json:"organization"`
	URL          string `json:"url"`
}

type cardAbilities struct {
	Streaming bool `json:"streaming"`
	Push      bool `json:"pushNotifications"`
}

type cardSkill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// renderAgentCard describes the door for agents of A2A, and signs what it says.
func renderAgentCard(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	tools, err := api.Tools(s.API, s.docs)
	if err != nil {
		return nil, err
	}
	at := s.Base + api.A2APath
	card := agentCard{
		ProtocolVersion: api.A2AVersion, Name: s.Site.Config.Title, URL: at, PreferredTransport: "JSONRPC",
		Description: s.Site.Config.Tagline + " The skills are free tools: send a message with a data part " +
			`{"tool": the id of a skill, "arguments": {...}}. Goods are bought over HTTP or MCP: ` + s.Base +
			"/agents.md.",
		Interfaces: []cardInterface{{at, "JSONRPC"}},
		Supported:  []cardSupported{{at, "JSONRPC", api.A2AVersionOne}, {at, "JSONRPC", "0.3"}},
		Provider:   cardProvider{s.Site.Config.Keeper, s.Base},
		Version:    api.ContractVersion, DocumentationURL: s.Base + "/docs",
		InputModes: []string{api.JSON, "text/plain"}, OutputModes: []string{api.JSON, "text/plain"},
	}
	for _, t := range tools {
		card.Skills = append(card.Skills, cardSkill{ID: t.Name, Name: t.Title, Description: t.Description,
			Tags: []string{"free", t.Route.Tag}})
	}
	plain, err := indented(card)
	if err != nil {
		return nil, err
	}
	return agentcard.Sign(plain, attest.DIDURL(s.host, s.Key.KID()), s.Key)
}

func depsAgentCard(s *Source, _ int, d *Digester) {
	depsAPI(s, 0, d)
	depsRing(s, 0, d)
}

// renderSkill is the page pages/skill.md as a SKILL.md (agentskills.io).
func renderSkill(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	p, err := s.need("skill")
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "---\nname: %s\ndescription: %q\ncompatibility: %q\n---\n# %s\n\n%s\n", api.SkillName,
		s.Site.Expand(p.Summary), "Needs HTTPS. Buying needs a wallet with USDC and an x402 or MPP client; nothing "+
			"else does.", p.Title, strings.TrimSpace(s.Site.Expand(p.Body))), nil
}

// renderSkillsIndex lists the one skill with the digest of its bytes.
func renderSkillsIndex(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	type skill struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Description string `json:"description"`
		URL         string `json:"url"`
		Digest      string `json:"digest"`
	}
	raw, err := renderSkill(s, u, mediaType, made)
	if err != nil {
		return nil, err
	}
	p, err := s.need("skill")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return indented(struct {
		Schema string  `json:"$schema"`
		Skills []skill `json:"skills"`
	}{"https://schemas.agentskills.io/discovery/0.2.0/schema.json", []skill{{api.SkillName, "skill-md",
		s.Site.Expand(p.Summary), s.Base + "/.well-known/agent-skills/" + api.SkillName + "/SKILL.md",
		"sha256:" + hex.EncodeToString(sum[:])}}})
}

// ucpHost fits hosts whose names a reader of UCP binds to what they declare: a domain of at least
// two labels, and no address.
var ucpHost = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$`)

// renderUCP is the business profile. The services are our own: no capability of UCP is among them,
// since none is served in its form. A host that is no domain has none, because nobody could bind
// them to it.
func renderUCP(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	type service struct {
		Version   string `json:"version"`
		Transport string `json:"transport"`
		Endpoint  string `json:"endpoint"`
		Spec      string `json:"spec"`
		Schema    string `json:"schema"`
	}
	type key struct {
		KID string `json:"kid"`
		KTY string `json:"kty"`
		CRV string `json:"crv"`
		X   string `json:"x"`
		Use string `json:"use"`
		Alg string `json:"alg"`
	}
	services := map[string][]service{}
	if ucpHost.MatchString(s.host) {
		row := func(transport, endpoint, spec, schema string) service {
			return service{api.ContractSince, transport, endpoint, s.Base + spec, s.Base + schema}
		}
		services[s.reversed()+".store"] = []service{
			row("rest", s.Base, "/agents.md", "/openapi.json"),
			row("mcp", s.Base+api.MCPDoors[0].Path, "/mcp.md", "/openapi-tools.json"),
			row("a2a", s.Base+"/.well-known/agent-card.json", "/agents.md", "/openapi-tools.json"),
		}
	}
	id := s.Ring.Identity()
	doc := struct {
		UCP struct {
			Version      string               `json:"version"`
			Services     map[string][]service `json:"services"`
			Capabilities map[string]any       `json:"capabilities"`
			Handlers     map[string]any       `json:"payment_handlers"`
		} `json:"ucp"`
		Keys []key `json:"keys"`
	}{Keys: []key{{id.KID, "OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(id.Public), "sig", "EdDSA"}}}
	doc.UCP.Version, doc.UCP.Services = api.UCPRelease, services
	doc.UCP.Capabilities, doc.UCP.Handlers = map[string]any{}, map[string]any{}
	return indented(doc)
}

// maxDoors is how many doors of a host the readers of /.well-known/x402 take.
const maxDoors = 20

// renderX402 lists the paid doors that a reader of twenty gains most from: the goods, the cheapest
// first, since a buyer who only tries, a census that walks the first door and a stock client with
// its ceiling can pay those, at one price in shelf order; and then the pages that are sold, which
// are found by their indexes too. All doors stand in /discovery/resources.
func renderX402(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	type resource struct {
		URL  string `json:"resource"`
		Type string `json:"type"`
	}
	doc := struct {
		Version     int        `json:"version"`
		X402Version int        `json:"x402Version"`
		Resources   []resource `json:"resources"`
		Description string     `json:"description"`
		Terms       string     `json:"discovery"`
	}{Version: 1, X402Version: 2, Resources: []resource{},
		Description: s.Site.Config.Tagline, Terms: s.Base + "/discovery/resources"}
	list := func(url string) { doc.Resources = append(doc.Resources, resource{url, "http"}) }
	goods := slices.Clone(s.Site.Goods)
	slices.SortStableFunc(goods, func(a, b content.Good) int { return cmp.Compare(a.Price, b.Price) })
	for i := range goods {
		list(templates.BuyURL(s.Base, goods[i].ID))
	}
	for _, p := range content.Publications {
		for _, i := range s.Site.IssuesOf(p.Name) {
			list(s.Base + i.Path())
		}
	}
	doc.Resources = doc.Resources[:min(len(doc.Resources), maxDoors)]
	return indented(doc)
}

// depsPaid is what is sold: goods and pages.
func depsPaid(s *Source, _ int, d *Digester) {
	depsCatalogue(s, 0, d)
	for _, p := range content.Publications {
		for _, i := range s.Site.IssuesOf(p.Name) {
			d.text(i.ID)
		}
	}
}

// topicsIn lists the store's own pages in a folder, without it.
func topicsIn(folder string) func(*Source) []string {
	return func(s *Source) (list []string) {
		for i := range s.Site.Pages { // sorted by name
			if topic, ok := strings.CutPrefix(s.Site.Pages[i].Name, folder); ok && !s.Site.Pages[i].Own {
				list = append(list, topic)
			}
		}
		return list
	}
}

func depsTopics(folder string) func(*Source, int, *Digester) {
	return func(s *Source, i int, d *Digester) { s.page(d, folder+topicsIn(folder)(s)[i]) }
}

func renderTopics(folder string) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
		return renderProse(folder+u.Key)(s, u, mediaType, made)
	}
}
