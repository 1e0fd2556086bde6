package templates

import (
	"slices"
	"strings"
)

// AppendItemMarkdown appends the twin of the page to dst. Its error is always nil, as a writer of any form has one.
func AppendItemMarkdown(dst []byte, v *ItemView) ([]byte, error) {
	b := slices.Grow(dst, 5<<10+len(v.Body.Markdown))
	b = add(b, "# ", v.Page.Title, "\n\n", v.Page.Summary, "\n\n")
	for _, t := range v.Tiers() {
		b = add(b, "- ", t.USDC(), " USDC: ", t.Name, "\n")
	}
	b = append(b, '\n')
	if v.Drawing != nil {
		b = append(b, v.Drawing.Caption...)
	}
	b = add(b, "\n\n", v.Body.Markdown, "\n\n## How to buy it\n\nIts door is ", v.BuyURL(), "\n\n")
	for _, s := range v.Steps() {
		b = add(b, s.Text, "\n\n```\n", s.Code, "\n```\n\n")
	}
	b = itemTextFacts(b, v)
	b = itemTextInputs(b, v)
	b = itemTextTerms(b, v)
	return append(b[:len(dst)], tidy(b[len(dst):])...), nil
}

func itemTextFacts(b []byte, v *ItemView) []byte {
	g := &v.Good
	b = add(b, "\n## What it is\n\n- Item id: `", g.ID, "`\n- Delivered: ", v.Fulfilment(), "\n- Reads: ", g.WhatItReads, "\n")
	if len(g.Constraints) > 0 {
		b = add(b, "- Good to know: ", strings.Join(g.Constraints, " "), "\n")
	}
	return b
}

func itemTextInputs(b []byte, v *ItemView) []byte {
	b = append(b, `
## What you may send

Query parameters; lengths in characters.

| Name | Type | At most | For |
| --- | --- | ---: | --- |
`...)
	inputs := v.Inputs()
	for i := range inputs {
		in := &inputs[i]
		required := "` | "
		if in.Required {
			required = "` required | "
		}
		b = add(b, "| `", in.Name, required, in.Type, " | ")
		b = add(appendMost(b, in.Max), " | ", cell(in.Help), " |\n")
	}
	return b
}

func itemTextTerms(b []byte, v *ItemView) []byte {
	g := &v.Good
	b = add(b, "\n## What is signed\n\n", g.Signs, "\n\nYou get a ", g.Artifact,
		" in the format [store-attestation/v1](/spec/store-attestation/v1). Anyone may check it, free: [how to verify](/verify).\n\n## What it does not prove\n\n",
		g.DoesNotProve, "\n\n## If something goes wrong\n\n")
	for _, s := range v.Money() {
		b = add(b, s, "\n\n")
	}
	return b
}
