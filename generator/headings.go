package generator

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/templates"
)

// frame is what a page has around its prose.
type frame struct {
	ids   map[string]bool // none of which a heading of the prose may have
	plain bool
}

// The frames: of a page that is prose alone, and of the others.
var (
	plainFrame = frame{ids: idSet(templates.PlainFrame), plain: true}
	fullFrame  = frame{ids: idSet(templates.Frame, rowIDs())}
)

// rowIDs are the ids of rows that stand below prose: signs, criteria, practice doors.
func rowIDs() (ids []string) {
	for _, sign := range content.Signs {
		ids = append(ids, sign.ID)
	}
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			ids = append(ids, c.Name)
		}
	}
	for _, a := range probe.Advisories() {
		ids = append(ids, a.Name)
	}
	for _, p := range practice.All() {
		ids = append(ids, p.ID)
	}
	return ids
}

func idSet(lists ...[]string) map[string]bool {
	set := make(map[string]bool)
	for _, list := range lists {
		for _, id := range list {
			set[id] = true
		}
	}
	return set
}

// identify gives each heading of a text an id and returns them. The id is made of the heading's
// text: letters, marks and digits of every script, in lower case, with hyphens for blanks, hyphens
// and low lines. Where it is taken, by another heading or by the frame, a number is behind it.
func identify(src []byte, doc ast.Node, around frame) map[string]bool {
	ids, last := make(map[string]bool), make(map[string]int)
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if !entering || n.Kind() != ast.KindHeading {
			return ast.WalkContinue, nil
		}
		id := idOf(plainTextOf(src, n))
		for base := id; ids[id] || around.ids[id]; {
			last[base]++
			id = fmt.Sprintf("%s-%d", base, last[base])
		}
		ids[id] = true
		n.SetAttributeString("id", []byte(id))
		return ast.WalkSkipChildren, nil
	})
	return ids
}

// idOf is the id that a heading's text makes.
func idOf(text string) string {
	id := strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c):
			return unicode.ToLower(c)
		case unicode.IsSpace(c) || c == '-' || c == '_':
			return '-'
		}
		return -1
	}, strings.TrimSpace(text))
	if id == "" {
		return "heading"
	}
	return id
}

// plainTextOf is the text of a node as it stands in its source, without the addresses of links.
func plainTextOf(src []byte, n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker itself never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
