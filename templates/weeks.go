package templates

import (
	"fmt"
	"html/template"
	"strings"

	"agentstore/corpus"
	"agentstore/corpus/derive"
)

// WeekMark is one week of a timeline: the word first, then its mark, then its colour.
type WeekMark struct {
	Week  string // 2026-W47
	Word  string // in words a reader knows
	Mark  string // one character
	Class string // good, bad, unknown or faint
}

// The marks of a timeline, in the order of their legend.
var weekMarks = []WeekMark{
	{Word: "ready", Mark: "■", Class: "good"},
	{Word: "not ready", Mark: "×", Class: "bad"},
	{Word: "unreachable", Mark: "–", Class: "bad"},
	{Word: "not observed", Mark: "○", Class: "unknown"},
	{Word: "before the first sighting", Mark: "·", Class: "faint"},
}

// markWeek gives a week of a host its mark.
func markWeek(w derive.HostWeek) WeekMark {
	i := 3
	switch {
	case w.Probed == derive.BeforeFirst:
		i = 4
	case w.Verdict == corpus.VerdictReady:
		i = 0
	case w.Verdict == corpus.VerdictNotReady:
		i = 1
	case w.Verdict == corpus.VerdictUnreachable:
		i = 2
	}
	m := weekMarks[i]
	m.Week = w.Week
	return m
}

// A row of the drawing holds a quarter of a year.
const (
	weeksARow = 13
	weekSide  = 22
	weekStep  = 27
)

// drawWeeks draws one square a week, oldest first. Every square says its week and word; the shapes differ as the colours
// do.
func drawWeeks(marks []WeekMark, title string) Markup {
	rows := max(1, (len(marks)+weeksARow-1)/weeksARow)
	height := rows*(weekSide+18) + 2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart weeks" role="img" viewBox="0 0 352 %d" width="352" height="%d"><title>%s</title>`, height, height, template.HTMLEscapeString(title))
	for i, m := range marks {
		x, y := 1+i%weeksARow*weekStep, 1+i/weeksARow*(weekSide+18)
		fmt.Fprintf(&b, `<g class="%s"><title>%s: %s</title>`, m.Class, m.Week, m.Word)
		cx, cy := x+weekSide/2, y+weekSide/2
		switch m.Mark {
		case "■":
			fmt.Fprintf(&b, `<rect class="full" x="%d" y="%d" width="%d" height="%[3]d"/><path class="cut" d="M%d %dl4 4 7-8"/>`, x, y, weekSide, cx-5, cy+1)
		case "×":
			fmt.Fprintf(&b, `<rect class="line" x="%d" y="%d" width="%d" height="%[3]d"/><path class="line" d="M%d %dl8 8m0-8l-8 8"/>`, x, y, weekSide, cx-4, cy-4)
		case "–":
			fmt.Fprintf(&b, `<rect class="line" x="%d" y="%d" width="%d" height="%[3]d"/><path class="line" d="M%d %dh10"/>`, x, y, weekSide, cx-5, cy)
		case "○":
			fmt.Fprintf(&b, `<rect class="dash" x="%d" y="%d" width="%d" height="%[3]d"/>`, x, y, weekSide)
		default:
			fmt.Fprintf(&b, `<circle class="full" cx="%d" cy="%d" r="1.5"/>`, cx, cy)
		}
		b.WriteString("</g>")
		if i%weeksARow == 0 || i == len(marks)-1 && i%weeksARow > 1 {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, x, y+weekSide+12, m.Week[len("2026-"):])
		}
	}
	b.WriteString("</svg>")
	return Markup(b.String())
}

// legend counts the marks that are there: "■ ready in 7, ○ not observed in 1".
func legend(marks []WeekMark) string {
	var parts []string
	for _, kind := range weekMarks {
		n := 0
		for _, m := range marks {
			if m.Word == kind.Word {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s: %d", kind.Mark, kind.Word, n))
		}
	}
	return strings.Join(parts, ", ")
}
