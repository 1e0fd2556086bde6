package generator

import (
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/templates"
)

// guideTopics are the parts of the guide for language models, by name.
func guideTopics(*source) []string { return []string{"about", "free", "goods", "optional"} }

// guide is the guide for language models by topic. It follows the grammar of llmstxt.org: one
// title, a quoted summary, text without headings, which is the topic about, then sections that hold
// nothing but links, each a topic by its heading.
func (s *source) guide() (map[string]string, error) {
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
			fmt.Fprintf(&b, "- [%s](%s%s): %s\n", l.Text, s.base, l.Href, strings.Join(strings.Fields(l.Note), " "))
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
			Note: strings.Join(amounts, ", ") + " USDC at " + templates.BuyURL(s.base, g.ID) + ". " + g.Description,
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

func renderLLMs(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
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

func renderGuideSection(s *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	parts, err := s.guide()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(guideTopics(s), u.key) || parts[u.key] == "" {
		return nil, fmt.Errorf("the guide has no section %q", u.key)
	}
	return []byte(parts[u.key]), nil
}
