package templates

import (
	"html/template"
	"regexp"
	"strings"
)

// PlainFrame are the ids that a page has beside those of its prose where a
// PlainView shows it, Frame those of any page that shows prose: of its
// templates and of sections of sheets. No heading of prose has one of them, and
// a link may lead to them.
var (
	PlainFrame = idsIn(htmlPages, func(name, _ string) bool { return name == "plain.html" })
	Frame      = append(idsIn(htmlPages, func(_, text string) bool {
		return strings.Contains(text, ".Body.HTML") || strings.Contains(text, ".Intro.HTML")
	}), sections...)
)

// sections are the ids of sections of sheets, and of shelves of the storefront,
// that stand below prose.
var sections = strings.Fields("addresses beside bought causes chain changed changes clone corrections counter " +
	"coverage deserves differences doors drift earlier entries failed goods how keeper later list map " +
	"networks newest notes own pages prices private rails rate reply rules signed standing tiers told " +
	"transitions trend verdicts views vouchers-and-holds week weeks")

var (
	literalID    = regexp.MustCompile(` id="([a-z][a-z0-9-]*)"`)
	templateCall = regexp.MustCompile(`\{\{template "([^"]+)"`)
)

// idsIn are the ids in templates that are picked by name and text, and in those
// that they call.
func idsIn(pages *template.Template, pick func(name, text string) bool) (ids []string) {
	read := make(map[string]bool)
	var add func(t *template.Template)
	add = func(t *template.Template) {
		if t == nil || t.Tree == nil || read[t.Name()] {
			return
		}
		read[t.Name()] = true
		text := t.Tree.Root.String()
		for _, m := range literalID.FindAllStringSubmatch(text, -1) {
			ids = append(ids, m[1])
		}
		for _, m := range templateCall.FindAllStringSubmatch(text, -1) {
			add(pages.Lookup(m[1]))
		}
	}
	for _, t := range pages.Templates() {
		if t.Tree != nil && pick(t.Name(), t.Tree.Root.String()) {
			add(t)
		}
	}
	return ids
}
