package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BuildMarkdown renders the API for readers of Markdown: the same facts as the OpenAPI description,
// in the same order.
func BuildMarkdown(info Info, routes []Route, documents []Document) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: the API\n\n%s\n\n", info.Title, info.Summary)
	fmt.Fprintf(&b, "Contract version %s. All paths are relative to %s. The same as OpenAPI 3.1: "+
		"[/openapi.json](%s/openapi.json).\n\n",
		ContractVersion, info.BaseURL, info.BaseURL)
	if info.Guidance != "" {
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(info.Guidance))
	}
	for _, g := range groups(Published(routes, documents)) {
		fmt.Fprintf(&b, "## %s\n\n", g.Title)
		if g.Text != "" {
			fmt.Fprintf(&b, "%s\n\n", g.Text)
		}
		for _, r := range g.Routes {
			fmt.Fprintf(&b, "### %s %s\n\n", r.Method, r.Pattern)
			section(&b, r)
			for _, res := range r.Responses {
				if res.Status < 400 || res.Status == 402 {
					fmt.Fprintf(&b, "- %d %s: %s\n", res.Status, bare(res.ContentType), res.Description)
				}
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("## Errors\n\n" + errorsText + "\n")
	return []byte(b.String())
}

// errorsText says what all refusals have in common.
const errorsText = "Every 4xx and 5xx is an `application/problem+json` object (RFC 9457) with type, " +
	"title, status, detail, instance and the older error. " +
	"Its type is the address of a page that says what to do. After a payment was presented it also says " +
	"delivered, billed, retry and next_step."

// section is what a route does and takes.
func section(b *strings.Builder, r Route) {
	text := r.Summary
	if r.Description != "" {
		text = strings.TrimSuffix(r.Summary, ".") + ". " + r.Description
	}
	fmt.Fprintf(b, "%s\n\n", text)
	var facts []string
	if r.Paid {
		facts = append(facts, "Paid: answers 402 without a payment.")
	}
	if r.Budget != "" {
		facts = append(facts, "Spends the budget "+r.Budget+".")
	}
	if !r.Deprecated.IsZero() {
		facts = append(facts, "Deprecated from "+r.Deprecated.UTC().Format("2006-01-02")+".")
	}
	if !r.Sunset.IsZero() {
		facts = append(facts, "Served until "+r.Sunset.UTC().Format("2006-01-02")+".")
	}
	if len(facts) > 0 {
		fmt.Fprintf(b, "%s\n\n", strings.Join(facts, " "))
	}
	if len(r.Params) > 0 {
		b.WriteString("| input | in | type | limits | |\n| --- | --- | --- | --- | --- |\n")
		for _, p := range r.Params {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", p.Name, p.In, p.Type, cell(strings.Join(limits(p), ", ")),
				cell(p.Description))
		}
		b.WriteString("\n")
	}
	if r.Body != nil {
		fmt.Fprintf(b, "Body: %s, at most %d bytes. %s\n\n", bare(r.Body.ContentType), r.Body.Limit, r.Body.Description)
		if s := r.Body.Schema; s != nil && len(s.Properties) > 0 {
			b.WriteString("| member | type | |\n| --- | --- | --- |\n")
			for _, name := range s.PropertyOrder {
				p := s.Properties[name]
				need := ""
				if slices.Contains(s.Required, name) {
					need = "required. "
				}
				fmt.Fprintf(b, "| %s | %s | %s%s |\n", name, schemaType(p.Type, p.Types), need, cell(p.Description))
			}
			b.WriteString("\n")
		}
	}
}

func schemaType(one string, many []string) string {
	if one != "" {
		return one
	}
	return strings.Join(many, " or ")
}

func limits(p Param) []string {
	var l []string
	add := func(s string) { l = append(l, s) }
	if p.Required {
		add("required")
	}
	switch {
	case p.MinLength > 0 && p.MaxLength > 0:
		add(strconv.Itoa(p.MinLength) + " to " + strconv.Itoa(p.MaxLength) + " characters")
	case p.MaxLength > 0:
		add("at most " + strconv.Itoa(p.MaxLength) + " characters")
	}
	if p.Minimum != nil {
		add("at least " + strconv.FormatFloat(*p.Minimum, 'f', -1, 64))
	}
	if p.Maximum != nil {
		add("at most " + strconv.FormatFloat(*p.Maximum, 'f', -1, 64))
	}
	if len(p.Enum) > 0 {
		add("one of " + strings.Join(p.Enum, ", "))
	}
	if p.Pattern != "" {
		add("`" + p.Pattern + "`")
	}
	return l
}

// cell makes a text fit for a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ")
}
