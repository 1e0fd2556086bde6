package templates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AppendItem appends the page in HTML to dst. On an error it returns dst as it was.
func AppendItem(dst []byte, v *ItemView) ([]byte, error) {
	b, err := appendTop(slices.Grow(dst, itemSize(v)), &v.Page, v.Chrome)
	if err == nil {
		b = itemHead(b, v)
		b, err = itemBuy(b, v)
	}
	if err == nil {
		b = itemFacts(b, v)
		b = itemInputs(b, v)
		b = itemTerms(b, v)
		b, err = appendBottom(b, &v.Page, v.Chrome)
	}
	if err != nil {
		return dst, fmt.Errorf("rendering the page of %s: %w", v.Page.Title, err)
	}
	return append(b, '\n'), nil
}

// itemSize is about how long the page is. Too little costs a copy, too much some memory.
func itemSize(v *ItemView) int {
	size := 8<<10 + len(v.Chrome.Header) + len(v.Chrome.Footer) + len(v.Body.HTML)
	if v.Drawing != nil {
		size += len(v.Drawing.SVG)
	}
	return size
}

// itemHead is the title, the amounts and the keeper's words.
func itemHead(b []byte, v *ItemView) []byte {
	b = append(appendTitle(b, &v.Page), "<ul class=\"tiers\">\n"...)
	for _, t := range v.Tiers() {
		b = weave(b, `<li><span class="tag">`, t.USDC(), ` USDC</span> <span>`, t.Name, "</span></li>\n")
	}
	b = append(b, "</ul>\n\n"...)
	if d := v.Drawing; d != nil {
		b = add(b, "<figure>", string(d.SVG))
		b = weave(b, "\n<figcaption class=\"small faint\">", d.Caption, "</figcaption></figure>\n")
	}
	return add(b, string(v.Body.HTML), "\n")
}

func itemBuy(b []byte, v *ItemView) ([]byte, error) {
	door, err := address("/api/buy/" + v.Good.ID)
	if err != nil {
		return b, err
	}
	b = add(b, "<h2 id=\"buy\">How to buy it</h2>\n<p>Its door is <a href=\"", door, `" class="mono">`)
	b = weave(b, "", v.BuyURL(), "</a></p>\n<ol>\n")
	for _, s := range v.Steps() {
		b = weave(b, "<li><p>", s.Text, "</p>\n<pre tabindex=\"0\"><code>", s.Code, "</code></pre></li>\n")
	}
	return append(b, "</ol>\n"...), nil
}

func itemFacts(b []byte, v *ItemView) []byte {
	g := &v.Good
	b = weave(b, "<h2 id=\"facts\">What it is</h2>\n<dl class=\"facts\">\n<dt>Item id</dt><dd class=\"mono\">", g.ID,
		"</dd>\n<dt>Delivered</dt><dd>", v.Fulfilment(), "</dd>\n<dt>Reads</dt><dd>", g.WhatItReads, "</dd>\n")
	if len(g.Constraints) > 0 {
		b = weave(b, "<dt>Good to know</dt><dd>", strings.Join(g.Constraints, " "), "</dd>\n")
	}
	return append(b, "</dl>\n"...)
}

func itemInputs(b []byte, v *ItemView) []byte {
	b = append(b, `<h2 id="inputs">What you may send</h2>
`+Wide+`<table>
<caption>Query parameters; lengths in characters</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col" class="num">At most</th><th scope="col">For</th></tr></thead>
<tbody>
`...)
	inputs := v.Inputs()
	for i := range inputs {
		in := &inputs[i]
		b = weave(b, `<tr><th scope="row"><code>`, in.Name, "</code>")
		if in.Required {
			b = append(b, " required"...)
		}
		b = weave(b, "</th><td>", in.Type, `</td><td class="num">`)
		b = weave(appendMost(b, in.Max), "</td><td>", in.Help, "</td></tr>\n")
	}
	return append(b, "</tbody>\n</table></div>\n"...)
}

// appendMost is the most characters of an input, a dash for no limit of its own.
func appendMost(b []byte, most int) []byte {
	if most == 0 {
		return append(b, "–"...)
	}
	return strconv.AppendInt(b, int64(most), 10)
}

// itemTerms is what is signed and what is not, and what happens to the money.
func itemTerms(b []byte, v *ItemView) []byte {
	g := &v.Good
	b = weave(b, "<h2 id=\"signed\">What is signed</h2>\n<p>", g.Signs, "</p>\n<p>You get a ", g.Artifact,
		` in the format <a href="/spec/store-attestation/v1">store-attestation/v1</a>. Anyone may check it, free: <a href="/verify">how to verify</a>.</p>
<h2 id="not">What it does not prove</h2>
<p>`, g.DoesNotProve, `</p>
<h2 id="money">If something goes wrong</h2>
<div class="money">
`)
	for _, s := range v.Money() {
		b = weave(b, "<p>", s, "</p>\n")
	}
	return append(b, "</div>\n"...)
}
