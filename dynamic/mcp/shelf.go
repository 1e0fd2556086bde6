package mcp

import (
	"encoding/json"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/counter"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shelf is what the tools are while a site is in force: made once for it.
type shelf struct {
	site  *content.Site
	away  map[string]string // why a good cannot be made, by its id
	paid  []*tool
	lists map[*endpoint]json.RawMessage // the answers of tools/list
	named map[*endpoint]map[string]*tool
}

// Observations are the goods that are bought through one tool, buy_observation, so that a list of
// tools stays short. Every other good is a tool of its own.
var Observations = []string{"bitcoin_anchor", "signature_agent_card", "onpage_audit", "service_audit",
	"passport_refresh", "good_buyer", "provenance_check", "conformance_watch", "standing_watch", "spot_check",
	"launch_check", "a2a_repair_kit"}

// Names of the paid tools.
const (
	buyPrefix      = "buy_"
	buyObservation = "buy_observation"
	buyPage        = "buy_page"
)

// now is the shelf of the site in force.
func (d *Doors) now() (*shelf, error) {
	site, away := d.Site.Now(), map[string]string{}
	for i := range site.Goods {
		if id := site.Goods[i].ID; d.Away != nil && d.Away(id) != "" {
			away[id] = d.Away(id)
		}
	}
	if s := d.shelf.Load(); s != nil && s.site == site && maps.Equal(s.away, away) {
		return s, nil
	}
	s := &shelf{site: site, away: away, lists: make(map[*endpoint]json.RawMessage),
		named: make(map[*endpoint]map[string]*tool)}
	var observed []content.Good
	for _, g := range site.Goods {
		if slices.Contains(Observations, g.ID) {
			observed = append(observed, g)
			continue
		}
		s.paid = append(s.paid, goodTool(g, away[g.ID]))
	}
	if len(observed) > 0 {
		s.paid = append(s.paid, observationTool(observed, away))
	}
	if d.Pages != nil && len(site.Issues) > 0 {
		s.paid = append(s.paid, pageTool())
	}
	for _, p := range places {
		tools := p.tools(d, s)
		s.named[p] = make(map[string]*tool, len(tools))
		described := make([]sdk.Tool, len(tools))
		for i, t := range tools {
			s.named[p][t.Name], described[i] = t, t.Tool
		}
		list, err := json.Marshal(map[string]any{"tools": described})
		if err != nil {
			return nil, fmt.Errorf("listing the tools of %s: %w", p.Name, err)
		}
		s.lists[p] = list
	}
	d.shelf.Store(s)
	return s, nil
}

// everyTool is the free tools and then the paid ones in shelf order.
func (d *Doors) everyTool(s *shelf) []*tool { return slices.Concat(d.freeTools(s), s.paid) }

// freeTools are those whose routes the site has.
func (d *Doors) freeTools(s *shelf) []*tool {
	return slices.DeleteFunc(slices.Clone(d.order), func(t *tool) bool {
		return t.free != nil && !s.site.Serves(t.free.Route.Pattern)
	})
}

func (d *Doors) listTools(q *request) (any, error) {
	s, err := d.now()
	if err != nil {
		return nil, err
	}
	return s.lists[q.place], q.onePage()
}

func (d *Doors) callTool(q *request) (any, error) {
	s, err := d.now()
	if err != nil {
		return nil, err
	}
	t := s.named[q.place][q.Name]
	if id, paid := strings.CutPrefix(q.Name, buyPrefix); t == nil && paid && q.place == places[0] &&
		counter.Paying(q.Meta) {
		// What is no longer sold may have been bought with this payment: it is looked up first
		// (M1).
		return d.buy(q, id, "/api/buy/"+id, q.Arguments)
	}
	if t == nil {
		return nil, fault(codeInvalidParams, "unknown tool: tools/list has the names of those that there are")
	}
	return t.call(d, q)
}

// goodTool is the tool that buys one good. away says why that cannot be made, "" where it can.
func goodTool(g content.Good, away string) *tool {
	t := paidTool(buyPrefix+g.ID, g.Name)
	if away != "" {
		away = "Not available: " + away + " "
	}
	t.Description = away + fmt.Sprintf("%s Costs %s.%s%s", strings.TrimSpace(g.Description), asks(g), returns(g),
		howToPay)
	t.InputSchema = schemaOf(plainly(g))
	t.call = func(d *Doors, q *request) (any, error) { return d.buy(q, g.ID, "/api/buy/"+g.ID, q.Arguments) }
	return t
}

// plainly are the inputs of a good, the common ones without their help, which is in the guide and
// would stand in every tool. Where a buyer heard of the store is asked for in the API description
// alone.
func plainly(g content.Good) []content.Input {
	all := g.AllInputs()
	for i := len(g.Inputs); i < len(all); i++ {
		all[i].Help = ""
	}
	return slices.DeleteFunc(all, func(in content.Input) bool { return in.Name == "source" })
}

func paidTool(name, title string) *tool {
	no := false
	return &tool{Name: name, Title: title, Annotations: &sdk.ToolAnnotations{DestructiveHint: &no}}
}

// asks is what a good costs, in words.
func asks(g content.Good) string {
	tiers := g.Tiers()
	if len(tiers) == 1 {
		return g.PriceUSDC() + " USDC"
	}
	return fmt.Sprintf("%s USDC, or up to %s as you choose", g.PriceUSDC(), tiers[len(tiers)-1].USDC())
}

// returns says what comes back where that is not the goods at once.
func returns(g content.Good) string {
	switch g.Fulfilment {
	case content.Human:
		return fmt.Sprintf(" A person fulfils it within %d hours: look with check_order.", g.WindowHours)
	case content.Term:
		return " It runs for a fixed number of days; where to read it comes back."
	}
	return ""
}

// observationTool buys any of the goods that look at somebody's door or address. away says which
// cannot be made.
func observationTool(goods []content.Good, away map[string]string) *tool {
	t := paidTool(buyObservation, "Buy an observation")
	var inputs []content.Input
	var ids []any
	var says strings.Builder
	says.WriteString("Buy one signed observation by item_id: ")
	for i, g := range goods {
		if i > 0 {
			says.WriteString("; ")
		}
		fmt.Fprintf(&says, "%s (%s", g.ID, asks(g))
		for _, in := range g.Inputs {
			fmt.Fprintf(&says, ", %s", in.Name)
		}
		says.WriteString(")")
		ids = append(ids, g.ID)
		for _, in := range plainly(g) {
			if !slices.ContainsFunc(inputs, func(have content.Input) bool { return have.Name == in.Name }) {
				in.Required = false
				inputs = append(inputs, in)
			}
		}
	}
	for _, g := range goods {
		if why := away[g.ID]; why != "" {
			says.WriteString(". Not available: " + strings.TrimSuffix(why, "."))
		}
	}
	says.WriteString(". Free first: find_in_catalog tells of each." + howToPay)
	t.Description, t.InputSchema = says.String(), schemaOf(inputs, input{name: "item_id", is: map[string]any{
		"type": "string", "enum": ids}})
	t.call = func(d *Doors, q *request) (any, error) {
		id, rest, ok := take(q.Arguments, "item_id")
		if !ok || !slices.Contains(Observations, id) {
			return d.wrong(q, "/api/buy/{item_id}", "item_id", "must be one of those that the tool's description names")
		}
		return d.buy(q, id, "/api/buy/"+id, rest)
	}
	return t
}

// pageTool buys a page that is paid for.
func pageTool() *tool {
	t := paidTool(buyPage, "Buy a page")
	t.Description = "Buy one page of a publication by its path, such as /almanac/first; the index of each is free. " +
		"The " +
		"terms say what it costs. Comes back: the page as Markdown, and a signed receipt." + howToPay
	t.InputSchema = schemaOf(nil, input{name: "path", is: map[string]any{"type": "string", "maxLength": 200}})
	t.call = func(d *Doors, q *request) (any, error) {
		path, rest, ok := take(q.Arguments, "path")
		item, sold := "", false
		if ok {
			item, sold = d.Pages(path)
		}
		if !sold {
			return d.wrong(q, "/mcp", "path", "is no page that is paid for")
		}
		return d.buy(q, item, path, rest)
	}
	return t
}

// take takes one text out of an object of arguments.
func take(args jsontext.Value, name string) (text string, rest jsontext.Value, ok bool) {
	var all map[string]jsontext.Value
	if args.Kind() != '{' || jsonx.Unmarshal(args, &all) != nil || all[name].Kind() != '"' ||
		jsonx.Unmarshal(all[name], &text) != nil {
		return "", nil, false
	}
	delete(all, name)
	rest, err := jsonx.Marshal(all, jsonx.Deterministic(true))
	return text, rest, err == nil
}

// input is a required argument of a tool that is no input of a good.
type input struct {
	name string
	is   map[string]any
}

// schemaOf describes the arguments of a tool that buys.
func schemaOf(inputs []content.Input, first ...input) map[string]any {
	properties, required := make(map[string]any), []string{}
	for _, in := range first {
		properties[in.name], required = in.is, append(required, in.name)
	}
	for _, in := range inputs {
		p := map[string]any{"type": in.Type}
		if in.Help != "" {
			p["description"] = in.Help
		}
		if in.Max > 0 && in.Type == "string" {
			p["maxLength"] = in.Max
		}
		properties[in.Name] = p
		if in.Required {
			required = append(required, in.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
