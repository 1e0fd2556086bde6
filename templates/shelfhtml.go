package templates

import (
	"fmt"
	"slices"

	"agentstore/content"
)

// AppendStorefront appends the page in HTML to dst. On an error it returns dst as it was.
func AppendStorefront(dst []byte, v *StorefrontView) ([]byte, error) {
	b, err := appendTop(slices.Grow(dst, 16<<10+shelfSize(v.Shelves)), &v.Page, v.Chrome)
	for _, part := range []func([]byte, *StorefrontView) ([]byte, error){storefrontWindow, storefrontShelves, storefrontFirst, storefrontFree} {
		if err == nil {
			b, err = part(b, v)
		}
	}
	if err == nil {
		b, err = appendBottom(b, &v.Page, v.Chrome)
	}
	if err != nil {
		return dst, fmt.Errorf("rendering the storefront: %w", err)
	}
	return append(b, '\n'), nil
}

// shelfSize is about how long the list of goods is.
func shelfSize(shelves []Shelf) int {
	size := 0
	for _, s := range shelves {
		size += 384 * len(s.Goods)
	}
	return size
}

func storefrontWindow(b []byte, v *StorefrontView) ([]byte, error) {
	b = add(appendTitle(b, &v.Page), string(v.Intro.HTML), "\n")
	if len(v.Window) == 0 {
		return b, nil
	}
	b = append(b, "<ul class=\"window\" aria-label=\"In the window\">\n"...)
	for i := range v.Window {
		w := &v.Window[i]
		at, err := address(w.Href)
		if err != nil {
			return b, err
		}
		b = add(b, `<li><a href="`, at, `">`, string(w.SVG), "</a><p>")
		b = append(escaped(b, w.Caption), "</p></li>\n"...)
	}
	return append(b, "</ul>\n"...), nil
}

func storefrontShelves(b []byte, v *StorefrontView) ([]byte, error) {
	b = append(b, "<div id=\"shelves\">\n"...)
	for _, shelf := range v.Shelves {
		b = weave(b, `<section aria-labelledby="`, shelf.ID, "\">\n<h2 id=\"", shelf.ID, `">`, shelf.Name, "</h2>\n")
		if shelf.Note != "" {
			b = weave(b, `<p class="faint">`, shelf.Note, "</p>\n")
		}
		b = append(b, "<ul class=\"shelf\">\n"...)
		for _, g := range shelf.Goods {
			page, err := address("/menu/" + g.ID)
			if err != nil {
				return b, err
			}
			b = add(b, `<li><span class="name"><a href="`, page, `">`)
			b = add(escaped(b, g.Name), `</a></span><span class="tag">`, from(g), g.PriceUSDC(), " USDC</span>\n<p class=\"about\">")
			b = append(escaped(b, g.Description), "</p></li>\n"...)
		}
		b = append(b, "</ul>\n</section>\n"...)
	}
	return append(b, "</div>\n"...), nil
}

// from stands before the price of a good that may be paid more for.
func from(g *content.Good) string {
	if g.PayWhatItDeserves {
		return "from "
	}
	return ""
}

func storefrontFirst(b []byte, v *StorefrontView) ([]byte, error) {
	g := &v.First
	door, err := address("/api/buy/" + g.ID)
	if err != nil {
		return b, err
	}
	page, err := address("/menu/" + g.ID)
	if err != nil {
		return b, err
	}
	b = weave(b, "<h2 id=\"first\">A first purchase</h2>\n<p>", g.Description, ` It costs <span class="n">`, g.PriceUSDC(),
		"</span> USDC.</p>\n<pre tabindex=\"0\"><code>store buy ", v.FirstURL(), "</code></pre>\n")
	b = add(b, `<p>Any x402 client will do: ask <a href="`, door, `" class="mono">`)
	b = weave(b, "/api/buy/", g.ID, "</a>, read the 402, sign one of its offers, ask again. ")
	b = add(b, `<a href="`, page, `">The page of `)
	b = append(escaped(b, g.Name), "</a> has it step by step.</p>\n"...)
	return add(b, string(v.Body.HTML), "\n"), nil
}

func storefrontFree(b []byte, v *StorefrontView) ([]byte, error) {
	b = append(b, "<h2 id=\"free\">Free</h2>\n<ul>\n"...)
	for _, p := range v.Free {
		at, err := address(p.Href)
		if err != nil {
			return b, err
		}
		b = add(b, `<li><a href="`, at, `">`)
		b = weave(b, "", p.Text, "</a>: ", p.Note, "</li>\n")
	}
	return append(b, "</ul>\n"...), nil
}
