package templates

import (
	"slices"
	"strconv"
)

// AppendStorefrontMarkdown appends the storefront's twin to dst. Its error is always nil, as a writer of any form has one.
func AppendStorefrontMarkdown(dst []byte, v *StorefrontView) ([]byte, error) {
	b := slices.Grow(dst, 8<<10+shelfSize(v.Shelves))
	b = add(b, "# ", v.Page.Title, "\n\n", v.Page.Summary, "\n\n", v.Intro.Markdown, "\n\n")
	for i := range v.Window {
		b = add(b, "- [", v.Window[i].Caption, "](", v.Window[i].Href, ")\n")
	}
	b = append(b, '\n')
	for _, shelf := range v.Shelves {
		b = add(b, "## ", shelf.Name, "\n\n", shelf.Note, "\n\n")
		for _, g := range shelf.Goods {
			b = add(b, "- [", g.Name, "](/menu/", g.ID, "): ", from(g), g.PriceUSDC(), " USDC. ", oneLine(g.Description), "\n")
		}
		b = append(b, '\n')
	}
	g := &v.First
	b = add(b, "## A first purchase\n\n", g.Description, " It costs ", g.PriceUSDC(), " USDC.\n\n```\nstore buy ", v.FirstURL(),
		"\n```\n\nAny x402 client will do: ask ", v.FirstURL(), ", read the 402, sign one of its offers, ask again. [The page of ", g.Name,
		"](/menu/", g.ID, ") has it step by step.\n\n", v.Body.Markdown, "\n\n")
	return append(b[:len(dst)], tidy(freeText(b, v.Free)[len(dst):])...), nil
}

// freeText lists what costs nothing.
func freeText(b []byte, free []Pointer) []byte {
	b = append(b, "## Free\n\n"...)
	for _, p := range free {
		b = add(b, "- [", p.Text, "](", p.Href, "): ", p.Note, "\n")
	}
	return b
}

// AppendPrices appends the table of all prices to dst. Its error is always nil, as a writer of any form has one.
func AppendPrices(dst []byte, v *PricesView) ([]byte, error) {
	b := slices.Grow(dst, 4<<10+192*len(v.Goods))
	b = add(b, "# ", v.Page.Title, "\n\n", v.Page.Summary, "\n\n", v.Body.Markdown, `

All prices are in USDC.

| Item | Id | Minimum | Generous | Patron | Delivered |
| --- | --- | ---: | ---: | ---: | --- |
`)
	for i := range v.Goods {
		g := &v.Goods[i]
		b = add(b, "| [", cell(g.Name), "](/menu/", g.ID, ") | `", g.ID, "` | ")
		tiers := g.Tiers()
		for n := range 3 {
			if n < len(tiers) {
				b = append(b, tiers[n].USDC()...)
			} else {
				b = append(b, "–"...)
			}
			b = append(b, " | "...)
		}
		b = add(b, string(g.Fulfilment), " |\n")
	}
	b = add(b, "\nTo buy: GET ", v.Chrome.BaseURL, "/api/buy/{id}\n")
	return append(b[:len(dst)], tidy(b[len(dst):])...), nil
}

// AppendMenuMarkdown appends the catalogue in Markdown to dst. Its error is always nil, as a writer of any form has one.
func AppendMenuMarkdown(dst []byte, v *PricesView) ([]byte, error) {
	b := slices.Grow(dst, 4<<10+640*len(v.Goods))
	b = add(b, "# ", v.Page.Title, "\n\n", v.Page.Summary, "\n\nTo buy: GET ", v.Chrome.BaseURL, "/api/buy/{id}\n\n")
	for i := range v.Goods {
		g := &v.Goods[i]
		b = add(b, "## ", g.Name, "\n\n", oneLine(g.Description), "\n\n- Id: `", g.ID, "`\n- Price: ")
		for n, t := range g.Tiers() {
			if n > 0 {
				b = append(b, ", "...)
			}
			b = add(b, t.USDC(), " USDC (", t.Name, ")")
		}
		b = add(b, "\n- Delivered: ", string(g.Fulfilment), "\n")
		if len(g.Inputs) > 0 {
			b = append(b, "- Inputs: "...)
			for n := range g.Inputs {
				if n > 0 {
					b = append(b, ", "...)
				}
				in := &g.Inputs[n]
				b = add(b, "`", in.Name, "`")
				if in.Required {
					b = append(b, " required"...)
				}
				if in.Max != 0 {
					b = append(strconv.AppendInt(append(b, " at most "...), int64(in.Max), 10), " characters"...)
				}
			}
			b = append(b, '\n')
		}
		b = add(b, "- Buy: ", BuyURL(v.Chrome.BaseURL, g.ID), "\n- Page: [", g.ID, "](/menu/", g.ID, ")\n\n")
	}
	return append(b[:len(dst)], tidy(freeText(b, v.Free)[len(dst):])...), nil
}
