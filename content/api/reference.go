package api

import (
	"cmp"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Group is the routes of one tag, the first of theirs, or a part of them.
type Group struct {
	// Name is the tag as it stands in addresses: free-shelf, instruments-2.
	Name, Title string
	Text        string // Markdown
	Routes      []Route
}

// pageBytes is up to where routes share a page of the reference, as Markdown.
const pageBytes = 10_000

// Reference is the API in pages for people: what is published, in the order of the OpenAPI
// description, without the addresses that give the bytes of another in one form alone. A group that
// would be a long page is several.
func Reference(routes []Route, documents []Document) []Group {
	twins := make(map[string]bool)
	for _, d := range documents {
		for _, f := range d.Twins() {
			twins[d.TwinName(f)] = true
		}
	}
	var all []Group
	once := slices.DeleteFunc(Published(routes, documents), func(r Route) bool { return twins[r.Name] })
	for _, g := range groups(once) {
		page, size, number := g, 0, 1
		page.Routes = nil
		for _, r := range g.Routes {
			n := len(entry("", r))
			if size += n; size > pageBytes && len(page.Routes) > 0 {
				all = append(all, page)
				number++
				page = Group{fmt.Sprintf("%s-%d", g.Name, number), fmt.Sprintf("%s, %d", g.Title, number), g.Text, nil}
				size = n
			}
			page.Routes = append(page.Routes, r)
		}
		all = append(all, page)
	}
	return all
}

// groups puts routes beside those that share their tag.
func groups(routes []Route) (all []Group) {
	for _, r := range routes {
		if r.Tag == "" {
			continue
		}
		i := slices.IndexFunc(all, func(g Group) bool { return g.Title == r.Tag })
		if i < 0 {
			i = len(all)
			all = append(all, Group{Name: strings.ReplaceAll(r.Tag, " ", "-"), Title: r.Tag, Text: tagText[r.Tag]})
		}
		all[i].Routes = append(all[i].Routes, r)
	}
	return all
}

// Markdown is the page of a group: of each route its inputs, its answers, and a request to copy.
func (g Group) Markdown(baseURL string) string {
	var b strings.Builder
	if g.Text != "" {
		fmt.Fprintf(&b, "%s\n\n", g.Text)
	}
	for _, r := range g.Routes {
		b.WriteString(entry(baseURL, r))
	}
	fmt.Fprintf(&b, "## Errors\n\n%s\n", errorsText)
	return b.String()
}

// entry is one route on its page.
func entry(baseURL string, r Route) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s\n\n", r.Method, r.Pattern)
	section(&b, r)
	var answers []string
	for _, res := range r.Responses {
		status := fmt.Sprintf("%d", res.Status)
		switch i := slices.IndexFunc(answers, func(a string) bool { return strings.HasPrefix(a, status) }); {
		case i < 0 && res.Description != "":
			answers = append(answers, fmt.Sprintf("%s `%s`, %s", status, bare(res.ContentType),
				strings.TrimSuffix(res.Description, ".")))
		case i < 0:
			answers = append(answers, fmt.Sprintf("%s `%s`", status, bare(res.ContentType)))
		case res.Status < 400:
			answers[i] += fmt.Sprintf(" or `%s`", bare(res.ContentType))
		}
	}
	fmt.Fprintf(&b, "Answers: %s.\n\n```sh\n%s\n```\n\n", strings.Join(answers, "; "), Curl(baseURL, r))
	return b.String()
}

// Curl is a request to a route, with values that work where the route has an example. What has none
// is a variable of the shell.
func Curl(baseURL string, r Route) string {
	path, sep := r.Pattern, "?"
	var fields strings.Builder
	for _, p := range r.Params {
		value := p.Example
		if len(p.Examples) > 0 {
			value = fmt.Sprint(p.Examples[0].Value)
		}
		switch variable := "$" + strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_")); p.In {
		case Path:
			path = strings.NewReplacer("{"+p.Name+"}", cmp.Or(value, variable),
				"{"+p.Name+"...}", cmp.Or(value, variable)).Replace(path)
		case QueryP:
			if value != "" || p.Required {
				path += sep + p.Name + "=" + strings.ReplaceAll(cmp.Or(value, variable), " ", "%20")
				sep = "&"
			}
		case Header:
			if p.Required {
				fmt.Fprintf(&fields, " -H %q", p.Name+": "+cmp.Or(value, variable))
			}
		}
	}
	command := "curl -sS"
	if r.Method != http.MethodGet {
		command += " -X " + r.Method
	}
	command += fmt.Sprintf(" %q", baseURL+path) + fields.String()
	if r.Body != nil {
		command += fmt.Sprintf(" -H 'Content-Type: %s' -d '%s'", bare(r.Body.ContentType),
			strings.ReplaceAll(exampleBody(r.Body), `'`, `'\''`))
	}
	return command
}

// exampleBody is a body that works where there is an example, and else one with the name of each
// member that has to be there in the place of its value.
func exampleBody(body *Body) string {
	var value any = map[string]any{}
	if len(body.Examples) > 0 {
		value = body.Examples[0].Value
	} else if body.Schema != nil {
		members := make(map[string]any)
		for _, name := range body.Schema.Required {
			members[name] = strings.ToUpper(name)
		}
		value = members
	}
	b, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return "{}" // the table's test encodes every example
	}
	return string(b)
}
