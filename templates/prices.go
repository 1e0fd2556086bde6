package templates

import "store.example/agentstore/content"

// PricesView is the table of all prices, /pricing.md, and the catalogue in
// Markdown, /menu.md.
type PricesView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	Goods  []content.Good
	Free   []Pointer
}

// RenderPrices returns /pricing.md.
func RenderPrices(v PricesView) ([]byte, error) { return renderText("pricing.md", &v) }

// RenderMenuMarkdown returns the twin of /menu.json.
func RenderMenuMarkdown(v PricesView) ([]byte, error) { return renderText("menu.md", &v) }

// WhatView is the overview for whoever approves a spending, /what.
type WhatView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// Facts are the figures of the shelf and the rules of money.
	Facts []Fact
	Links []Pointer
}

// Fact is one line of a list of facts. Mono sets its value as code.
type Fact struct {
	Name, Value string
	Mono        bool
}

func (*WhatView) template() string { return "what" }
