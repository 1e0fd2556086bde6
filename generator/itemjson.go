package generator

import (
	"slices"

	"agentstore/content"
	"agentstore/templates"
)

// appendMenuJSON appends /menu.json to dst.
func (s *source) appendMenuJSON(dst []byte) ([]byte, error) {
	cfg, j := s.Site.Config, &jsonWriter{b: slices.Grow(dst, 4<<10+2<<10*len(s.Site.Goods))}
	j.begin("", '{')
	j.text("store", cfg.Title)
	j.text("tagline", cfg.Tagline)
	j.text("base_url", s.base)
	j.text("as_of", s.chrome.Day())
	j.text("currency", "USDC")
	j.number("decimals", 6)
	j.text("how_to_buy", howToBuy)
	j.begin("items", '[')
	for i := range s.Site.Goods {
		g := &s.Site.Goods[i]
		j.begin("", '{')
		s.itemEntry(j, g, g.Tiers(), g.AllInputs())
		j.end('}')
	}
	j.end(']')
	j.begin("retired", '[')
	for _, r := range s.Site.Retired {
		j.begin("", '{')
		j.text("item_id", r.ID)
		j.given("folded_into", r.FoldedInto)
		j.text("reason", r.Reason)
		j.end('}')
	}
	j.end(']')
	j.begin("free", '[')
	for _, f := range s.free() {
		j.begin("", '{')
		j.text("name", f.Text)
		j.text("url", s.base+f.Href)
		j.text("note", f.Note)
		j.end('}')
	}
	j.end(']')
	j.text("verify_url_template", s.base+"/api/verify/{id}")
	j.text("signing_key_url", s.base+"/.well-known/store-signing-key")
	j.end('}')
	return j.done()
}

// appendItemJSON appends /menu/{item_id}.json to dst: the catalogue's entry and what its page says beside it.
func (s *source) appendItemJSON(dst []byte, v *templates.ItemView) ([]byte, error) {
	j := &jsonWriter{b: slices.Grow(dst, 6<<10+2*len(v.Body.Markdown))}
	j.begin("", '{')
	s.itemEntry(j, &v.Good, v.Good.Tiers(), v.Inputs())
	j.text("delivered", v.Fulfilment())
	j.text("body_markdown", v.Body.Markdown)
	j.begin("how_to_buy", '[')
	for _, st := range v.Steps() {
		j.begin("", '{')
		j.text("text", st.Text)
		j.text("code", st.Code)
		j.end('}')
	}
	j.end(']')
	j.texts("if_something_goes_wrong", v.Money())
	j.text("verify_url_template", s.base+"/api/verify/{id}")
	j.end('}')
	return j.done()
}

// itemEntry is the members of a good's entry in the catalogue.
func (s *source) itemEntry(j *jsonWriter, g *content.Good, tiers []content.Tier, inputs []content.Input) {
	j.text("item_id", g.ID)
	j.text("name", g.Name)
	j.given("subtitle", g.Subtitle)
	j.text("description", g.Description)
	j.text("price_usdc", g.PriceUSDC())
	j.number("price_atomic", g.Price)
	j.flag("pay_what_it_deserves", g.PayWhatItDeserves)
	j.begin("tiers", '[')
	for _, t := range tiers {
		j.begin("", '{')
		j.text("name", t.Name)
		j.text("usdc", t.USDC())
		j.number("atomic", t.Amount)
		j.end('}')
	}
	j.end(']')
	j.text("fulfilment", string(g.Fulfilment))
	j.counted("window_hours", g.WindowHours)
	j.counted("weekly_inventory", g.WeeklyInventory)
	j.flag("sold_once_each", g.Stock)
	j.text("cadence", g.Cadence)
	j.text("artifact_class", g.Artifact)
	j.begin("inputs", '[')
	for i := range inputs {
		in := &inputs[i]
		j.begin("", '{')
		j.text("name", in.Name)
		j.text("type", in.Type)
		j.given("format", in.Format)
		j.flag("required", in.Required)
		j.counted("max_length", in.Max)
		j.given("pattern", in.Pattern)
		j.text("help", in.Help)
		j.end('}')
	}
	j.end(']')
	if g.Constraints != nil {
		j.texts("constraints", g.Constraints)
	}
	j.text("what_it_reads", g.WhatItReads)
	j.text("signs", g.Signs)
	j.text("does_not_prove", g.DoesNotProve)
	j.text("buy_url", templates.BuyURL(s.base, g.ID))
	j.text("item_page", s.base+"/menu/"+g.ID)
}
