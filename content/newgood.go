package content

import (
	"fmt"
	"strings"
)

// NewGood is the file of a new good of a kind: what has no default, what the kind is made of, and
// above each line what it means. made holds the values of the latter as they are written, by key;
// those of the table upstream begin with "upstream.".
func NewGood(id, kind string, made map[string]string) string {
	row, _ := kindOf(kind)
	var b strings.Builder
	b.WriteString(fence + "\n# All keys, kinds and inputs: /docs/goods. Behind the second line of +++ stands the\n" +
		"# prose of its page, in Markdown; where there is none, the description stands there.\n\n")
	values := map[string]string{"name": fmt.Sprintf("%q", titled(id)), "price": `"0.10"`,
		"description": `"One sentence that says what a buyer gets."`}
	line := func(k Key, value, mark string) { fmt.Fprintf(&b, "# %s\n%s%s = %s\n", k.Meaning, mark, k.Name, value) }
	for _, k := range keysOf("") {
		switch value := values[k.Name] + made[k.Name]; {
		case value != "":
			line(k, value, "")
		case k.Name == "artifact" && row.bare:
			line(k, `"none"`, "# ")
		}
	}
	if kind == KindText || kind == KindUpstream {
		b.WriteString("\n# What an order says; a good may have several. Which there are: /docs/goods\n[[input]]\n" +
			"name = \"detail\"\nrequired = true\nmax = 200\nhelp = \"What it is about, in a few words.\"\n" +
			"example = \"tea\"\n")
	}
	if kind == KindUpstream {
		b.WriteString("\n[upstream]\n")
		for _, k := range keysOf("upstream") {
			switch value := made["upstream."+k.Name]; {
			case value != "":
				line(k, value, "")
			case k.Name == "repeatable":
				line(k, "false", "")
			}
		}
	}
	b.WriteString(fence + "\n")
	return b.String()
}

// titled is an id as a name: green_tea is Green tea.
func titled(id string) string {
	words := strings.ReplaceAll(id, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// NewPage is the file of a new page.
func NewPage(title string) string {
	return fence + "\n# What stands at the top of the page and in lists.\n" + fmt.Sprintf("title = %q\n", title) +
		"# One sentence, for lists and search.\nsummary = \"One sentence that says what is here.\"\n" +
		"# Its word in the header of every page; without the line it is not there.\n" +
		"# nav = \"" + strings.ToLower(strings.Split(title, " ")[0]) + "\"\n" + fence + "\nThe text, in Markdown.\n"
}

// IsOwnPage reports whether a page of the keeper's own may have a name.
func IsOwnPage(name string) bool {
	return ownPage.MatchString(name) && len(name) <= maxPageName && !strings.HasPrefix(name, problemFolder)
}

// NewIssue is the file of a new page that is paid for, published on a date, and its name without
// the folder.
func NewIssue(p Publication, date string) (name, text string) {
	name = "a-first-page"
	if p.Params[0].Form != slugForm {
		name = "1"
	}
	prefix, _, _ := strings.Cut(p.Pattern[strings.LastIndexByte(p.Pattern, '/')+1:], "{")
	return prefix + name + ".md", fence + "\n# Title and summary are public, and the date is when it is published.\n" +
		"title = \"A first page\"\nsummary = \"One sentence that says what a reader gets.\"\n" +
		"date = \"" + date + "\"\n" + fence + "\nThe text that is paid for, in Markdown. It is private.\n"
}
